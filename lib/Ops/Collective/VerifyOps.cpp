//===- VerifyOps.cpp - What collectives may be given ----------------------===//
#include "Collective/Collective.h"

using namespace mlir;
using namespace para;

static LogicalResult verifyAxis(Operation *op, StringRef axis) {
  if (axis.empty())
    return op->emitOpError("needs the name of an axis");
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (getInputs().empty() || TypeRange(getInputs()) != TypeRange(getOutputs()))
    return emitOpError("needs an input, and an output of its type for each");
  if (failed(verifyOneElementType(*this, getInputs().getTypes())))
    return failure();
  return verifyAxes(*this, getAxes());
}

LogicalResult AllGatherOp::verify() {
  auto from = getInput().getType(), to = getType();
  if (failed(verifyDim(*this, getDim(), from)) || failed(verifySameBut(*this, from, to, {int64_t(getDim())})))
    return failure();
  if (to.getDimSize(getDim()) < from.getDimSize(getDim()))
    return emitOpError("the result must be as long as a shard at least");
  return verifyAxis(*this, getAxis());
}

LogicalResult ReduceScatterOp::verify() {
  auto from = getInput().getType(), to = getType();
  if (failed(verifyDim(*this, getDim(), from)) || failed(verifySameBut(*this, from, to, {int64_t(getDim())})))
    return failure();
  if (to.getDimSize(getDim()) > from.getDimSize(getDim()))
    return emitOpError("a shard must not be longer than the input");
  return verifyAxis(*this, getAxis());
}

LogicalResult AllToAllOp::verify() {
  auto from = getInput().getType(), to = getType();
  if (failed(verifyDim(*this, getFrom(), from)) || failed(verifyDim(*this, getTo(), from)) ||
      failed(verifySameBut(*this, from, to, {int64_t(getFrom()), int64_t(getTo())})))
    return failure();
  if (getFrom() == getTo())
    return emitOpError("moves an axis from a dimension to itself");
  return verifyAxis(*this, getAxis());
}

template <typename Op> static LogicalResult verifyMessage(Op op) {
  if (int64_t(op.getPeer()) < 0 || int64_t(op.getTag()) < 0)
    return op.emitOpError("peer and tag must not be negative");
  return success();
}
LogicalResult SendOp::verify() { return verifyMessage(*this); }
LogicalResult RecvOp::verify() { return verifyMessage(*this); }

LogicalResult ShardSliceOp::verify() {
  auto from = getInput().getType(), to = getType();
  if (failed(verifyDim(*this, getDim(), from)) || failed(verifySameBut(*this, from, to, {int64_t(getDim())})))
    return failure();
  if (to.getDimSize(getDim()) > from.getDimSize(getDim()) || int64_t(getUnit()) < 1)
    return emitOpError("a shard must not be longer than the input, and its unit 1 or more");
  return verifyAxis(*this, getAxis());
}

LogicalResult MaskOp::verify() {
  if (failed(verifyDim(*this, getDim(), cast<RankedTensorType>(getType()))))
    return failure();
  return verifyShard(*this, getAxes(), getSize(), getUnit());
}
