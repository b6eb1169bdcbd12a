#include "Elementwise/Elementwise.h"

using namespace mlir;
using namespace para;

#define GET_OP_CLASSES
#include "Elementwise/Elementwise.cpp.inc"

LogicalResult AddNOp::buildGradient(OpBuilder &, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  llvm::fill(gradients, cotangents[0]);
  return success();
}

PrecisionRule CastOp::getPrecisionRule() { return PrecisionRule::Converts; }

void para::registerElementwiseOps(ParaDialect &dialect) {
  dialect.addFamily<
#define GET_OP_LIST
#include "Elementwise/Elementwise.cpp.inc"
      >();
}
