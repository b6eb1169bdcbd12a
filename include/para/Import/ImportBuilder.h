//===- ImportBuilder.h - Formulas which fold what is known ------*- C++ -*-===//
//
// The TensorBuilder of importers: the same functions over values that are either in the IR or known while importing. If all
// operands are known, so is the result; else the known ones become constants. Elementwise functions broadcast by numpy's
// rule. A request that the shapes do not allow makes an error at the node and a null value; null operands give null results,
// so a formula need not check its steps.
//
// Example, the shape of x without its last dimension, as a tensor: b.slice(b.shapeOf(x), {0}, {rank - 1}).
//
//===----------------------------------------------------------------------===//
#ifndef PARA_IMPORT_IMPORTBUILDER_H
#define PARA_IMPORT_IMPORTBUILDER_H

#include "para/Import/KnownTensor.h"
#include "para/Ops/TensorBuilder.h"

#include "mlir/IR/Diagnostics.h"

namespace para {

/// A value of the graph: in the IR, or known, or a sequence of values; null if absent or in error.
class ImportValue {
public:
  ImportValue() = default;
  ImportValue(mlir::Value value) : value(value) {}
  ImportValue(Known known) : known(std::move(known)) {}
  ImportValue(std::vector<ImportValue> elements) : sequence(std::make_shared<std::vector<ImportValue>>(std::move(elements))) {}

  explicit operator bool() const { return value || known || sequence; }
  bool isTensor() const { return value || known; }
  mlir::RankedTensorType type() const { return known ? known->type : llvm::cast<mlir::RankedTensorType>(value.getType()); }
  llvm::ArrayRef<int64_t> shape() const { return type().getShape(); }
  int64_t dim(int64_t i) const { return shape()[i]; }
  int64_t rank() const { return type().getRank(); }
  mlir::Type element() const { return type().getElementType(); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(element()); }
  bool isBool() const { return element().isInteger(1); }
  /// The single element of a known splat (or one-element tensor).
  std::optional<double> splat() const;

  mlir::Value value;
  Known known;
  std::shared_ptr<std::vector<ImportValue>> sequence;
};

class ImportBuilder {
public:
  using V = ImportValue;
  using Values = llvm::ArrayRef<ImportValue>;
  using Dims = llvm::ArrayRef<int64_t>;

  explicit ImportBuilder(mlir::OpBuilder &builder) : t(builder.getUnknownLoc(), builder) {}

  // Errors.
  mlir::InFlightDiagnostic error();
  bool hasFailed() const { return failed; }
  /// After an error that was reported elsewhere.
  void markFailed() { failed = true; }
  void begin(mlir::Location loc) { t.loc = loc, failed = false; }

  // Known values.
  V known(mlir::RankedTensorType type, std::vector<Scalar> data) { return KnownTensor::create(type, std::move(data)); }
  V ints(Dims values, bool scalar = false);
  V splat(mlir::Type element, Dims shape, double value);
  V scalar(V like, double value) { return like ? splat(like.element(), {}, value) : V(); }
  V iota(mlir::Type element, Dims shape, int64_t dim);
  V shapeOf(V x) { return x ? ints(x.shape()) : V(); }

  /// The value in the IR.
  mlir::Value materialize(V x);

  // Elementwise; operands are broadcast.
  V neg(V x), abs(V x), sign(V x), floor(V x), ceil(V x), round(V x), exp(V x), log(V x), sqrt(V x), tanh(V x), erf(V x);
  V sin(V x), cos(V x), sigmoid(V x), relu(V x), logicalNot(V x), reciprocal(V x), square(V x), isNan(V x);
  V add(V x, V y), sub(V x, V y), mul(V x, V y), div(V x, V y), max(V x, V y), min(V x, V y), pow(V x, V y);
  V add(V x, double y) { return add(x, scalar(x, y)); }
  V mul(V x, double y) { return mul(x, scalar(x, y)); }
  V max(V x, double y) { return max(x, scalar(x, y)); }
  V min(V x, double y) { return min(x, scalar(x, y)); }
  V compare(Comparison predicate, V x, V y);
  V select(V condition, V then, V otherwise);
  V cast(V x, mlir::Type element);

  // Shape.
  V reshape(V x, Dims shape);
  /// The tensor of more dimensions of which `x` merges the leading ones into rows: exporters do so for products, and batch and sequence are
  /// better kept apart, since each may be cut by itself. Nothing if `x` is none.
  V beforeMerge(V x);
  V transpose(V x, Dims permutation);
  /// Numpy's broadcast of x alone.
  V broadcastTo(V x, Dims shape);
  /// The shape that all values broadcast to.
  std::optional<llvm::SmallVector<int64_t>> commonShape(Values values);
  V slice(V x, Dims offsets, Dims sizes, Dims strides = {});
  /// `sizes` elements of one dimension.
  V sliceDim(V x, int64_t dim, int64_t offset, int64_t size, int64_t stride = 1);
  V pad(V x, Dims low, Dims high, double value = 0.0);
  V concat(Values values, int64_t dim);
  V unsqueeze(V x, int64_t dim);
  V squeeze(V x, int64_t dim);

  // Reductions.
  V reduce(ReductionKind kind, V x, Dims dims, bool keepDims);
  V sum(V x, Dims dims, bool keepDims) { return reduce(ReductionKind::Sum, x, dims, keepDims); }
  V mean(V x, Dims dims, bool keepDims);

  // Products and indexing.
  V matmul(V x, V y);
  V dot(V x, V y, Dims xBatch, Dims yBatch, Dims xContract, Dims yContract);
  /// Negative indices count from the end.
  V gather(V table, V indices, int64_t dim);
  /// Indices into a dimension, which is stated, with its size added to negative ones.
  V wrapIndices(V indices, int64_t size);

  // Composites.
  V softmax(V x, int64_t dim);
  V logSoftmax(V x, int64_t dim);

  /// True if an axis lies in [-rank, rank) after making it non-negative; else an error.
  bool normalizeAxis(int64_t &axis, int64_t rank);
  /// An error if the shape has a negative size or too many elements.
  bool checkShape(Dims shape);

  TensorBuilder t;

private:
  using ScalarFn = std::function<Scalar(const Scalar *)>;
  using EmitFn = std::function<mlir::Value(llvm::ArrayRef<mlir::Value>)>;

  V elementwise(Values operands, mlir::Type element, ScalarFn compute, EmitFn emit);
  mlir::Value emitElementwise(Values operands, Dims shape, const EmitFn &emit);
  V unaryFloat(V x, double (*compute)(double), mlir::Value (TensorBuilder::*emit)(mlir::Value));
  V binary(V x, V y, double (*floats)(double, double), int64_t (*ints)(int64_t, int64_t),
           mlir::Value (TensorBuilder::*emit)(mlir::Value, mlir::Value));
  V dropNeutral(V x, V y, double neutral, bool bothSides);
  /// Whether y broadcasts to the shape of x.
  bool commonShapeIs(V x, V y);
  V shrink(V x, llvm::function_ref<bool(int64_t)> keep);
  Known reshapeKnown(Known x, mlir::RankedTensorType type);
  /// Whether a value becomes a constant (or a row of numbers in equal steps), rather than being computed by ops.
  bool isConstant(KnownTensor &x);
  mlir::Value materializeConstant(KnownTensor &x);
  bool check(V x);

  bool failed = false;
};

/// The type of an ONNX element type number under a precision; null if it has none.
mlir::Type getElementType(int64_t onnxType, mlir::MLIRContext *context);

} // namespace para

#endif
