//===- Watch.h - Communication that does not get on -------------*- C++ -*-===//
//
// NCCL waits for ever for a rank that does not come. So the device itself notes, in pinned memory, where it is: a word a stream, written before
// and behind each communication, by copies out of a table of numbers that are part of a CUDA graph as everything else is. A thread of each rank reads
// the words, tells the other ranks that this one gets on (World), and asks NCCL for errors, whatever the host program does meanwhile. Where a
// communication has begun and no rank has got on for PARA_COMMUNICATION_TIMEOUT seconds, it names the communication and who has not come to it,
// and ends the job. A rank whose host program works between steps, for however long, gets on; one that is stopped does not.
// Under mpirun on several hosts ranks do not know how far others got: there it may work for six times as long as that, and no longer.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CUDA_WATCH_H
#define PARA_RUNTIME_CUDA_WATCH_H

#include "Context.h"

#include <atomic>
#include <mutex>
#include <thread>

namespace para::runtime::cuda {

/// A collective or a message, as the program names it.
struct Communication {
  const char *op = nullptr, *kind = nullptr; ///< "blocks.0.mlp", "all-reduce"
  int32_t line = 0;                          ///< as Manifest::lines counts
  int32_t sequence = -1;                     ///< of a collective
};

class Watch {
public:
  /// What the host program is doing: starting NCCL, something of its own, enqueuing a step, waiting for one.
  enum class Phase : int { Starts, Works, Enqueues, Waits };
  /// What one list of actions enqueues; the same each time it runs.
  struct Calls {
    struct Entry {
      Communication what;
      size_t lane;
      uint32_t mark;   ///< of its end in the lane; one less of its beginning
      uint64_t number; ///< of its line, from 1
    };
    std::vector<Entry> entries;
    std::vector<uint32_t> marks;   ///< by lane
    std::vector<uint64_t> numbers; ///< by line
    uint32_t ticks = 0;
  };

  explicit Watch(para_context *ctx) : ctx(ctx) {}
  ~Watch();
  Status start();
  /// Joins the thread; communicators may be closed then.
  void stop();
  void addLane(Handle stream) {
    std::lock_guard<std::mutex> lock(mutex);
    lanes.push_back(stream);
  }
  void enter(Phase next) { phase = next; }
  /// One of NCCL's steps at the start is done.
  void finishStartStep() { ++startSteps; }

  /// Before a list is enqueued, or a graph with these calls is launched. Nothing is under way.
  void beginList(std::shared_ptr<Calls> known = nullptr);
  /// After the list was enqueued: what it was.
  std::shared_ptr<Calls> calls() const { return current; }
  /// Everything of it is done.
  void endList();
  /// Around the calls that enqueue a communication on a stream.
  para_status begin(Handle stream, const Communication &what);
  para_status end(Handle stream, const Communication &what);
  /// An operation on the compute stream. Now and then the device notes that it got so far.
  para_status tick(const char *op);
  /// This rank has told of a failure, or knows of one.
  bool hasFailed() const { return failed; }

private:
  void run();
  bool look(double seconds);
  bool reportStuck(double seconds);
  void report(const char *op, const std::string &cause);
  const Calls::Entry *oldest() const;
  std::string nameOf(const Communication &what) const;
  std::string whoIsMissing(const Communication &what, uint64_t number) const;
  std::string whereIsRank(int64_t rank) const;
  std::string whereIsAlone(int64_t rank) const;
  void publish(bool gotOn);
  /// A rehearsal leaves the word undefined, as it may, from when the first copy is enqueued until it runs.
  uint32_t wordOf(size_t lane) const {
    uint32_t word = words[lane].load(std::memory_order_relaxed);
    return word == ~0u ? 0 : word;
  }
  para_status growNumbers(uint32_t atLeast, const char *op);
  para_status note(size_t lane, uint32_t value, const char *op);
  size_t laneOf(Handle stream) const;

  para_context *ctx;
  std::atomic<uint32_t> *words = nullptr; ///< pinned: one a lane, the last one counts ticks
  size_t ticksLane = 0;                   ///< behind all lanes that can be added
  std::vector<Address> tables; ///< in device memory: 0, 1, 2 ...; graphs may use the shorter ones still
  uint32_t numbers = 0;        ///< how many the last one has
  std::vector<Handle> lanes;
  std::vector<uint64_t> base; ///< by line: of the lists before
  mutable std::mutex mutex;   ///< of `lanes`, `current` and what it has, `base`
  std::shared_ptr<Calls> current;
  Communication enqueuing; ///< op is null while none is
  uint64_t lists = 0;      ///< begun so far
  std::atomic<Phase> phase{Phase::Starts};
  std::atomic<uint64_t> startSteps{0};
  std::atomic<bool> failed{false}, isStopping{false};
  std::thread thread;
  double timeoutSeconds = 0;
  // The thread's own.
  double quietSeconds = 0, connectSeconds = 0;
  uint64_t totalSeen = 0, localSeen = 0, published = 0;
};

} // namespace para::runtime::cuda

#endif
