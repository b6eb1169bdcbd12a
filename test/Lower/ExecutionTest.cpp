//===- ExecutionTest.cpp - Compiled stages give the right numbers ---------===//
#include "Program.h"

#include <cmath>

using namespace para;

/// Softmax over the last dimension: three passes over each row, one kernel, for a row that no vector divides.
TEST(Execution, SoftmaxIsOneKernel) {
  Program p(R"(func.func @stage0(%x: tensor<7x37xf32> {para.kind = "input", para.name = "x"}) -> (tensor<7x37xf32> {para.kind = "output", para.name = "y"}) {
    %m = para.reduce max %x [1] : tensor<7x37xf32> -> tensor<7xf32>
    %mb = para.broadcast %m [0] : tensor<7xf32> -> tensor<7x37xf32>
    %d = para.sub %x, %mb : tensor<7x37xf32>
    %e = para.exp %d : tensor<7x37xf32>
    %s = para.reduce sum %e [1] : tensor<7x37xf32> -> tensor<7xf32>
    %sb = para.broadcast %s [0] : tensor<7xf32> -> tensor<7x37xf32>
    %y = para.div %e, %sb : tensor<7x37xf32>
    return %y : tensor<7x37xf32>
  })");
  ASSERT_TRUE(p.ok());
  std::vector<float> x = numbers(7 * 37, 1);
  p.set("x", x);
  p.step();
  EXPECT_EQ(p.launches(), 1);
  std::vector<double> want(x.size());
  for (int r = 0; r < 7; ++r) {
    double sum = 0;
    for (int c = 0; c < 37; ++c)
      sum += std::exp(static_cast<double>(x[r * 37 + c]));
    for (int c = 0; c < 37; ++c)
      want[r * 37 + c] = std::exp(static_cast<double>(x[r * 37 + c])) / sum;
  }
  expectNear(p.get<float>("y", want.size()), want, 1e-6);
}

/// Sums over each set of dimensions, with lanes along rows, across rows, and for sizes that leave a rest.
TEST(Execution, Reductions) {
  struct Case {
    std::vector<int64_t> shape;
    std::string dims, result;
    std::vector<bool> reduced;
  };
  for (const Case &c : {Case{{64, 100}, "[0]", "100x", {true, false}}, Case{{64, 100}, "[1]", "64x", {false, true}}, Case{{3, 1000}, "[0, 1]", "", {true, true}},
                        Case{{100, 3}, "[1]", "100x", {false, true}}, Case{{5, 6, 16}, "[1]", "5x16x", {false, true, false}},
                        Case{{2, 64, 50}, "[0, 2]", "64x", {true, false, true}}}) {
    std::string shape;
    int64_t size = 1;
    for (int64_t d : c.shape)
      shape += std::to_string(d) + "x", size *= d;
    std::string in = "tensor<" + shape + "f32>", out = "tensor<" + c.result + "f32>";
    Program p("func.func @stage0(%x: " + in + " {para.kind = \"input\", para.name = \"x\"}) -> (" + out + " {para.kind = \"output\", para.name = \"y\"}) {\n  %y = para.reduce sum %x " +
              c.dims + " : " + in + " -> " + out + "\n  return %y : " + out + "\n}");
    ASSERT_TRUE(p.ok());
    std::vector<float> x = numbers(size, 2);
    p.set("x", x);
    p.step();
    int64_t kept = 1;
    for (size_t d = 0; d < c.shape.size(); ++d)
      kept *= c.reduced[d] ? 1 : c.shape[d];
    std::vector<double> want(kept, 0.0);
    for (int64_t i = 0; i < size; ++i) {
      int64_t rest = i, at = 0, stride = 1;
      for (size_t d = c.shape.size(); d-- > 0; rest /= c.shape[d])
        if (!c.reduced[d]) {
          at += rest % c.shape[d] * stride;
          stride *= c.shape[d];
        }
      want[at] += x[i];
    }
    expectNear(p.get<float>("y", kept), want);
  }
}

/// A weight is updated in its place by the kernel that begins the sum of its gradient's squares; another finishes the sum.
TEST(Execution, UpdateInPlaceWithTheNorm) {
  constexpr int64_t size = 64 * 60 * 9;
  Program p(R"(func.func @stage0(%w: tensor<64x60x3x3xf32> {para.kind = "parameter", para.name = "w"}, %g: tensor<64x60x3x3xf32> {para.kind = "input", para.name = "g"})
      -> (tensor<64x60x3x3xf32> {para.kind = "parameter", para.name = "w", para.updates = "w"}, tensor<f32> {para.kind = "output", para.name = "norm"}) {
    %s = para.mul %g, %g : tensor<64x60x3x3xf32>
    %n = para.reduce sum %s [0, 1, 2, 3] : tensor<64x60x3x3xf32> -> tensor<f32>
    %h = para.sub %w, %g : tensor<64x60x3x3xf32>
    %next = para.sub %h, %s : tensor<64x60x3x3xf32>
    return %next, %n : tensor<64x60x3x3xf32>, tensor<f32>
  })");
  ASSERT_TRUE(p.ok());
  std::vector<float> w = numbers(size, 8), g = numbers(size, 9);
  p.set("w", w);
  p.set("g", g);
  p.step();
  EXPECT_EQ(p.launches(), 2); // and no copy
  std::vector<double> want(size);
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    want[i] = w[i] - g[i] - static_cast<double>(g[i]) * g[i];
    sum += static_cast<double>(g[i]) * g[i];
  }
  expectNear(p.get<float>("w", size), want);
  expectNear(p.get<float>("norm", 1), {sum}, 1e-2);
}

/// Maxima of overlapping windows beyond the edges, the first place of each, and cotangents spread back to these places: lanes read every
/// other element, and elements twice.
TEST(Execution, PoolingAndItsGradient) {
  for (int64_t width : {16, 32, 18, 7}) {
    int64_t height = 6, channels = 3, outHeight = 3, outWidth = (width + 1) / 2;
    std::string in = "tensor<2x3x6x" + std::to_string(width) + "xf32>", out = "tensor<2x3x3x" + std::to_string(outWidth) + "x";
    std::string window = "{window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>}";
    Program p("func.func @stage0(%x: " + in + " {para.kind = \"input\", para.name = \"x\"}, %g: " + out + "f32> {para.kind = \"input\", para.name = \"g\"}) -> (" + out +
              "f32> {para.kind = \"output\", para.name = \"y\"}, " + in + " {para.kind = \"output\", para.name = \"d\"}) {\n  %y = para.pool max %x " + window + " : " + in +
              " -> " + out + "f32>\n  %i = para.pool_index %x, %y " + window + " : " + in + ", " + out + "f32> -> " + out + "i32>\n  %d = para.pool_grad %g, %i " + window +
              " : " + out + "f32>, " + out + "i32> -> " + in + "\n  return %y, %d : " + out + "f32>, " + in + "\n}");
    ASSERT_TRUE(p.ok());
    std::vector<float> x = numbers(2 * channels * height * width, 10), g = numbers(2 * channels * outHeight * outWidth, 11);
    for (float &v : x) // Equal maxima: the first place has them.
      v = std::round(v * 4);
    p.set("x", x);
    p.set("g", g);
    p.step();
    std::vector<double> y(g.size()), d(x.size(), 0.0);
    for (int64_t plane = 0; plane < 2 * channels; ++plane)
      for (int64_t r = 0; r < outHeight; ++r)
        for (int64_t c = 0; c < outWidth; ++c) {
          int64_t best = -1, to = (plane * outHeight + r) * outWidth + c;
          for (int64_t i = std::max<int64_t>(0, 2 * r - 1); i <= std::min(height - 1, 2 * r + 1); ++i)
            for (int64_t j = std::max<int64_t>(0, 2 * c - 1); j <= std::min(width - 1, 2 * c + 1); ++j)
              if (int64_t at = (plane * height + i) * width + j; best < 0 || x[at] > x[best])
                best = at;
          y[to] = x[best];
          d[best] += g[to];
        }
    expectNear(p.get<float>("y", y.size()), y, 0);
    expectNear(p.get<float>("d", d.size()), d);
  }
}

/// Each lane reads the second, third or fifth element on, the last of which ends the buffer.
TEST(Execution, StridedReads) {
  for (int64_t stride : {2, 3, 5}) {
    int64_t size = 64 * stride;
    std::string in = "tensor<4x" + std::to_string(size) + "xf32>";
    Program p("func.func @stage0(%x: " + in + " {para.kind = \"input\", para.name = \"x\"}) -> (tensor<4x64xf32> {para.kind = \"output\", para.name = \"y\"}) {\n  %s = para.slice %x [0, " +
              std::to_string(stride - 1) + "] [1, " + std::to_string(stride) + "] : " + in + " -> tensor<4x64xf32>\n  %y = para.neg %s : tensor<4x64xf32>\n  return %y : tensor<4x64xf32>\n}");
    ASSERT_TRUE(p.ok());
    std::vector<float> x = numbers(4 * size, 12);
    p.set("x", x);
    p.step();
    std::vector<double> want;
    for (int64_t i = 0; i < 4 * 64; ++i)
      want.push_back(-x[i / 64 * size + i % 64 * stride + stride - 1]);
    expectNear(p.get<float>("y", want.size()), want, 0);
  }
}

/// Transposes before and behind a product are strides of one call: no kernel runs.
TEST(Execution, ProductAbsorbsTransposes) {
  Program p(R"(func.func @stage0(%a: tensor<2x5x4x8xf32> {para.kind = "input", para.name = "a"}, %b: tensor<2x4x8x6xf32> {para.kind = "input", para.name = "b"})
      -> (tensor<2x5x4x6xf32> {para.kind = "output", para.name = "y"}) {
    %t = para.transpose %a [0, 2, 1, 3] : tensor<2x5x4x8xf32> -> tensor<2x4x5x8xf32>
    %d = para.dot %t, %b batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x4x5x8xf32>, tensor<2x4x8x6xf32> -> tensor<2x4x5x6xf32>
    %y = para.transpose %d [0, 2, 1, 3] : tensor<2x4x5x6xf32> -> tensor<2x5x4x6xf32>
    return %y : tensor<2x5x4x6xf32>
  })");
  ASSERT_TRUE(p.ok());
  std::vector<float> a = numbers(2 * 5 * 4 * 8, 3), b = numbers(2 * 4 * 8 * 6, 4);
  p.set("a", a);
  p.set("b", b);
  p.step();
  EXPECT_EQ(p.launches(), 0);
  EXPECT_EQ(p.matmuls(), 1);
  std::vector<double> want;
  for (int n = 0; n < 2; ++n)
    for (int i = 0; i < 5; ++i)
      for (int h = 0; h < 4; ++h)
        for (int j = 0; j < 6; ++j) {
          double sum = 0;
          for (int k = 0; k < 8; ++k)
            sum += a[((n * 5 + i) * 4 + h) * 8 + k] * b[((n * 4 + h) * 8 + k) * 6 + j];
          want.push_back(sum);
        }
  expectNear(p.get<float>("y", want.size()), want);
}

/// Gradients add up over microbatches in a product and in a kernel, under an interleaved schedule, and the parameter is updated in place.
TEST(Execution, MicrobatchesAccumulate) {
  std::string schedule;
  for (auto [phase, m] : {std::pair("forward", 0), {"forward", 1}, {"backward", 0}, {"forward", 2}, {"backward", 1}, {"backward", 2}, {"update", 0}})
    schedule += std::string(schedule.empty() ? "" : ", ") + "[#para<phase " + phase + ">, " + std::to_string(m) + "]";
  Program p(R"(func.func @stage0(%x: tensor<8x16xf32> {para.kind = "input", para.name = "x"}, %w: tensor<16x12xf32> {para.kind = "parameter", para.name = "w"})
      -> (tensor<16x12xf32> {para.kind = "update", para.name = "w.new", para.updates = "w"}) attributes {para.schedule = [)" + schedule + R"(]} {
    %h = para.dot %x, %w batch [] x [] contract [1] x [0] {para.phase = #para<phase forward>} : tensor<8x16xf32>, tensor<16x12xf32> -> tensor<8x12xf32>
    %t = para.tanh %h {para.phase = #para<phase forward>} : tensor<8x12xf32>
    %dw = para.dot %x, %t batch [] x [] contract [0] x [0] {para.phase = #para<phase backward>} : tensor<8x16xf32>, tensor<8x12xf32> -> tensor<16x12xf32>
    %db = para.reduce sum %t [0] {para.phase = #para<phase backward>} : tensor<8x12xf32> -> tensor<12xf32>
    %aw = para.accumulate %dw {para.phase = #para<phase backward>} : tensor<16x12xf32>
    %ab = para.accumulate %db {para.phase = #para<phase backward>} : tensor<12xf32>
    %bb = para.broadcast %ab [1] {para.phase = #para<phase update>} : tensor<12xf32> -> tensor<16x12xf32>
    %w1 = para.sub %w, %aw {para.phase = #para<phase update>} : tensor<16x12xf32>
    %w2 = para.sub %w1, %bb {para.phase = #para<phase update>} : tensor<16x12xf32>
    return %w2 : tensor<16x12xf32>
  })", 3);
  ASSERT_TRUE(p.ok());
  std::vector<float> x = numbers(3 * 8 * 16, 5), w = numbers(16 * 12, 6);
  p.set("x", x);
  p.set("w", w);
  p.step();
  std::vector<double> want(w.begin(), w.end());
  for (int row = 0; row < 24; ++row)
    for (int j = 0; j < 12; ++j) {
      double h = 0;
      for (int k = 0; k < 16; ++k)
        h += x[row * 16 + k] * w[k * 12 + j];
      for (int k = 0; k < 16; ++k)
        want[k * 12 + j] -= std::tanh(h) * (x[row * 16 + k] + 1);
    }
  expectNear(p.get<float>("w", want.size()), want);
}

/// Rows that are not in the table read zero, and padding is not read where it does not exist.
TEST(Execution, GatherAndPad) {
  Program p(R"(func.func @stage0(%t: tensor<5x20xf32> {para.kind = "input", para.name = "t"}, %i: tensor<4xi64> {para.kind = "input", para.name = "i"})
      -> (tensor<4x43xf32> {para.kind = "output", para.name = "y"}) {
    %g = para.gather %t, %i 0 : tensor<5x20xf32>, tensor<4xi64> -> tensor<4x20xf32>
    %y = para.pad %g [0, 3] [1, 2] with(1.5 : f32) : tensor<4x20xf32> -> tensor<4x43xf32>
    return %y : tensor<4x43xf32>
  })");
  ASSERT_TRUE(p.ok());
  std::vector<float> t = numbers(100, 7);
  std::vector<int64_t> rows{4, -1, 0, 5};
  p.set("t", t);
  p.set("i", rows);
  p.step();
  std::vector<double> want(4 * 43, 1.5);
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 20; ++c)
      want[r * 43 + 3 + 2 * c] = rows[r] >= 0 && rows[r] < 5 ? t[rows[r] * 20 + c] : 0.0;
  expectNear(p.get<float>("y", want.size()), want);
}

/// A sum over one row runs after its terms are stored, which must not be where it reads.
TEST(Execution, SumOfOneRowBesideItsTerms) {
  Program p(R"(func.func @stage0(%x: tensor<1x4xf32> {para.kind = "input", para.name = "x"}, %w: tensor<4x13xf32> {para.kind = "parameter", para.name = "w"})
      -> (tensor<13xf32> {para.kind = "output", para.name = "s"}, tensor<1x4xf32> {para.kind = "output", para.name = "o"}) {
    %d = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<1x4xf32>, tensor<4x13xf32> -> tensor<1x13xf32>
    %y = para.mul %d, %d : tensor<1x13xf32>
    %s = para.reduce sum %y [0] : tensor<1x13xf32> -> tensor<13xf32>
    %o = para.dot %y, %w batch [] x [] contract [1] x [1] : tensor<1x13xf32>, tensor<4x13xf32> -> tensor<1x4xf32>
    return %s, %o : tensor<13xf32>, tensor<1x4xf32>
  })");
  ASSERT_TRUE(p.ok());
  std::vector<float> x = numbers(4, 1), w = numbers(4 * 13, 2);
  p.set("x", x);
  p.set("w", w);
  p.step();
  std::vector<double> sum(13), product(4);
  for (int c = 0; c < 13; ++c) {
    double d = 0;
    for (int k = 0; k < 4; ++k)
      d += x[k] * w[k * 13 + c];
    sum[c] = d * d;
    for (int k = 0; k < 4; ++k)
      product[k] += sum[c] * w[k * 13 + c];
  }
  expectNear(p.get<float>("s", 13), sum);
  expectNear(p.get<float>("o", 4), product);
}
