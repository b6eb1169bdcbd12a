//===- ReshardEmitter.h - Moves of a reshard path as ops ---------*- C++ -*-===//
#ifndef PARA_LIB_PARTITION_RESHARDEMITTER_H
#define PARA_LIB_PARTITION_RESHARDEMITTER_H

#include "para/Ops/CollectiveBuilder.h"
#include "para/Partition/Projection.h"
#include "para/Partition/Reshard.h"

#include "mlir/IR/Builders.h"

namespace para {

/// Writes reshards and masks of local values. The builder stands where they go; new ops are passed to `tag`.
class ReshardEmitter {
public:
  ReshardEmitter(mlir::OpBuilder &builder, MeshAttr mesh, std::function<void(mlir::Operation *)> tag)
      : builder(builder), mesh(mesh), tag(std::move(tag)) {}

  /// The local value of `global` type after the path, starting at sharding `from`.
  mlir::Value emit(mlir::Location loc, mlir::Value local, mlir::RankedTensorType global, Sharding from, const ReshardPath &path);

  /// Replaces the padding of dimension `dim` by the identity of `kind`.
  mlir::Value mask(mlir::Location loc, mlir::Value local, mlir::RankedTensorType global, const DimSharding &cut, int64_t dim, ReductionKind kind);

private:
  mlir::Value move(mlir::Location loc, mlir::Value local, mlir::RankedTensorType global, const Sharding &from, const ReshardMove &move);
  /// A dimension of several blocks is one dimension more while it is cut or gathered.
  mlir::Value reshape(mlir::Location loc, mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value tagged(mlir::Value value) {
    tag(value.getDefiningOp());
    return value;
  }

  mlir::OpBuilder &builder;
  MeshAttr mesh;
  std::function<void(mlir::Operation *)> tag;
};

} // namespace para

#endif
