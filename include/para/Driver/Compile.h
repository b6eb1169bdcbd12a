//===- Compile.h - The stages in their order ---------------------*- C++ -*-===//
#ifndef PARA_DRIVER_COMPILE_H
#define PARA_DRIVER_COMPILE_H

#include "para/Driver/Options.h"
#include "para/Plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>

namespace para {

/// What others do with a program on its way.
struct CompileHooks {
  bool isQuiet = false;                            ///< errors alone are told
  std::function<void(mlir::ModuleOp)> proven;      ///< the scheduled program, when the proofs have gone through
  std::function<int(mlir::ModuleOp)> lowered;      ///< the device program; a status that is not 0 ends the compilation
};

/// Runs the driver on a model. Returns the exit status. `program` is para-opt's path.
int compileModel(const DriverOptions &options, llvm::StringRef program, const CompileHooks &hooks = {});

/// What the executable's manifest says of the model rather than of the device program: numbers of the optimizer, schedule of the
/// learning rate, inputs, outputs, parameters, the plan. Errors are sentences for the user.
llvm::Expected<llvm::json::Object> describeProgram(mlir::ModuleOp module, const DriverOptions &options, const Plan &plan);

} // namespace para

#endif
