//===- ShardingSpecs.h - ONNX's words for shardings ----------------*- C++ -*-===//
#ifndef PARA_LIB_PLAN_SHARDINGSPECS_H
#define PARA_LIB_PLAN_SHARDINGSPECS_H

#include "para/IR/Sharding.h"
#include "para/Import/ModelOutline.h"

#include "llvm/Support/Error.h"

namespace para {

/// A tensor's cuts without axes: into how many shards each dimension that is cut falls, of which units, in each of how many blocks.
struct SpecCuts {
  struct Cut {
    int64_t dim, shards, unit, blocks;
  };
  std::vector<Cut> cuts; ///< in the order in which shards are numbered
  std::vector<int64_t> getGrid() const;
};

/// What `spec` says of a tensor of `shape`. The error is the end of a sentence about the tensor.
llvm::Expected<SpecCuts> readSpec(const ShardingSpec &spec, llvm::ArrayRef<int64_t> shape);

/// Dimensions of a spec for a sharding without partial sums; sizes are given where a dimension falls into blocks or units.
std::vector<ShardingSpec::Dim> writeSpec(const Sharding &sharding, llvm::ArrayRef<int64_t> shape, MeshAttr mesh);

/// The number of the shard that each rank of `stage` has.
DeviceShards getShards(const Sharding &sharding, int64_t stage, MeshAttr mesh);

/// As a tensor is spread at one time: without axes of microbatches, in its simplest words.
Sharding withoutMicrobatches(Sharding sharding, mlir::RankedTensorType type, MeshAttr mesh);

} // namespace para

#endif
