//===- Importer.h - State of one import ---------------------------*- C++ -*-===//
#ifndef PARA_LIB_IMPORT_IMPORTER_H
#define PARA_LIB_IMPORT_IMPORTER_H

#include "ModelFile.h"

#include "para/Import/OnnxImport.h"
#include "para/Import/OnnxOp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace para {

using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Names of one graph, or of one call of a function.
struct OnnxScope {
  /// The graph around, whose names a subgraph sees; null for functions.
  const OnnxScope *parent = nullptr;
  /// A null value stands for a result of a node in error.
  llvm::StringMap<ImportValue> values;
  /// What attribute references in a function's body refer to; null outside of functions.
  const llvm::StringMap<const onnx::AttributeProto *> *attributes = nullptr;
  const llvm::StringMap<int64_t> *opsets = nullptr;
  /// Names that somebody reads.
  llvm::StringSet<> reads;
  /// Names of the calls around, with a slash at the end.
  std::string prefix;
  int depth = 0;

  /// The value of a name, null if it is not defined.
  const ImportValue *lookup(llvm::StringRef name) const;
};

class OnnxImporter {
public:
  OnnxImporter(const ModelFile &file, const ImportOptions &options, mlir::MLIRContext *context);
  /// Fills `outline` if there is one.
  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> run(ModelOutline *outline = nullptr);

  /// Whether the options give a batch other than the file's fixed one.
  bool isRebound();
  /// Takes over what shapes in the file were when it was imported with its own batch.
  void follow(OnnxImporter &original) {
    originalShapes = std::move(original.shapes);
    originalBatch = original.batch;
  }

private:
  friend class OnnxOp;

  // Inputs.cpp
  /// Decides the size of every dimension of every input.
  bool bindInputs();
  bool addInputs();
  // Initializers.cpp
  bool addInitializers();
  ImportValue importTensor(const onnx::TensorProto &tensor, const TensorData *data, llvm::StringRef name, mlir::Location loc);
  ImportValue addTensorArgument(const onnx::TensorProto &tensor, const TensorData *data, llvm::StringRef name,
                                mlir::RankedTensorType type, mlir::Location loc);
  mlir::Attribute makeSource(const onnx::TensorProto &tensor, const TensorData *data, int64_t count, mlir::Location loc);
  // Results.cpp
  bool addResults();
  void eraseDead();

  // Outline.cpp
  /// Writes the tensors' names onto the ops that make them; and what node `i` of the main graph has made since `last` into the outline.
  void noteNode(int i, mlir::Operation *last);
  bool outlineModel();

  // Nodes.
  bool checkSupported();
  void collectUnsupported(const NodeList &nodes, const std::vector<bool> &live, const llvm::StringMap<int64_t> &opsets,
                          llvm::SmallVectorImpl<const onnx::FunctionProto *> &called);
  void importNodes(const NodeList &nodes, const std::vector<bool> &live, OnnxScope &scope);
  void importNode(const onnx::NodeProto &node, OnnxScope &scope);
  void importCall(const onnx::FunctionProto &function, const onnx::NodeProto &node, std::vector<ImportValue> operands, OnnxScope &scope);
  void importSubgraph(OnnxOp &op, const onnx::GraphProto &graph);
  const onnx::FunctionProto *findFunction(const onnx::NodeProto &node) const;
  void setResult(const onnx::NodeProto &node, int i, ImportValue value, OnnxScope &scope);

  mlir::Location locate(llvm::StringRef name) const;
  mlir::Location locate(const onnx::NodeProto &node, const OnnxScope &scope) const;
  mlir::Type elementType(int64_t onnxType) const;
  mlir::BlockArgument addArgument(llvm::StringRef name, mlir::RankedTensorType type, llvm::StringRef kind);
  void setArgument(mlir::BlockArgument argument, llvm::StringRef name, mlir::Attribute value);

  const ModelFile &file;
  const onnx::ModelProto &model;
  const onnx::GraphProto &graph;
  const ImportOptions &options;
  mlir::MLIRContext *context;
  struct OpCounter : mlir::OpBuilder::Listener {
    int64_t count = 0;
    void notifyOperationInserted(mlir::Operation *, mlir::OpBuilder::InsertPoint) override { ++count; }
  } made;
  KnownBudget budget;
  mlir::OpBuilder builder;
  ImportBuilder b;
  OnnxRegistry registry;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  OnnxScope main;
  ModelOutline *outline = nullptr;
  llvm::StringMap<int64_t> opsets;
  llvm::StringMap<const onnx::FunctionProto *> functions;
  std::vector<bool> live;
  /// Nodes and other things in error.
  int failures = 0;
  int64_t nodesImported = 0;
  bool stopped = false;

  /// Sizes by input; the batch.
  llvm::StringMap<llvm::SmallVector<int64_t>> inputShapes;
  llvm::StringMap<int64_t> batchDims;
  std::optional<int64_t> batch, fileBatch;

  llvm::MapVector<mlir::Value, ImportValue> updates;
  llvm::DenseMap<mlir::Value, std::pair<ImportValue, int64_t>> logSoftmaxOf;
  std::vector<std::pair<std::string, std::string>> unsupported; // what, first node
  llvm::StringMap<unsigned> unsupportedIndex;
  std::vector<int64_t> unsupportedCount;
  /// Functions whose bodies are being imported, outermost first.
  std::vector<const onnx::FunctionProto *> activeCalls;

  /// Shapes of the operands and results of Reshape and Expand by result; here, and with the file's own batch.
  llvm::StringMap<std::pair<llvm::SmallVector<int64_t>, llvm::SmallVector<int64_t>>> shapes, originalShapes;
  std::optional<int64_t> originalBatch;
};

/// Which nodes the outputs need.
std::vector<bool> findLiveNodes(const NodeList &nodes, llvm::ArrayRef<llvm::StringRef> outputs);
/// All names that a node reads, those of its subgraphs included.
void forEachRead(const onnx::NodeProto &node, llvm::function_ref<void(llvm::StringRef)> visit, int depth = 0);

void registerControlFlow(OnnxRegistry &registry);

inline llvm::StringRef normalizeDomain(llvm::StringRef domain) { return domain == "ai.onnx" ? "" : domain; }

} // namespace para

#endif
