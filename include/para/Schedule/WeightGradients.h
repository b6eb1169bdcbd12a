//===- WeightGradients.h - What of a backward pass can wait -----*- C++ -*-===//
//
// The backward pass of a stage makes gradients of activations, for which the stage before waits, and of weights, for which nobody waits until the
// update. Schedules that part the two run the latter when a stage has nothing else to do.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_SCHEDULE_WEIGHTGRADIENTS_H
#define PARA_SCHEDULE_WEIGHTGRADIENTS_H

#include "mlir/IR/Block.h"

#include "llvm/ADT/DenseSet.h"

namespace para {

/// A product of matrices, a convolution, or rows added to a table: what turns gradients of activations into those of weights.
bool isHeavy(mlir::Operation *op);

/// Ops of the backward pass that lead to gradients of weights alone: heavy ones whose result does, and what works on it.
llvm::DenseSet<mlir::Operation *> findWeightGradients(mlir::Block &block);

} // namespace para

#endif
