//===- NamedValues.h - Values of a program by the model's names ---*- C++ -*-===//
//
// Example: NamedValues(main).find("transformer.wte.weight") is an argument, find("/h.0/mlp/Gemm") what that node makes last,
// find("/h.0/mlp/Gemm_output_0") the tensor.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PLAN_NAMEDVALUES_H
#define PARA_PLAN_NAMEDVALUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace para {

/// Of @main as it is when this is made: arguments, and what forward ops make from something.
class NamedValues {
public:
  explicit NamedValues(mlir::func::FuncOp main);

  /// The parameter, input or state of that name, else what the node makes (its output of that name, or what it makes last), else
  /// the tensor; null if there is none.
  mlir::Value find(llvm::StringRef name) const;
  /// The argument or tensor of that name; null if there is none.
  mlir::Value findTensor(llvm::StringRef name) const;
  /// The name that was perhaps meant; empty if none is near.
  std::string findNearest(llvm::StringRef name) const;
  /// Forward ops of a node in their order.
  llvm::ArrayRef<mlir::Operation *> getOps(llvm::StringRef node) const;

private:
  llvm::StringMap<mlir::Value> arguments, tensors;
  llvm::StringMap<llvm::SmallVector<mlir::Operation *, 2>> ops;
};

} // namespace para

#endif
