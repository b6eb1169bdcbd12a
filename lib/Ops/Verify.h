//===- Verify.h - What verifiers of ops have in common -----------*- C++ -*-===//
#ifndef PARA_OPS_VERIFY_H
#define PARA_OPS_VERIFY_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace para {

/// Offsets, strides and padding are at most this far from zero, so that what is computed of them does not overflow.
constexpr int64_t kMostSteps = int64_t(1) << 40;

/// The dimension exists in the type.
mlir::LogicalResult verifyDim(mlir::Operation *op, uint64_t dim, mlir::RankedTensorType type);
/// Dimensions ascend and exist.
mlir::LogicalResult verifyDims(mlir::Operation *op, llvm::ArrayRef<int64_t> dims, mlir::RankedTensorType type);
/// All types have one element type.
mlir::LogicalResult verifyOneElementType(mlir::Operation *op, mlir::TypeRange types);
/// Operands of a product have one element type, which is the result's too, or the result is f32 and they are 16-bit.
mlir::LogicalResult verifyProductTypes(mlir::Operation *op, mlir::RankedTensorType lhs, mlir::RankedTensorType rhs, mlir::RankedTensorType result);
/// The types differ in the sizes of `dims` at most.
mlir::LogicalResult verifySameBut(mlir::Operation *op, mlir::RankedTensorType from, mlir::RankedTensorType to, llvm::ArrayRef<int64_t> dims);
/// The result has this type.
mlir::LogicalResult verifyResult(mlir::Operation *op, unsigned number, mlir::RankedTensorType expected);
/// Names of axes.
mlir::LogicalResult verifyAxes(mlir::Operation *op, mlir::ArrayAttr axes);
/// What partitioning says of a shard: all of it or nothing.
mlir::LogicalResult verifyShard(mlir::Operation *op, mlir::ArrayAttr axes, std::optional<uint64_t> size, std::optional<uint64_t> unit);
/// No number is further from zero than kMostSteps.
mlir::LogicalResult verifySteps(mlir::Operation *op, llvm::StringRef what, llvm::ArrayRef<int64_t> numbers);

} // namespace para

#endif
