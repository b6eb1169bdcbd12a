//===- Communicators.h - Collectives of the host back end -------*- C++ -*-===//
//
// Two transports give the same results bit for bit where they sum in the same order: shared memory, where each rank reduces
// its piece out of its peers' arenas, and rings over MPI. Both move the textbook's bytes: 2 (n - 1) / n of the buffer for
// an all-reduce, (n - 1) / n for the others, and that is what is counted.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_HOST_COMMUNICATORS_H
#define PARA_RUNTIME_HOST_COMMUNICATORS_H

#include "Context.h"

namespace para::runtime {

enum class CollectiveKind : int32_t { AllReduce, AllGather, ReduceScatter, AllToAll };
const char *collectiveName(CollectiveKind kind);

/// One call of compiled code.
struct Collective {
  CollectiveKind kind;
  int32_t sequence;
  const char *in;
  char *out;
  int64_t count;
  int32_t dtype, reduction;
  const char *op;
  int64_t bytes(int64_t elements) const { return elements * elementBytes(DType(dtype)); }
};

class Communicator {
public:
  virtual ~Communicator() = default;
  virtual para_status run(para_context *ctx, const Collective &call) = 0;
  std::vector<int64_t> members; ///< global ranks
  int64_t myIndex = 0, index = 0;
  int64_t size() const { return int64_t(members.size()); }
};

class Communicators {
public:
  Status create(para_context *ctx);
  para_status run(para_context *ctx, int32_t stream, int32_t communicator, const Collective &call);

private:
  std::vector<std::unique_ptr<Communicator>> list;
};

std::unique_ptr<Communicator> makeSharedCommunicator();
/// Collective over all ranks of the job.
std::unique_ptr<Communicator> makeMpiCommunicator(int64_t color, int64_t key);

/// What the members of a communicator compare before they move data; the text of the first difference, or empty.
std::string describeMismatch(const Collective &mine, int64_t myRank, int32_t kind, int32_t sequence, int64_t count,
                             int32_t dtype, int32_t reduction, const char *op, int64_t rank);

} // namespace para::runtime

#endif
