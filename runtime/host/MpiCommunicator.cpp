//===- MpiCommunicator.cpp - Ring collectives over MPI ------------------------===//
//
// Rings: each rank talks to its two neighbours and sends every piece but one (twice for an all-reduce), which no algorithm
// undercuts. All ranks take a piece of the result from the one that summed it, so that they get the same bits.
//
//===----------------------------------------------------------------------===//
#include "Communicators.h"
#include "MpiSupport.h"
#include "Reduce.h"
#include "Threads.h"

namespace para::runtime {

namespace {
class MpiCommunicator : public Communicator {
public:
  MpiCommunicator(int64_t color, int64_t key) { MPI_Comm_split(MPI_COMM_WORLD, int(color), int(key), &communicator); }
  ~MpiCommunicator() override {
    int isFinalized = 0;
    MPI_Finalized(&isFinalized);
    if (!isFinalized)
      MPI_Comm_free(&communicator);
  }
  para_status run(para_context *ctx, const Collective &call) override;

private:
  para_status checkNeighbour(para_context *ctx, const Collective &call);
  para_status allReduce(para_context *ctx, const Collective &call);
  para_status allGather(para_context *ctx, const Collective &call);
  para_status reduceScatter(para_context *ctx, const Collective &call);
  para_status allToAll(para_context *ctx, const Collective &call);
  /// Around the ring: to the right, from the left.
  para_status pass(para_context *ctx, const Collective &call, const char *out, int64_t outBytes, char *in,
                   int64_t inBytes) {
    int64_t left = wrap(myIndex - 1);
    ctx->bytesSent += outBytes;
    return exchangeBytes(ctx, communicator, int(wrap(myIndex + 1)), out, outBytes, int(left), in, inBytes, 1,
                         members[size_t(left)], call.op);
  }
  int64_t wrap(int64_t i) const { return (i % size() + size()) % size(); }
  bool reduce(para_context *ctx, const Collective &call, const char *received, const char *mine, char *to,
              int64_t count) {
    const void *sources[] = {received, mine};
    void *outs[] = {to};
    bool isFine = true;
    parallelFor(ctx->threads, count, 1 << 15, [&](int64_t begin, int64_t end) {
      if (!reduceInto(call.dtype, call.reduction, sources, 2, outs, 1, begin, end))
        isFine = false;
    });
    if (!isFine)
      ctx->fail(call.op, std::string("no reduction of this kind for ") + dtypeName(DType(call.dtype)));
    return isFine;
  }
  MPI_Comm communicator = MPI_COMM_NULL;
};

struct Header {
  int32_t kind, sequence, dtype, reduction;
  int64_t count;
  char op[104];
};
} // namespace

para_status MpiCommunicator::checkNeighbour(para_context *ctx, const Collective &call) {
  Header mine{int32_t(call.kind), call.sequence, call.dtype, call.reduction, call.count, {}}, theirs{};
  strncpy(mine.op, call.op, sizeof(mine.op) - 1);
  int64_t left = wrap(myIndex - 1);
  if (para_status status = exchangeBytes(ctx, communicator, int(wrap(myIndex + 1)), &mine, sizeof(mine), int(left),
                                         &theirs, sizeof(theirs), 2, members[size_t(left)], call.op))
    return status;
  std::string mismatch = describeMismatch(call, ctx->rank, theirs.kind, theirs.sequence, theirs.count, theirs.dtype,
                                          theirs.reduction, theirs.op, members[size_t(left)]);
  return mismatch.empty() ? PARA_OK : ctx->fail(call.op, mismatch);
}

para_status MpiCommunicator::allReduce(para_context *ctx, const Collective &call) {
  int64_t n = size();
  auto begin = [&](int64_t piece) { return call.count * wrap(piece) / n; };
  auto count = [&](int64_t piece) { return call.count * (wrap(piece) + 1) / n - begin(piece); };
  int64_t scratchBytes = call.bytes((call.count + n - 1) / n);
  char *scratch = ctx->scratchFor(scratchBytes, call.op);
  if (!scratch && scratchBytes)
    return PARA_ERROR;
  if (call.in != call.out)
    std::memmove(call.out, call.in, size_t(call.bytes(call.count)));
  for (int64_t step = 0; step < n - 1; ++step) {
    int64_t sent = myIndex - step, got = sent - 1;
    char *mine = call.out + call.bytes(begin(got));
    if (para_status status = pass(ctx, call, call.out + call.bytes(begin(sent)), call.bytes(count(sent)), scratch,
                                  call.bytes(count(got))))
      return status;
    if (!reduce(ctx, call, scratch, mine, mine, count(got)))
      return PARA_ERROR;
  }
  for (int64_t step = 0; step < n - 1; ++step) {
    int64_t sent = myIndex + 1 - step, got = sent - 1;
    if (para_status status = pass(ctx, call, call.out + call.bytes(begin(sent)), call.bytes(count(sent)),
                                  call.out + call.bytes(begin(got)), call.bytes(count(got))))
      return status;
  }
  return PARA_OK;
}

para_status MpiCommunicator::allGather(para_context *ctx, const Collective &call) {
  int64_t part = call.bytes(call.count);
  if (call.in != call.out + myIndex * part)
    std::memmove(call.out + myIndex * part, call.in, size_t(part));
  for (int64_t step = 0; step < size() - 1; ++step)
    if (para_status status = pass(ctx, call, call.out + wrap(myIndex - step) * part, part,
                                  call.out + wrap(myIndex - step - 1) * part, part))
      return status;
  return PARA_OK;
}

para_status MpiCommunicator::reduceScatter(para_context *ctx, const Collective &call) {
  int64_t part = call.bytes(call.count);
  char *received = ctx->scratchFor(2 * part, call.op), *sum = received + part;
  if (!received && part)
    return PARA_ERROR;
  std::memcpy(sum, call.in + wrap(myIndex - 1) * part, size_t(part));
  for (int64_t step = 0; step < size() - 1; ++step) {
    if (para_status status = pass(ctx, call, sum, part, received, part))
      return status;
    if (!reduce(ctx, call, received, call.in + wrap(myIndex - step - 2) * part, sum, call.count))
      return PARA_ERROR;
  }
  std::memcpy(call.out, sum, size_t(part));
  return PARA_OK;
}

para_status MpiCommunicator::allToAll(para_context *ctx, const Collective &call) {
  int64_t part = call.bytes(call.count), n = size();
  const char *in = call.in;
  if (call.out < call.in + n * part && call.in < call.out + n * part) {
    char *scratch = ctx->scratchFor(n * part, call.op);
    if (!scratch)
      return PARA_ERROR;
    std::memcpy(scratch, call.in, size_t(n * part));
    in = scratch;
  }
  std::memcpy(call.out + myIndex * part, in + myIndex * part, size_t(part));
  for (int64_t step = 1; step < n; ++step) {
    int64_t to = wrap(myIndex + step), from = wrap(myIndex - step);
    ctx->bytesSent += part;
    if (para_status status = exchangeBytes(ctx, communicator, int(to), in + to * part, part, int(from),
                                           call.out + from * part, part, 1, members[size_t(from)], call.op))
      return status;
  }
  return PARA_OK;
}

para_status MpiCommunicator::run(para_context *ctx, const Collective &call) {
  if (para_status status = checkNeighbour(ctx, call))
    return status;
  switch (call.kind) {
  case CollectiveKind::AllReduce: return allReduce(ctx, call);
  case CollectiveKind::AllGather: return allGather(ctx, call);
  case CollectiveKind::ReduceScatter: return reduceScatter(ctx, call);
  case CollectiveKind::AllToAll: return allToAll(ctx, call);
  }
  return PARA_ERROR;
}

std::unique_ptr<Communicator> makeMpiCommunicator(int64_t color, int64_t key) {
  return std::make_unique<MpiCommunicator>(color, key);
}

} // namespace para::runtime
