//===- Lowering.cpp - Elements of ops that change shapes ------------------===//
#include "Shape/Shape.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace para;

static Coordinate zero(ElementEmitter &emitter) { return {getAffineConstantExpr(0, emitter.b.getContext())}; }

static Value constantElement(ElementEmitter &emitter, TypedAttr value) {
  Type type = emitter.elementType(value.getType());
  if (auto vector = dyn_cast<VectorType>(type))
    value = SplatElementsAttr::get(vector, ArrayRef<Attribute>(value));
  return arith::ConstantOp::create(emitter.b, type, value);
}

Value ConstantOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  auto values = dyn_cast<DenseElementsAttr>(getValue());
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(getValue())) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    auto type = cast<ShapedType>(getType());
    bool isSplat = false;
    if (blob && DenseElementsAttr::isValidRawBuffer(type, blob->getData(), isSplat))
      values = DenseElementsAttr::getFromRawBuffer(type, blob->getData());
  }
  if (!values) {
    emitOpError("has a value whose bytes are not there");
    return emitter.constant(getType().getElementType(), 0.0);
  }
  if (values.isSplat())
    return constantElement(emitter, values.getSplatValue<TypedAttr>());
  return emitter.table(values, coordinates::linearize(emitter, index, getType().getShape()));
}

Value IotaOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  Value at = emitter.position(index[getDim()]);
  if (!getAxes().empty()) {
    SmallVector<StringRef> axes;
    for (Attribute axis : getAxes())
      axes.push_back(cast<StringAttr>(axis).getValue());
    at = scalar::add(emitter.b, at, emitter.shardBegin(axes, getSize().value_or(0), getUnit().value_or(1)));
  }
  return scalar::cast(emitter.b, at, getType().getElementType());
}

Value ReshapeOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  Coordinate linear = coordinates::linearize(emitter, index, getType().getShape());
  return emitter.operand(0, coordinates::delinearize(emitter, linear, getInput().getType().getShape()));
}

Value TransposeOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  SmallVector<Coordinate> input(index.size());
  for (auto [i, d] : llvm::enumerate(getPermutation()))
    input[d] = index[i];
  return emitter.operand(0, input);
}

Value BroadcastOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  SmallVector<Coordinate> input;
  for (auto [i, d] : llvm::enumerate(getDims()))
    input.push_back(getInput().getType().getDimSize(i) == 1 ? zero(emitter) : index[d]);
  return emitter.operand(0, input);
}

Value SliceOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  SmallVector<Coordinate> input;
  for (auto [x, offset, stride] : llvm::zip_equal(index, getOffsets(), getStrides()))
    input.push_back(coordinates::scaled(emitter, x, stride, offset));
  return emitter.operand(0, input);
}

Value PadOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  ImplicitLocOpBuilder &b = emitter.b;
  RankedTensorType input = getInput().getType();
  SmallVector<Coordinate> at;
  Value valid;
  auto require = [&](Value condition) { valid = valid ? arith::AndIOp::create(b, valid, condition) : condition; };
  for (int64_t d = 0; d < input.getRank(); ++d) {
    int64_t low = getLow()[d], gap = getInterior()[d], size = input.getDimSize(d);
    int64_t span = size ? (size - 1) * gap + 1 : 0;
    Coordinate x = coordinates::scaled(emitter, index[d], 1, -low);
    if (low > 0 || getType().getDimSize(d) - low > span) {
      require(coordinates::inside(emitter, x, span));
      x = emitter.bounded(x, span);
    }
    if (gap > 1) {
      Value whole = emitter.position(coordinates::rest(emitter, x, gap));
      require(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, whole, emitter.constantInteger(b.getI64Type(), 0)));
      x = coordinates::quotient(emitter, x, gap);
    }
    at.push_back(x);
  }
  if (!valid)
    return emitter.operand(0, at);
  return emitter.guarded(valid, [&] { return emitter.operand(0, at); }, constantElement(emitter, cast<TypedAttr>(getValue())));
}

Value ConcatOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  Value result = emitter.constant(getType().getElementType(), 0.0);
  int64_t begin = 0;
  for (auto [i, value] : llvm::enumerate(getInputs())) {
    int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(getDim());
    SmallVector<Coordinate> at(index);
    at[getDim()] = coordinates::scaled(emitter, at[getDim()], 1, -begin);
    if (getInputs().size() == 1)
      return emitter.operand(0, at);
    Value here = coordinates::inside(emitter, at[getDim()], size);
    at[getDim()] = emitter.bounded(at[getDim()], size);
    result = emitter.guarded(here, [&, i = i] { return emitter.operand(i, at); }, result);
    begin += size;
  }
  return result;
}
