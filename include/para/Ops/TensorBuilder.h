//===- TensorBuilder.h - Formulas over tensors -------------------*- C++ -*-===//
//
// Makes ops of the core set without naming them: importers and derivative rules write formulas. Every function infers its
// result type and drops what is trivially nothing (a broadcast to the same shape, a cast to the same type). Callers check
// shapes before: an impossible request is a broken invariant.
//
// Example, sigmoid linear unit: t.mul(x, t.sigmoid(x)).
//
//===----------------------------------------------------------------------===//
#ifndef PARA_OPS_TENSORBUILDER_H
#define PARA_OPS_TENSORBUILDER_H

#include "para/IR/ParaDialect.h"

#include "mlir/IR/Builders.h"

namespace para {

/// Window of a convolution or pooling, one entry a spatial dimension.
struct Windowing {
  llvm::SmallVector<int64_t> window, strides, dilations, padLow, padHigh;
};

class TensorBuilder {
public:
  TensorBuilder(mlir::Location loc, mlir::OpBuilder &builder) : loc(loc), builder(builder) {}

  using Value = mlir::Value;
  using Type = mlir::Type;
  using Dims = llvm::ArrayRef<int64_t>;

  static mlir::RankedTensorType type(Value x) { return llvm::cast<mlir::RankedTensorType>(x.getType()); }
  static Dims shape(Value x) { return type(x).getShape(); }
  static int64_t rank(Value x) { return type(x).getRank(); }

  // Constants.
  Value constant(mlir::ElementsAttr value);
  /// Every element is `value`.
  Value splat(mlir::RankedTensorType type, double value);
  /// A constant of the type of `x`.
  Value like(Value x, double value) { return splat(type(x), value); }
  Value iota(mlir::RankedTensorType type, int64_t dim);

  // Elementwise; operands have one shape.
  Value neg(Value x), abs(Value x), sign(Value x), floor(Value x), exp(Value x), log(Value x), sqrt(Value x), tanh(Value x);
  Value erf(Value x), sin(Value x), cos(Value x), sigmoid(Value x), relu(Value x), logicalNot(Value x);
  Value add(Value x, Value y), sub(Value x, Value y), mul(Value x, Value y), div(Value x, Value y);
  Value max(Value x, Value y), min(Value x, Value y), pow(Value x, Value y);
  /// Of very many in parts: a GPU's kernel can have some hundred operands.
  Value addN(mlir::ValueRange values);
  Value compare(Comparison predicate, Value x, Value y);
  Value select(Value condition, Value then, Value otherwise);
  Value cast(Value x, Type elementType);

  // Shape.
  Value reshape(Value x, Dims shape);
  /// What `x` is a reshape of; null if it is none.
  static Value reshapedFrom(Value x);
  Value transpose(Value x, Dims permutation);
  /// Dimension i of x becomes dimension dims[i].
  Value broadcast(Value x, Dims shape, Dims dims);
  /// Numpy's rule: trailing dimensions are aligned.
  Value broadcastTo(Value x, Dims shape);
  /// A scalar (rank 0) repeated in the type of `like`.
  Value broadcastScalar(Value scalar, Value like);
  Value slice(Value x, Dims offsets, Dims sizes, Dims strides = {});
  Value pad(Value x, Dims low, Dims high, double value = 0.0, Dims interior = {});
  Value concat(mlir::ValueRange values, int64_t dim);

  // Reductions; `keepDims` leaves dimensions of size 1.
  Value reduce(ReductionKind kind, Value x, Dims dims, bool keepDims = false);
  Value reduceSum(Value x, Dims dims, bool keepDims = false) { return reduce(ReductionKind::Sum, x, dims, keepDims); }
  Value reduceMean(Value x, Dims dims, bool keepDims = false);
  /// Scalar number of elements along `dims`.
  Value extent(Value x, Dims dims);
  /// Marks term number `term` of the loss, or its cotangent.
  Value batchTerm(Value x, int64_t term);
  /// Sums away what a broadcast to the shape of x's cotangent added: the transpose of broadcastTo.
  Value reduceToShape(Value x, Dims shape);

  // Products.
  Value dot(Value lhs, Value rhs, Dims lhsBatch, Dims rhsBatch, Dims lhsContract, Dims rhsContract);
  /// Numpy's matmul of operands of rank 2 and more, batch dimensions broadcast.
  Value matmul(Value lhs, Value rhs);
  Value convolution(Value input, Value weight, const Windowing &windowing, int64_t groups);
  Value convolutionInputGrad(Value cotangent, Value weight, Dims inputShape, const Windowing &windowing, int64_t groups);
  Value convolutionWeightGrad(Value cotangent, Value input, Dims weightShape, const Windowing &windowing, int64_t groups);
  Value pool(ReductionKind kind, Value x, const Windowing &windowing);
  Value poolIndex(Value x, Value pooled, const Windowing &windowing);
  Value poolGrad(Value cotangent, Value index, Dims inputShape, const Windowing &windowing);

  // Indexing.
  /// States that x holds indices into `entries` entries; `fromEnd`: negative ones become what they mean.
  Value index(Value x, int64_t entries, bool fromEnd);
  Value gather(Value table, Value indices, int64_t dim);
  Value scatterAdd(Value indices, Value updates, int64_t rows);

  // Composites, replaced after differentiation.
  Value softmax(Value x, int64_t dim);
  Value logSoftmax(Value x, int64_t dim);
  /// {normalized, mean, variance}; the latter with size 1 in `dims`.
  std::array<Value, 3> normalize(Value x, Dims dims, double epsilon);
  Value crossEntropy(Value scores, Value labels);

  // Used by the rule of pow.
  Value powGradientBase(Value g, Value x, Value y);
  Value powGradientExponent(Value g, Value r, Value x, Value y);

  mlir::Location loc;
  mlir::OpBuilder &builder;
};

} // namespace para

#endif
