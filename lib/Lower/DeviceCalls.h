//===- DeviceCalls.h - What a GPU's thread can ask -----------------*- C++ -*-===//
//
// Calls of the functions `para_gpu_*`, which become instructions of a GPU, and calls of the rehearsal on a processor.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_DEVICECALLS_H
#define PARA_LOWER_DEVICECALLS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace para {

class DeviceCalls {
public:
  DeviceCalls(mlir::ImplicitLocOpBuilder &b, mlir::ModuleOp module) : b(b), module(module) {}

  /// Numbers of the thread in its block and of the block, as i32.
  mlir::Value thread();
  mlir::Value block();
  /// The block's own memory, as a pointer.
  mlir::Value sharedMemory();
  /// Until all threads of the block have come.
  void wait();
  /// Until those threads of the warp have come whose bits are in `group` (i32).
  void wait(mlir::Value group);
  /// The scalar of the thread of the warp whose number differs in the bit `distance`; all of `group` take part.
  mlir::Value exchange(mlir::Value scalar, int64_t distance, mlir::Value group);

private:
  mlir::Value call(llvm::StringRef name, llvm::ArrayRef<mlir::Value> arguments, mlir::Type result);
  mlir::ImplicitLocOpBuilder &b;
  mlir::ModuleOp module;
};

} // namespace para

#endif
