//===- Gemm.h - Matrix products that oneDNN does not have -------*- C++ -*-===//
//
// f64, and 16-bit floats on machines without them, with results of their own type or f32. Tiles of the result are shared by threads; each sums over k in order, so the result
// does not depend on the number of threads. Operands are packed per tile, which takes any strides.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_HOST_GEMM_H
#define PARA_RUNTIME_HOST_GEMM_H

#include "Threads.h"
#include "para/Runtime/para_runtime.h"

#include <algorithm>
#include <cstring>

namespace para::runtime {

template <typename T, typename Sum, typename Result = T> struct Gemm {
  static constexpr int64_t tileRows = 128, tileColumns = 256, tileDepth = 192;
  static constexpr int64_t lanes = 64 / int64_t(sizeof(Sum)), microRows = 8, microColumns = 2 * lanes;
  typedef Sum Vector __attribute__((vector_size(64)));

  /// a: microRows-wide panels, b: microColumns-wide panels, both by depth.
  static void micro(const Sum *a, const Sum *b, int64_t depth, Sum *c) {
    Vector sum[microRows][2];
    for (int64_t i = 0; i < microRows; ++i)
      std::memcpy(sum[i], c + i * tileColumns, sizeof(sum[i]));
    for (int64_t k = 0; k < depth; ++k) {
      Vector b0, b1;
      std::memcpy(&b0, b + k * microColumns, 64);
      std::memcpy(&b1, b + k * microColumns + lanes, 64);
#pragma clang loop unroll(full)
      for (int64_t i = 0; i < microRows; ++i) {
        Sum value = a[k * microRows + i];
        sum[i][0] += value * b0;
        sum[i][1] += value * b1;
      }
    }
    for (int64_t i = 0; i < microRows; ++i)
      std::memcpy(c + i * tileColumns, sum[i], sizeof(sum[i]));
  }

  static void pack(const T *from, int64_t outerStride, int64_t depthStride, int64_t outer, int64_t depth,
                   int64_t panel, Sum *to) {
    for (int64_t at = 0; at < outer; at += panel, to += panel * depth) {
      int64_t count = std::min(panel, outer - at);
      const T *first = from + at * outerStride;
      if (count < panel)
        std::memset(to, 0, size_t(panel * depth) * sizeof(Sum));
      // Whichever stride is 1 runs innermost.
      if (outerStride == 1)
        for (int64_t k = 0; k < depth; ++k)
          for (int64_t i = 0; i < count; ++i)
            to[k * panel + i] = Sum(first[k * depthStride + i]);
      else
        for (int64_t i = 0; i < count; ++i)
          for (int64_t k = 0; k < depth; ++k)
            to[k * panel + i] = Sum(first[i * outerStride + k * depthStride]);
    }
  }

  static void tile(const para_matmul_desc &desc, const T *a, const T *b, Result *c, int64_t row, int64_t column) {
    struct Buffers {
      alignas(64) Sum a[tileRows * tileDepth], b[tileColumns * tileDepth], c[tileRows * tileColumns];
    };
    static thread_local Buffers buffers;
    int64_t rows = std::min(tileRows, desc.m - row), columns = std::min(tileColumns, desc.n - column);
    std::memset(buffers.c, 0, sizeof(buffers.c));
    for (int64_t k = 0; k < desc.k; k += tileDepth) {
      int64_t depth = std::min(tileDepth, desc.k - k);
      pack(a + row * desc.a_row_stride + k * desc.a_column_stride, desc.a_row_stride, desc.a_column_stride, rows, depth,
           microRows, buffers.a);
      pack(b + k * desc.b_row_stride + column * desc.b_column_stride, desc.b_column_stride, desc.b_row_stride, columns,
           depth, microColumns, buffers.b);
      for (int64_t i = 0; i < rows; i += microRows)
        for (int64_t j = 0; j < columns; j += microColumns)
          micro(buffers.a + i * depth, buffers.b + j * depth, depth, buffers.c + i * tileColumns + j);
    }
    for (int64_t i = 0; i < rows; ++i) {
      Result *to = c + (row + i) * desc.c_row_stride + column;
      const Sum *from = buffers.c + i * tileColumns;
      Sum alpha = Sum(desc.alpha), beta = Sum(desc.beta);
      // With beta 0 what c held does not count, not even a NaN.
      for (int64_t j = 0; j < columns; ++j)
        to[j] = Result(beta == 0 ? alpha * from[j] : alpha * from[j] + beta * Sum(to[j]));
    }
  }

  static void run(int64_t threads, const para_matmul_desc &desc, const T *a, const T *b, Result *c) {
    int64_t tilesDown = (desc.m + tileRows - 1) / tileRows, tilesAcross = (desc.n + tileColumns - 1) / tileColumns;
    int64_t batches = 1;
    for (int32_t d = 0; d < desc.batch_rank; ++d)
      batches *= desc.batch[d];
    parallelFor(threads, batches * tilesDown * tilesAcross, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t batch = i / (tilesDown * tilesAcross), at = i % (tilesDown * tilesAcross);
        const T *aBatch = a, *bBatch = b;
        Result *cBatch = c;
        for (int32_t d = desc.batch_rank; d-- > 0;) {
          int64_t index = batch % desc.batch[d];
          batch /= desc.batch[d];
          aBatch += index * desc.a_batch_stride[d];
          bBatch += index * desc.b_batch_stride[d];
          cBatch += index * desc.c_batch_stride[d];
        }
        tile(desc, aBatch, bBatch, cBatch, at / tilesAcross * tileRows, at % tilesAcross * tileColumns);
      }
    });
  }
};

} // namespace para::runtime

#endif
