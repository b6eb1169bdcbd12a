#include "Pooling/Pooling.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace para;

#define GET_OP_CLASSES
#include "Pooling/Pooling.cpp.inc"

namespace {
template <typename Op> LogicalResult verifyWindow(Op op, RankedTensorType input, RankedTensorType pooled) {
  int64_t spatial = input.getRank() - 2;
  if (spatial < 1 || pooled.getRank() != input.getRank())
    return op.emitOpError("needs at least one spatial dimension");
  for (ArrayRef<int64_t> list : {op.getWindow(), op.getStrides(), op.getDilations()})
    if (int64_t(list.size()) != spatial || llvm::any_of(list, [](int64_t value) { return value < 1; }))
      return op.emitOpError("needs a positive window, stride and dilation for each of ") << spatial << " spatial dimensions";
  int64_t elements = 1;
  for (int64_t size : op.getWindow())
    if (llvm::MulOverflow(elements, size, elements) || elements > kMostSteps)
      return op.emitOpError("the window is too large");
  for (auto [what, list] : {std::pair<StringRef, ArrayRef<int64_t>>{"a stride", op.getStrides()}, {"a dilation", op.getDilations()}, {"padding", op.getPadLow()}})
    if (failed(verifySteps(op, what, list)))
      return failure();
  if (int64_t(op.getPadLow().size()) != spatial || input.getShape().take_front(2) != pooled.getShape().take_front(2))
    return op.emitOpError("batch, channels or padding do not fit together");
  return success();
}

/// Batch and channels are free, what is pooled stays whole. All tensors have these factors.
Structure poolStructure(Operation *op, Linearity linearity) {
  Structure structure;
  auto add = [&](int64_t size, FactorKind kind) { return size == 1 ? DimFactors() : DimFactors{structure.addFactor(size, kind)}; };
  auto shape = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  DimFactors n = add(shape[0], FactorKind::Parallel), c = add(shape[1], FactorKind::Parallel);
  auto factorsOf = [&](Value value) {
    ValueFactors factors = {n, c};
    for (int64_t size : cast<RankedTensorType>(value.getType()).getShape().drop_front(2))
      factors.push_back(add(size, FactorKind::Whole));
    return factors;
  };
  for (Value operand : op->getOperands())
    structure.operands.push_back(factorsOf(operand));
  structure.results.push_back(factorsOf(op->getResult(0)));
  structure.linearity.append(op->getNumOperands(), linearity);
  return structure;
}
} // namespace

LogicalResult PoolOp::verify() {
  if (failed(verifyOneElementType(*this, {getInput().getType(), getType()})))
    return failure();
  return verifyWindow(*this, getInput().getType(), getType());
}

LogicalResult PoolIndexOp::verify() {
  if (failed(verifyOneElementType(*this, {getInput().getType(), getPooled().getType()})))
    return failure();
  if (!isa<IntegerType>(getType().getElementType()) || getType().getElementTypeBitWidth() < 32 || getType().getShape() != getPooled().getType().getShape()) // C1
    return emitOpError("the result must be integers (32 bits or more) of the shape of what is pooled");
  return verifyWindow(*this, getInput().getType(), getType());
}

LogicalResult PoolGradOp::verify() {
  if (failed(verifyOneElementType(*this, {getCotangent().getType(), getType()})))
    return failure();
  if (getIndex() && getIndex().getType().getShape() != getCotangent().getType().getShape()) // C1
    return emitOpError("the index must have the shape of the cotangent");
  return verifyWindow(*this, getType(), getCotangent().getType());
}

Structure PoolOp::getStructure() { return poolStructure(*this, getKind() == ReductionKind::Sum ? Linearity::Joint : Linearity::None); }
Structure PoolIndexOp::getStructure() { return poolStructure(*this, Linearity::None); }
Structure PoolGradOp::getStructure() {
  Structure structure = poolStructure(*this, Linearity::None);
  structure.linearity[0] = getIndex() ? Linearity::Alone : Linearity::Joint;
  return structure;
}

LogicalResult PoolOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  TensorBuilder t(getLoc(), builder);
  Windowing windowing{SmallVector<int64_t>(getWindow()), SmallVector<int64_t>(getStrides()), SmallVector<int64_t>(getDilations()),
                      SmallVector<int64_t>(getPadLow()), {}};
  Value index = getKind() == ReductionKind::Sum ? Value() : t.poolIndex(getInput(), getResult(), windowing);
  gradients[0] = t.poolGrad(cotangents[0], index, getInput().getType().getShape(), windowing);
  return success();
}

void para::registerPoolingOps(ParaDialect &dialect) {
  dialect.addFamily<
#define GET_OP_LIST
#include "Pooling/Pooling.cpp.inc"
      >();
}
