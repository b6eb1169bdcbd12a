//===- Sharding.h - Arithmetic of shardings ----------------------*- C++ -*-===//
//
// Plain values for what #para.sharding says, and the sizes that follow. An axis of size n cuts a range of g units into n pieces
// of ceil(g / n): everything about uneven shards follows from that one rule.
//
// Example: 7 rows over data=4 are 2 rows a rank locally, of which the last rank has one valid.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_IR_SHARDING_H
#define PARA_IR_SHARDING_H

#include "para/IR/ParaDialect.h"

namespace para {

using Axis = mlir::StringAttr;
using Axes = llvm::SmallVector<Axis, 2>;

/// The coordinate in time: a step runs its microbatches one after the other.
constexpr llvm::StringLiteral kMicrobatch = "microbatch";

struct DimSharding {
  Axes axes;
  int64_t unit = 1;
  int64_t blocks = 1;

  bool operator==(const DimSharding &other) const { return axes == other.axes && unit == other.unit && blocks == other.blocks; }
  bool operator!=(const DimSharding &other) const { return !(*this == other); }

  /// Elements of the padded local dimension.
  int64_t getLocalSize(int64_t size, MeshAttr mesh) const;
  /// Whether some shard is shorter than the padded size.
  bool hasPadding(int64_t size, MeshAttr mesh) const;
  /// The same cut in its simplest words: where all pieces are equal, the unit does not matter.
  DimSharding getCanonical(int64_t size, MeshAttr mesh) const;
};

struct Sharding {
  std::vector<DimSharding> dims;
  Axes partial; ///< sorted by name
  ReductionKind reduction = ReductionKind::Sum;

  static Sharding replicated(int64_t rank) { return {std::vector<DimSharding>(rank), {}, ReductionKind::Sum}; }
  static Sharding get(ShardingAttr attr);
  ShardingAttr getAttr(mlir::MLIRContext *ctx) const;

  bool operator==(const Sharding &other) const {
    return dims == other.dims && partial == other.partial && (partial.empty() || reduction == other.reduction);
  }
  bool operator!=(const Sharding &other) const { return !(*this == other); }

  bool isPartial(llvm::StringRef axis) const;
  /// Whether `axis` cuts some dimension.
  bool isCut(llvm::StringRef axis) const;
  void addPartial(Axis axis);
  void removePartial(llvm::StringRef axis);
  mlir::RankedTensorType getLocalType(mlir::RankedTensorType global, MeshAttr mesh) const;
  Sharding getCanonical(mlir::RankedTensorType global, MeshAttr mesh) const;
};

} // namespace para

#endif
