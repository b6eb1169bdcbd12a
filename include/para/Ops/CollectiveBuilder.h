//===- CollectiveBuilder.h - Making collectives ------------------*- C++ -*-===//
//
// The ops of the family Collective by what they do, for stages that add communication without naming ops. Types are local;
// semantics, padding included, are told in lib/Ops/Collective/Collective.td.
//
// Example: Value rows = buildReduceScatter(builder, loc, halfType, gradient, /*dim=*/0, dataAxis, ReductionKind::Sum);
//
//===----------------------------------------------------------------------===//
#ifndef PARA_OPS_COLLECTIVEBUILDER_H
#define PARA_OPS_COLLECTIVEBUILDER_H

#include "para/IR/Sharding.h"

#include "mlir/IR/Builders.h"

namespace para {

mlir::Value buildShardSlice(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, mlir::Value input, int64_t dim, Axis axis, int64_t unit);
mlir::Value buildAllGather(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, mlir::Value input, int64_t dim, Axis axis);
mlir::Value buildReduceScatter(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, mlir::Value input, int64_t dim, Axis axis, ReductionKind kind);
mlir::Value buildAllToAll(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, mlir::Value input, int64_t from, int64_t to, Axis axis);
mlir::Value buildAllReduce(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value input, llvm::ArrayRef<Axis> axes, ReductionKind kind);
mlir::Value buildMask(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value input, int64_t dim, llvm::ArrayRef<Axis> axes, int64_t size, int64_t unit, ReductionKind kind);
mlir::Value buildAccumulate(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value input);
void buildSend(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value input, int64_t peer, int64_t tag);
mlir::Value buildRecv(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, int64_t peer, int64_t tag);

} // namespace para

#endif
