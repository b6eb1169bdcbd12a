//===- FunctionsTest.cpp - Errors of the transcendental functions ---------===//
//
// Against the C library in extended precision, over all magnitudes and at the special values.
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include <cmath>
#include <limits>
#include <random>

using namespace para;

template <typename T>
static void check(const std::string &op, const std::string &type, long double (*exact)(long double), double low, double high, double ulps) {
  constexpr int count = 4096;
  std::string tensor = "tensor<" + std::to_string(count) + "x" + type + ">";
  Program p("func.func @stage0(%x: " + tensor + " {para.kind = \"input\", para.name = \"x\"}) -> (" + tensor + " {para.kind = \"output\", para.name = \"y\"}) {\n  %y = para." +
            op + " %x : " + tensor + "\n  return %y : " + tensor + "\n}");
  ASSERT_TRUE(p.ok());
  using Limits = std::numeric_limits<T>;
  std::vector<T> x{0, T(-0.0), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::min(), Limits::denorm_min(), -Limits::min() / 4, 1, -1, T(0.5), 2};
  std::mt19937_64 engine(11);
  while (x.size() < count) {
    double u = static_cast<double>(engine() >> 11) * 0x1p-53;
    x.push_back(x.size() % 2 ? T(low + u * (high - low)) : T(std::exp2(-30 + 34 * u) * (x.size() % 4 ? 1 : -1)));
  }
  p.set("x", x);
  p.step();
  std::vector<T> y = p.get<T>("y", count);
  for (int i = 0; i < count; ++i) {
    long double want = exact(x[i]);
    T rounded = static_cast<T>(want);
    if (std::isnan(rounded)) {
      EXPECT_TRUE(std::isnan(y[i])) << op << "(" << x[i] << ") is " << y[i];
    } else if (std::isinf(rounded) || std::isinf(y[i])) {
      EXPECT_EQ(y[i], rounded) << op << "(" << x[i] << ")";
    } else {
      T size = std::max(std::abs(rounded), Limits::min());
      long double ulp = std::nextafter(size, Limits::infinity()) - size;
      EXPECT_LE(std::abs(y[i] - want) / ulp, ulps) << op << "(" << x[i] << ") is " << y[i];
    }
  }
}

TEST(Functions, F32) {
  check<float>("exp", "f32", expl, -110, 95, 2);
  check<float>("log", "f32", logl, 0, 1e30, 2);
  check<float>("tanh", "f32", tanhl, -12, 12, 2);
  check<float>("erf", "f32", erfl, -5, 5, 2);
  check<float>("sin", "f32", [](long double x) { return sinl(x); }, -1e6, 1e6, 2);
  check<float>("cos", "f32", [](long double x) { return cosl(x); }, -1e6, 1e6, 2);
}

TEST(Functions, F64) {
  check<double>("exp", "f64", expl, -750, 715, 4);
  check<double>("log", "f64", logl, 0, 1e300, 4);
  check<double>("tanh", "f64", tanhl, -25, 25, 4);
  check<double>("erf", "f64", erfl, -7, 7, 4);
  check<double>("sin", "f64", [](long double x) { return sinl(x); }, -1e5, 1e5, 4);
  check<double>("cos", "f64", [](long double x) { return cosl(x); }, -1e5, 1e5, 4);
}

/// Signs, zeros and infinities of powers are those of the C library.
TEST(Functions, PowersOfSpecialValues) {
  std::vector<float> values{0.0f, -0.0f, 1.0f, -1.0f, 2.0f, -2.0f, 3.0f, -3.0f, 0.5f, -0.5f, 1e30f, INFINITY, -INFINITY, NAN};
  std::vector<float> x, y;
  for (float a : values)
    for (float b : values)
      x.push_back(a), y.push_back(b);
  std::string tensor = "tensor<" + std::to_string(x.size()) + "xf32>";
  Program p("func.func @stage0(%x: " + tensor + " {para.kind = \"input\", para.name = \"x\"}, %y: " + tensor + " {para.kind = \"input\", para.name = \"y\"}) -> (" + tensor +
            " {para.kind = \"output\", para.name = \"z\"}) {\n  %z = para.pow %x, %y : " + tensor + "\n  return %z : " + tensor + "\n}");
  ASSERT_TRUE(p.ok());
  p.set("x", x);
  p.set("y", y);
  p.step();
  std::vector<float> z = p.get<float>("z", x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    float want = std::pow(x[i], y[i]);
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(z[i])) << x[i] << " ^ " << y[i] << " is " << z[i];
    else if (std::isinf(want) || want == 0)
      EXPECT_EQ(z[i], want) << x[i] << " ^ " << y[i];
    else
      EXPECT_NEAR(z[i] / want, 1.0f, 3e-7f) << x[i] << " ^ " << y[i];
  }
}
