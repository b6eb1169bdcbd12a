//===- OnnxImport.h - From an ONNX file to the para dialect -----*- C++ -*-===//
//
// The result is a module with attribute `para.model` and one `func.func @main`. Its arguments are the graph's inputs, then
// the initializers that are used as tensors; its results the graph's outputs, then updates of running statistics.
//
//   argument  para.name, para.kind = "input" | "parameter" | "buffer"
//             para.batch_dim (inputs), para.trainable (parameters), para.source or para.value (where the numbers are)
//   result    para.name, para.kind = "output" | "update", para.updates (name of the buffer)
//   function  para.batch = size of the batch
//
//===----------------------------------------------------------------------===//
#ifndef PARA_IMPORT_ONNXIMPORT_H
#define PARA_IMPORT_ONNXIMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace para {

/// Element type that floats of the model get. Bf16 and F16 are compute types: values are imported as f32 and lowered to the
/// compute type by mixed precision later.
enum class Precision { Model, F32, F64, BF16, F16 };

struct ImportOptions {
  /// Sizes of symbolic dimensions by name; an anonymous one is named "INPUT.AXIS". "batch" always means the batch dimension.
  llvm::StringMap<int64_t> dims;
  Precision precision = Precision::Model;
  /// Float initializers that are parameters whatever they look like: scalars and numbers of operators otherwise become constants.
  llvm::StringSet<> trainable;
  /// Updates of running statistics become results.
  bool train = false;
};

/// Reads the model at `path`. Every finding is a diagnostic at the location of the model's node.
llvm::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> importOnnx(llvm::StringRef path, const ImportOptions &options,
                                                              mlir::MLIRContext *context);

} // namespace para

#endif
