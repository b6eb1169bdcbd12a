//===- Internal.h - Parts of the emit stage ------------------------*- C++ -*-===//
#ifndef PARA_EMIT_INTERNAL_H
#define PARA_EMIT_INTERNAL_H

#include "para/Emit/Emit.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
class PassBuilder;
class TargetMachine;
} // namespace llvm

namespace para {

/// Lowers kernel functions to the LLVM dialect.
mlir::LogicalResult lowerKernels(mlir::ModuleOp kernels);

/// A kernel of a GPU for the processor (para_thread_kernel).
struct ThreadKernel {
  std::string name;
  int64_t numArgs, mostThreads;
  bool waits;
};

/// The segments, the manifest and `para_main_program` as one LLVM module; kernels are declared, or lie in `image` and are declared for a rehearsal.
std::unique_ptr<llvm::Module> buildProgram(mlir::ModuleOp module, llvm::LLVMContext &context, const EmitOptions &options, llvm::StringRef image = {},
                                           llvm::ArrayRef<ThreadKernel> threadKernels = {});

/// For kernels, or for segments, which are quick to compile and not worth more.
std::unique_ptr<llvm::TargetMachine> makeHostMachine(bool isKernels);
/// Runs what `build` makes, which may ask `passes`, whose analyses are there by then.
void runPasses(llvm::Module &module, llvm::PassBuilder &passes, llvm::function_ref<llvm::ModulePassManager()> build);
/// Sets data layout and processor of all functions; optimizes kernels.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, bool isKernels);
/// Machine code (or its text) of an optimized module; empty on failure.
llvm::SmallString<0> generateCode(llvm::Module &module, llvm::TargetMachine &machine, bool isText = false);
/// A file that cannot be written is no fault of the model: the message has the file's name alone.
mlir::LogicalResult reportOutput(mlir::ModuleOp module, llvm::Error error);
mlir::LogicalResult reportTemporary(mlir::ModuleOp module, std::error_code error);
/// To a file, or to standard output.
mlir::LogicalResult writeFile(mlir::ModuleOp module, llvm::StringRef path, llvm::StringRef bytes);

// GPU kernels (Gpu.cpp, Image.cpp, Rehearsal.cpp).

/// The functions of GPU kernels, with the threads of a block.
llvm::StringMap<int64_t> getThreads(mlir::ModuleOp program);

/// Null with a sentence in `problem` if there is no such GPU.
std::unique_ptr<llvm::TargetMachine> makeGpuMachine(llvm::StringRef arch, std::string &problem);
/// Makes entries of the kernels, says what para_gpu_* mean on a GPU, optimizes.
void optimizeForGpu(llvm::Module &kernels, llvm::TargetMachine &machine, mlir::ModuleOp program);
/// Masked loads and stores become those of single elements where the machine has no such thing: all of them without a machine.
void scalarizeMasks(llvm::Module &kernels, llvm::TargetMachine *machine);
/// The kernels for all GPUs of the options in the format of runtime/README.md; `alongside` is done meanwhile.
mlir::FailureOr<std::string> buildImage(mlir::ModuleOp program, mlir::ModuleOp kernels, const EmitOptions &options, llvm::function_ref<void()> alongside);
/// For `ptx` and `llvm`: the text for the first GPU.
mlir::FailureOr<std::string> buildGpuText(mlir::ModuleOp program, mlir::ModuleOp kernels, const EmitOptions &options);
/// A function of a list of arguments for each kernel of a thread, "kernel_0_block_thread", for rehearsals.
void addThreadFunctions(llvm::Module &kernels, mlir::ModuleOp program, std::vector<ThreadKernel> &list);
/// Optimizes for the processor, and has each access to memory that is not the thread's own told to the rehearsal.
void optimizeForRehearsal(llvm::Module &kernels, llvm::TargetMachine &machine);
/// No stage waits for ever, for a message or for one of its own to be taken.
mlir::LogicalResult checkProgress(mlir::ModuleOp program);
/// Messages between two stages must be received in the order in which they are sent.
mlir::LogicalResult checkMessageOrder(mlir::ModuleOp program);

mlir::LogicalResult linkProgram(mlir::ModuleOp module, llvm::ArrayRef<std::string> objects, const EmitOptions &options);

} // namespace para

#endif
