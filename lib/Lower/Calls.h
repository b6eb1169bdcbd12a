//===- Calls.h - Builds runtime calls over tensors ----------------*- C++ -*-===//
#ifndef PARA_LOWER_CALLS_H
#define PARA_LOWER_CALLS_H

#include "OpFacts.h"

#include "para/IR/ParaDialect.h"
#include "para/Lower/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace para {

class CallBuilder {
public:
  CallBuilder(mlir::ModuleOp module, mlir::func::FuncOp func);
  mlir::LogicalResult run();

private:
  using Call = LibraryCall;
  mlir::LogicalResult form(mlir::Operation *op, const Call &call);
  bool formMatmul(mlir::Operation *op, const Call &call);
  void formConvolution(mlir::Operation *op, const Call &call);
  void formScatter(mlir::Operation *op, const Call &call);
  mlir::LogicalResult formCollective(mlir::Operation *op, const Call &call);
  void formAllReduce(mlir::Operation *op, const Call &call);
  mlir::LogicalResult formMessage(mlir::Operation *op, const Call &call);
  void absorbAccumulate(mlir::Operation *op);

  /// A buffer and where in it a contiguous value starts; the value itself where it is no contiguous view.
  std::pair<mlir::Value, int64_t> contiguous(mlir::Value v);
  rt::CallOp create(mlir::Operation *at, llvm::StringRef callee, mlir::ValueRange inputs, llvm::ArrayRef<int64_t> offsets,
                    mlir::TypeRange results, llvm::ArrayRef<mlir::NamedAttribute> desc);
  mlir::NamedAttribute attr(llvm::StringRef name, int64_t value);
  mlir::NamedAttribute attr(llvm::StringRef name, llvm::ArrayRef<int64_t> value);
  /// Tags the ops made since `before` with the phase of `op`.
  void tagSince(mlir::Operation *before, mlir::Operation *op);
  void eraseDead();

  mlir::ModuleOp module;
  mlir::func::FuncOp func;
  MeshAttr mesh;
  int64_t microbatches;
  FactsCache facts;
  /// Erased at the end: facts are kept by address.
  llvm::SmallVector<mlir::Operation *> obsolete;
  mlir::OpBuilder builder;
};

} // namespace para

#endif
