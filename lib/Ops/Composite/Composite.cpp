#include "Composite/Composite.h"
#include "Elementwise/Elementwise.h"

using namespace mlir;
using namespace para;

#define GET_OP_CLASSES
#include "Composite/Composite.cpp.inc"

namespace {
/// All dimensions but `dim`.
SmallVector<int64_t> without(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept;
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(dims, i))
      kept.push_back(i);
  return kept;
}

/// The value of a reduction along `dims`, repeated over them again.
struct RowBuilder : TensorBuilder {
  RowBuilder(Location loc, OpBuilder &builder, Value like, ArrayRef<int64_t> dims)
      : TensorBuilder(loc, builder), like(like), dims(dims), kept(without(rank(like), dims)) {}

  Value spread(Value row) { return broadcast(row, shape(like), kept); }
  Value sum(Value x) { return spread(reduceSum(x, dims)); }
  Value mean(Value x) { return spread(reduceMean(x, dims)); }
  Value shifted() { return sub(like, spread(reduce(ReductionKind::Max, like, dims))); }

  Value like;
  SmallVector<int64_t> dims, kept;
};

/// Rows are independent, what a row is made of stays whole. Composites are gone before anything is cut.
Structure rowwise(Operation *op, ArrayRef<int64_t> dims) {
  Structure structure = Structure::elementwise(op);
  for (int64_t dim : dims)
    for (int factor : structure.results[0][dim])
      structure.factors[factor].kind = FactorKind::Whole;
  return structure;
}
} // namespace

/// What a composite computes with: an operand in the compute type.
static Value widen(OpBuilder &builder, Location loc, Value x) { return TensorBuilder(loc, builder).cast(x, getComputeType(x.getType())); }
/// The same where the op is replaced: what was rounded for it alone is taken as it was before.
static Value takeWide(OpBuilder &builder, Location loc, Value x) {
  auto cast = x.getDefiningOp<CastOp>();
  bool isRounding = cast && isNarrow(x.getType()) && cast.getInput().getType().getElementType() == getComputeType(x.getType());
  return isRounding && x.hasOneUse() ? cast.getInput() : widen(builder, loc, x);
}
static RankedTensorType widen(RankedTensorType type) { return RankedTensorType::get(type.getShape(), getComputeType(type)); }

LogicalResult SoftmaxOp::verify() {
  return failed(verifyDim(*this, getDim(), getInput().getType())) ? failure() : verifyResult(*this, 0, getInput().getType());
}
LogicalResult LogSoftmaxOp::verify() {
  return failed(verifyDim(*this, getDim(), getInput().getType())) ? failure() : verifyResult(*this, 0, widen(getInput().getType()));
}

PrecisionRule SoftmaxOp::getPrecisionRule() { return PrecisionRule::Composite; }
PrecisionRule LogSoftmaxOp::getPrecisionRule() { return PrecisionRule::Composite; }
PrecisionRule NormalizeOp::getPrecisionRule() { return PrecisionRule::Composite; }
PrecisionRule CrossEntropyOp::getPrecisionRule() { return PrecisionRule::Composite; }
bool SoftmaxOp::isWideResult(unsigned) { return false; }
bool LogSoftmaxOp::isWideResult(unsigned) { return true; }
bool NormalizeOp::isWideResult(unsigned result) { return result > 0; }
bool CrossEntropyOp::isWideResult(unsigned) { return true; }

LogicalResult NormalizeOp::verify() {
  auto type = getInput().getType();
  if (failed(verifyDims(*this, getDims(), type)))
    return failure();
  if (!(getEpsilon().convertToDouble() >= 0) || !getEpsilon().isFinite()) // C1
    return emitOpError("epsilon must be 0 or more");
  SmallVector<int64_t> row(type.getShape());
  for (int64_t dim : getDims())
    row[dim] = 1;
  auto rows = RankedTensorType::get(row, getComputeType(type)); // C2
  return success(succeeded(verifyResult(*this, 0, type)) && succeeded(verifyResult(*this, 1, rows)) && succeeded(verifyResult(*this, 2, rows)));
}

LogicalResult CrossEntropyOp::verify() {
  auto scores = getScores().getType();
  if (scores.getRank() < 1 || scores.getShape().drop_back() != getLabels().getType().getShape()) // C1
    return emitOpError("needs scores [rows..., classes] and labels [rows...]");
  if (getLabels().getType().getElementType().isInteger(1))
    return emitOpError("labels are indices of classes, which bools are not");
  return verifyResult(*this, 0, RankedTensorType::get(scores.getShape().drop_back(), getComputeType(scores)));
}

Structure SoftmaxOp::getStructure() { return rowwise(*this, {int64_t(getDim())}); }

SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder) {
  RowBuilder t(getLoc(), builder, takeWide(builder, getLoc(), getInput()), {int64_t(getDim())});
  Value e = t.exp(t.shifted());
  return {t.cast(t.div(e, t.sum(e)), getType().getElementType())};
}

LogicalResult SoftmaxOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  Value y = widen(builder, getLoc(), getResult()), g = widen(builder, getLoc(), cotangents[0]);
  RowBuilder t(getLoc(), builder, y, {int64_t(getDim())});
  gradients[0] = t.cast(t.mul(y, t.sub(g, t.sum(t.mul(g, y)))), getType().getElementType());
  return success();
}

Structure LogSoftmaxOp::getStructure() { return rowwise(*this, {int64_t(getDim())}); }

SmallVector<Value> LogSoftmaxOp::decompose(OpBuilder &builder) {
  RowBuilder t(getLoc(), builder, takeWide(builder, getLoc(), getInput()), {int64_t(getDim())});
  Value shifted = t.shifted();
  return {t.sub(shifted, t.spread(t.log(t.reduceSum(t.exp(shifted), t.dims))))};
}

LogicalResult LogSoftmaxOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  RowBuilder t(getLoc(), builder, getResult(), {int64_t(getDim())});
  gradients[0] = t.cast(t.sub(cotangents[0], t.mul(t.exp(getResult()), t.sum(cotangents[0]))), getInput().getType().getElementType());
  return success();
}

Structure NormalizeOp::getStructure() {
  Structure structure = rowwise(*this, getDims());
  for (auto [number, result] : llvm::enumerate(getResults()))
    if (number > 0)
      for (int64_t dim : getDims())
        structure.results[number][dim].clear();
  return structure;
}

static Value inverseDeviation(TensorBuilder &t, Value variance, double epsilon) {
  return t.div(t.like(variance, 1.0), t.sqrt(t.add(variance, t.like(variance, epsilon))));
}

SmallVector<Value> NormalizeOp::decompose(OpBuilder &builder) {
  TensorBuilder t(getLoc(), builder);
  auto shape = getInput().getType().getShape();
  Value input = takeWide(builder, getLoc(), getInput());
  Value mean = t.reduceMean(input, getDims(), /*keepDims=*/true);
  Value centered = t.sub(input, t.broadcastTo(mean, shape));
  Value variance = t.reduceMean(t.mul(centered, centered), getDims(), /*keepDims=*/true);
  Value scale = inverseDeviation(t, variance, getEpsilon().convertToDouble());
  return {t.cast(t.mul(centered, t.broadcastTo(scale, shape)), getInput().getType().getElementType()), mean, variance};
}

// dx = (g - mean(g) - y mean(g y)) / sqrt(variance + epsilon)
LogicalResult NormalizeOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  if (!cotangents[0])
    return success();
  Value g = widen(builder, getLoc(), cotangents[0]), y = widen(builder, getLoc(), getResult());
  RowBuilder t(getLoc(), builder, y, getDims());
  Value scale = t.broadcastTo(inverseDeviation(t, getVariance(), getEpsilon().convertToDouble()), getInput().getType().getShape());
  gradients[0] = t.cast(t.mul(t.sub(t.sub(g, t.mean(g)), t.mul(y, t.mean(t.mul(g, y)))), scale), getInput().getType().getElementType());
  return success();
}

Structure CrossEntropyOp::getStructure() {
  Structure structure;
  ValueFactors scores, rows;
  for (int64_t size : getLabels().getType().getShape())
    rows.push_back(size == 1 ? DimFactors() : DimFactors{structure.addFactor(size)});
  scores = rows;
  scores.push_back({structure.addFactor(getScores().getType().getShape().back(), FactorKind::Whole)});
  structure.operands = {scores, rows};
  structure.results = {rows};
  structure.linearity = {Linearity::None, Linearity::None};
  return structure;
}

namespace {
/// What the loss and its gradient share.
struct LabelBuilder : RowBuilder {
  LabelBuilder(CrossEntropyOp op, OpBuilder &builder)
      : RowBuilder(op.getLoc(), builder, widen(builder, op.getLoc(), op.getScores()), {op.getScores().getType().getRank() - 1}) {
    labels = index(op.getLabels(), shape(like).back(), /*fromEnd=*/false);
    auto labelType = type(labels);
    auto places = iota(RankedTensorType::get(shape(like), labelType.getElementType()), dims[0]);
    chosen = compare(Comparison::Equal, places, spread(labels));
    valid = mul(compare(Comparison::GreaterEqual, labels, TensorBuilder::like(labels, 0)),
                compare(Comparison::Less, labels, TensorBuilder::like(labels, shape(like).back())));
  }
  Value labels, chosen, valid;
};
} // namespace

std::optional<IndexRange> CrossEntropyOp::getIndexRange(unsigned operand) {
  return operand == 1 ? std::optional(IndexRange{0, getScores().getType().getShape().back()}) : std::nullopt;
}

SmallVector<Value> CrossEntropyOp::decompose(OpBuilder &builder) {
  LabelBuilder t(*this, builder);
  Value shifted = t.shifted();
  Value logSum = t.log(t.reduceSum(t.exp(shifted), t.dims));
  Value picked = t.reduceSum(t.select(t.chosen, shifted, t.TensorBuilder::like(shifted, 0.0)), t.dims);
  Value loss = t.sub(logSum, picked);
  return {t.select(t.valid, loss, t.TensorBuilder::like(loss, 0.0))};
}

// (softmax - one hot) times the row's cotangent
LogicalResult CrossEntropyOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  LabelBuilder t(*this, builder);
  Value shifted = t.shifted(), e = t.exp(shifted);
  // Of narrow scores not from e, which would be kept as f32: the scores themselves are half of that.
  Value probability = isNarrow(getScores().getType()) ? t.exp(t.sub(shifted, t.spread(t.log(t.reduceSum(e, t.dims))))) : t.div(e, t.sum(e));
  Value hit = t.cast(t.chosen, t.type(t.like).getElementType());
  Value g = t.select(t.valid, cotangents[0], t.TensorBuilder::like(cotangents[0], 0.0));
  gradients[0] = t.cast(t.mul(t.sub(probability, hit), t.spread(g)), getScores().getType().getElementType());
  return success();
}

void para::registerCompositeOps(ParaDialect &dialect) {
  dialect.addFamily<
#define GET_OP_LIST
#include "Composite/Composite.cpp.inc"
      >();
}
