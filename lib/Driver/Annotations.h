//===- Annotations.h - Multi-device annotations of the model -------*- C++ -*-===//
#ifndef PARA_LIB_DRIVER_ANNOTATIONS_H
#define PARA_LIB_DRIVER_ANNOTATIONS_H

#include "para/Autodiff/Passes.h"
#include "para/Driver/Options.h"
#include "para/Import/ModelOutline.h"
#include "para/Plan/Annotations.h"

#include "mlir/IR/BuiltinOps.h"

namespace para {

/// The configuration that the flags leave: the one of as many devices as they ask for, else the first, with a remark if there are others. Null if
/// the model has none; an error if the flags ask for what it does not have.
llvm::Expected<const DeviceConfiguration *> chooseConfiguration(const ModelOutline &outline, const DriverOptions &options);

/// Adds what the annotations ask for to the flags: ranks, mesh, stages, shards. Returns the exit status, with all findings reported: 1 where the
/// annotations are at fault, 2 where flags contradict them.
int takeAnnotations(mlir::ModuleOp imported, const ModelOutline &outline, const AutodiffOptions &autodiff, DriverOptions &options,
                    std::optional<PlanAnnotations> &annotations);

/// Writes the model with the applied plan as its first configuration, and says what of the plan ONNX has no words for.
llvm::Error writeAnnotatedModel(mlir::ModuleOp planned, const ModelOutline &outline, const Plan &plan, const DriverOptions &options);

} // namespace para

#endif
