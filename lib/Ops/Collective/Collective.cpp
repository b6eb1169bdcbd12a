#include "Collective/Collective.h"

using namespace mlir;
using namespace para;

#define GET_OP_CLASSES
#include "Collective/Collective.cpp.inc"

namespace {
double elementsOf(ValueRange values) {
  double elements = 0;
  for (Value value : values)
    elements += double(cast<RankedTensorType>(value.getType()).getNumElements());
  return elements;
}
} // namespace

SmallVector<StringRef> AllReduceOp::getCommunicatorAxes() {
  return llvm::map_to_vector(getAxes(), [](Attribute axis) { return cast<StringAttr>(axis).getValue(); });
}
SmallVector<StringRef> AllGatherOp::getCommunicatorAxes() { return {getAxis()}; }
SmallVector<StringRef> ReduceScatterOp::getCommunicatorAxes() { return {getAxis()}; }
SmallVector<StringRef> AllToAllOp::getCommunicatorAxes() { return {getAxis()}; }
SmallVector<StringRef> SendOp::getCommunicatorAxes() { return {}; }
SmallVector<StringRef> RecvOp::getCommunicatorAxes() { return {}; }

// Ring algorithms (Thakur et al. 2005): all-reduce 2(n-1)/n, the others (n-1)/n of the whole.
double AllReduceOp::getSentElements(int64_t n) { return 2.0 * double(n - 1) / double(n) * elementsOf(getInputs()); }
double AllGatherOp::getSentElements(int64_t n) { return double(n - 1) * elementsOf({getInput()}); }
double ReduceScatterOp::getSentElements(int64_t n) { return double(n - 1) * elementsOf({getResult()}); }
double AllToAllOp::getSentElements(int64_t n) { return double(n - 1) / double(n) * elementsOf({getInput()}); }
double SendOp::getSentElements(int64_t) { return elementsOf({getInput()}); }
double RecvOp::getSentElements(int64_t) { return 0; }

Attribute AllReduceOp::getBucketKey() {
  Type element = cast<RankedTensorType>(getInputs()[0].getType()).getElementType();
  Builder builder(getContext());
  return builder.getArrayAttr({getAxes(), builder.getI64IntegerAttr(int64_t(getKind())), TypeAttr::get(element)});
}

Operation *AllReduceOp::buildBucket(OpBuilder &builder, ArrayRef<Operation *> ops) {
  SmallVector<Value> inputs;
  for (Operation *op : ops)
    llvm::append_range(inputs, op->getOperands());
  return AllReduceOp::create(builder, getLoc(), ValueRange(inputs).getTypes(), inputs, getAxes(), getKind());
}

void para::registerCollectiveOps(ParaDialect &dialect) {
  dialect.addFamily<
#define GET_OP_LIST
#include "Collective/Collective.cpp.inc"
      >();
}
