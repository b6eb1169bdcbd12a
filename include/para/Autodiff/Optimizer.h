//===- Optimizer.h - Update rules of optimizers ------------------*- C++ -*-===//
//
// An optimizer is data: its numbers with defaults, its state, and a formula over one parameter. Sources: SGD with momentum and
// Nesterov as in PyTorch (Sutskever et al. 2013), Adam (Kingma & Ba 2015), AdamW (Loshchilov & Hutter 2019), Adagrad (Duchi et
// al. 2011), RMSprop (Hinton 2012), LAMB (You et al. 2020), Lion (Chen et al. 2023).
//
//===----------------------------------------------------------------------===//
#ifndef PARA_AUTODIFF_OPTIMIZER_H
#define PARA_AUTODIFF_OPTIMIZER_H

#include "para/Ops/TensorBuilder.h"

#include <functional>

namespace para {

/// What a rule works on. Tensors have the parameter's shape; numbers are f64 scalars of the program.
struct UpdateContext {
  TensorBuilder t;
  mlir::Value parameter, gradient;
  llvm::SmallVector<mlir::Value> states;
  bool decays; ///< whether weight decay acts on this parameter
  /// A number of the optimizer as an f64 scalar value.
  std::function<mlir::Value(llvm::StringRef)> number;

  /// An f64 scalar as a tensor like the parameter.
  mlir::Value spread(mlir::Value scalar) {
    auto element = TensorBuilder::type(parameter).getElementType();
    return t.broadcastScalar(t.cast(scalar, element), parameter);
  }
  mlir::Value spread(llvm::StringRef name) { return spread(number(name)); }
  /// 1 - number, computed in f64.
  mlir::Value complement(llvm::StringRef name) { return spread(t.sub(t.like(number(name), 1.0), number(name))); }
};

struct Optimizer {
  llvm::StringRef name;
  /// Numbers in the order they become arguments; `bias_correction1/2` are derived by the runtime from beta1/2.
  llvm::SmallVector<std::pair<llvm::StringRef, double>> numbers;
  llvm::SmallVector<llvm::StringRef> states;
  /// Returns the new parameter followed by the new states.
  llvm::SmallVector<mlir::Value> (*update)(UpdateContext &);
};

/// The optimizer called `name`, or null; `getOptimizerNames` lists them.
const Optimizer *findOptimizer(llvm::StringRef name);
llvm::SmallVector<llvm::StringRef> getOptimizerNames();

} // namespace para

#endif
