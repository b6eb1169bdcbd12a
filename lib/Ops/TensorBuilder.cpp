#include "para/Ops/TensorBuilder.h"

#include "Composite/Composite.h"
#include "Contraction/Contraction.h"
#include "Convolution/Convolution.h"
#include "Elementwise/Elementwise.h"
#include "Indexing/Indexing.h"
#include "Pooling/Pooling.h"
#include "Reduction/Reduction.h"
#include "Shape/Shape.h"

using namespace mlir;
using namespace para;

namespace {
RankedTensorType withShape(RankedTensorType type, ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, type.getElementType()); }
SmallVector<int64_t> iotaDims(int64_t begin, int64_t end) { return llvm::to_vector(llvm::seq<int64_t>(begin, end)); }
} // namespace

Value TensorBuilder::constant(ElementsAttr value) { return ConstantOp::create(builder, loc, llvm::cast<RankedTensorType>(value.getType()), value); }

Value TensorBuilder::splat(RankedTensorType type, double value) {
  Type element = type.getElementType();
  Attribute attr;
  if (auto floating = dyn_cast<FloatType>(element))
    attr = FloatAttr::get(floating, value);
  else
    attr = IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(), uint64_t(int64_t(value)), true, true));
  return constant(DenseElementsAttr::get(type, attr));
}

Value TensorBuilder::iota(RankedTensorType type, int64_t dim) {
  return IotaOp::create(builder, loc, type, dim, builder.getArrayAttr({}), IntegerAttr(), IntegerAttr());
}

#define PARA_UNARY(name, Op)                                                                                                     \
  Value TensorBuilder::name(Value x) { return Op::create(builder, loc, x.getType(), x); }
PARA_UNARY(neg, NegOp)
PARA_UNARY(abs, AbsOp)
PARA_UNARY(sign, SignOp)
PARA_UNARY(floor, FloorOp)
PARA_UNARY(exp, ExpOp)
PARA_UNARY(log, LogOp)
PARA_UNARY(sqrt, SqrtOp)
PARA_UNARY(tanh, TanhOp)
PARA_UNARY(erf, ErfOp)
PARA_UNARY(sin, SinOp)
PARA_UNARY(cos, CosOp)
PARA_UNARY(sigmoid, SigmoidOp)
PARA_UNARY(relu, ReluOp)
PARA_UNARY(logicalNot, NotOp)
#undef PARA_UNARY

#define PARA_BINARY(name, Op)                                                                                                    \
  Value TensorBuilder::name(Value x, Value y) { return Op::create(builder, loc, x.getType(), x, y); }
PARA_BINARY(add, AddOp)
PARA_BINARY(sub, SubOp)
PARA_BINARY(mul, MulOp)
PARA_BINARY(div, DivOp)
PARA_BINARY(max, MaxOp)
PARA_BINARY(min, MinOp)
PARA_BINARY(pow, PowOp)
#undef PARA_BINARY

Value TensorBuilder::addN(ValueRange values) {
  constexpr size_t most = 200;
  SmallVector<Value> parts(values);
  while (parts.size() > 1) {
    SmallVector<Value> sums;
    for (ArrayRef<Value> rest = parts; !rest.empty(); rest = rest.drop_front(std::min(rest.size(), most))) {
      ArrayRef<Value> part = rest.take_front(most);
      sums.push_back(part.size() == 1 ? part[0] : Value(AddNOp::create(builder, loc, part[0].getType(), part)));
    }
    parts = std::move(sums);
  }
  return parts.front();
}

Value TensorBuilder::compare(Comparison predicate, Value x, Value y) {
  return CompareOp::create(builder, loc, RankedTensorType::get(shape(x), builder.getI1Type()), predicate, x, y);
}

Value TensorBuilder::select(Value condition, Value then, Value otherwise) {
  return SelectOp::create(builder, loc, then.getType(), condition, then, otherwise);
}

Value TensorBuilder::cast(Value x, Type elementType) {
  if (type(x).getElementType() == elementType)
    return x;
  return CastOp::create(builder, loc, RankedTensorType::get(shape(x), elementType), x);
}

Value TensorBuilder::reshape(Value x, Dims target) {
  return shape(x) == target ? x : Value(ReshapeOp::create(builder, loc, withShape(type(x), target), x));
}

Value TensorBuilder::reshapedFrom(Value x) {
  auto reshape = x.getDefiningOp<ReshapeOp>();
  return reshape ? reshape->getOperand(0) : Value();
}

Value TensorBuilder::transpose(Value x, Dims permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, rank(x))))
    return x;
  auto target = llvm::map_to_vector(permutation, [&](int64_t dim) { return shape(x)[dim]; });
  return TransposeOp::create(builder, loc, withShape(type(x), target), x, permutation);
}

Value TensorBuilder::broadcast(Value x, Dims target, Dims dims) {
  return shape(x) == target ? x : Value(BroadcastOp::create(builder, loc, withShape(type(x), target), x, dims));
}

Value TensorBuilder::broadcastTo(Value x, Dims target) {
  return broadcast(x, target, iotaDims(int64_t(target.size()) - rank(x), target.size()));
}

Value TensorBuilder::broadcastScalar(Value scalar, Value like) { return broadcast(scalar, shape(like), {}); }

Value TensorBuilder::slice(Value x, Dims offsets, Dims sizes, Dims strides) {
  SmallVector<int64_t> steps(strides);
  if (steps.empty())
    steps.assign(rank(x), 1);
  bool whole = sizes == shape(x) && llvm::all_of(offsets, [](int64_t o) { return o == 0; });
  return whole ? x : Value(SliceOp::create(builder, loc, withShape(type(x), sizes), x, offsets, steps));
}

Value TensorBuilder::pad(Value x, Dims low, Dims high, double value, Dims interior) {
  SmallVector<int64_t> steps(interior), target;
  if (steps.empty())
    steps.assign(rank(x), 1);
  for (auto [size, l, h, step] : llvm::zip(shape(x), low, high, steps))
    target.push_back(l + h + (size - 1) * step + 1);
  if (shape(x) == ArrayRef(target) && llvm::all_of(low, [](int64_t l) { return l == 0; }))
    return x;
  Type element = type(x).getElementType();
  TypedAttr attr = isa<FloatType>(element) ? TypedAttr(FloatAttr::get(element, value)) : TypedAttr(IntegerAttr::get(element, int64_t(value)));
  return PadOp::create(builder, loc, withShape(type(x), target), x, low, steps, attr);
}

Value TensorBuilder::concat(ValueRange values, int64_t dim) {
  if (values.size() == 1)
    return values[0];
  SmallVector<int64_t> target(shape(values[0]));
  target[dim] = 0;
  for (Value value : values)
    target[dim] += shape(value)[dim];
  return ConcatOp::create(builder, loc, withShape(type(values[0]), target), values, dim);
}

Value TensorBuilder::reduce(ReductionKind kind, Value x, Dims dims, bool keepDims) {
  SmallVector<int64_t> sorted(dims), kept, withOnes;
  llvm::sort(sorted);
  for (auto [dim, size] : llvm::enumerate(shape(x))) {
    bool reduced = llvm::is_contained(sorted, int64_t(dim));
    if (!reduced)
      kept.push_back(size);
    withOnes.push_back(reduced ? 1 : size);
  }
  if (kind == ReductionKind::Sum && isNarrow(x.getType()) && !sorted.empty())
    return cast(reduce(kind, cast(x, getComputeType(x.getType())), dims, keepDims), type(x).getElementType());
  Value result = sorted.empty() ? x : Value(ReduceOp::create(builder, loc, withShape(type(x), kept), kind, x, sorted));
  return keepDims ? reshape(result, withOnes) : result;
}

Value TensorBuilder::extent(Value x, Dims dims) {
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  return ExtentOp::create(builder, loc, withShape(type(x), {}), x, sorted);
}

Value TensorBuilder::batchTerm(Value x, int64_t term) { return BatchTermOp::create(builder, loc, x, uint64_t(term)); }

Value TensorBuilder::reduceMean(Value x, Dims dims, bool keepDims) {
  if (isNarrow(x.getType())) // so many terms may be more than f16 has numbers
    return cast(reduceMean(cast(x, getComputeType(x.getType())), dims, keepDims), type(x).getElementType());
  Value sum = reduce(ReductionKind::Sum, x, dims, keepDims);
  return div(sum, broadcastScalar(extent(x, dims), sum));
}

Value TensorBuilder::reduceToShape(Value x, Dims target) {
  int64_t extra = rank(x) - int64_t(target.size());
  SmallVector<int64_t> dims = iotaDims(0, extra);
  for (auto [dim, size] : llvm::enumerate(target))
    if (size == 1 && shape(x)[dim + extra] != 1)
      dims.push_back(dim + extra);
  return reshape(reduceSum(x, dims), target);
}

Value TensorBuilder::dot(Value lhs, Value rhs, Dims lhsBatch, Dims rhsBatch, Dims lhsContract, Dims rhsContract) {
  SmallVector<int64_t> target;
  for (int64_t dim : lhsBatch)
    target.push_back(shape(lhs)[dim]);
  auto addFree = [&](Value x, Dims batch, Dims contract) {
    for (int64_t dim = 0; dim < rank(x); ++dim)
      if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
        target.push_back(shape(x)[dim]);
  };
  addFree(lhs, lhsBatch, lhsContract);
  addFree(rhs, rhsBatch, rhsContract);
  return DotOp::create(builder, loc, withShape(type(lhs), target), lhs, rhs, lhsBatch, rhsBatch, lhsContract, rhsContract);
}

Value TensorBuilder::matmul(Value lhs, Value rhs) {
  int64_t l = rank(lhs), r = rank(rhs);
  if (r == 2) // a weight: all leading dimensions of lhs are free
    return dot(lhs, rhs, {}, {}, {l - 1}, {0});
  int64_t batch = std::max(l, r) - 2;
  SmallVector<int64_t> lhsShape, rhsShape;
  for (int64_t i = 0; i < batch; ++i) {
    int64_t a = i - (batch - (l - 2)), b = i - (batch - (r - 2));
    int64_t size = std::max(a >= 0 ? shape(lhs)[a] : 1, b >= 0 ? shape(rhs)[b] : 1);
    lhsShape.push_back(size);
    rhsShape.push_back(size);
  }
  llvm::append_range(lhsShape, shape(lhs).take_back(2));
  llvm::append_range(rhsShape, shape(rhs).take_back(2));
  lhs = broadcastTo(lhs, lhsShape);
  rhs = broadcastTo(rhs, rhsShape);
  SmallVector<int64_t> dims = iotaDims(0, batch);
  return dot(lhs, rhs, dims, dims, {batch + 1}, {batch});
}

Value TensorBuilder::convolution(Value input, Value weight, const Windowing &w, int64_t groups) {
  SmallVector<int64_t> target = {shape(input)[0], shape(weight)[0]};
  for (size_t i = 0; i < w.strides.size(); ++i)
    target.push_back((shape(input)[i + 2] + w.padLow[i] + w.padHigh[i] - w.dilations[i] * (shape(weight)[i + 2] - 1) - 1) / w.strides[i] + 1);
  return ConvolutionOp::create(builder, loc, withShape(type(input), target), input, weight, w.strides, w.dilations, w.padLow, w.padHigh, groups);
}

Value TensorBuilder::convolutionInputGrad(Value cotangent, Value weight, Dims inputShape, const Windowing &w, int64_t groups) {
  return ConvolutionInputGradOp::create(builder, loc, withShape(type(cotangent), inputShape), cotangent, weight, w.strides, w.dilations,
                                        w.padLow, w.padHigh, groups);
}

Value TensorBuilder::convolutionWeightGrad(Value cotangent, Value input, Dims weightShape, const Windowing &w, int64_t groups) {
  return ConvolutionWeightGradOp::create(builder, loc, withShape(type(cotangent), weightShape), cotangent, input, w.strides, w.dilations,
                                         w.padLow, w.padHigh, groups);
}

Value TensorBuilder::pool(ReductionKind kind, Value x, const Windowing &w) {
  SmallVector<int64_t> target(shape(x).take_front(2));
  for (size_t i = 0; i < w.strides.size(); ++i)
    target.push_back((shape(x)[i + 2] + w.padLow[i] + w.padHigh[i] - w.dilations[i] * (w.window[i] - 1) - 1) / w.strides[i] + 1);
  return PoolOp::create(builder, loc, withShape(type(x), target), kind, x, w.window, w.strides, w.dilations, w.padLow);
}

Value TensorBuilder::poolIndex(Value x, Value pooled, const Windowing &w) {
  auto indexType = RankedTensorType::get(shape(pooled), builder.getI32Type());
  return PoolIndexOp::create(builder, loc, indexType, x, pooled, w.window, w.strides, w.dilations, w.padLow);
}

Value TensorBuilder::poolGrad(Value cotangent, Value index, Dims inputShape, const Windowing &w) {
  return PoolGradOp::create(builder, loc, withShape(type(cotangent), inputShape), cotangent, index, w.window, w.strides, w.dilations, w.padLow);
}

Value TensorBuilder::index(Value x, int64_t entries, bool fromEnd) { return IndexOp::create(builder, loc, x.getType(), x, entries, fromEnd); }

Value TensorBuilder::gather(Value table, Value indices, int64_t dim) {
  SmallVector<int64_t> target(shape(table).take_front(dim));
  llvm::append_range(target, shape(indices));
  llvm::append_range(target, shape(table).drop_front(dim + 1));
  return GatherOp::create(builder, loc, withShape(type(table), target), table, indices, dim, builder.getArrayAttr({}), IntegerAttr(), IntegerAttr());
}

Value TensorBuilder::scatterAdd(Value indices, Value updates, int64_t rows) {
  SmallVector<int64_t> target = {rows};
  llvm::append_range(target, shape(updates).drop_front(rank(indices)));
  return ScatterAddOp::create(builder, loc, withShape(type(updates), target), indices, updates, builder.getArrayAttr({}), IntegerAttr(), IntegerAttr());
}

Value TensorBuilder::softmax(Value x, int64_t dim) { return SoftmaxOp::create(builder, loc, x.getType(), x, dim); }
Value TensorBuilder::logSoftmax(Value x, int64_t dim) {
  return LogSoftmaxOp::create(builder, loc, RankedTensorType::get(shape(x), getComputeType(x.getType())), x, dim);
}

std::array<Value, 3> TensorBuilder::normalize(Value x, Dims dims, double epsilon) {
  SmallVector<int64_t> sorted(dims), target(shape(x));
  llvm::sort(sorted);
  for (int64_t dim : sorted)
    target[dim] = 1;
  Type statistic = RankedTensorType::get(target, getComputeType(x.getType()));
  auto op = NormalizeOp::create(builder, loc, TypeRange{x.getType(), statistic, statistic}, x, sorted, APFloat(epsilon));
  return {op.getResult(), op.getMean(), op.getVariance()};
}

Value TensorBuilder::crossEntropy(Value scores, Value labels) {
  return CrossEntropyOp::create(builder, loc, RankedTensorType::get(shape(labels), getComputeType(scores.getType())), scores, labels);
}

Value TensorBuilder::powGradientBase(Value g, Value x, Value y) { return mul(g, mul(y, pow(x, sub(y, like(y, 1.0))))); }

Value TensorBuilder::powGradientExponent(Value g, Value r, Value x, Value y) {
  // At x = 0 the result does not depend on a positive exponent; elsewhere d x^y / dy = x^y log x.
  Value zero = like(x, 0.0);
  Value positive = compare(Comparison::Greater, x, zero);
  return select(positive, mul(g, mul(r, log(select(positive, x, like(x, 1.0))))), zero);
}
