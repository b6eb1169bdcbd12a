#include "Elementwise/Elementwise.h"

using namespace mlir;
using namespace para;

#define GET_OP_CLASSES
#include "Elementwise/Elementwise.cpp.inc"

LogicalResult AddNOp::buildGradient(OpBuilder &, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  llvm::fill(gradients, cotangents[0]);
  return success();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  // There and back again through floats that have all numbers of the first.
  auto before = getInput().getDefiningOp<CastOp>();
  auto narrow = dyn_cast<FloatType>(getType().getElementType()), wide = dyn_cast<FloatType>(getInput().getType().getElementType());
  bool isBack = before && narrow && wide && before.getInput().getType() == getType() && wide.getFPMantissaWidth() >= narrow.getFPMantissaWidth() &&
                wide.getWidth() > narrow.getWidth();
  return isBack ? OpFoldResult(before.getInput()) : OpFoldResult();
}

PrecisionRule CastOp::getPrecisionRule() { return PrecisionRule::Converts; }

void para::registerElementwiseOps(ParaDialect &dialect) {
  dialect.addFamily<
#define GET_OP_LIST
#include "Elementwise/Elementwise.cpp.inc"
      >();
}
