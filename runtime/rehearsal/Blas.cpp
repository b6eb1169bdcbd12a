//===- Blas.cpp - cuBLASLt's table, served by the processor -------------------===//
//
// Products in columns, as cuBLASLt defines them, by plain loops whose sums are doubles.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"
#include "Rehearsal.h"

#include "core/DType.h"

#include <cstring>

namespace para::runtime::rehearsal {

namespace {
using cuda::BlasAlgorithm;
using cuda::BlasChoice;
using cuda::Handle;
// Values of cublasLt.h and library_types.h.
enum { Success = 0, InvalidValue = 7, NotSupported = 15 };
enum { RealF32 = 0, RealF64 = 1, RealF16 = 2, RealBF16 = 14, ComputeF32 = 68, ComputeF64 = 70 };
constexpr size_t workspaceBytes = 1024;

struct Operation {
  bool isDouble;
  int transposeFirst = 0, transposeSecond = 0;
};
struct Layout {
  int type;
  int64_t rows, columns, leading, stride = 0;
  int32_t count = 1;
  int64_t elementBytes() const { return type == RealF64 ? 8 : type == RealF32 ? 4 : 2; }
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256}; ///< of a, b, c, d
};

size_t version() { return 130000; }
const char *statusString(int status) {
  return status == Success ? "success" : status == InvalidValue ? "an invalid argument (rehearsed)" : "not supported (rehearsed)";
}
char handleItself;
int create(Handle *handle) { return *handle = &handleItself, Success; }
int destroy(Handle) { return Success; }

int operationCreate(Handle *made, int compute, int scale) {
  *made = new Operation{scale == RealF64};
  return (compute == ComputeF32 && scale == RealF32) || (compute == ComputeF64 && scale == RealF64) ? Success : NotSupported;
}
int operationDestroy(Handle made) { return delete static_cast<Operation *>(made), Success; }
int operationSet(Handle made, int which, const void *value, size_t bytes) {
  enum { TransposeA = 3, TransposeB = 4 };
  auto *op = static_cast<Operation *>(made);
  if (bytes != 4 || (which != TransposeA && which != TransposeB))
    return InvalidValue;
  std::memcpy(which == TransposeA ? &op->transposeFirst : &op->transposeSecond, value, 4);
  return Success;
}
int layoutCreate(Handle *made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  *made = new Layout{type, int64_t(rows), int64_t(columns), leading};
  return type == RealF32 || type == RealF64 || type == RealF16 || type == RealBF16 ? Success : NotSupported;
}
int layoutDestroy(Handle made) { return delete static_cast<Layout *>(made), Success; }
int layoutSet(Handle made, int which, const void *value, size_t bytes) {
  enum { BatchCount = 5, BatchStride = 6 };
  auto *layout = static_cast<Layout *>(made);
  if (which == BatchCount && bytes == 4)
    return std::memcpy(&layout->count, value, 4), Success;
  if (which == BatchStride && bytes == 8)
    return std::memcpy(&layout->stride, value, 8), Success;
  return InvalidValue;
}
int preferenceCreate(Handle *made) { return *made = new Preference, Success; }
int preferenceDestroy(Handle made) { return delete static_cast<Preference *>(made), Success; }
int preferenceSet(Handle made, int which, const void *value, size_t bytes) {
  enum { Workspace = 1, Reductions = 3, FirstAlignment = 5, LastAlignment = 8 };
  auto *preference = static_cast<Preference *>(made);
  if (which == Workspace && bytes == 8)
    return std::memcpy(&preference->workspace, value, 8), Success;
  if (which >= FirstAlignment && which <= LastAlignment && bytes == 4)
    return std::memcpy(&preference->alignment[which - FirstAlignment], value, 4), Success;
  return which == Reductions && bytes == 4 ? Success : InvalidValue;
}

/// What cuBLASLt refuses.
bool fits(const Operation &op, const Layout &f, const Layout &s, const Layout &o) {
  int64_t m = op.transposeFirst ? f.columns : f.rows, k = op.transposeFirst ? f.rows : f.columns;
  int64_t n = op.transposeSecond ? s.rows : s.columns, kOther = op.transposeSecond ? s.columns : s.rows;
  bool leads = f.leading >= f.rows && s.leading >= s.rows && o.leading >= o.rows;
  return m == o.rows && n == o.columns && k == kOther && leads && f.count == o.count && s.count == o.count && m > 0 && n > 0 && k > 0 &&
         f.type == s.type && (f.type == o.type || ((f.type == RealF16 || f.type == RealBF16) && o.type == RealF32)) && op.isDouble == (o.type == RealF64);
}

int heuristic(Handle, Handle op, Handle first, Handle second, Handle, Handle out, Handle wanted, int, BlasChoice *choice, int *found) {
  auto *preference = static_cast<Preference *>(wanted);
  *choice = BlasChoice();
  choice->workspaceBytes = workspaceBytes;
  for (int i = 0; i < 4; ++i)
    choice->algorithm.data[i] = preference->alignment[i];
  bool isFine = preference->workspace >= workspaceBytes &&
                fits(*static_cast<Operation *>(op), *static_cast<Layout *>(first), *static_cast<Layout *>(second), *static_cast<Layout *>(out));
  *found = isFine;
  return isFine ? Success : InvalidValue;
}

DType dtypeOf(int type) { return type == RealF64 ? PARA_F64 : type == RealF32 ? PARA_F32 : type == RealF16 ? PARA_F16 : PARA_BF16; }

/// One matrix of the batch as doubles, [columns][rows] of the layout or, transposed, [rows][columns].
void load(const Layout &layout, uintptr_t address, bool transposed, std::vector<double> &to) {
  size_t bytes = size_t(layout.elementBytes());
  to.resize(size_t(layout.rows * layout.columns));
  std::vector<double> column(static_cast<size_t>(layout.rows));
  for (int64_t j = 0; j < layout.columns; ++j) {
    const char *from = memory().read(address + size_t(j * layout.leading) * bytes, size_t(layout.rows) * bytes);
    if (!transposed) {
      convertElements(dtypeOf(layout.type), from, PARA_F64, &to[size_t(j * layout.rows)], layout.rows);
      continue;
    }
    convertElements(dtypeOf(layout.type), from, PARA_F64, column.data(), layout.rows);
    for (int64_t i = 0; i < layout.rows; ++i)
      to[size_t(i * layout.columns + j)] = column[size_t(i)];
  }
}

void multiply(const Operation &op, double alpha, const Layout &fl, uintptr_t first, const Layout &sl, uintptr_t second, double beta, const Layout &ol, uintptr_t out) {
  int64_t k = op.transposeFirst ? fl.rows : fl.columns, m = ol.rows;
  size_t narrow = size_t(fl.elementBytes()), bytes = size_t(ol.elementBytes());
  std::vector<double> f, s, sum(static_cast<size_t>(m)), old(static_cast<size_t>(m));
  for (int64_t batch = 0; batch < ol.count; ++batch) {
    load(fl, first + size_t(batch * fl.stride) * narrow, op.transposeFirst, f);    // [k][m]
    load(sl, second + size_t(batch * sl.stride) * narrow, op.transposeSecond, s); // [n][k]
    for (int64_t j = 0; j < ol.columns; ++j) {
      std::fill(sum.begin(), sum.end(), 0.0);
      for (int64_t p = 0; p < k; ++p) {
        double factor = s[size_t(j * k + p)];
        const double *terms = &f[size_t(p * m)];
        for (int64_t i = 0; i < m; ++i)
          sum[size_t(i)] += terms[i] * factor;
      }
      uintptr_t at = out + size_t(batch * ol.stride + j * ol.leading) * bytes;
      if (beta != 0)
        convertElements(dtypeOf(ol.type), memory().read(at, size_t(m) * bytes), PARA_F64, old.data(), m);
      for (int64_t i = 0; i < m; ++i)
        sum[size_t(i)] = beta != 0 ? alpha * sum[size_t(i)] + beta * old[size_t(i)] : alpha * sum[size_t(i)];
      convertElements(PARA_F64, sum.data(), dtypeOf(ol.type), memory().write(at, size_t(m) * bytes), m);
    }
  }
}

int matmul(Handle, Handle op, const void *alpha, const void *first, Handle fl, const void *second, Handle sl, const void *beta, const void *c,
           Handle, void *out, Handle ol, const BlasAlgorithm *algorithm, void *workspace, size_t bytes, Handle handle) {
  // Descriptors and factors are read by the call, matrices when it runs.
  Operation operation = *static_cast<Operation *>(op);
  Layout f = *static_cast<Layout *>(fl), s = *static_cast<Layout *>(sl), o = *static_cast<Layout *>(ol);
  if (c != out || !workspace || bytes < workspaceBytes || !fits(operation, f, s, o))
    return InvalidValue;
  const void *matrices[] = {first, second, c, out};
  for (int i = 0; i < 4; ++i)
    if (reinterpret_cast<uintptr_t>(matrices[i]) % algorithm->data[i])
      fail(rankOf().op(), "cublasLtMatmul: a matrix is at an address for which the algorithm was not chosen");
  double scale[2];
  for (int i = 0; i < 2; ++i) {
    const void *factor = i ? beta : alpha;
    scale[i] = operation.isDouble ? *static_cast<const double *>(factor) : double(*static_cast<const float *>(factor));
  }
  auto at = [](const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); };
  machine().enqueue(machine().streamOf(handle, "cublasLtMatmul"), "product", nullptr, std::function<void()>([=] {
                      std::memset(memory().write(at(workspace), bytes), 0xff, bytes);
                      multiply(operation, scale[0], f, at(first), s, at(second), scale[1], o, at(out));
                    }));
  return Success;
}
} // namespace

void fill(cuda::Blas &blas) {
  blas.cublasLtGetVersion = version;
  blas.cublasLtGetStatusString = statusString;
  blas.cublasLtCreate = create;
  blas.cublasLtDestroy = destroy;
  blas.cublasLtMatmulDescCreate = operationCreate;
  blas.cublasLtMatmulDescDestroy = operationDestroy;
  blas.cublasLtMatmulDescSetAttribute = operationSet;
  blas.cublasLtMatrixLayoutCreate = layoutCreate;
  blas.cublasLtMatrixLayoutDestroy = layoutDestroy;
  blas.cublasLtMatrixLayoutSetAttribute = layoutSet;
  blas.cublasLtMatmulPreferenceCreate = preferenceCreate;
  blas.cublasLtMatmulPreferenceDestroy = preferenceDestroy;
  blas.cublasLtMatmulPreferenceSetAttribute = preferenceSet;
  blas.cublasLtMatmulAlgoGetHeuristic = heuristic;
  blas.cublasLtMatmul = matmul;
}

} // namespace para::runtime::rehearsal
