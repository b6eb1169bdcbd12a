//===- DeviceMesh.h - Meshes that explain which device has what ---*- C++ -*-===//
//
// A file says of each device which shard of a tensor it has; a plan says which axes of a mesh cut a dimension. Ranks of a mesh are numbered
// with the last axis innermost.
//
// Example: shards {0, 0, 1, 1} of a grid {2} are a cut over the first axis of a mesh {2, 2}; {0, 1, 0, 1} over the second; {0, 1, 1, 0} over none.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PLAN_DEVICEMESH_H
#define PARA_PLAN_DEVICEMESH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace para {

/// For each dimension of a grid of shards, numbers of the axes that cut it, outermost first.
using GridAxes = std::vector<llvm::SmallVector<unsigned, 2>>;

/// The axes of a mesh of `sizes` that cut a tensor into `grid` shards (numbered row-major) such that rank r has the shard `shardOf[r]`; none if no
/// axes do. There is one answer at most: axes of one rank cut nothing.
std::optional<GridAxes> explainShards(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> grid, llvm::ArrayRef<int32_t> shardOf);

/// All sizes of `axes` axes whose product is `ranks`, in lexicographic order from the largest first axis on.
std::vector<llvm::SmallVector<int64_t>> getMeshes(int64_t ranks, unsigned axes);

} // namespace para

#endif
