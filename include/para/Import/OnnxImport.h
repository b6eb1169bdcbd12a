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

#include "para/Import/ModelOutline.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"

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
  /// The multi-device annotations go into the outline.
  bool readsAnnotations = true;
};

/// Reads the model at `path`. Every finding is a diagnostic at the location of the model's node. Fills `outline` if there is one.
llvm::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> importOnnx(llvm::StringRef path, const ImportOptions &options,
                                                              mlir::MLIRContext *context, ModelOutline *outline = nullptr);

/// The file at `path` with one more device configuration, which comes first and replaces one of its name: `nodes` has what it says of each node of
/// the main graph, in `assignments` are the devices of their shards. The IR version is at least 11, all other bytes are the file's.
/// Fails with a sentence.
llvm::Expected<std::string> annotateOnnx(llvm::StringRef path, const DeviceConfiguration &configuration, llvm::ArrayRef<NodeConfiguration> nodes,
                                         llvm::ArrayRef<DeviceShards> assignments);

} // namespace para

#endif
