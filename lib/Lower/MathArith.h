//===- MathArith.h - Short names for arithmetic on elements --------*- C++ -*-===//
#ifndef PARA_LOWER_MATHARITH_H
#define PARA_LOWER_MATHARITH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace para {

/// Arithmetic on values of one type, a float scalar or a vector of them.
struct Arith {
  using Value = mlir::Value;
  mlir::ImplicitLocOpBuilder &b;
  mlir::Type type;

  Arith(mlir::ImplicitLocOpBuilder &b, mlir::Type type) : b(b), type(type) {}
  bool isDouble() const { return mlir::getElementTypeOrSelf(type).isF64(); }
  mlir::Type like(mlir::Type scalar) const {
    auto vector = mlir::dyn_cast<mlir::VectorType>(type);
    return vector ? mlir::Type(mlir::VectorType::get(vector.getShape(), scalar)) : scalar;
  }
  mlir::Type integerType() const { return like(isDouble() ? b.getI64Type() : b.getI32Type()); }

  Value constant(mlir::Type t, mlir::TypedAttr attr) const {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(t))
      attr = mlir::SplatElementsAttr::get(vector, llvm::ArrayRef<mlir::Attribute>(attr));
    return mlir::arith::ConstantOp::create(b, t, attr);
  }
  Value c(double v) const { return constant(type, mlir::FloatAttr::get(mlir::getElementTypeOrSelf(type), v)); }
  Value i(int64_t v) const { return constant(integerType(), mlir::IntegerAttr::get(mlir::getElementTypeOrSelf(integerType()), v)); }
  Value add(Value x, Value y) const { return mlir::arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) const { return mlir::arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) const { return mlir::arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) const { return mlir::arith::DivFOp::create(b, x, y); }
  Value neg(Value x) const { return mlir::arith::NegFOp::create(b, x); }
  Value abs(Value x) const { return mlir::math::AbsFOp::create(b, x); }
  Value fma(Value x, Value y, Value z) const { return mlir::math::FmaOp::create(b, x, y, z); }
  Value select(Value condition, Value x, Value y) const { return mlir::arith::SelectOp::create(b, condition, x, y); }
  Value less(Value x, Value y) const { return mlir::arith::CmpFOp::create(b, mlir::arith::CmpFPredicate::OLT, x, y); }
  Value equal(Value x, Value y) const { return mlir::arith::CmpFOp::create(b, mlir::arith::CmpFPredicate::OEQ, x, y); }
  Value unordered(Value x, Value y) const { return mlir::arith::CmpFOp::create(b, mlir::arith::CmpFPredicate::UNO, x, y); }
  Value bits(Value x) const { return mlir::arith::BitcastOp::create(b, integerType(), x); }
  Value float_(Value x) const { return mlir::arith::BitcastOp::create(b, type, x); }
  Value iadd(Value x, Value y) const { return mlir::arith::AddIOp::create(b, x, y); }
  Value isub(Value x, Value y) const { return mlir::arith::SubIOp::create(b, x, y); }
  Value iand(Value x, Value y) const { return mlir::arith::AndIOp::create(b, x, y); }
  Value ior(Value x, Value y) const { return mlir::arith::OrIOp::create(b, x, y); }
  Value shl(Value x, int64_t n) const { return mlir::arith::ShLIOp::create(b, x, i(n)); }
  Value sar(Value x, int64_t n) const { return mlir::arith::ShRSIOp::create(b, x, i(n)); }
  Value toFloat(Value x) const { return mlir::arith::SIToFPOp::create(b, type, x); }
  Value copysign(Value magnitude, Value sign) const { return mlir::math::CopySignOp::create(b, magnitude, sign); }
  /// Coefficients from the highest power down.
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients) const {
    Value p = c(coefficients.front());
    for (double k : coefficients.drop_front())
      p = fma(p, x, c(k));
    return p;
  }
  /// Rounds to the nearest integer: as a float, and as an integer. |x| is below 2^22 (f32) or 2^51 (f64).
  std::pair<Value, Value> round(Value x) const {
    Value magic = c(isDouble() ? 6755399441055744.0 : 12582912.0), shifted = add(x, magic);
    return {sub(shifted, magic), isub(bits(shifted), bits(magic))};
  }
  /// 2^n for n a normal exponent.
  Value powerOfTwo(Value n) const { return float_(shl(iadd(n, i(isDouble() ? 1023 : 127)), isDouble() ? 52 : 23)); }
};

} // namespace para

#endif
