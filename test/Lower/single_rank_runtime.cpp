//===- single_rank_runtime.cpp - The runtime's interface for tests --------===//
//
// The functions that compiled programs call, for one rank, in the plainest way: what the lower stage's tests run on.
//
//===----------------------------------------------------------------------===//
#include "para/Runtime/para_runtime.h"

#include <cstdlib>
#include <cstring>

struct para_context {
  char *arena;
  int64_t launches, matmuls;
};

template <typename T>
static void multiply(const para_matmul_desc *d, const T *a, const T *b, T *c) {
  int64_t count = 1;
  for (int i = 0; i < d->batch_rank; ++i)
    count *= d->batch[i];
  for (int64_t n = 0; n < count; ++n) {
    int64_t rest = n, ao = 0, bo = 0, co = 0;
    for (int i = d->batch_rank; i-- > 0; rest /= d->batch[i]) {
      int64_t at = rest % d->batch[i];
      ao += at * d->a_batch_stride[i], bo += at * d->b_batch_stride[i], co += at * d->c_batch_stride[i];
    }
    for (int64_t i = 0; i < d->m; ++i)
      for (int64_t j = 0; j < d->n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < d->k; ++k)
          sum += double(a[ao + i * d->a_row_stride + k * d->a_column_stride]) * b[bo + k * d->b_row_stride + j * d->b_column_stride];
        T &to = c[co + i * d->c_row_stride + j];
        to = T(d->alpha * sum) + (d->beta ? T(d->beta) * to : T(0));
      }
  }
}

extern "C" {
para_context *test_context(int64_t bytes) {
  auto *context = new para_context();
  context->arena = static_cast<char *>(aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
  memset(context->arena, 0xff, bytes); // NaN: what is read before it is written shows.
  return context;
}
int64_t test_launches(para_context *c) { return c->launches; }
int64_t test_matmuls(para_context *c) { return c->matmuls; }

void *para_arena(para_context *c) { return c->arena; }
int64_t para_coordinate(para_context *, int32_t) { return 0; }
para_status para_launch(para_context *c, int32_t, const para_kernel *kernel, int64_t extent, const int64_t *args, int32_t, const char *) {
  ++c->launches;
  // In two parts, as threads would.
  kernel->function(0, extent / 3, args);
  kernel->function(extent / 3, extent, args);
  return PARA_OK;
}
para_status para_matmul(para_context *c, int32_t, const para_matmul_desc *d, const void *a, const void *b, void *to, const char *) {
  ++c->matmuls;
  if (d->c_dtype != d->dtype)
    return PARA_ERROR;
  if (d->dtype == PARA_F32)
    multiply(d, static_cast<const float *>(a), static_cast<const float *>(b), static_cast<float *>(to));
  else if (d->dtype == PARA_F64)
    multiply(d, static_cast<const double *>(a), static_cast<const double *>(b), static_cast<double *>(to));
  else
    return PARA_ERROR;
  return PARA_OK;
}
para_status para_scatter_add(para_context *, int32_t, int32_t dtype, int32_t indexType, int64_t positions, int64_t width, int64_t first, int64_t rows,
                             const void *indices, const void *updates, void *out, const char *) {
  for (int64_t p = 0; p < positions; ++p) {
    int64_t row = (indexType == PARA_I64 ? static_cast<const int64_t *>(indices)[p] : static_cast<const int32_t *>(indices)[p]) - first;
    if (row < 0 || row >= rows)
      continue;
    for (int64_t w = 0; w < width; ++w)
      if (dtype == PARA_F32)
        static_cast<float *>(out)[row * width + w] += static_cast<const float *>(updates)[p * width + w];
      else
        static_cast<double *>(out)[row * width + w] += static_cast<const double *>(updates)[p * width + w];
  }
  return PARA_OK;
}
para_status para_copy(para_context *, int32_t, void *to, const void *from, int64_t bytes, const char *) { return memcpy(to, from, bytes), PARA_OK; }
para_status para_zero(para_context *, int32_t, void *to, int64_t bytes, const char *) { return memset(to, 0, bytes), PARA_OK; }
para_status para_convolution(para_context *, int32_t, const para_convolution_desc *, void *, void *, void *, const char *) { return PARA_ERROR; }
para_status para_all_reduce(para_context *, int32_t, int32_t, int32_t, const void *in, void *out, int64_t count, int32_t dtype, int32_t, const char *) {
  static const int64_t bytes[] = {4, 8, 2, 2, 1, 1, 2, 4, 8, 1};
  return memmove(out, in, count * bytes[dtype]), PARA_OK;
}
para_status para_all_gather(para_context *c, int32_t s, int32_t k, int32_t q, const void *in, void *out, int64_t count, int32_t dtype, const char *op) {
  return para_all_reduce(c, s, k, q, in, out, count, dtype, 0, op);
}
para_status para_reduce_scatter(para_context *c, int32_t s, int32_t k, int32_t q, const void *in, void *out, int64_t count, int32_t dtype, int32_t, const char *op) {
  return para_all_reduce(c, s, k, q, in, out, count, dtype, 0, op);
}
para_status para_all_to_all(para_context *c, int32_t s, int32_t k, int32_t q, const void *in, void *out, int64_t count, int32_t dtype, const char *op) {
  return para_all_reduce(c, s, k, q, in, out, count, dtype, 0, op);
}
para_status para_send(para_context *, int32_t, int32_t, int64_t, int64_t, const void *, int64_t, const char *) { return PARA_OK; }
para_status para_recv(para_context *, int32_t, int32_t, int64_t, int64_t, void *, int64_t, const char *) { return PARA_OK; }
para_status para_wait(para_context *, int32_t, int64_t, const char *) { return PARA_OK; }
para_status para_event_record(para_context *, int32_t, int32_t) { return PARA_OK; }
para_status para_event_wait(para_context *, int32_t, int32_t) { return PARA_OK; }
}
