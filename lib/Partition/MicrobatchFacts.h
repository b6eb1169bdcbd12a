//===- MicrobatchFacts.h - How values of @main relate to the microbatch ---===//
//
// A value of the annotated program is, over the microbatches, one of: cut by rows; an unfinished sum (partial); whole and the same in all
// of them; or whole in itself and another one in each (varying), which is what batch statistics and all that is made of them are.
//
// Example, x [batch, 3] cut by rows and a weight w [3]: x * w is cut, its sum over the batch partial, w whole, and the sum that a batch norm
// takes of its own microbatch (`para.local`) varying.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_PARTITION_MICROBATCHFACTS_H
#define PARA_LIB_PARTITION_MICROBATCHFACTS_H

#include "para/Partition/Projection.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace para {

class MicrobatchFacts {
public:
  /// What follows from inputs and constants without contractions is static: it can be computed before the first microbatch.
  MicrobatchFacts(mlir::func::FuncOp main, MeshAttr mesh);

  bool isStatic(mlir::Value value) const { return statics.contains(value); }
  void addStatic(mlir::Value value) { statics.insert(value); }
  /// Whether a static value can be made in the phase `prepare`: nothing that it comes from takes a finished sum.
  bool isPreparable(mlir::Value value) const;
  /// Whether a static op can run once, before the first microbatch: nothing of it is cut by rows, and the sums that it takes are finished by then.
  bool isSettled(mlir::Operation *op) const;
  /// Whether an op of the phase takes its own microbatch's part of a sum only.
  bool hasLocal(Phase phase) const;

  /// How `value` lies on the ranks where it is made.
  Sharding getSharding(mlir::Value value) const;
  /// Whether `value` is an unfinished sum over the microbatches, made within them.
  bool isPartial(mlir::Value value) const;
  bool varies(mlir::Value value) const { return varying.contains(value); }
  /// Finds what varies, from the ops as they are annotated now.
  void markVarying();

  /// Whether `op`, within the microbatches, takes an unfinished sum that it does not pass on as one.
  bool needsWhole(mlir::Operation *op) const;
  /// Whether `op` and all that follows from it can run once, after the last microbatch: nothing of it is cut by rows or varies, and
  /// it ends in the update or in results.
  bool canPostpone(mlir::Operation *op) const;
  /// Calls `visit` on `op` and all that follows from it within the microbatches.
  void visitPostponed(mlir::Operation *op, llvm::function_ref<void(mlir::Operation *)> visit) const;

private:
  bool canPostpone(mlir::Operation *op, llvm::DenseSet<mlir::Operation *> &seen) const;

  mlir::func::FuncOp main;
  MeshAttr mesh;
  llvm::DenseSet<mlir::Value> statics, varying;
};

} // namespace para

#endif
