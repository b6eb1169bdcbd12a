//===- Collective.h - Seconds of a collective on a machine --------*- C++ -*-===//
//
// Members of a communicator are every `stride`-th rank, which says what levels of links it crosses. Time is that of the best of the
// algorithms that libraries have: ring, tree, level by level, and in the network where it reduces; each by the protocol that is best for
// the size. After the tuning model of NCCL (src/graph/tuning.cc) and Thakur et al. 2005.
//
// Example: collectiveSeconds(machine, CollectiveKind::AllReduce, 1 << 30, /*ranks=*/8, /*stride=*/1).
//
//===----------------------------------------------------------------------===//
#ifndef PARA_COST_COLLECTIVE_H
#define PARA_COST_COLLECTIVE_H

#include "para/Cost/Machine.h"

#include <optional>

namespace para {

enum class CollectiveKind { AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, SendReceive };
llvm::StringRef getName(CollectiveKind kind);
std::optional<CollectiveKind> parseCollectiveKind(llvm::StringRef name);

/// Of `ranks` members; all communicators of this kind that partition the machine run at once. `bytes` are of the larger buffer of one
/// member: the gathered one, the one to be scattered; for all-to-all the one that it sends, for a send the message. SendReceive is from
/// each rank to the one `stride` after it, whatever `ranks` is above 1. One rank alone needs no time. On a machine of several classes the
/// slowest decides. Of an all-to-all, `copies` of each row go to members taken at random, and of those for one block of ranks one copy
/// enters it.
double collectiveSeconds(const Machine &machine, CollectiveKind kind, double bytes, int64_t ranks, int64_t stride, double copies = 1);

/// By the member that sends most, with rings.
double sentBytes(CollectiveKind kind, double bytes, int64_t ranks);

/// How many of `ranks` members, every `stride`-th rank, a block of `joined` ranks has, where communicators partition `total` ranks and the
/// blocks do too: of the communicator which straddles blocks most.
int64_t getMembersInside(int64_t joined, int64_t ranks, int64_t stride, int64_t total);

} // namespace para

#endif
