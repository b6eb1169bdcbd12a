//===- Context.h - One rank of the CUDA back end ----------------*- C++ -*-===//
#ifndef PARA_RUNTIME_CUDA_CONTEXT_H
#define PARA_RUNTIME_CUDA_CONTEXT_H

#include "Libraries.h"
#include "Ranges.h"
#include "core/Device.h"
#include "core/Shard.h"

#include <memory>
#include <unordered_map>

namespace para::runtime::cuda {
class Matmuls;
class Convolutions;
class Communicators;
class Timeline;
class Watch;
class StepGraphs;

constexpr int numStreams = 3; ///< compute, communication, copies
constexpr int64_t libraryWorkspaceBytes = 32 << 20;
constexpr int success = 0, notReady = 600; ///< CUDA_SUCCESS, CUDA_ERROR_NOT_READY
} // namespace para::runtime::cuda

struct para_context {
  using Handle = para::runtime::cuda::Handle;
  using Address = para::runtime::cuda::Address;

  const para::runtime::Manifest *manifest = nullptr;
  para::runtime::World *world = nullptr;
  const para::runtime::ControlBlock *control = nullptr; ///< null when ranks are on several hosts
  int64_t rank = 0;
  std::vector<int64_t> coordinates;

  para::runtime::cuda::Driver driver;
  int device = -1;
  Handle primary = nullptr, module = nullptr;
  Handle streams[para::runtime::cuda::numStreams] = {};
  /// Lists of actions so far. Between two of them everything is done: who waits for what one before has recorded has nothing to wait for.
  uint64_t listRuns = 0;
  struct Event {
    Handle handle = nullptr;
    uint64_t recordedIn = 0;
  };
  std::unordered_map<int32_t, Event> events;
  std::unordered_map<const void *, Handle> functions; ///< by kernel

  Address arena = 0;
  int64_t arenaBytes = 0, bytesSent = 0, scratchBytes = 0;
  /// Device memory beside the arena that grows to what the largest call on a stream needs.
  struct Scratch {
    Address address = 0;
    int64_t bytes = 0;
  } scratch[para::runtime::cuda::numStreams];
  uint64_t scratchVersion = 0; ///< grows when memory of it is given back

  std::unique_ptr<para::runtime::cuda::Timeline> timeline;
  std::unique_ptr<para::runtime::cuda::Matmuls> matmuls;
  std::unique_ptr<para::runtime::cuda::Convolutions> convolutions;
  std::unique_ptr<para::runtime::cuda::Communicators> communicators;
  std::unique_ptr<para::runtime::cuda::Watch> watch; ///< null for a rank alone
  std::unique_ptr<para::runtime::cuda::StepGraphs> graphs;
  std::string *captureProblem = nullptr; ///< while streams are captured: what fails is told there

  para::runtime::cuda::Ranges ranges;
  const char *currentOp = nullptr;
  int32_t sequence = 0; ///< of the collective that was enqueued last; NCCL does not ask for it, a rehearsal does
  void enter(const char *op);
  /// Prints `para: rank 2: OP: cause` once for the job. From any thread.
  void tell(const char *op, const std::string &cause);
  /// Tells that, or in a capture notes it there, and returns the status for compiled code. The main thread's.
  para_status fail(const char *op, const std::string &cause, para_status status = PARA_ERROR);
  /// The status for a result of the driver; its text is the driver's.
  para_status check(const char *op, const char *what, int result);
  std::string driverError(const char *what, int result) const;
  /// Memory for a call on `stream`; 0 if there is none. Its last use comes before its next one: they are on one stream.
  Address scratchFor(int32_t stream, int64_t bytes);
  bool isStream(int32_t stream) const { return stream >= 0 && stream < para::runtime::cuda::numStreams; }

  para_context();
  ~para_context();
};

namespace para::runtime::cuda {

/// When operations ran on the GPU, for --trace: events around each, read at the end of the step.
class Timeline {
public:
  Timeline(para_context *ctx, Trace *trace) : ctx(ctx), trace(trace) {}
  ~Timeline();
  /// A row of its own, for what no stream of the program's is.
  int32_t addRow(const std::string &name) { return trace->addRow(name); }
  /// Nothing is under way: times are counted from here on.
  void restart();
  void begin(Handle stream);
  void end(const char *op, const char *category, int32_t number, Handle stream, int64_t bytes);
  /// After all streams are done.
  void collect();

private:
  struct Span {
    const char *op, *category;
    int32_t stream;
    int64_t bytes;
    Handle begin, end;
  };
  Handle take();
  para_context *ctx;
  Trace *trace;
  std::vector<Span> spans;
  std::vector<Handle> free, open;
  Handle base = nullptr;
  double baseSeconds = 0;
};

/// An operation on the compute stream was enqueued (Watch.h).
void noteProgress(para_context *ctx, const char *op);

/// Names the operation for other ranks and profilers, and records it for --trace. What runs on a stream that is not the program's is timed there.
class OpScope {
public:
  OpScope(para_context *ctx, int32_t stream, const char *op, const char *category, int64_t bytes = 0, bool isElsewhere = false)
      : ctx(ctx), op(op), category(category), stream(stream), isTimed(ctx->timeline && ctx->isStream(stream) && !isElsewhere), bytes(bytes) {
    ctx->enter(op);
    ctx->ranges.push(op);
    if (isTimed)
      ctx->timeline->begin(ctx->streams[stream]);
  }
  ~OpScope() {
    if (ctx->watch && stream == 0)
      noteProgress(ctx, op);
    if (isTimed)
      ctx->timeline->end(op, category, stream, ctx->streams[stream], bytes);
    ctx->ranges.pop();
  }

private:
  para_context *ctx;
  const char *op, *category;
  int32_t stream;
  bool isTimed;
  int64_t bytes;
};

/// The code in the program's image that fits a GPU of this compute capability (90 for 9.0).
struct ImagePart {
  const char *data = nullptr;
  uint32_t arch = 0;
  bool isMachineCode = false;
};
/// Machine code made for this GPU, else the newest PTX that it can translate; fails with what the image has.
Status chooseImage(const char *image, uint64_t bytes, uint32_t capability, ImagePart &part);

} // namespace para::runtime::cuda

#endif
