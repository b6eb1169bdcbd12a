//===- ImportModel.h - The model as flags want it ----------------*- C++ -*-===//
#ifndef PARA_DRIVER_IMPORTMODEL_H
#define PARA_DRIVER_IMPORTMODEL_H

#include "para/Driver/Options.h"
#include "para/Import/OnnxImport.h"

namespace para {

/// The float type which all parameters of the model have, scalars aside; null if there are several, or none.
mlir::FloatType getParameterType(mlir::func::FuncOp main);

/// The model of `options.input`, null where diagnostics said what is wrong with it; fails with a sentence about a flag. A model whose parameters are
/// all of one 16-bit type is trained with that precision, of which is what it declares so.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> importModel(DriverOptions &options, mlir::MLIRContext *context, ModelOutline *outline);

/// The model that importModel has imported, with f32 for all its floats; null if it cannot be imported so.
mlir::OwningOpRef<mlir::ModuleOp> importInF32(const DriverOptions &options, mlir::MLIRContext *context);

} // namespace para

#endif
