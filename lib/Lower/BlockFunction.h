//===- BlockFunction.h - A kernel as what a thread of a block does -*- C++ -*-===//
#ifndef PARA_LOWER_BLOCKFUNCTION_H
#define PARA_LOWER_BLOCKFUNCTION_H

#include "para/Lower/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/ADT/StringMap.h"

namespace para {

/// The function void (ptr buffer..., i64 number...) in front of a kernel; the builder goes into it.
class BlockFunction {
public:
  BlockFunction(mlir::ImplicitLocOpBuilder &b, rt::KernelOp kernel, unsigned buffers);

  mlir::Block *entry() { return &func.getBody().front(); }
  mlir::Value buffer(unsigned i) { return entry()->getArgument(i); }
  /// What the launch passes under this name (a mesh axis, or `microbatch`), as i64.
  mlir::Value number(llvm::StringRef name);
  /// Ends it, and notes in the kernel how it is launched.
  void finish(int64_t blocks, int64_t threads, int64_t sharedBytes);

private:
  mlir::ImplicitLocOpBuilder &b;
  rt::KernelOp kernel;
  mlir::func::FuncOp func;
  llvm::SmallVector<std::string> names;
  llvm::StringMap<mlir::Value> known;
};

} // namespace para

#endif
