//===- Scalar.cpp - Arithmetic on elements --------------------------------===//
#include "para/Interfaces/Element.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"


using namespace mlir;
using namespace para;

static bool isFloat(Value x) { return isa<FloatType>(getElementTypeOrSelf(x)); }
static bool isBool(Value x) { return getElementTypeOrSelf(x).isInteger(1); }

static Value splat(ImplicitLocOpBuilder &b, Type like, TypedAttr value) {
  if (auto vector = dyn_cast<VectorType>(like))
    return arith::ConstantOp::create(b, vector, SplatElementsAttr::get(vector, ArrayRef<Attribute>(value)));
  return arith::ConstantOp::create(b, like, value);
}

static Value number(ImplicitLocOpBuilder &b, Type like, double value) {
  Type scalar = getElementTypeOrSelf(like);
  if (auto type = dyn_cast<FloatType>(scalar))
    return splat(b, like, FloatAttr::get(type, value));
  return splat(b, like, IntegerAttr::get(scalar, static_cast<int64_t>(value)));
}

Value scalar::add(ImplicitLocOpBuilder &b, Value x, Value y) {
  if (isFloat(x))
    return arith::AddFOp::create(b, x, y);
  return isBool(x) ? arith::OrIOp::create(b, x, y).getResult() : arith::AddIOp::create(b, x, y).getResult();
}
Value scalar::sub(ImplicitLocOpBuilder &b, Value x, Value y) {
  return isFloat(x) ? arith::SubFOp::create(b, x, y).getResult() : arith::SubIOp::create(b, x, y).getResult();
}
Value scalar::mul(ImplicitLocOpBuilder &b, Value x, Value y) {
  if (isFloat(x))
    return arith::MulFOp::create(b, x, y);
  return isBool(x) ? arith::AndIOp::create(b, x, y).getResult() : arith::MulIOp::create(b, x, y).getResult();
}
Value scalar::div(ImplicitLocOpBuilder &b, Value x, Value y) {
  return isFloat(x) ? arith::DivFOp::create(b, x, y).getResult() : arith::DivSIOp::create(b, x, y).getResult();
}
Value scalar::max(ImplicitLocOpBuilder &b, Value x, Value y) {
  if (isFloat(x))
    return arith::MaximumFOp::create(b, x, y);
  return isBool(x) ? arith::OrIOp::create(b, x, y).getResult() : arith::MaxSIOp::create(b, x, y).getResult();
}
Value scalar::min(ImplicitLocOpBuilder &b, Value x, Value y) {
  if (isFloat(x))
    return arith::MinimumFOp::create(b, x, y);
  return isBool(x) ? arith::AndIOp::create(b, x, y).getResult() : arith::MinSIOp::create(b, x, y).getResult();
}
Value scalar::neg(ImplicitLocOpBuilder &b, Value x) {
  if (isFloat(x))
    return arith::NegFOp::create(b, x);
  return arith::SubIOp::create(b, number(b, x.getType(), 0), x);
}
Value scalar::abs(ImplicitLocOpBuilder &b, Value x) {
  if (isFloat(x))
    return math::AbsFOp::create(b, x);
  return isBool(x) ? x : math::AbsIOp::create(b, x).getResult();
}

Value scalar::sign(ImplicitLocOpBuilder &b, Value x) {
  if (isBool(x))
    return x;
  Value zero = number(b, x.getType(), 0), one = number(b, x.getType(), 1), minus = number(b, x.getType(), -1);
  Value above = compare(b, Comparison::Greater, x, zero), below = compare(b, Comparison::Less, x, zero);
  // Otherwise x itself, which keeps the sign of zero and NaN.
  return arith::SelectOp::create(b, above, one, arith::SelectOp::create(b, below, minus, isFloat(x) ? x : zero));
}

Value scalar::sigmoid(ImplicitLocOpBuilder &b, Value x) {
  // exp of minus the magnitude never overflows; the two halves are mirror images.
  Value e = math::ExpOp::create(b, arith::NegFOp::create(b, math::AbsFOp::create(b, x)));
  Value one = number(b, x.getType(), 1);
  Value positive = compare(b, Comparison::GreaterEqual, x, number(b, x.getType(), 0));
  return arith::DivFOp::create(b, arith::SelectOp::create(b, positive, one, e), arith::AddFOp::create(b, one, e));
}

Value scalar::logicalNot(ImplicitLocOpBuilder &b, Value x) {
  if (isBool(x))
    return arith::XOrIOp::create(b, x, splat(b, x.getType(), b.getBoolAttr(true)));
  return cast(b, compare(b, Comparison::Equal, x, number(b, x.getType(), 0)), getElementTypeOrSelf(x));
}

Value scalar::compare(ImplicitLocOpBuilder &b, Comparison predicate, Value x, Value y) {
  if (isFloat(x)) {
    static constexpr arith::CmpFPredicate floats[] = {arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE, arith::CmpFPredicate::OLT,
                                                      arith::CmpFPredicate::OLE, arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
    return arith::CmpFOp::create(b, floats[static_cast<int>(predicate)], x, y);
  }
  static constexpr arith::CmpIPredicate ints[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,  arith::CmpIPredicate::slt,
                                                  arith::CmpIPredicate::sle, arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
  static constexpr arith::CmpIPredicate bools[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,  arith::CmpIPredicate::ult,
                                                   arith::CmpIPredicate::ule, arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge};
  return arith::CmpIOp::create(b, (isBool(x) ? bools : ints)[static_cast<int>(predicate)], x, y);
}

Value scalar::cast(ImplicitLocOpBuilder &b, Value x, Type to) {
  Type from = getElementTypeOrSelf(x), type = to;
  if (from == to)
    return x;
  if (auto vector = dyn_cast<VectorType>(x.getType()))
    type = VectorType::get(vector.getShape(), to);
  if (to.isInteger(1))
    return compare(b, Comparison::NotEqual, x, number(b, x.getType(), 0));
  if (auto f = dyn_cast<FloatType>(from)) {
    if (!isa<FloatType>(to))
      return arith::FPToSIOp::create(b, type, x);
    auto t = llvm::cast<FloatType>(to);
    if (t.getWidth() == f.getWidth()) { // between the two 16-bit types
      Type wide = b.getF32Type();
      return cast(b, cast(b, x, wide), to);
    }
    if (t.getWidth() > f.getWidth())
      return arith::ExtFOp::create(b, type, x);
    return arith::TruncFOp::create(b, type, x);
  }
  if (isa<FloatType>(to))
    return from.isInteger(1) ? arith::UIToFPOp::create(b, type, x).getResult() : arith::SIToFPOp::create(b, type, x).getResult();
  if (from.isInteger(1))
    return arith::ExtUIOp::create(b, type, x);
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(b, type, x);
  return arith::TruncIOp::create(b, type, x);
}

TypedAttr scalar::identity(Type scalar, ReductionKind kind) {
  if (auto type = dyn_cast<FloatType>(scalar)) {
    if (kind == ReductionKind::Sum)
      return FloatAttr::get(type, 0.0);
    return FloatAttr::get(type, APFloat::getInf(type.getFloatSemantics(), /*Negative=*/kind == ReductionKind::Max));
  }
  unsigned width = scalar.getIntOrFloatBitWidth();
  if (kind == ReductionKind::Sum)
    return IntegerAttr::get(scalar, 0);
  if (width == 1)
    return IntegerAttr::get(scalar, kind == ReductionKind::Max ? 0 : 1);
  return IntegerAttr::get(scalar, kind == ReductionKind::Max ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width));
}

Value scalar::combine(ImplicitLocOpBuilder &b, ReductionKind kind, Value x, Value y) {
  switch (kind) {
  case ReductionKind::Sum:
    return add(b, x, y);
  case ReductionKind::Max:
    return max(b, x, y);
  case ReductionKind::Min:
    return min(b, x, y);
  }
  return nullptr;
}
