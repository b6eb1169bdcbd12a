#include "Reduction/Reduction.h"

using namespace mlir;
using namespace para;

#define GET_OP_CLASSES
#include "Reduction/Reduction.cpp.inc"

LogicalResult ReduceOp::verify() {
  auto from = getInput().getType();
  if (failed(verifyDims(*this, getDims(), from)))
    return failure();
  SmallVector<int64_t> kept;
  for (auto [dim, size] : llvm::enumerate(from.getShape()))
    if (!llvm::is_contained(getDims(), int64_t(dim)))
      kept.push_back(size);
  if (getType() != RankedTensorType::get(kept, from.getElementType()))
    return emitOpError("result must be ") << RankedTensorType::get(kept, from.getElementType());
  return success();
}

LogicalResult ExtentOp::verify() {
  if (failed(verifyDims(*this, getDims(), getInput().getType())))
    return failure();
  return verifyResult(*this, 0, RankedTensorType::get({}, getInput().getType().getElementType()));
}

OpFoldResult ReduceOp::fold(FoldAdaptor) { return getDims().empty() ? OpFoldResult(getInput()) : OpFoldResult(); }

Structure ReduceOp::getStructure() {
  Structure structure;
  ValueFactors operand, result;
  for (auto [dim, size] : llvm::enumerate(getInput().getType().getShape())) {
    bool reduced = llvm::is_contained(getDims(), int64_t(dim));
    DimFactors factors;
    if (size != 1)
      factors.push_back(structure.addFactor(size, reduced ? FactorKind::Reduction : FactorKind::Parallel, getKind()));
    operand.push_back(factors);
    if (!reduced)
      result.push_back(factors);
  }
  structure.operands.push_back(operand);
  structure.results.push_back(result);
  structure.linearity.push_back(getKind() == ReductionKind::Sum ? Linearity::Joint : Linearity::None);
  return structure;
}

// Resolved before anything is cut.
Structure ExtentOp::getStructure() {
  Structure structure;
  ValueFactors operand;
  for (int64_t size : getInput().getType().getShape())
    operand.push_back(size == 1 ? DimFactors() : DimFactors{structure.addFactor(size, FactorKind::Whole)});
  structure.operands.push_back(operand);
  structure.results.emplace_back();
  structure.linearity.push_back(Linearity::None);
  return structure;
}

// The largest and the smallest of rounded elements are none but those.
PrecisionRule ReduceOp::getPrecisionRule() { return getKind() == ReductionKind::Sum ? PrecisionRule::Sums : PrecisionRule::Arithmetic; }
PrecisionRule ExtentOp::getPrecisionRule() { return PrecisionRule::Sums; }
PrecisionRule BatchTermOp::getPrecisionRule() { return PrecisionRule::Moves; }

ArrayRef<int64_t> ExtentOp::getCountedDims() { return getDims(); }

Structure BatchTermOp::getStructure() { return Structure::elementwise(*this, {Linearity::Joint}); }

LogicalResult BatchTermOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  gradients[0] = TensorBuilder(getLoc(), builder).batchTerm(cotangents[0], getTerm());
  return success();
}

LogicalResult ReduceOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  TensorBuilder t(getLoc(), builder);
  auto shape = getInput().getType().getShape();
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim)
    if (!llvm::is_contained(getDims(), dim))
      kept.push_back(dim);
  Value spread = t.broadcast(cotangents[0], shape, kept);
  if (getKind() == ReductionKind::Sum) {
    gradients[0] = spread;
    return success();
  }
  // Elements that share the extreme share its gradient equally, as in PyTorch's amax.
  Value chosen = t.compare(Comparison::Equal, getInput(), t.broadcast(getResult(), shape, kept));
  Value ones = t.cast(chosen, getType().getElementType());
  Value count = t.broadcast(t.reduceSum(ones, getDims()), shape, kept);
  gradients[0] = t.select(chosen, t.div(spread, count), t.like(spread, 0.0));
  return success();
}

void para::registerReductionOps(ParaDialect &dialect) {
  dialect.addFamily<
#define GET_OP_LIST
#include "Reduction/Reduction.cpp.inc"
      >();
}
