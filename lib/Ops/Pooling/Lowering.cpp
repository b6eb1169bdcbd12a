//===- Lowering.cpp - Elements of poolings --------------------------------===//
#include "Pooling/Pooling.h"

using namespace mlir;
using namespace para;

/// Where loop values `place` of the window at `index` lie in the input, and whether all are inside.
static Value windowToInput(ElementEmitter &emitter, ArrayRef<Coordinate> index, ArrayRef<Coordinate> place, ArrayRef<int64_t> input,
                           ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations, ArrayRef<int64_t> padLow, SmallVector<Coordinate> &at) {
  at.assign(index.begin(), index.begin() + 2);
  Value valid;
  for (auto [i, w] : llvm::enumerate(place)) {
    Coordinate x = coordinates::sum(emitter, coordinates::scaled(emitter, index[2 + i], strides[i], -padLow[i]),
                                    coordinates::scaled(emitter, w, dilations[i]));
    Value inside = coordinates::inside(emitter, x, input[2 + i]);
    valid = valid ? arith::AndIOp::create(emitter.b, valid, inside) : inside;
    at.push_back(x);
  }
  return valid;
}

/// Which window has the input element `index` at `place`, and whether there is one.
static Value inputToWindow(ElementEmitter &emitter, ArrayRef<Coordinate> index, ArrayRef<Coordinate> place, ArrayRef<int64_t> output,
                           ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations, ArrayRef<int64_t> padLow, SmallVector<Coordinate> &at) {
  ImplicitLocOpBuilder &b = emitter.b;
  at.assign(index.begin(), index.begin() + 2);
  Value valid;
  for (auto [i, w] : llvm::enumerate(place)) {
    Coordinate x = coordinates::sum(emitter, coordinates::scaled(emitter, index[2 + i], 1, padLow[i]),
                                    coordinates::scaled(emitter, w, -dilations[i]));
    Value inside = coordinates::inside(emitter, x, (output[2 + i] - 1) * strides[i] + 1);
    if (strides[i] > 1) {
      Value rest = emitter.position(coordinates::rest(emitter, x, strides[i]));
      inside = arith::AndIOp::create(b, inside, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, emitter.constantInteger(b.getI64Type(), 0)));
      x = coordinates::quotient(emitter, x, strides[i]);
    }
    valid = valid ? arith::AndIOp::create(b, valid, inside) : inside;
    at.push_back(x);
  }
  return valid;
}

static Value identityElement(ElementEmitter &emitter, Type type, ReductionKind kind) {
  TypedAttr value = scalar::identity(type, kind);
  if (auto vector = dyn_cast<VectorType>(emitter.elementType(type)))
    value = SplatElementsAttr::get(vector, ArrayRef<Attribute>(value));
  return arith::ConstantOp::create(emitter.b, emitter.elementType(type), value);
}

SmallVector<int64_t> PoolOp::getReductionExtents() { return SmallVector<int64_t>(getWindow()); }
ReductionKind PoolOp::getCombiner() { return getKind(); }
Value PoolOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  unsigned rank = cast<RankedTensorType>(getType()).getRank();
  SmallVector<Coordinate> at;
  Value valid = windowToInput(emitter, index.take_front(rank), index.drop_front(rank), getInput().getType().getShape(), getStrides(),
                              getDilations(), getPadLow(), at);
  Value other = identityElement(emitter, getInput().getType().getElementType(), getKind());
  return valid ? emitter.guarded(valid, [&] { return emitter.operand(0, at); }, other) : emitter.operand(0, at);
}

SmallVector<int64_t> PoolIndexOp::getReductionExtents() { return SmallVector<int64_t>(getWindow()); }
ReductionKind PoolIndexOp::getCombiner() { return ReductionKind::Min; }
Value PoolIndexOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  RankedTensorType type = cast<RankedTensorType>(getType());
  unsigned rank = type.getRank();
  SmallVector<Coordinate> at;
  Value valid = windowToInput(emitter, index.take_front(rank), index.drop_front(rank), getInput().getType().getShape(), getStrides(),
                              getDilations(), getPadLow(), at);
  Value pooled = emitter.operand(1, index.take_front(rank)), none = identityElement(emitter, type.getElementType(), ReductionKind::Min);
  Value place = scalar::cast(emitter.b, emitter.position(coordinates::linearize(emitter, index.drop_front(rank), getWindow())),
                             type.getElementType());
  return emitter.guarded(valid, [&] {
    Value equal = scalar::compare(emitter.b, Comparison::Equal, emitter.operand(0, at), pooled);
    return arith::SelectOp::create(emitter.b, equal, place, none).getResult();
  }, none);
}

SmallVector<int64_t> PoolGradOp::getReductionExtents() { return SmallVector<int64_t>(getWindow()); }
ReductionKind PoolGradOp::getCombiner() { return ReductionKind::Sum; }
Value PoolGradOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  RankedTensorType type = cast<RankedTensorType>(getType());
  unsigned rank = type.getRank();
  SmallVector<Coordinate> at;
  Value valid = inputToWindow(emitter, index.take_front(rank), index.drop_front(rank), getCotangent().getType().getShape(), getStrides(),
                              getDilations(), getPadLow(), at);
  Value none = emitter.constant(type.getElementType(), 0.0);
  return emitter.guarded(valid, [&] {
    Value g = emitter.operand(0, at);
    if (!getIndex())
      return g;
    Value place = emitter.position(coordinates::linearize(emitter, index.drop_front(rank), getWindow()));
    Value chosen = scalar::cast(emitter.b, emitter.operand(1, at), emitter.b.getI64Type());
    return arith::SelectOp::create(emitter.b, scalar::compare(emitter.b, Comparison::Equal, chosen, place), g, none).getResult();
  }, none);
}
