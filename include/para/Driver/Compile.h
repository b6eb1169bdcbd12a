//===- Compile.h - The stages in their order ---------------------*- C++ -*-===//
#ifndef PARA_DRIVER_COMPILE_H
#define PARA_DRIVER_COMPILE_H

#include "para/Driver/Options.h"
#include "para/Plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace para {

/// Runs the driver on a model. Returns the exit status.
int compileModel(const DriverOptions &options, llvm::StringRef program);

/// What the executable's manifest says of the model rather than of the device program: numbers of the optimizer, schedule of the
/// learning rate, inputs, outputs, parameters, the plan. Errors are sentences for the user.
llvm::Expected<llvm::json::Object> describeProgram(mlir::ModuleOp module, const DriverOptions &options, const Plan &plan);

} // namespace para

#endif
