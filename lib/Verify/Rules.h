//===- Rules.h - How ops change what local values are ---------------------===//
//
// One rule for ops that compute (all from the serial op's structure) and one for each kind of relayout. A rule answers with the results'
// abstract values or reports, at the op, the first thing that does not hold.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_VERIFY_RULES_H
#define PARA_LIB_VERIFY_RULES_H

#include "LocalValue.h"

#include "para/IR/Phases.h"
#include "para/Interfaces/Relayout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace para {

using LocalValues = llvm::SmallVector<LocalValue>;

/// `local` does on a rank's parts what `serial` of @main does on whole values.
mlir::FailureOr<LocalValues> applyCompute(mlir::Operation *local, mlir::Operation *serial, llvm::ArrayRef<const LocalValue *> operands, MeshAttr mesh);

/// Everything but sends and receives.
mlir::FailureOr<LocalValues> applyRelayout(mlir::Operation *op, const Relayout &relayout, llvm::ArrayRef<const LocalValue *> operands, MeshAttr mesh);

/// Reports where the attributes of `local` are not those of `serial` on these cuts: equal, but for offsets, which count in the local
/// size of a block, and for counts of loops and what tells where a shard begins, which are checked with the loops.
mlir::LogicalResult checkAttributes(mlir::Operation *local, mlir::Operation *serial);

/// `serial` is a copy of @main: an op marked `para.repeats` that is the very op of that number over the same values is replaced by it wherever
/// its results are used. Reports the first that is another one.
mlir::LogicalResult foldRepeats(mlir::func::FuncOp serial);

/// Reports where a result does not have the local type that its abstract value asks for.
mlir::LogicalResult checkResultTypes(mlir::Operation *op, llvm::ArrayRef<LocalValue> results);

/// Reports where the actions of a stage's schedule are not the whole step in an order that data can follow.
mlir::LogicalResult checkSchedule(mlir::func::FuncOp function, MeshAttr mesh);

} // namespace para

#endif
