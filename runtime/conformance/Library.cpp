//===- Library.cpp - What every back end's library calls must do --------------===//
//
// Products, convolutions, scatters, kernels and copies against plain loops, for layouts as compilers make them.
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include "core/DType.h"

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

using namespace para::conformance;
using namespace para::runtime;

static constexpr int64_t arenaBytes = 64 << 20, part = 16 << 20;

static double small(int64_t i) { return double((i * 37 + i / 7) % 17 - 8) / 8; }

static void fill(void *at, int32_t dtype, int64_t count, int64_t salt) {
  for (int64_t i = 0; i < count; ++i)
    storeScalar(DType(dtype), static_cast<char *>(at) + i * elementBytes(DType(dtype)), small(i + salt));
}
static double get(const void *at, int32_t dtype, int64_t i) {
  return loadScalar(DType(dtype), static_cast<const char *>(at) + i * elementBytes(DType(dtype)));
}
static double tolerance(int32_t dtype) {
  return dtype == PARA_F64 ? 1e-12 : dtype == PARA_F32 ? 1e-5 : dtype == PARA_F16 ? 4e-3 : 3e-2;
}
static bool isClose(double found, double expected, int32_t dtype) {
  return std::fabs(found - expected) <= tolerance(dtype) * (1 + std::fabs(expected));
}

static para_status checkMatmul(para_context *ctx, para_matmul_desc desc, int64_t aCount, int64_t bCount, int64_t cCount,
                               const char *what) {
  char *a = static_cast<char *>(para_arena(ctx)), *b = a + part, *c = b + part;
  fill(a, desc.dtype, aCount, 1);
  fill(b, desc.dtype, bCount, 5);
  fill(c, desc.c_dtype, cCount, 9);
  if (desc.beta == 0)
    storeScalar(DType(desc.c_dtype), c, NAN); // what was there must not count
  std::vector<char> before(c, c + cCount * elementBytes(DType(desc.c_dtype)));
  PARA_STEP(para_matmul(ctx, 0, &desc, a, b, c, what));
  int64_t batches = 1;
  for (int32_t d = 0; d < desc.batch_rank; ++d)
    batches *= desc.batch[d];
  for (int64_t batch = 0; batch < batches; ++batch) {
    int64_t rest = batch, aAt = 0, bAt = 0, cAt = 0;
    for (int32_t d = desc.batch_rank; d-- > 0;) {
      aAt += rest % desc.batch[d] * desc.a_batch_stride[d];
      bAt += rest % desc.batch[d] * desc.b_batch_stride[d];
      cAt += rest % desc.batch[d] * desc.c_batch_stride[d];
      rest /= desc.batch[d];
    }
    for (int64_t i = 0; i < desc.m; ++i)
      for (int64_t j = 0; j < desc.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < desc.k; ++k)
          sum += get(a, desc.dtype, aAt + i * desc.a_row_stride + k * desc.a_column_stride) *
                 get(b, desc.dtype, bAt + k * desc.b_row_stride + j * desc.b_column_stride);
        int64_t at = cAt + i * desc.c_row_stride + j;
        double expected = desc.alpha * sum + (desc.beta == 0 ? 0 : desc.beta * get(before.data(), desc.c_dtype, at));
        if (!isClose(get(c, desc.c_dtype, at), expected, desc.c_dtype))
          return mismatch(what, at, get(c, desc.c_dtype, at), expected);
      }
  }
  return PARA_OK;
}

static para_status checkMatmuls(para_context *ctx, int32_t dtype, int32_t resultType) {
  for (auto [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {5, 7, 3}, {70, 130, 300}, {43, 129, 63}, {1, 33, 64}, {64, 1, 9}})
    for (int transposes = 0; transposes < 4; ++transposes)
      for (auto [alpha, beta] : {std::pair{1.f, 0.f}, {0.5f, 1.f}, {1.f, 1.f}}) {
        para_matmul_desc desc{};
        desc.dtype = dtype, desc.c_dtype = resultType;
        desc.m = m, desc.n = n, desc.k = k;
        bool ta = transposes & 1, tb = transposes & 2;
        desc.a_row_stride = ta ? 1 : k, desc.a_column_stride = ta ? m : 1;
        desc.b_row_stride = tb ? 1 : n, desc.b_column_stride = tb ? k : 1;
        desc.c_row_stride = n;
        desc.alpha = alpha, desc.beta = beta;
        PARA_STEP(checkMatmul(ctx, desc, m * k, k * n, m * n, "matmul"));
      }
  // [2, 3, 5, 8] x [3, 8, 4], the second broadcast over the first batch.
  para_matmul_desc desc{};
  desc.dtype = dtype, desc.c_dtype = resultType;
  desc.batch_rank = 2;
  desc.batch[0] = 2, desc.batch[1] = 3;
  desc.m = 5, desc.n = 4, desc.k = 8;
  desc.a_batch_stride[0] = 120, desc.a_batch_stride[1] = 40;
  desc.b_batch_stride[0] = 0, desc.b_batch_stride[1] = 32;
  desc.c_batch_stride[0] = 60, desc.c_batch_stride[1] = 20;
  desc.a_row_stride = 8, desc.a_column_stride = 1, desc.b_row_stride = 4, desc.b_column_stride = 1, desc.c_row_stride = 4;
  desc.alpha = 1;
  PARA_STEP(checkMatmul(ctx, desc, 240, 96, 120, "matmul.broadcast"));
  // Heads inside of rows, as attention has them: [batch 2, rows 6, heads 3, width 4], scores per head.
  desc = {};
  desc.dtype = dtype, desc.c_dtype = resultType;
  desc.batch_rank = 2;
  desc.batch[0] = 2, desc.batch[1] = 3;
  desc.m = 6, desc.n = 6, desc.k = 4;
  desc.a_batch_stride[0] = desc.b_batch_stride[0] = 72, desc.a_batch_stride[1] = desc.b_batch_stride[1] = 4;
  desc.c_batch_stride[0] = 108, desc.c_batch_stride[1] = 36;
  desc.a_row_stride = 12, desc.a_column_stride = 1, desc.b_row_stride = 1, desc.b_column_stride = 12, desc.c_row_stride = 6;
  desc.alpha = 0.5f;
  PARA_STEP(checkMatmul(ctx, desc, 144, 144, 216, "matmul.heads"));
  // One matrix for all of a batch whose rows follow each other.
  desc = {};
  desc.dtype = dtype, desc.c_dtype = resultType;
  desc.batch_rank = 1;
  desc.batch[0] = 4;
  desc.m = 3, desc.n = 5, desc.k = 2;
  desc.a_batch_stride[0] = 6, desc.c_batch_stride[0] = 15;
  desc.a_row_stride = 2, desc.a_column_stride = 1, desc.b_row_stride = 5, desc.b_column_stride = 1, desc.c_row_stride = 5;
  desc.alpha = 1;
  PARA_STEP(checkMatmul(ctx, desc, 24, 10, 60, "matmul.folded"));
  if (resultType == PARA_F32 || resultType == PARA_F64) {
    desc.k = 0, desc.beta = 2;
    PARA_STEP(checkMatmul(ctx, desc, 24, 10, 60, "matmul.empty"));
  }
  return PARA_OK;
}

static para_status checkConvolution(para_context *ctx, para_convolution_desc desc, const char *what) {
  char *x = static_cast<char *>(para_arena(ctx)), *w = x + part, *y = w + part;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, window[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1},
          pad[3] = {0, 0, 0};
  for (int d = 0; d < desc.spatial; ++d) {
    int to = 3 - desc.spatial + d;
    in[to] = desc.in[d], window[to] = desc.window[d], stride[to] = desc.stride[d], dilation[to] = desc.dilation[d];
    pad[to] = desc.pad_low[d];
    desc.out[d] = out[to] =
        (desc.in[d] + desc.pad_low[d] + desc.pad_high[d] - (desc.window[d] - 1) * desc.dilation[d] - 1) / desc.stride[d] + 1;
  }
  int64_t inSize = in[0] * in[1] * in[2], outSize = out[0] * out[1] * out[2], windowSize = window[0] * window[1] * window[2];
  int64_t cGroup = desc.c / desc.groups, kGroup = desc.k / desc.groups;
  int64_t counts[] = {desc.n * desc.k * outSize, desc.n * desc.c * inSize, desc.k * cGroup * windowSize};
  for (int32_t kind = 0; kind < 3; ++kind) {
    desc.kind = kind;
    fill(y, desc.dtype, counts[0], 3);
    fill(x, desc.dtype, counts[1], 1);
    fill(w, desc.dtype, counts[2], 5);
    std::vector<double> expected(size_t(counts[kind]), 0.0);
    for (int64_t n = 0; n < desc.n; ++n)
      for (int64_t k = 0; k < desc.k; ++k)
        for (int64_t c = 0; c < cGroup; ++c)
          for (int64_t o = 0; o < outSize; ++o)
            for (int64_t e = 0; e < windowSize; ++e) {
              int64_t at[3], element[3] = {e / (window[1] * window[2]), e / window[2] % window[1], e % window[2]};
              int64_t position[3] = {o / (out[1] * out[2]), o / out[2] % out[1], o % out[2]};
              bool isInside = true;
              for (int d = 0; d < 3; ++d) {
                at[d] = position[d] * stride[d] + element[d] * dilation[d] - pad[d];
                isInside &= at[d] >= 0 && at[d] < in[d];
              }
              if (!isInside)
                continue;
              int64_t xAt = ((n * desc.c + k / kGroup * cGroup + c) * in[0] + at[0]) * in[1] * in[2] + at[1] * in[2] + at[2];
              int64_t wAt = (k * cGroup + c) * windowSize + e, yAt = (n * desc.k + k) * outSize + o;
              if (kind == PARA_CONV_FORWARD)
                expected[size_t(yAt)] += get(x, desc.dtype, xAt) * get(w, desc.dtype, wAt);
              else if (kind == PARA_CONV_INPUT_GRAD)
                expected[size_t(xAt)] += get(y, desc.dtype, yAt) * get(w, desc.dtype, wAt);
              else
                expected[size_t(wAt)] += get(y, desc.dtype, yAt) * get(x, desc.dtype, xAt);
            }
    PARA_STEP(para_convolution(ctx, 0, &desc, x, w, y, what));
    const char *result = kind == PARA_CONV_FORWARD ? y : kind == PARA_CONV_INPUT_GRAD ? x : w;
    for (int64_t i = 0; i < counts[kind]; ++i)
      if (!isClose(get(result, desc.dtype, i), expected[size_t(i)], desc.dtype))
        return mismatch(what, i, get(result, desc.dtype, i), expected[size_t(i)]);
  }
  return PARA_OK;
}

static para_status checkConvolutions(para_context *ctx, int32_t dtype) {
  para_convolution_desc plain{0, dtype, 2, 1, 2, 3, 4, {7, 6}, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  para_convolution_desc strided{0, dtype, 2, 1, 2, 16, 32, {9, 8}, {}, {3, 2}, {2, 2}, {1, 1}, {0, 1}, {1, 1}};
  // Channels fill oneDNN's blocks; one has a window larger than a tile of the reorder.
  para_convolution_desc blocks{0, dtype, 2, 1, 1, 48, 32, {6, 5}, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  para_convolution_desc wide{0, dtype, 2, 1, 1, 16, 32, {8, 9}, {}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}};
  para_convolution_desc point{0, dtype, 2, 1, 2, 32, 64, {5, 4}, {}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  para_convolution_desc grouped{0, dtype, 2, 2, 1, 4, 6, {6, 6}, {}, {3, 3}, {1, 2}, {2, 1}, {2, 0}, {2, 1}};
  para_convolution_desc depthwise{0, dtype, 2, 8, 2, 8, 8, {5, 5}, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  para_convolution_desc line{0, dtype, 1, 1, 2, 3, 5, {11}, {}, {4}, {3}, {2}, {2}, {1}};
  para_convolution_desc cube{0, dtype, 3, 1, 1, 2, 3, {4, 5, 3}, {}, {2, 3, 1}, {1, 2, 1}, {1, 1, 1}, {1, 1, 0}, {0, 1, 0}};
  PARA_STEP(checkConvolution(ctx, plain, "convolution"));
  PARA_STEP(checkConvolution(ctx, strided, "convolution.strided"));
  PARA_STEP(checkConvolution(ctx, blocks, "convolution.blocks"));
  PARA_STEP(checkConvolution(ctx, wide, "convolution.wide"));
  PARA_STEP(checkConvolution(ctx, point, "convolution.point"));
  PARA_STEP(checkConvolution(ctx, grouped, "convolution.grouped"));
  PARA_STEP(checkConvolution(ctx, depthwise, "convolution.depthwise"));
  PARA_STEP(checkConvolution(ctx, line, "convolution.1d"));
  return checkConvolution(ctx, cube, "convolution.3d");
}

template <typename Index> static para_status checkScatter(para_context *ctx, int32_t dtype, int32_t indexType, int64_t width) {
  constexpr int64_t positions = 700, rows = 40, first = 10;
  char *updates = static_cast<char *>(para_arena(ctx)), *out = updates + part;
  Index *indices = reinterpret_cast<Index *>(out + part);
  std::vector<double> expected(size_t(rows * width));
  fill(updates, dtype, positions * width, 2);
  fill(out, dtype, rows * width, 4);
  for (int64_t i = 0; i < rows * width; ++i)
    expected[size_t(i)] = get(out, dtype, i);
  for (int64_t p = 0; p < positions; ++p) {
    indices[p] = Index((p * 13) % 60); // some below and some beyond the shard
    int64_t row = indices[p] - first;
    for (int64_t i = 0; row >= 0 && row < rows && i < width; ++i)
      expected[size_t(row * width + i)] += get(updates, dtype, p * width + i);
  }
  PARA_STEP(para_scatter_add(ctx, 0, dtype, indexType, positions, width, first, rows, indices, updates, out, "scatter"));
  for (int64_t i = 0; i < rows * width; ++i)
    if (!isClose(get(out, dtype, i), expected[size_t(i)], dtype))
      return mismatch("scatter_add", i, get(out, dtype, i), expected[size_t(i)]);
  return PARA_OK;
}

static void countCalls(int64_t begin, int64_t end, const int64_t *args) {
  int32_t *counts = reinterpret_cast<int32_t *>(args[0]);
  for (int64_t i = begin; i < end; ++i)
    counts[i] += int32_t(args[1]);
}

/// Every index of the extent is run exactly once, whatever the grain.
static para_status checkLaunch(para_context *ctx) {
  char *arena = static_cast<char *>(para_arena(ctx));
  for (int64_t extent : {0, 1, 2, 7, 1000})
    for (int64_t grain : {1, 3, 64, 5000}) {
      PARA_STEP(para_zero(ctx, 0, arena, 4004, "zero"));
      para_kernel kernel{"count", countCalls, grain, 0, 0};
      int64_t args[] = {int64_t(arena), 5};
      PARA_STEP(para_launch(ctx, 0, &kernel, extent, args, 2, "count"));
      for (int64_t i = 0; i < 1001; ++i)
        if (double found = reinterpret_cast<int32_t *>(arena)[i]; found != (i < extent ? 5 : 0))
          return mismatch("launch", i, found, i < extent ? 5 : 0);
    }
  return PARA_OK;
}

static para_status checkCopies(para_context *ctx) {
  char *arena = static_cast<char *>(para_arena(ctx));
  constexpr int64_t bytes = 3 << 20;
  for (int64_t i = 0; i < bytes; ++i)
    arena[i] = char(i * 31 + i / 251);
  std::vector<char> before(arena, arena + bytes);
  PARA_STEP(para_copy(ctx, 2, arena + part, arena, bytes, "copy"));
  PARA_STEP(para_copy(ctx, 2, arena + 1000, arena, bytes, "copy.overlapping"));
  for (int64_t i = 0; i < bytes; ++i)
    if (arena[part + i] != before[size_t(i)] || arena[1000 + i] != before[size_t(i)])
      return mismatch("copy", i, arena[1000 + i], before[size_t(i)]);
  return PARA_OK;
}

static para_status run(para_context *ctx, int64_t, int64_t) {
  PARA_STEP(checkLaunch(ctx));
  PARA_STEP(checkCopies(ctx));
  for (int32_t dtype : {PARA_F32, PARA_F64, PARA_BF16, PARA_F16})
    PARA_STEP(checkMatmuls(ctx, dtype, dtype));
  for (int32_t dtype : {PARA_BF16, PARA_F16}) // sums that are not rounded
    PARA_STEP(checkMatmuls(ctx, dtype, PARA_F32));
  for (int32_t dtype : {PARA_F32, PARA_F64, PARA_F16, PARA_BF16})
    PARA_STEP(checkConvolutions(ctx, dtype));
  for (int64_t width : {1, 5, 64, 700}) {
    PARA_STEP((checkScatter<int64_t>(ctx, PARA_F32, PARA_I64, width)));
    PARA_STEP((checkScatter<int32_t>(ctx, PARA_F64, PARA_I32, width)));
  }
  return PARA_OK;
}

int main(int argc, char **argv) {
  std::string manifest = "{\"version\": 1, \"model\": \"library\", \"mode\": \"infer\", \"mesh\": [], \"stages\": "
                         "[{\"arena_bytes\": " +
                         std::to_string(arenaBytes) + ", \"actions\": [{\"segment\": \"run\"}], \"tensors\": []}]}";
  const para_segment segments[] = {{"run", run}};
  return runProgram(argc, argv, manifest, segments, 1);
}
