//===- Lowering.cpp - Elements and calls of collectives -------------------===//
#include "Collective/Collective.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace para;

static int64_t meshSize(Operation *op, StringRef axis) {
  auto module = op->getParentOfType<ModuleOp>();
  auto mesh = module ? module->getAttrOfType<MeshAttr>("para.mesh") : nullptr;
  return mesh ? mesh.getSize(axis) : 1;
}

Value ShardSliceOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  ImplicitLocOpBuilder &b = emitter.b;
  int64_t size = getInput().getType().getDimSize(getDim()), local = getType().getDimSize(getDim());
  StringRef axis = getAxis();
  Value begin = emitter.shardBegin({axis}, size, getUnit());
  SmallVector<Coordinate> at(index);
  at[getDim()] = coordinates::sum(emitter, at[getDim()], {getAffineConstantExpr(0, b.getContext()), begin});
  if (local * meshSize(*this, axis) <= size)
    return emitter.operand(0, at);
  return emitter.guarded(coordinates::inside(emitter, at[getDim()], size), [&] { return emitter.operand(0, at); },
                         emitter.constant(getType().getElementType(), 0.0));
}

Value MaskOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  ImplicitLocOpBuilder &b = emitter.b;
  SmallVector<StringRef> axes;
  for (Attribute axis : getAxes())
    axes.push_back(cast<StringAttr>(axis).getValue());
  auto type = cast<RankedTensorType>(getType());
  Value valid = emitter.shardValid(axes, getSize(), getUnit());
  Value here = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, emitter.position(index[getDim()]), valid);
  TypedAttr identity = scalar::identity(type.getElementType(), getKind());
  Type element = emitter.elementType(type.getElementType());
  if (auto vector = dyn_cast<VectorType>(element))
    identity = SplatElementsAttr::get(vector, ArrayRef<Attribute>(identity));
  Value other = arith::ConstantOp::create(b, element, identity);
  // Padding lies inside of the buffer: it may be read, and a select is cheaper than a guard.
  return arith::SelectOp::create(b, here, emitter.operand(0, index), other);
}

static LibraryCall along(LibraryCall::Kind kind, StringRef axis, int64_t dim, ReductionKind reduction = ReductionKind::Sum) {
  LibraryCall call{kind};
  call.axes = {axis};
  call.dim = dim;
  call.reduction = reduction;
  return call;
}

std::optional<LibraryCall> AllReduceOp::getLibraryCall() {
  LibraryCall call{LibraryCall::AllReduce};
  for (Attribute axis : getAxes())
    call.axes.push_back(cast<StringAttr>(axis).getValue());
  call.reduction = getKind();
  return call;
}
std::optional<LibraryCall> AllGatherOp::getLibraryCall() { return along(LibraryCall::AllGather, getAxis(), getDim()); }
std::optional<LibraryCall> ReduceScatterOp::getLibraryCall() { return along(LibraryCall::ReduceScatter, getAxis(), getDim(), getKind()); }
std::optional<LibraryCall> AllToAllOp::getLibraryCall() {
  LibraryCall call = along(LibraryCall::AllToAll, getAxis(), getFrom());
  call.toDim = getTo();
  return call;
}
std::optional<LibraryCall> SendOp::getLibraryCall() {
  LibraryCall call{LibraryCall::Send};
  call.peer = getPeer();
  call.tag = getTag();
  call.depth = getDepth();
  return call;
}
std::optional<LibraryCall> RecvOp::getLibraryCall() {
  LibraryCall call{LibraryCall::Recv};
  call.peer = getPeer();
  call.tag = getTag();
  return call;
}
std::optional<LibraryCall> AccumulateOp::getLibraryCall() { return LibraryCall{LibraryCall::Accumulate}; }
