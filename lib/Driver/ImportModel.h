//===- ImportModel.h - The model as flags want it ----------------*- C++ -*-===//
#ifndef PARA_DRIVER_IMPORTMODEL_H
#define PARA_DRIVER_IMPORTMODEL_H

#include "para/Driver/Options.h"
#include "para/Import/OnnxImport.h"

namespace para {

/// The float type which all parameters of the model have, scalars aside; null if there are several, or none.
mlir::FloatType getParameterType(mlir::func::FuncOp main);

/// The model of `options.input`, null where diagnostics said what is wrong with it; fails with a sentence about a flag. A model whose parameters are
/// all of one 16-bit type is imported in f32 to be trained, for its masters, inputs and loss are that, and the type becomes the precision.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> importModel(DriverOptions &options, mlir::MLIRContext *context, ModelOutline *outline);

} // namespace para

#endif
