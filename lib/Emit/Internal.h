//===- Internal.h - Parts of the emit stage ------------------------*- C++ -*-===//
#ifndef PARA_EMIT_INTERNAL_H
#define PARA_EMIT_INTERNAL_H

#include "para/Emit/Emit.h"

#include "llvm/ADT/SmallString.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace para {

/// Lowers kernel functions to the LLVM dialect.
mlir::LogicalResult lowerKernels(mlir::ModuleOp kernels);

/// The segments, the manifest and `para_main_program` as one LLVM module; kernels are declared.
std::unique_ptr<llvm::Module> buildProgram(mlir::ModuleOp module, llvm::LLVMContext &context);

/// For kernels, or for segments, which are quick to compile and not worth more.
std::unique_ptr<llvm::TargetMachine> makeHostMachine(bool isKernels);
/// Sets data layout and processor of all functions; optimizes kernels.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, bool isKernels);
/// Machine code of an optimized module; empty on failure.
llvm::SmallString<0> generateObject(llvm::Module &module, llvm::TargetMachine &machine);

mlir::LogicalResult linkProgram(mlir::ModuleOp module, llvm::ArrayRef<std::string> objects, const EmitOptions &options);

} // namespace para

#endif
