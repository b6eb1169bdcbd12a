//===- Scatter.cpp - Rows added to a table ------------------------------------===//
//
// Positions are taken in order, so that repeated rows sum the same way whatever the number of threads: threads share the
// columns when there are enough of them, else the rows.
//
//===----------------------------------------------------------------------===//
#include "Context.h"
#include "Threads.h"

#include <algorithm>

using namespace para::runtime;

namespace {
template <typename T> void addRow(T *__restrict to, const T *__restrict from, int64_t width) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>)
    for (int64_t i = 0; i < width; ++i)
      to[i] = T(float(to[i]) + float(from[i]));
  else
    for (int64_t i = 0; i < width; ++i)
      to[i] = T(to[i] + from[i]);
}

template <typename T, typename Index>
void scatter(para_context *ctx, int64_t positions, int64_t width, int64_t first, int64_t rows, const void *indices,
             const void *updates, void *out) {
  const Index *index = static_cast<const Index *>(indices);
  const T *from = static_cast<const T *>(updates);
  T *to = static_cast<T *>(out);
  constexpr int64_t lineElements = std::max<int64_t>(64 / int64_t(sizeof(T)), 1);
  int64_t threads = positions * width > 1 << 15 ? ctx->threads : 1;
  if (width >= lineElements * threads) {
    parallelFor(threads, (width + lineElements - 1) / lineElements, 1, [&](int64_t begin, int64_t end) {
      int64_t column = begin * lineElements, columns = std::min(end * lineElements, width) - column;
      for (int64_t p = 0; p < positions; ++p)
        if (int64_t row = int64_t(index[p]) - first; row >= 0 && row < rows)
          addRow(to + row * width + column, from + p * width + column, columns);
    });
    return;
  }
  parallelFor(threads, rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = 0; p < positions; ++p)
      if (int64_t row = int64_t(index[p]) - first; row >= begin && row < end)
        addRow(to + row * width, from + p * width, width);
  });
}
} // namespace

para_status para_scatter_add(para_context *ctx, int32_t stream, int32_t dtype, int32_t indexDType, int64_t positions,
                             int64_t width, int64_t first, int64_t rows, const void *indices, const void *updates,
                             void *out, const char *op) {
  OpScope scope(ctx, stream, op, "scatter_add");
  auto run = [&](auto element) {
    using T = decltype(element);
    if (indexDType == PARA_I64)
      scatter<T, int64_t>(ctx, positions, width, first, rows, indices, updates, out);
    else
      scatter<T, int32_t>(ctx, positions, width, first, rows, indices, updates, out);
    return PARA_OK;
  };
  if (indexDType != PARA_I64 && indexDType != PARA_I32)
    return ctx->fail(op, "scatter_add: indices are neither i32 nor i64");
  switch (dtype) {
  case PARA_F32: return run(float());
  case PARA_F64: return run(double());
  case PARA_F16: return run(Float16());
  case PARA_BF16: return run(BFloat16());
  case PARA_I32: return run(int32_t());
  case PARA_I64: return run(int64_t());
  }
  return ctx->fail(op, "scatter_add: no code for this element type");
}
