//===- Relayout.cpp - What collectives do to layouts ----------------------===//
#include "Collective/Collective.h"

using namespace mlir;
using namespace para;

static SmallVector<StringRef> namesOf(ArrayAttr axes) {
  return llvm::map_to_vector(axes, [](Attribute axis) { return cast<StringAttr>(axis).getValue(); });
}

static Relayout along(Relayout::Kind kind, StringRef axis, int64_t dim, ReductionKind reduction = ReductionKind::Sum) {
  Relayout relayout{kind};
  relayout.axes = {axis};
  relayout.dim = dim;
  relayout.reduction = reduction;
  return relayout;
}

static Relayout message(Relayout::Kind kind, int64_t peer, int64_t tag) {
  Relayout relayout{kind};
  relayout.peer = peer;
  relayout.tag = tag;
  return relayout;
}

Relayout AllReduceOp::getRelayout() {
  Relayout relayout{Relayout::AllReduce};
  relayout.axes = namesOf(getAxes());
  relayout.reduction = getKind();
  return relayout;
}
Relayout AllGatherOp::getRelayout() { return along(Relayout::AllGather, getAxis(), getDim()); }
Relayout ReduceScatterOp::getRelayout() { return along(Relayout::ReduceScatter, getAxis(), getDim(), getKind()); }
Relayout AllToAllOp::getRelayout() {
  Relayout relayout = along(Relayout::AllToAll, getAxis(), getFrom());
  relayout.to = getTo();
  return relayout;
}
Relayout ShardSliceOp::getRelayout() {
  Relayout relayout = along(Relayout::Slice, getAxis(), getDim());
  relayout.unit = getUnit();
  return relayout;
}
Relayout MaskOp::getRelayout() {
  Relayout relayout{Relayout::Mask};
  relayout.axes = namesOf(getAxes());
  relayout.dim = getDim();
  relayout.size = getSize();
  relayout.unit = getUnit();
  relayout.reduction = getKind();
  return relayout;
}
Relayout AccumulateOp::getRelayout() { return {Relayout::Accumulate}; }
Relayout SendOp::getRelayout() { return message(Relayout::Send, getPeer(), getTag()); }
Relayout RecvOp::getRelayout() { return message(Relayout::Recv, getPeer(), getTag()); }
