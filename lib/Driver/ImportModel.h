//===- ImportModel.h - The model as flags want it ----------------*- C++ -*-===//
#ifndef PARA_DRIVER_IMPORTMODEL_H
#define PARA_DRIVER_IMPORTMODEL_H

#include "para/Driver/Options.h"
#include "para/Import/OnnxImport.h"

namespace para {

/// The model of `options.input`, null where diagnostics said what is wrong with it; fails with a sentence about a flag. A model of 16-bit parameters
/// which is trained is imported in f32, for its masters, inputs and loss are that, and its type becomes the precision.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> importModel(DriverOptions &options, mlir::MLIRContext *context, ModelOutline *outline);

} // namespace para

#endif
