//===- Bench.cpp - How fast the back end is ------------------------------------===//
//
// PARA_BENCH=allreduce (PARA_TEST_RANKS ranks, PARA_BENCH_BYTES), matmul (PARA_BENCH_SIZE, PARA_BENCH_DTYPE) or convolution.
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include "core/DType.h"
#include "core/Status.h"

#include <algorithm>
#include <vector>

using namespace para::conformance;
using namespace para::runtime;

static int64_t bytes, size, dtype;

static void report(para_context *ctx, std::vector<double> seconds, const char *what, double work, const char *unit) {
  std::sort(seconds.begin(), seconds.end());
  if (para_coordinate(ctx, 0) == 0)
    std::printf("%s: median %.3f ms, minimum %.3f ms, %.2f %s\n", what, seconds[seconds.size() / 2] * 1e3,
                seconds[0] * 1e3, work / seconds[seconds.size() / 2] * 1e-9, unit);
}

static para_status allReduce(para_context *ctx, int64_t, int64_t) {
  char *in = static_cast<char *>(para_arena(ctx)), *out = in + bytes;
  std::vector<double> seconds;
  PARA_STEP(para_zero(ctx, 0, in, 2 * bytes, "zero"));
  for (int i = 0; i < 40; ++i) {
    double began = nowSeconds();
    PARA_STEP(para_all_reduce(ctx, 1, 0, i, in, out, bytes / 4, PARA_F32, PARA_SUM, "all_reduce"));
    if (i >= 5)
      seconds.push_back(nowSeconds() - began);
  }
  report(ctx, seconds, "all-reduce", double(bytes), "GB/s of buffer");
  return PARA_OK;
}

static para_status matmul(para_context *ctx, int64_t, int64_t) {
  char *a = static_cast<char *>(para_arena(ctx));
  int64_t step = size * size * elementBytes(DType(dtype));
  para_matmul_desc desc{};
  desc.dtype = desc.c_dtype = int32_t(dtype);
  desc.m = desc.n = desc.k = size;
  desc.a_row_stride = desc.b_row_stride = desc.c_row_stride = size;
  desc.a_column_stride = desc.b_column_stride = 1;
  desc.alpha = 1;
  std::vector<double> seconds;
  for (int i = 0; i < 25; ++i) {
    double began = nowSeconds();
    PARA_STEP(para_matmul(ctx, 0, &desc, a, a + step, a + 2 * step, "matmul"));
    if (i >= 5)
      seconds.push_back(nowSeconds() - began);
  }
  report(ctx, seconds, "matmul", 2.0 * double(size) * double(size) * double(size), "GFLOP/s");
  return PARA_OK;
}

/// A 3 x 3 layer of 64 channels on 56 x 56 images, forward and both gradients.
static para_status convolution(para_context *ctx, int64_t, int64_t) {
  char *x = static_cast<char *>(para_arena(ctx)), *w = x + (64 << 20), *y = w + (1 << 20);
  const char *names[] = {"convolution", "convolution input grad", "convolution weight grad"};
  para_convolution_desc descs[3];
  for (int32_t kind = 0; kind < 3; ++kind) {
    descs[kind] = {kind, int32_t(dtype), 2, 1, 8, 64, 64, {56, 56}, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    std::vector<double> seconds;
    for (int i = 0; i < 25; ++i) {
      double began = nowSeconds();
      PARA_STEP(para_convolution(ctx, 0, &descs[kind], x, w, y, names[kind]));
      if (i >= 5)
        seconds.push_back(nowSeconds() - began);
    }
    report(ctx, seconds, names[kind], 2.0 * 8 * 64 * 64 * 56 * 56 * 9, "GFLOP/s");
  }
  return PARA_OK;
}

int main(int argc, char **argv) {
  int64_t ranks = setting("PARA_TEST_RANKS", 1);
  bytes = setting("PARA_BENCH_BYTES", 3300000) / 4 * 4;
  size = setting("PARA_BENCH_SIZE", 1024);
  dtype = setting("PARA_BENCH_DTYPE", PARA_F32);
  std::string what = settingText("PARA_BENCH", "allreduce");
  int64_t arena = what == "matmul" ? 3 * size * size * 8 : what == "convolution" ? 130 << 20 : 2 * bytes;
  std::string manifest = "{\"version\": 1, \"model\": \"bench\", \"mode\": \"infer\", \"mesh\": [{\"name\": \"data\", "
                         "\"size\": " +
                         std::to_string(ranks) + "}], \"communicators\": [{\"axes\": [\"data\"]}], \"stages\": "
                         "[{\"arena_bytes\": " +
                         std::to_string(arena) + ", \"actions\": [{\"segment\": \"" + what + "\"}], \"tensors\": []}]}";
  const para_segment segments[] = {{"allreduce", allReduce}, {"matmul", matmul}, {"convolution", convolution}};
  return runProgram(argc, argv, manifest, segments, 3);
}
