// Stands in for libcublasLt.so.13: products in columns, as cuBLASLt defines them, by plain loops.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
struct Operation {
  int transposeFirst = 0, transposeSecond = 0;
};
struct Layout {
  int type;
  int64_t rows, columns, leading, stride = 0;
  int32_t count = 1;
};
struct Choice {
  uint64_t algorithm[8];
  size_t workspaceBytes;
  int state;
  float waves;
  int reserved[4];
};

template <typename T>
void multiply(const Operation &op, double alpha, const void *first, const Layout &fl, const void *second, const Layout &sl, double beta, void *out, const Layout &ol) {
  int64_t k = op.transposeFirst ? fl.rows : fl.columns;
  for (int64_t batch = 0; batch < ol.count; ++batch) {
    const T *f = static_cast<const T *>(first) + batch * fl.stride, *s = static_cast<const T *>(second) + batch * sl.stride;
    T *o = static_cast<T *>(out) + batch * ol.stride;
    for (int64_t j = 0; j < ol.columns; ++j)
      for (int64_t i = 0; i < ol.rows; ++i) {
        double sum = 0;
        for (int64_t p = 0; p < k; ++p)
          sum += double(op.transposeFirst ? f[i * fl.leading + p] : f[p * fl.leading + i]) * double(op.transposeSecond ? s[p * sl.leading + j] : s[j * sl.leading + p]);
        T &to = o[j * ol.leading + i];
        to = T(beta == 0 ? alpha * sum : alpha * sum + beta * double(to));
      }
  }
}

/// What cuBLASLt refuses.
bool fits(const Operation &op, const Layout &f, const Layout &s, const Layout &o) {
  int64_t m = op.transposeFirst ? f.columns : f.rows, k = op.transposeFirst ? f.rows : f.columns;
  int64_t n = op.transposeSecond ? s.rows : s.columns, kOther = op.transposeSecond ? s.columns : s.rows;
  bool leads = f.leading >= f.rows && s.leading >= s.rows && o.leading >= o.rows;
  return m == o.rows && n == o.columns && k == kOther && leads && f.count == o.count && s.count == o.count && m > 0 && n > 0 && k > 0;
}
constexpr int invalid = 7;
} // namespace

extern "C" {
size_t cublasLtGetVersion() { return 130000; }
const char *cublasLtGetStatusString(int status) { return status == 0 ? "success" : "stand-in: refused"; }
int cublasLtCreate(void **handle) { return *handle = new char, 0; }
int cublasLtDestroy(void *handle) { return delete static_cast<char *>(handle), 0; }
int cublasLtMatmulDescCreate(void **made, int compute, int scale) {
  *made = new Operation;
  return (compute == 68 && scale == 0) || (compute == 70 && scale == 1) ? 0 : invalid;
}
int cublasLtMatmulDescDestroy(void *made) { return delete static_cast<Operation *>(made), 0; }
int cublasLtMatmulDescSetAttribute(void *made, int which, const void *value, size_t bytes) {
  auto *op = static_cast<Operation *>(made);
  if (bytes != 4 || (which != 3 && which != 4))
    return invalid;
  std::memcpy(which == 3 ? &op->transposeFirst : &op->transposeSecond, value, 4);
  return 0;
}
int cublasLtMatrixLayoutCreate(void **made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  *made = new Layout{type, int64_t(rows), int64_t(columns), leading};
  return 0;
}
int cublasLtMatrixLayoutDestroy(void *made) { return delete static_cast<Layout *>(made), 0; }
int cublasLtMatrixLayoutSetAttribute(void *made, int which, const void *value, size_t bytes) {
  auto *layout = static_cast<Layout *>(made);
  if (which == 5 && bytes == 4)
    return std::memcpy(&layout->count, value, 4), 0;
  if (which == 6 && bytes == 8)
    return std::memcpy(&layout->stride, value, 8), 0;
  return invalid;
}
int cublasLtMatmulPreferenceCreate(void **made) { return *made = new char, 0; }
int cublasLtMatmulPreferenceDestroy(void *made) { return delete static_cast<char *>(made), 0; }
int cublasLtMatmulPreferenceSetAttribute(void *, int which, const void *, size_t bytes) { return bytes == (which == 1 ? 8u : 4u) ? 0 : invalid; }
int cublasLtMatmulAlgoGetHeuristic(void *, void *op, void *first, void *second, void *, void *out, void *, int, Choice *choice, int *found) {
  *choice = Choice();
  choice->workspaceBytes = 1024;
  bool isFine = fits(*static_cast<Operation *>(op), *static_cast<Layout *>(first), *static_cast<Layout *>(second), *static_cast<Layout *>(out));
  return *found = isFine, isFine ? 0 : invalid;
}
int cublasLtMatmul(void *, void *op, const void *alpha, const void *first, void *fl, const void *second, void *sl, const void *beta, const void *c,
                   void *, void *out, void *ol, const void *, void *workspace, size_t workspaceBytes, void *) {
  auto &f = *static_cast<Layout *>(fl), &s = *static_cast<Layout *>(sl), &o = *static_cast<Layout *>(ol);
  if (c != out || !workspace || workspaceBytes < 1024)
    return invalid;
  std::memset(workspace, 0x5a, workspaceBytes);
  if (o.type == 1)
    multiply<double>(*static_cast<Operation *>(op), *static_cast<const double *>(alpha), first, f, second, s, *static_cast<const double *>(beta), out, o);
  else if (o.type == 0)
    multiply<float>(*static_cast<Operation *>(op), *static_cast<const float *>(alpha), first, f, second, s, *static_cast<const float *>(beta), out, o);
  else
    return invalid;
  return 0;
}
}
