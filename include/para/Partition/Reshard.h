//===- Reshard.h - The cheapest way from one sharding to another -*- C++ -*-===//
//
// States are shardings of one value; moves are a slice (free), an all-gather, a reduce-scatter, an all-reduce and an
// all-to-all. The search is Dijkstra over bytes sent, then over the number of moves; ties go to the earlier move, so the answer
// is always the same. Only axes that one of the two shardings names are used: cutting by a further axis and gathering again can save bytes
// of an all-reduce, for two more messages, and is a matter of the collectives stage.
//
// Example: partial over data to rows cut by data is one reduce-scatter, not an all-reduce and a slice.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PARTITION_RESHARD_H
#define PARA_PARTITION_RESHARD_H

#include "para/IR/Sharding.h"

#include "llvm/ADT/StringMap.h"

namespace para {

struct ReshardMove {
  enum Kind { Slice, AllGather, ReduceScatter, AllReduce, AllToAll } kind;
  Axis axis;
  int64_t from = -1; ///< dimension that loses the axis
  int64_t to = -1;   ///< dimension that gets it
  Sharding result;
};

struct ReshardPath {
  std::vector<ReshardMove> moves;
  int64_t bytes = 0; ///< sent by one rank
};

/// Finds the path; null if there is none (a partial value cannot come from a whole one).
std::optional<ReshardPath> findReshardPath(mlir::RankedTensorType global, const Sharding &from, const Sharding &to, MeshAttr mesh);

/// Finds paths in one mesh and remembers them: layers ask the same again and again.
class ReshardFinder {
public:
  explicit ReshardFinder(MeshAttr mesh) : mesh(mesh) {}
  const std::optional<ReshardPath> &find(mlir::RankedTensorType global, const Sharding &from, const Sharding &to);

private:
  MeshAttr mesh;
  llvm::StringMap<std::optional<ReshardPath>> found;
};

} // namespace para

#endif
