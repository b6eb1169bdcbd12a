//===- MathFunctions.h - Transcendental functions by arithmetic ----*- C++ -*-===//
//
// exp, log, tanh, erf, sin, cos, pow of f32 and f64 scalars or vectors, made of arithmetic only, so that they run in lanes on
// any target. Errors: f32 within 2 ulp, f64 within 4 ulp; sin and cos for |x| < 1e9 (f64: 1e8). Polynomials are Chebyshev fits of the functions
// named beside them; the reductions are the classic ones (Cody and Waite; s = f / (2 + f) for the logarithm).
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_MATHFUNCTIONS_H
#define PARA_LOWER_MATHFUNCTIONS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace para::functions {
using mlir::ImplicitLocOpBuilder;
using mlir::Value;

Value exp(ImplicitLocOpBuilder &b, Value x);
Value log(ImplicitLocOpBuilder &b, Value x);
Value tanh(ImplicitLocOpBuilder &b, Value x);
Value erf(ImplicitLocOpBuilder &b, Value x);
Value sin(ImplicitLocOpBuilder &b, Value x);
Value cos(ImplicitLocOpBuilder &b, Value x);
Value pow(ImplicitLocOpBuilder &b, Value x, Value y);

/// What `op` computes of `x` by arithmetic, or null if it is none of these functions.
Value expand(ImplicitLocOpBuilder &b, mlir::Operation *op, mlir::ValueRange x);
} // namespace para::functions

#endif
