//===- Context.h - One rank of the host back end ----------------*- C++ -*-===//
#ifndef PARA_RUNTIME_HOST_CONTEXT_H
#define PARA_RUNTIME_HOST_CONTEXT_H

#include "core/Device.h"
#include "core/Shard.h"

#include <memory>

namespace para::runtime {
class MatmulCache;
class ConvolutionCache;
class Communicators;
class Messages;
} // namespace para::runtime

struct para_context {
  const para::runtime::Manifest *manifest = nullptr;
  para::runtime::World *world = nullptr;
  para::runtime::Trace *trace = nullptr;
  const para::runtime::ControlBlock *control = nullptr; ///< null when ranks are on several hosts
  int64_t rank = 0, threads = 1;
  bool coresAreScarce = false;
  std::vector<int64_t> coordinates;

  char *arena = nullptr;
  int64_t arenaBytes = 0;
  /// Peers' arenas by rank; null where not mapped.
  std::vector<char *> peerArenas;

  int64_t bytesSent = 0;
  /// Grows to what the largest call needs, so that later steps allocate nothing; what was in it is lost then. Begins at a page.
  /// Null where there is no memory, which is reported.
  char *scratchFor(int64_t bytes, const char *op);
  char *scratch = nullptr;
  int64_t scratchBytes = 0;

  std::unique_ptr<para::runtime::MatmulCache> matmuls;
  std::unique_ptr<para::runtime::ConvolutionCache> convolutions;
  std::unique_ptr<para::runtime::Communicators> communicators;
  std::unique_ptr<para::runtime::Messages> messages;

  const char *currentOp = nullptr;
  /// Tells other ranks what this one does.
  void enter(const char *op) {
    if (op == currentOp || !control)
      return;
    currentOp = op;
    char *text = control->rank(rank).op;
    strncpy(text, op, sizeof(control->rank(rank).op) - 1);
  }
  /// Prints `para: rank 2: OP: cause` once for the job and returns the status for compiled code.
  para_status fail(const char *op, const std::string &cause, para_status status = PARA_ERROR);

  para_context();
  ~para_context();
};

namespace para::runtime {

/// Names the operation for other ranks and records it for --trace.
class OpScope {
public:
  OpScope(para_context *ctx, int32_t stream, const char *op, const char *category, int64_t bytes = 0)
      : ctx(ctx), op(op), category(category), stream(stream), bytes(bytes) {
    ctx->enter(op);
    if (ctx->trace)
      began = nowSeconds();
  }
  ~OpScope() {
    if (ctx->trace)
      ctx->trace->record(op, category, stream, began, nowSeconds(), bytes);
  }

private:
  para_context *ctx;
  const char *op, *category;
  int32_t stream;
  int64_t bytes;
  double began = 0;
};

/// Waits until done() holds; false when another rank has failed. `waitedFor` is that rank, or -1, for the note about a stuck
/// peer.
template <typename Done> bool waitUntil(para_context *ctx, int64_t waitedFor, const char *op, Done done);

/// One line to stderr about a peer that does not come, at most once a wait.
void reportSlowPeer(para_context *ctx, int64_t waitedFor, const char *op, double seconds);

template <typename Done> bool waitUntil(para_context *ctx, int64_t waitedFor, const char *op, Done done) {
  Waiter waiter(ctx->control ? &ctx->control->rank(ctx->rank) : nullptr, ctx->coresAreScarce);
  double noteAfterSeconds = 20;
  while (!done()) {
    waiter.pause();
    if (!waiter.isSlow())
      continue;
    if (ctx->control && ctx->control->failedRank() >= 0)
      return false;
    if (double seconds = waiter.seconds(); seconds > noteAfterSeconds) {
      reportSlowPeer(ctx, waitedFor, op, seconds);
      noteAfterSeconds *= 4;
    }
  }
  return true;
}

} // namespace para::runtime

#endif
