//===- Communicators.h - Collectives and messages by NCCL -------*- C++ -*-===//
//
// Communicators are split off one that holds all ranks, in the manifest's order, and after them the manifest's channels, one for each pair of
// stages of which one sends to the other, or several. A channel carries messages in one direction and has a stream of its own, so that a
// send that waits for its receiver holds nothing else up. Messages of a channel arrive in the order in which they are sent,
// which is the order in which they are received: the compiler makes as many channels as that takes.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CUDA_COMMUNICATORS_H
#define PARA_RUNTIME_CUDA_COMMUNICATORS_H

#include "Watch.h"

#include <map>
#include <set>

namespace para::runtime::cuda {

enum class CollectiveKind { AllReduce, AllGather, ReduceScatter, AllToAll };

class Communicators {
public:
  explicit Communicators(para_context *ctx) : ctx(ctx) {}
  ~Communicators();
  /// NCCL's library, where there are several ranks. Collective over all ranks.
  Status load();
  /// The arena, which NCCL knows of from here on where it can. The result is the driver's.
  int allocateArena();
  void freeArena();
  /// Collective over all ranks, behind both.
  Status create();
  /// "has its arena registered with ...", for --verbose.
  std::string registrationText() const;
  para_status run(CollectiveKind kind, int32_t stream, int32_t communicator, int32_t sequence, const void *in, void *out, int64_t count,
                  int32_t dtype, int32_t reduction, const char *op);
  para_status send(int32_t stream, int32_t axis, int64_t peer, int64_t tag, const void *buffer, int64_t bytes, const char *op);
  para_status receive(int32_t stream, int32_t axis, int64_t peer, int64_t tag, void *buffer, int64_t bytes, const char *op);
  para_status wait(int64_t tag, const char *op);
  /// Streams of channels, for the end of a step.
  void addStreams(std::vector<Handle> &streams) const;
  /// What NCCL has found while it ran, as a sentence; empty if nothing. From any thread.
  std::string findError() const;
  /// Ends what is under way; nothing can be enqueued after. From any thread.
  void abort();

private:
  struct Group {
    Handle handle = nullptr; ///< null: this rank alone
    int64_t size = 1;
  };
  struct Channel {
    Handle handle = nullptr, stream = nullptr, before = nullptr, after = nullptr;
    int other = 0;    ///< the other end's number in the channel
    int32_t line = 0; ///< as Manifest::lines counts
    int32_t row = 0;  ///< of the trace
    std::set<int64_t> tags; ///< whose messages it carries; none: what other channels do not
  };
  using Channels = std::map<int64_t, std::vector<Channel>>;
  Status createGroup(const std::vector<int64_t> &members, Group &group);
  Status createChannels();
  Status openChannel(Channel &channel);
  Channel *find(Channels &channels, int32_t axis, int64_t peer, int64_t tag, const char *what, const char *op);
  /// Puts what comes next in the channel behind what was started on `stream` before.
  para_status follow(Channel &channel, int32_t stream, const char *what, const char *op);
  para_status check(const char *op, const char *what, int result);
  /// Enqueues a communication on a stream so that the watch knows of it.
  template <typename Enqueue> para_status watched(Handle stream, const Communication &what, Enqueue enqueue) {
    if (para_status status = ctx->watch->begin(stream, what))
      return status;
    if (para_status status = check(what.op, what.kind, enqueue()))
      return status;
    return ctx->watch->end(stream, what);
  }
  template <typename Visit> void forEach(Visit visit) const;
  void registerArena();
  void deregisterArena();
  std::string error(const char *what, int result) const;
  int allToAll(const Group &group, Handle queue, const void *in, void *out, int64_t bytes);
  para_context *ctx;
  Nccl nccl;
  Handle everyone = nullptr;
  std::atomic<bool> isAborted{false};
  bool arenaIsNccls = false;                            ///< ncclMemAlloc made it
  std::vector<std::pair<Handle, Handle>> registrations; ///< communicator, registration
  std::string whyUnregistered;
  std::vector<Group> groups;
  Channels outgoing, incoming; ///< by the other stage
  std::map<int64_t, para_context::Event> sent;   ///< by tag: recorded behind the send
};

} // namespace para::runtime::cuda

#endif
