//===- LossScale.h - Dynamic loss scaling -------------------------*- C++ -*-===//
//
// The loss is scaled before it is differentiated, so that f16 holds small cotangents, and gradients are scaled back in f32. A step whose
// gradients are not finite is skipped on all ranks and halves the scale, to no less than 2^-24; it doubles after 2000 steps that were not skipped. As in PyTorch's
// GradScaler (Micikevicius et al., Mixed Precision Training, 2018). What it knows is state of the program: `loss_scale`,
// `loss_scale/good_steps` since it changed, and `loss_scale/skipped_steps`, which do not count for the optimizer's bias corrections.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_AUTODIFF_LOSSSCALE_H
#define PARA_AUTODIFF_LOSSSCALE_H

#include "para/IR/Program.h"
#include "para/Ops/TensorBuilder.h"

namespace para {

class LossScale {
public:
  /// Makes the state of a scale which begins at `initial`.
  static void add(mlir::func::FuncOp main, double initial);
  /// What the program has; false if it has none.
  explicit LossScale(mlir::func::FuncOp main);
  explicit operator bool() const { return bool(scale); }

  /// The cotangent of the loss.
  mlir::Value seed(TensorBuilder &t, mlir::Value loss) const;
  /// A gradient as it is without the scale.
  mlir::Value unscale(TensorBuilder &t, mlir::Value gradient) const;
  /// Whether the step counts, of the norm of all gradients; an i1 scalar.
  static mlir::Value isFinite(TensorBuilder &t, mlir::Value norm);
  /// `updated` where the step counts, else `old`.
  static mlir::Value choose(TensorBuilder &t, mlir::Value counts, mlir::Value updated, mlir::Value old);
  /// 1 - number^n for the n-th step that counts, from 1; f64 like the numbers.
  mlir::Value correctBias(TensorBuilder &t, mlir::Value number, mlir::Value step) const;
  /// The state after a step: results of the program.
  void update(TensorBuilder &t, mlir::Value counts, llvm::SmallVectorImpl<ProgramResult> &results) const;

private:
  mlir::Value scale, goodSteps, skippedSteps;
};

} // namespace para

#endif
