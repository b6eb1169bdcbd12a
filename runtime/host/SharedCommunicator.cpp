//===- SharedCommunicator.cpp - Collectives in shared memory ------------------===//
//
// Members meet, move data straight between arenas, and meet again before anyone touches its buffers:
//
//   all-reduce      each rank reduces its piece of all inputs and writes it into all outputs
//   reduce-scatter  each rank reduces its piece of all inputs into its output
//   all-gather,     each rank copies the others' parts into its output
//   all-to-all
//
// The order of a sum is the order of the members, whoever computes it: all ranks get the same bits.
//
//===----------------------------------------------------------------------===//
#include "Communicators.h"
#include "Reduce.h"
#include "Threads.h"

#include <algorithm>

namespace para::runtime {

/// Larger than the caches of usual machines.
static constexpr int64_t streamingBytes = 24 << 20;

namespace {
class SharedCommunicator : public Communicator {
public:
  para_status run(para_context *ctx, const Collective &call) override;

private:
  para_status meet(para_context *ctx, const Collective &call);
  para_status leave(para_context *ctx, const Collective &call);
  void ringOthers(para_context *ctx) {
    for (int64_t m = 0; m < size(); ++m)
      if (m != myIndex)
        ctx->control->ring(members[size_t(m)]);
  }
  CollectiveSlot &slot(para_context *ctx, int64_t member) { return ctx->control->slot(members[size_t(member)], index); }
  para_status failReduction(para_context *ctx, const Collective &call) {
    return ctx->fail(call.op, std::string("no reduction of this kind for ") + dtypeName(DType(call.dtype)));
  }
  uint64_t generation = 0;
  std::vector<const void *> sources;
  std::vector<void *> outs;
};
} // namespace

para_status SharedCommunicator::meet(para_context *ctx, const Collective &call) {
  CollectiveSlot &mine = slot(ctx, myIndex);
  mine.kind = int32_t(call.kind);
  mine.sequence = call.sequence;
  mine.dtype = call.dtype;
  mine.reduction = call.reduction;
  mine.count = call.count;
  mine.inOffset = call.in - ctx->arena;
  mine.outOffset = call.out - ctx->arena;
  strncpy(mine.op, call.op, sizeof(mine.op) - 1);
  mine.arrived.store(++generation, std::memory_order_release);
  ringOthers(ctx);
  for (int64_t m = 0; m < size(); ++m) {
    CollectiveSlot &theirs = slot(ctx, m);
    if (!waitUntil(ctx, members[size_t(m)], call.op,
                   [&] { return theirs.arrived.load(std::memory_order_acquire) >= generation; }))
      return PARA_PEER_FAILED;
    std::string mismatch = describeMismatch(call, ctx->rank, theirs.kind, theirs.sequence, theirs.count, theirs.dtype,
                                            theirs.reduction, theirs.op, members[size_t(m)]);
    if (!mismatch.empty())
      return ctx->fail(call.op, mismatch);
    sources[size_t(m)] = ctx->peerArenas[size_t(members[size_t(m)])] + theirs.inOffset;
    outs[size_t(m)] = ctx->peerArenas[size_t(members[size_t(m)])] + theirs.outOffset;
  }
  return PARA_OK;
}

para_status SharedCommunicator::leave(para_context *ctx, const Collective &call) {
  slot(ctx, myIndex).done.store(generation, std::memory_order_release);
  ringOthers(ctx);
  for (int64_t m = 0; m < size(); ++m)
    if (!waitUntil(ctx, members[size_t(m)], call.op,
                   [&] { return slot(ctx, m).done.load(std::memory_order_acquire) >= generation; }))
      return PARA_PEER_FAILED;
  return PARA_OK;
}

static void copyParallel(int64_t threads, char *to, const char *from, int64_t bytes) {
  parallelFor(threads, bytes, 1 << 19, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, size_t(end - begin));
  });
}

para_status SharedCommunicator::run(para_context *ctx, const Collective &call) {
  int64_t n = size(), part = call.bytes(call.count);
  int64_t inBytes = call.kind == CollectiveKind::AllGather || call.kind == CollectiveKind::AllReduce ? part : n * part;
  int64_t outBytes = call.kind == CollectiveKind::ReduceScatter || call.kind == CollectiveKind::AllReduce ? part
                                                                                                        : n * part;
  auto isInArena = [&](const char *at, int64_t bytes) {
    return at >= ctx->arena && at + bytes <= ctx->arena + ctx->arenaBytes;
  };
  if (!isInArena(call.in, inBytes) || !isInArena(call.out, outBytes))
    return ctx->fail(call.op, std::string(collectiveName(call.kind)) + ": a buffer is not in the arena");
  sources.resize(size_t(n));
  outs.resize(size_t(n));
  if (para_status status = meet(ctx, call))
    return status;

  // Peers read our input until all have left. Where our output covers other parts of it than those only we read, results
  // wait in scratch memory.
  bool overlaps = call.out < call.in + inBytes && call.in < call.out + outBytes;
  bool isInPlace = (call.kind == CollectiveKind::AllReduce && call.in == call.out) ||
                   (call.kind == CollectiveKind::ReduceScatter && call.out == call.in + myIndex * part) ||
                   (call.kind == CollectiveKind::AllGather && call.in == call.out + myIndex * part);
  bool isStaged = overlaps && !isInPlace;
  char *to = isStaged ? ctx->scratchFor(outBytes, call.op) : call.out;
  if (!to && outBytes)
    return PARA_ERROR;

  if (call.kind == CollectiveKind::AllReduce) {
    int64_t first = call.count * myIndex / n, last = call.count * (myIndex + 1) / n;
    if (isStaged)
      return ctx->fail(call.op, "all-reduce: input and output overlap in part");
    bool isFine = true;
    parallelFor(ctx->threads, last - first, 1 << 15, [&](int64_t begin, int64_t end) {
      if (!reduceInto(call.dtype, call.reduction, sources.data(), n, outs.data(), n, first + begin, first + end,
                      part > streamingBytes))
        isFine = false;
    });
    if (!isFine)
      return failReduction(ctx, call);
    // Sent: our input outside of our piece, and our reduced piece to everyone else.
    ctx->bytesSent += part - call.bytes(last - first) + (n - 1) * call.bytes(last - first);
  } else if (call.kind == CollectiveKind::ReduceScatter) {
    for (int64_t m = 0; m < n; ++m)
      sources[size_t(m)] = static_cast<const char *>(sources[size_t(m)]) + myIndex * part;
    void *out = to;
    bool isFine = true;
    parallelFor(ctx->threads, call.count, 1 << 15, [&](int64_t begin, int64_t end) {
      if (!reduceInto(call.dtype, call.reduction, sources.data(), n, &out, 1, begin, end))
        isFine = false;
    });
    if (!isFine)
      return failReduction(ctx, call);
    ctx->bytesSent += (n - 1) * part;
  } else {
    for (int64_t step = 0; step < n; ++step) {
      // Each rank begins with itself, so that not all read the same arena at once.
      int64_t m = (myIndex + step) % n;
      const char *from = static_cast<const char *>(sources[size_t(m)]) +
                         (call.kind == CollectiveKind::AllToAll ? myIndex * part : 0);
      if (from != to + m * part)
        copyParallel(ctx->threads, to + m * part, from, part);
    }
    ctx->bytesSent += (n - 1) * part;
  }
  if (para_status status = leave(ctx, call))
    return status;
  if (isStaged)
    copyParallel(ctx->threads, call.out, to, outBytes);
  return PARA_OK;
}

std::unique_ptr<Communicator> makeSharedCommunicator() { return std::make_unique<SharedCommunicator>(); }

} // namespace para::runtime
