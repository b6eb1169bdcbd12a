//===- OnnxOp.h - A node as its handler sees it -----------------*- C++ -*-===//
//
// Families of ops register handlers: functions that turn one ONNX node into formulas. A handler is chosen by domain, operator
// and the newest version it has that is not newer than what the model imports.
//
// Example:
//   static void importRelu(OnnxOp &op) { op.result(op.b.relu(op.input(0))); }
//   void para::registerElementwiseOnnx(OnnxRegistry &registry) { registry.add("Relu", 6, importRelu); }
//
//===----------------------------------------------------------------------===//
#ifndef PARA_IMPORT_ONNXOP_H
#define PARA_IMPORT_ONNXOP_H

#include "para/Import/ImportBuilder.h"

#include "llvm/ADT/StringMap.h"

namespace onnx {
class NodeProto;
class AttributeProto;
class GraphProto;
} // namespace onnx

namespace para {

class OnnxImporter;
struct OnnxScope;

class OnnxOp {
public:
  OnnxOp(OnnxImporter &importer, OnnxScope &scope, const onnx::NodeProto &node, int64_t version, std::vector<ImportValue> operands);

  /// Builds formulas at the node's location.
  ImportBuilder &b;
  llvm::StringRef type() const;
  /// Version of the node's domain that the model imports.
  const int64_t version;
  mlir::InFlightDiagnostic error() { return b.error(); }

  // Operands.
  size_t numInputs() const { return operands.size(); }
  bool has(size_t i) const { return i < operands.size() && operands[i]; }
  /// An operand that must be there; an error and null if it is not.
  ImportValue input(size_t i);
  /// An operand or null.
  ImportValue optional(size_t i) const { return has(i) ? operands[i] : ImportValue(); }
  llvm::ArrayRef<ImportValue> inputs() const { return operands; }
  /// The integers of an operand that must be known while importing.
  std::optional<llvm::SmallVector<int64_t>> ints(size_t i);
  /// The one number of a known operand, or `otherwise` if it is absent; an error if it is not known.
  std::optional<double> number(size_t i, double otherwise);

  // Attributes. A wrong kind is an error and reads as absent.
  bool hasAttribute(llvm::StringRef name);
  int64_t getInt(llvm::StringRef name, int64_t otherwise);
  double getFloat(llvm::StringRef name, double otherwise);
  std::string getString(llvm::StringRef name, llvm::StringRef otherwise);
  std::optional<llvm::SmallVector<int64_t>> getInts(llvm::StringRef name);
  std::optional<llvm::SmallVector<double>> getFloats(llvm::StringRef name);
  std::vector<std::string> getStrings(llvm::StringRef name);
  /// A tensor; large floats are arguments of the function.
  ImportValue getTensor(llvm::StringRef name);
  /// Axes given by an attribute before `since`, by an operand from then on; none if absent.
  std::optional<llvm::SmallVector<int64_t>> axes(int64_t since, size_t operand = 1, llvm::StringRef name = "axes");
  /// The element type of an ONNX type number; an error if unsupported.
  mlir::Type elementType(int64_t onnxType);

  // Results.
  size_t numOutputs() const;
  /// Whether somebody uses (or may use) output i.
  bool wants(size_t i) const;
  void result(ImportValue value, size_t i = 0);

  // The training step.
  bool isTraining() const;
  /// From the next step on, `buffer` (an argument) holds `value`.
  void update(ImportValue buffer, ImportValue value);
  /// The newest value of a buffer in this step.
  ImportValue current(ImportValue buffer) const;
  /// A shape that the file gives for a reshape or broadcast of x, changed to the batch that was asked for: in a file of fixed
  /// batch it speaks of that one.
  llvm::SmallVector<int64_t> rebind(ImportValue x, llvm::SmallVector<int64_t> shape, bool reshapes);
  /// Remembers that `result` is the logarithm of softmax(x) along `dim`, so that a loss can be built in one piece.
  void noteLogSoftmax(ImportValue result, ImportValue x, int64_t dim);
  /// The scores whose log softmax along `dim` a value is; null if it is none.
  ImportValue getLogSoftmaxScores(ImportValue value, int64_t dim) const;

  /// Imports the graph of an attribute in place and gives its outputs as results.
  void inlineGraph(llvm::StringRef attribute);

private:
  friend class OnnxImporter;
  const onnx::AttributeProto *find(llvm::StringRef name, int kind);

  OnnxImporter &importer;
  OnnxScope &scope;
  const onnx::NodeProto &node;
  std::vector<ImportValue> operands;
  std::vector<ImportValue> results;
};

using OnnxHandler = void (*)(OnnxOp &op);

class OnnxRegistry {
public:
  /// Handles `type` from version `since` of the domain on.
  void add(llvm::StringRef type, int64_t since, OnnxHandler handler, llvm::StringRef domain = "");
  /// Several operators with one handler.
  void add(std::initializer_list<llvm::StringRef> types, int64_t since, OnnxHandler handler) {
    for (llvm::StringRef type : types)
      add(type, since, handler);
  }
  /// Null if there is none.
  OnnxHandler lookup(llvm::StringRef domain, llvm::StringRef type, int64_t version) const;

private:
  llvm::StringMap<std::vector<std::pair<int64_t, OnnxHandler>>> handlers;
};

// Each family's own, in lib/Ops/<Family>/Onnx.cpp.
#define PARA_ONNX_FAMILY(Family) void register##Family##Onnx(OnnxRegistry &registry);
#include "para/Import/OnnxFamilies.def"
#undef PARA_ONNX_FAMILY

} // namespace para

#endif
