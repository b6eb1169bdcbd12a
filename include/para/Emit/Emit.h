//===- Emit.h - From the device program to files -------------------*- C++ -*-===//
#ifndef PARA_EMIT_EMIT_H
#define PARA_EMIT_EMIT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace para {

struct EmitOptions {
  std::string output; ///< "-" is standard output (llvm, ptx)
  std::string target = "host"; ///< host, cuda, or rehearsal: that of cuda, on the processor (runtime/rehearsal)
  /// GPUs whose code a program for cuda carries.
  std::vector<std::string> arch = {"sm_80", "sm_90", "sm_100"};
  /// llvm: text of the optimized module (cuda: of the kernels, for the first GPU). ptx: the kernels for the first GPU. object: one object file without the runtime. shared: a library which exports
  /// `para_main_program`. exe: linked with the runtime.
  std::string kind = "exe";
  /// This program's path, next to which the runtime is; empty: asked of the system.
  std::string program;
  unsigned threads = 2;
  /// Where libpara_runtime_*.a are; empty: ../lib from this program.
  std::string runtimeFolder;
  /// Given to the linker as they are.
  std::vector<std::string> linkArguments;
};

/// Whether code can be made for a GPU ("sm_90"); the error is a sentence for the user.
llvm::Error checkArch(llvm::StringRef arch);

/// Writes what the lower stage made. Errors are reported at the module.
mlir::LogicalResult emitProgram(mlir::ModuleOp module, const EmitOptions &options);

} // namespace para

#endif
