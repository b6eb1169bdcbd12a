//===- Element.cpp - Constants and coordinates of elements ----------------===//
#include "para/Interfaces/Element.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "para/Interfaces/Element.cpp.inc"

using namespace mlir;
using namespace para;

Value ElementEmitter::constant(Type scalar, double value) {
  TypedAttr attr;
  if (auto type = dyn_cast<FloatType>(scalar))
    attr = FloatAttr::get(type, value);
  else
    attr = IntegerAttr::get(scalar, static_cast<int64_t>(value));
  Type type = elementType(scalar);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = SplatElementsAttr::get(vector, ArrayRef<Attribute>(attr));
  return arith::ConstantOp::create(b, type, attr);
}

Value ElementEmitter::constantInteger(Type scalar, int64_t value) {
  if (isa<FloatType>(scalar))
    return constant(scalar, static_cast<double>(value));
  TypedAttr attr = IntegerAttr::get(scalar, value);
  Type type = elementType(scalar);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = SplatElementsAttr::get(vector, ArrayRef<Attribute>(attr));
  return arith::ConstantOp::create(b, type, attr);
}

Coordinate coordinates::linearize(ElementEmitter &emitter, ArrayRef<Coordinate> index, ArrayRef<int64_t> shape) {
  Coordinate linear{getAffineConstantExpr(0, emitter.b.getContext())};
  for (auto [coordinate, size] : llvm::zip_equal(index, shape))
    linear = sum(emitter, scaled(emitter, linear, size), coordinate);
  return linear;
}

SmallVector<Coordinate> coordinates::delinearize(ElementEmitter &emitter, const Coordinate &linear, ArrayRef<int64_t> shape) {
  SmallVector<Coordinate> index(shape.size());
  int64_t below = 1;
  MLIRContext *ctx = emitter.b.getContext();
  // A part known only when the kernel runs does not divide: the whole number becomes one value.
  Value whole = linear.dynamic ? emitter.position(linear) : nullptr;
  for (int64_t d = static_cast<int64_t>(shape.size()) - 1; d >= 0; --d) {
    if (shape[d] == 1) {
      index[d] = {getAffineConstantExpr(0, ctx)};
    } else if (whole) {
      Type i64 = emitter.b.getI64Type();
      Value v = arith::DivUIOp::create(emitter.b, whole, emitter.constantInteger(i64, below));
      if (d)
        v = arith::RemUIOp::create(emitter.b, v, emitter.constantInteger(i64, shape[d]));
      index[d] = {getAffineConstantExpr(0, ctx), v};
    } else {
      AffineExpr e = linear.affine.floorDiv(below);
      index[d] = {d ? e % shape[d] : e};
    }
    below *= shape[d];
  }
  return index;
}

Coordinate coordinates::scaled(ElementEmitter &emitter, const Coordinate &x, int64_t a, int64_t c) {
  Coordinate result{x.affine * a + c, x.dynamic};
  if (x.dynamic && a != 1)
    result.dynamic = arith::MulIOp::create(emitter.b, x.dynamic, emitter.constantInteger(emitter.b.getI64Type(), a));
  return result;
}

Coordinate coordinates::sum(ElementEmitter &emitter, const Coordinate &x, const Coordinate &y) {
  Coordinate result{x.affine + y.affine, x.dynamic ? x.dynamic : y.dynamic};
  if (x.dynamic && y.dynamic)
    result.dynamic = arith::AddIOp::create(emitter.b, x.dynamic, y.dynamic);
  return result;
}

Coordinate coordinates::quotient(ElementEmitter &emitter, const Coordinate &x, int64_t c) {
  if (!x.dynamic)
    return {x.affine.floorDiv(c)};
  return {getAffineConstantExpr(0, emitter.b.getContext()),
          arith::DivUIOp::create(emitter.b, emitter.position(x), emitter.constantInteger(emitter.b.getI64Type(), c))};
}

Coordinate coordinates::rest(ElementEmitter &emitter, const Coordinate &x, int64_t c) {
  if (!x.dynamic)
    return {x.affine % c};
  return {getAffineConstantExpr(0, emitter.b.getContext()),
          arith::RemUIOp::create(emitter.b, emitter.position(x), emitter.constantInteger(emitter.b.getI64Type(), c))};
}

Value coordinates::inside(ElementEmitter &emitter, const Coordinate &x, int64_t size) {
  // Unsigned: a negative number is larger than any size.
  return arith::CmpIOp::create(emitter.b, arith::CmpIPredicate::ult, emitter.position(x),
                               emitter.constantInteger(emitter.b.getI64Type(), size));
}
