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
  /// By the tensor cores, together with the other threads of the warp: 16 x 8 sums over 16 terms, of which this thread has the four of
  /// `before` (f32). Four and two registers have two elements of `type` (f16 or bf16) each.
  mlir::Value multiply(llvm::ArrayRef<mlir::Value> left, llvm::ArrayRef<mlir::Value> right, mlir::Value before, mlir::Type type);
  /// Four matrices of 8 x 8 narrow elements in the block's memory, as `multiply` takes them: a warp's threads 8 i to 8 i + 7 tell where the rows
  /// of matrix i begin. Thread 4 g + t gets elements 2 t and 2 t + 1 of row g of each; transposed, those of column g of rows 2 t and 2 t + 1.
  llvm::SmallVector<mlir::Value> loadMatrices(mlir::Value row, bool transposed);

private:
  mlir::Value call(llvm::StringRef name, llvm::ArrayRef<mlir::Value> arguments, mlir::Type result);
  mlir::ImplicitLocOpBuilder &b;
  mlir::ModuleOp module;
};

} // namespace para

#endif
