//===- Communicators.h - Collectives and messages by NCCL -------*- C++ -*-===//
//
// Communicators are split off one that holds all ranks, in the manifest's order, and after them a channel for each pair of
// stages of which one sends to the other. A channel carries messages in one direction and has a stream of its own, so that a
// send that waits for its receiver holds nothing else up. Messages of a channel arrive in the order in which they are sent,
// which is the order in which they are received (the compiler checks it).
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CUDA_COMMUNICATORS_H
#define PARA_RUNTIME_CUDA_COMMUNICATORS_H

#include "Context.h"

#include <map>

namespace para::runtime::cuda {

enum class CollectiveKind { AllReduce, AllGather, ReduceScatter, AllToAll };

class Communicators {
public:
  explicit Communicators(para_context *ctx) : ctx(ctx) {}
  ~Communicators();
  /// Collective over all ranks.
  Status create(const para_program &program);
  para_status run(CollectiveKind kind, int32_t stream, int32_t communicator, int32_t sequence, const void *in, void *out, int64_t count,
                  int32_t dtype, int32_t reduction, const char *op);
  para_status send(int32_t stream, int32_t axis, int64_t peer, int64_t tag, const void *buffer, int64_t bytes, const char *op);
  para_status receive(int32_t stream, int32_t axis, int64_t peer, void *buffer, int64_t bytes, const char *op);
  para_status wait(int64_t tag, const char *op);
  /// Streams of channels, for the end of a step.
  void addStreams(std::vector<Handle> &streams) const;
  /// Fails when NCCL has found an error since.
  para_status checkErrors(const char *op);

private:
  struct Group {
    Handle handle = nullptr; ///< null: this rank alone
    int64_t size = 1;
  };
  struct Channel {
    Handle handle = nullptr, stream = nullptr, before = nullptr, after = nullptr;
    int other = 0; ///< the other end's number in the channel
  };
  Status createGroup(const std::vector<int64_t> &members, Group &group);
  Status createChannels(const para_program &program);
  Status openChannel(Channel &channel);
  Channel *find(std::map<int64_t, Channel> &channels, int32_t axis, int64_t peer, const char *what, const char *op);
  /// Puts what comes next in the channel behind what was started on `stream` before.
  para_status follow(Channel &channel, int32_t stream, const char *what, const char *op);
  para_status check(const char *op, const char *what, int result);
  std::string error(const char *what, int result) const;
  para_status allToAll(const Group &group, Handle queue, const void *in, void *out, int64_t bytes, const char *op);
  para_context *ctx;
  Nccl nccl;
  Handle everyone = nullptr;
  std::vector<Group> groups;
  std::map<int64_t, Channel> outgoing, incoming; ///< by the other stage
  std::map<int64_t, Handle> sent;                ///< by tag: recorded behind the send
};

} // namespace para::runtime::cuda

#endif
