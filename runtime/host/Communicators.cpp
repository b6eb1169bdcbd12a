//===- Communicators.cpp - Collectives of the host back end -------------------===//
#include "Communicators.h"

#include "Threads.h"

#include <algorithm>

using namespace para::runtime;

namespace para::runtime {

const char *collectiveName(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce: return "all-reduce";
  case CollectiveKind::AllGather: return "all-gather";
  case CollectiveKind::ReduceScatter: return "reduce-scatter";
  case CollectiveKind::AllToAll: return "all-to-all";
  }
  return "collective";
}

std::string describeMismatch(const Collective &mine, int64_t myRank, int32_t kind, int32_t sequence, int64_t count,
                             int32_t dtype, int32_t reduction, const char *op, int64_t rank) {
  if (int32_t(mine.kind) == kind && mine.sequence == sequence && mine.count == count && mine.dtype == dtype &&
      mine.reduction == reduction)
    return "";
  auto describe = [](int64_t who, int32_t kind, int32_t sequence, int64_t count, int32_t dtype, const char *op) {
    return format("rank %lld runs %s sequence %d of %lld %s in '%s'", (long long)who,
                  collectiveName(CollectiveKind(kind)), sequence, (long long)count,
                  dtype >= 0 && dtype <= PARA_BOOL ? dtypeName(DType(dtype)) : "?", op);
  };
  return "the ranks do not agree: " +
         describe(myRank, int32_t(mine.kind), mine.sequence, mine.count, mine.dtype, mine.op) + ", " +
         describe(rank, kind, sequence, count, dtype, op);
}

Status Communicators::create(para_context *ctx) {
  for (size_t i = 0; i < ctx->manifest->communicators.size(); ++i) {
    std::vector<int64_t> members = ctx->manifest->members(i, ctx->rank);
    int64_t mine = std::find(members.begin(), members.end(), ctx->rank) - members.begin();
    std::unique_ptr<Communicator> made =
        ctx->control ? makeSharedCommunicator()
                 : makeMpiCommunicator(*std::min_element(members.begin(), members.end()), mine);
    made->members = std::move(members);
    made->myIndex = mine;
    made->index = int64_t(i);
    list.push_back(std::move(made));
  }
  return Status::success();
}

para_status Communicators::run(para_context *ctx, int32_t stream, int32_t communicator, const Collective &call) {
  if (communicator < 0 || size_t(communicator) >= list.size())
    return ctx->fail(call.op, "the manifest has no communicator " + std::to_string(communicator));
  if (call.dtype < 0 || call.dtype > PARA_BOOL)
    return ctx->fail(call.op, "unknown element type " + std::to_string(call.dtype));
  Communicator &group = *list[size_t(communicator)];
  OpScope scope(ctx, stream, call.op, collectiveName(call.kind), call.bytes(call.count));
  if (ctx->control)
    ctx->control->rank(ctx->rank).sequence.store(call.sequence, std::memory_order_relaxed);
  para_status status = PARA_OK;
  if (group.size() == 1) {
    if (call.in != call.out)
      std::memmove(call.out, call.in, size_t(call.bytes(call.count)));
  } else {
    status = group.run(ctx, call);
  }
  if (ctx->control && status == PARA_OK)
    ctx->control->rank(ctx->rank).sequence.store(-1, std::memory_order_relaxed);
  return status;
}

} // namespace para::runtime

static para_status run(para_context *ctx, int32_t stream, int32_t communicator, CollectiveKind kind, int32_t sequence,
                       const void *in, void *out, int64_t count, int32_t dtype, int32_t reduction, const char *op) {
  return ctx->communicators->run(
      ctx, stream, communicator,
      {kind, sequence, static_cast<const char *>(in), static_cast<char *>(out), count, dtype, reduction, op});
}

para_status para_all_reduce(para_context *ctx, int32_t stream, int32_t communicator, int32_t sequence, const void *in,
                            void *out, int64_t count, int32_t dtype, int32_t reduction, const char *op) {
  return run(ctx, stream, communicator, CollectiveKind::AllReduce, sequence, in, out, count, dtype, reduction, op);
}
para_status para_all_gather(para_context *ctx, int32_t stream, int32_t communicator, int32_t sequence, const void *in,
                            void *out, int64_t count, int32_t dtype, const char *op) {
  return run(ctx, stream, communicator, CollectiveKind::AllGather, sequence, in, out, count, dtype, 0, op);
}
para_status para_reduce_scatter(para_context *ctx, int32_t stream, int32_t communicator, int32_t sequence,
                                const void *in, void *out, int64_t count, int32_t dtype, int32_t reduction,
                                const char *op) {
  return run(ctx, stream, communicator, CollectiveKind::ReduceScatter, sequence, in, out, count, dtype, reduction, op);
}
para_status para_all_to_all(para_context *ctx, int32_t stream, int32_t communicator, int32_t sequence, const void *in,
                            void *out, int64_t count, int32_t dtype, const char *op) {
  return run(ctx, stream, communicator, CollectiveKind::AllToAll, sequence, in, out, count, dtype, 0, op);
}
