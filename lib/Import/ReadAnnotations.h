//===- ReadAnnotations.h - Multi-device annotations of a file -----*- C++ -*-===//
#ifndef PARA_LIB_IMPORT_READANNOTATIONS_H
#define PARA_LIB_IMPORT_READANNOTATIONS_H

#include "para/Import/ModelOutline.h"

#include "onnx-ml.pb.h"

#include "mlir/IR/MLIRContext.h"

namespace para {

/// Adds the configurations of `model`, and what its nodes say of them, to an outline that has its nodes. Findings are reported at the nodes.
mlir::LogicalResult readAnnotations(const onnx::ModelProto &model, ModelOutline &outline, mlir::MLIRContext *context);

} // namespace para

#endif
