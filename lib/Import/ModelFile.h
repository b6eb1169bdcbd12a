//===- ModelFile.h - A decoded .onnx file -------------------------*- C++ -*-===//
#ifndef PARA_LIB_IMPORT_MODELFILE_H
#define PARA_LIB_IMPORT_MODELFILE_H

#include "para/Import/KnownTensor.h"

#include "onnx-ml.pb.h"

#include "mlir/IR/Diagnostics.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MemoryBuffer.h"

namespace para {

/// Where the elements of a tensor lie in the file as little-endian numbers.
struct TensorData {
  uint64_t offset = 0, bytes = 0;
};

/// The file's bytes, the messages in them, and where the numbers of each tensor are.
class ModelFile {
public:
  /// Reads and decodes `path`; errors are reported at the file.
  static mlir::FailureOr<std::unique_ptr<ModelFile>> open(llvm::StringRef path, mlir::MLIRContext *context);

  onnx::ModelProto model;
  std::string folder, name, stem;

  /// Null where the elements are not stored as plain numbers.
  const TensorData *findData(const onnx::TensorProto &tensor) const;

  /// Reads the elements of a tensor; `type` is what they become. Reports at `loc`.
  mlir::FailureOr<Known> read(const onnx::TensorProto &tensor, mlir::RankedTensorType type, mlir::Location loc) const;

  /// File, offset and bytes of external data.
  struct External {
    std::string location;
    int64_t offset = 0, bytes = -1;
  };
  mlir::FailureOr<External> getExternal(const onnx::TensorProto &tensor, mlir::Location loc) const;
  static bool isExternal(const onnx::TensorProto &tensor) { return tensor.data_location() == onnx::TensorProto::EXTERNAL; }

private:
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::DenseMap<const onnx::TensorProto *, TensorData> data;
};

/// Bits of an element in a file; 0 for types we do not read.
unsigned getFileBits(int32_t onnxType);
llvm::StringRef getTypeName(int32_t onnxType);

/// Finds the tensors of a model in its encoded bytes: initializers of the main graph, and attributes of its nodes.
/// `found(initializer or node, attribute or -1, data)`.
void scanTensors(llvm::StringRef bytes, llvm::function_ref<void(int initializer, int node, int attribute, TensorData)> found);

} // namespace para

#endif
