//===- MathFunctions.cpp - Transcendental functions by arithmetic ---------===//
#include "MathFunctions.h"

#include "MathArith.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace para;

/// e^(hi + lo) where lo is a small correction.
static Value expOf(Arith m, Value hi, Value lo) {
  bool wide = m.isDouble();
  // Beyond these bounds the result is 0 or infinite anyway; a NaN stays one.
  Value low = m.c(wide ? -746.0 : -104.0), high = m.c(wide ? 710.0 : 89.0);
  Value x = m.select(m.less(hi, low), low, m.select(m.less(high, hi), high, hi));
  auto [n, exponent] = m.round(m.mul(x, m.c(1.4426950408889634)));
  Value r = m.fma(n, m.c(wide ? -0.6931471803691238 : -0.693145751953125), x);
  r = m.fma(n, m.c(wide ? -1.9082149292705877e-10 : -1.4286068203094173e-06), r);
  if (lo)
    r = m.add(r, lo);
  // (e^r - 1 - r) / r^2 on |r| < log(2) / 2.
  Value p = wide ? m.polynomial(r, {2.0915442297780116e-09, 2.5106274733573296e-08, 2.75572718102198e-07, 2.755725283351691e-06,
                                    2.4801587327007187e-05, 0.00019841269876864356, 0.0013888888888883327, 0.008333333333325544,
                                    0.04166666666666667, 0.1666666666666667, 0.5})
                 : m.polynomial(r, {0.0013926926614021907, 0.008363773874405574, 0.04166655011030512, 0.16666573381900845, 0.5});
  Value e = m.add(m.fma(m.mul(r, r), p, r), m.c(1.0));
  // In two steps, so that results below the normal range come out right.
  Value half = m.sar(exponent, 1);
  return m.mul(m.mul(e, m.powerOfTwo(half)), m.powerOfTwo(m.isub(exponent, half)));
}

Value functions::exp(ImplicitLocOpBuilder &b, Value x) { return expOf(Arith(b, x.getType()), x, nullptr); }

namespace {
/// x = 2^exponent * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
struct Mantissa {
  Value f, exponent;
};
} // namespace

static Mantissa split(Arith m, Value x) {
  bool wide = m.isDouble();
  int shift = wide ? 52 : 23;
  Value tiny = m.c(wide ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min());
  Value isTiny = m.less(x, tiny);
  x = m.select(isTiny, m.mul(x, m.c(wide ? 0x1p54 : 0x1p24)), x);
  // Adding the distance from sqrt(1/2) to 1 makes the exponent field step at sqrt(1/2).
  Value bits = m.bits(x), offset = m.i(wide ? 0x3ff0000000000000 - 0x3fe6a09e667f3bcd : 0x3f800000 - 0x3f3504f3);
  Value moved = m.iadd(bits, offset);
  Value exponent = m.isub(m.sar(moved, shift), m.i(wide ? 1023 : 127));
  Value fraction = m.iadd(m.iand(moved, m.i(wide ? 0x000fffffffffffff : 0x007fffff)), m.i(wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3));
  exponent = m.select(isTiny, m.isub(exponent, m.i(wide ? 54 : 24)), exponent);
  return {m.sub(m.float_(fraction), m.c(1.0)), exponent};
}

/// The values of the logarithm where x is no positive finite number.
static Value logSpecials(Arith m, Value x, Value result) {
  double inf = std::numeric_limits<double>::infinity();
  result = m.select(m.equal(x, m.c(inf)), x, result);
  result = m.select(m.equal(x, m.c(0.0)), m.c(-inf), result);
  result = m.select(m.less(x, m.c(0.0)), m.c(std::numeric_limits<double>::quiet_NaN()), result);
  return m.select(m.unordered(x, x), x, result);
}

Value functions::log(ImplicitLocOpBuilder &b, Value x) {
  Arith m(b, x.getType());
  bool wide = m.isDouble();
  auto [f, exponent] = split(m, x);
  Value s = m.div(f, m.add(m.c(2.0), f)), z = m.mul(s, s);
  // (log((1 + s) / (1 - s)) - 2 s) / s^3 in z = s^2.
  Value p = wide ? m.polynomial(z, {0.13089629160674623, 0.13268485680654427, 0.1538625044794019, 0.18181795442371984, 0.2222222239356661,
                                    0.2857142857079543, 0.4000000000000089, 0.6666666666666666})
                 : m.polynomial(z, {0.2333291280436864, 0.2855073084477381, 0.4000012263369878, 0.6666666655352537});
  // log(1 + f) = f - (f^2/2 - s (f^2/2 + z p)): the large part f is exact.
  Value e = m.toFloat(exponent), half = m.mul(m.mul(f, f), m.c(0.5));
  Value ln2Low = m.c(wide ? 1.9082149292705877e-10 : 1.4286068203094173e-06), ln2High = m.c(wide ? 0.6931471803691238 : 0.693145751953125);
  Value inner = m.fma(s, m.fma(z, p, half), m.mul(e, ln2Low));
  Value result = m.fma(e, ln2High, m.sub(f, m.sub(half, inner)));
  return logSpecials(m, x, result);
}

Value functions::tanh(ImplicitLocOpBuilder &b, Value x) {
  Arith m(b, x.getType());
  Value a = m.abs(x), z = m.mul(x, x);
  // (tanh(x) - x) / x^3 in z = x^2 for |x| < 0.625.
  Value p = m.isDouble() ? m.polynomial(z, {9.162820874885124e-07, -4.768699504285272e-06, 1.4830590818501296e-05, -3.8797593516013254e-05,
                                            9.67663063721077e-05, -0.00023909626817792312, 0.0005900223031457671, -0.0014558338241150836,
                                            0.0035921279945547546, -0.008863235527864902, 0.021869488536095903, -0.05396825396825307,
                                            0.13333333333333333, -0.3333333333333333})
                         : m.polynomial(z, {0.0022918094207610654, -0.008343119638547832, 0.021768666325116613, -0.05395922855611955,
                                            0.1333330342585789, -0.33333333171275803});
  Value near = m.fma(m.mul(x, z), p, x);
  Value e = exp(b, m.mul(a, m.c(2.0)));
  Value far = m.copysign(m.sub(m.c(1.0), m.div(m.c(2.0), m.add(e, m.c(1.0)))), x);
  return m.select(m.less(a, m.c(0.625)), near, far);
}

Value functions::erf(ImplicitLocOpBuilder &b, Value x) {
  Arith m(b, x.getType());
  bool wide = m.isDouble();
  Value a = m.abs(x), z = m.mul(x, x);
  // erf(x) / x - 1 in z = x^2 for |x| < 1.
  Value p = wide ? m.polynomial(z, {2.8067128195611264e-13, -6.1967364287877e-12, 9.323723518153027e-11, -1.2277734486795524e-09,
                                    1.4806027146128752e-08, -1.636576864883207e-07, 1.6462110782018636e-06, -1.4925650236967501e-05,
                                    0.00012055332978879483, -0.0008548327023403001, 0.005223977625441674, -0.026866170645131218,
                                    0.11283791670955126, -0.37612638903183754, 0.1283791670955126})
                 : m.polynomial(z, {-9.667044571486996e-06, 0.00011265959025606609, -0.0008484080405535107, 0.005221031807858023,
                                    -0.026865430727670243, 0.11283782495236845, -0.3761263846802871, 0.12837916706154343});
  Value near = m.fma(x, p, x);
  // exp(x^2) erfc(x) in t = (x - 2) / (x + 2); beyond the bound erf is 1.
  Value bound = m.c(wide ? 6.0 : 4.0), y = m.select(m.less(bound, a), bound, a);
  Value t = m.div(m.sub(y, m.c(2.0)), m.add(y, m.c(2.0)));
  Value q = wide ? m.polynomial(t, {1.915217932074515e-07, -1.661929596461688e-07, -5.494117214948098e-07, -3.888728867036546e-07,
                                    1.1991274842550446e-06, 3.74407565335454e-06, 1.3935501879940784e-06, -1.3960832309618744e-05,
                                    -2.758047958129327e-05, 2.752481783723763e-05, 0.00017436123634315077, 4.3555637830054316e-05,
                                    -0.0009819770303019333, -0.0008471432520142626, 0.006997461739294938, 0.0037328924043450225,
                                    -0.07897858101573313, 0.24165819424246635, -0.4271858474139584, 0.25539567631050575})
                 : m.polynomial(t, {-0.0009406666910217922, -0.0008358367581450136, 0.006994289889767275, 0.0037320333224900104,
                                    -0.07897849861929417, 0.24165821480906857, -0.42718584785603336, 0.2553956762341362});
  Value square = m.mul(y, y), rest = m.fma(y, y, m.neg(square)); // y^2 in two parts
  Value far = m.sub(m.c(1.0), m.mul(expOf(m, m.neg(square), m.neg(rest)), q));
  far = m.copysign(far, x);
  Value result = m.select(m.less(a, m.c(1.0)), near, far);
  return m.select(m.unordered(x, x), x, result);
}

/// sin or cos of an f64; cos is sin a quarter further.
static Value circular(Arith m, Value x, int64_t quarter) {
  auto [n, k] = m.round(m.mul(x, m.c(0.6366197723675814)));
  Value r = m.fma(n, m.c(-1.5707963267341256), x);
  r = m.fma(n, m.c(-6.077100506303966e-11), r);
  r = m.fma(n, m.c(-2.0222662487959506e-21), r);
  Value z = m.mul(r, r);
  // (sin(r) - r) / r^3 and (cos(r) - 1 + z / 2) / z^2 in z = r^2 for |r| < pi / 4.
  Value s = m.polynomial(z, {-7.586576588171073e-13, 1.6058529572267877e-10, -2.5052106219521895e-08, 2.755731921930192e-06,
                             -0.00019841269841265017, 0.008333333333333331, -0.16666666666666666});
  s = m.fma(m.mul(r, z), s, r);
  Value c = m.polynomial(z, {-1.1382456778061306e-11, 2.0876143827993133e-09, -2.7557317260008837e-07, 2.480158729874307e-05,
                             -0.0013888888888887382, 0.041666666666666664});
  c = m.add(m.fma(m.mul(z, z), c, m.mul(z, m.c(-0.5))), m.c(1.0));
  Value turn = m.iadd(k, m.i(quarter));
  auto isSet = [&](int64_t bit) {
    return arith::CmpIOp::create(m.b, arith::CmpIPredicate::ne, m.iand(turn, m.i(bit)), m.i(0)).getResult();
  };
  Value v = m.select(isSet(1), c, s);
  return m.select(isSet(2), m.neg(v), v);
}

/// f32 functions for which f64 arithmetic is the simplest exact way.
static Value inDouble(Arith m, ValueRange operands, llvm::function_ref<Value(Arith, SmallVector<Value>)> make) {
  Arith wide(m.b, m.like(m.b.getF64Type()));
  SmallVector<Value> extended;
  for (Value x : operands)
    extended.push_back(arith::ExtFOp::create(m.b, wide.type, x));
  return arith::TruncFOp::create(m.b, m.type, make(wide, extended));
}

Value functions::sin(ImplicitLocOpBuilder &b, Value x) {
  Arith m(b, x.getType());
  return m.isDouble() ? circular(m, x, 0) : inDouble(m, x, [](Arith w, SmallVector<Value> v) { return circular(w, v[0], 0); });
}
Value functions::cos(ImplicitLocOpBuilder &b, Value x) {
  Arith m(b, x.getType());
  return m.isDouble() ? circular(m, x, 1) : inDouble(m, x, [](Arith w, SmallVector<Value> v) { return circular(w, v[0], 1); });
}

/// |x|^y for f64: e^(y log|x|) with the logarithm in two parts.
static Value powerOf(Arith m, Value a, Value y) {
  auto [f, exponent] = split(m, a);
  // s = f / (2 + f) and its rest; 2 + f is exact up to one rounding, whose rest is kept.
  Value d = m.add(m.c(2.0), f), dRest = m.sub(f, m.sub(d, m.c(2.0)));
  Value s = m.div(f, d);
  Value sRest = m.div(m.fma(m.neg(s), dRest, m.fma(m.neg(s), d, f)), d);
  Value z = m.mul(s, s), zRest = m.fma(s, s, m.neg(z));
  // 2/3 s^3 in two parts; (log((1 + s) / (1 - s)) - 2 s - 2/3 s^3) / s^5 in z after it.
  Value cube = m.mul(z, s), cubeRest = m.fma(z, s, m.neg(cube));
  cubeRest = m.add(cubeRest, m.fma(zRest, s, m.mul(m.mul(m.c(3.0), z), sRest)));
  Value third = m.c(0.6666666666666666), thirdRest = m.c(3.700743415417188e-17);
  Value t = m.mul(cube, third), tRest = m.add(m.fma(cube, third, m.neg(t)), m.fma(cube, thirdRest, m.mul(cubeRest, third)));
  Value p = m.polynomial(z, {0.11725771221811145, 0.11705988156500907, 0.13334813971292003, 0.15384594791762352, 0.1818181833699257,
                             0.2222222222164882, 0.2857142857142938, 0.4});
  Value small = m.mul(m.mul(cube, z), p);
  Value e = m.toFloat(exponent), ln2 = m.c(0.6931471805599453);
  Value base = m.mul(e, ln2), baseRest = m.fma(e, m.c(2.3190468138462996e-17), m.fma(e, ln2, m.neg(base)));
  // base + 2 s + t + rests: sums with their roundings (two-sum).
  auto twoSum = [&](Value x, Value w, Value &rest) {
    Value sum = m.add(x, w), part = m.sub(sum, x);
    rest = m.add(m.sub(x, m.sub(sum, part)), m.sub(w, part));
    return sum;
  };
  Value r1, r2, r3;
  Value high = twoSum(base, m.mul(m.c(2.0), s), r1);
  high = twoSum(high, t, r2);
  Value low = m.add(m.add(r1, r2), m.add(m.add(m.fma(m.c(2.0), sRest, baseRest), tRest), small));
  high = twoSum(high, low, r3);
  Value product = m.mul(y, high), productRest = m.fma(y, r3, m.fma(y, high, m.neg(product)));
  // Where the product is not finite its rest means nothing.
  Value finite = m.less(m.abs(product), m.c(1e4));
  return expOf(m, product, m.select(finite, productRest, m.c(0.0)));
}

static Value powOf(Arith m, Value x, Value y) {
  double inf = std::numeric_limits<double>::infinity();
  Value a = m.abs(x), zero = m.c(0.0), one = m.c(1.0);
  Value result = powerOf(m, a, y);
  Value isUp = m.less(zero, y);
  // Bases 0 and infinity.
  result = m.select(m.equal(a, zero), m.select(isUp, zero, m.c(inf)), result);
  result = m.select(m.equal(a, m.c(inf)), m.select(isUp, m.c(inf), zero), result);
  result = m.select(m.equal(a, one), one, result);
  // A negative base: odd powers are negative, others than whole ones are no numbers.
  Value whole = m.equal(math::FloorOp::create(m.b, y), y);
  Value half = m.mul(y, m.c(0.5)), even = m.equal(math::FloorOp::create(m.b, half), half);
  Value negative = arith::CmpIOp::create(m.b, arith::CmpIPredicate::slt, m.bits(x), m.i(0));
  Value flipped = m.select(even, result, m.select(whole, m.neg(result), result));
  result = m.select(negative, flipped, result);
  Value noPower = m.select(whole, result, m.c(std::numeric_limits<double>::quiet_NaN()));
  result = m.select(m.less(x, zero), m.select(m.less(a, m.c(inf)), noPower, result), result);
  result = m.select(m.unordered(x, y), m.add(x, y), result);
  result = m.select(m.equal(y, zero), one, result);
  return m.select(m.equal(x, one), one, result);
}

Value functions::pow(ImplicitLocOpBuilder &b, Value x, Value y) {
  Arith m(b, x.getType());
  return m.isDouble() ? powOf(m, x, y) : inDouble(m, ValueRange{x, y}, [](Arith w, SmallVector<Value> v) { return powOf(w, v[0], v[1]); });
}

Value functions::expand(ImplicitLocOpBuilder &b, Operation *op, ValueRange x) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return functions::exp(b, x[0]); })
      .Case([&](math::LogOp) { return functions::log(b, x[0]); })
      .Case([&](math::TanhOp) { return functions::tanh(b, x[0]); })
      .Case([&](math::ErfOp) { return functions::erf(b, x[0]); })
      .Case([&](math::SinOp) { return functions::sin(b, x[0]); })
      .Case([&](math::CosOp) { return functions::cos(b, x[0]); })
      .Case([&](math::PowFOp) { return functions::pow(b, x[0], x[1]); })
      .Default([](Operation *) { return Value(); });
}
