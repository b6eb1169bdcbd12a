//===- Matmul.cpp - Matrix products by cuBLASLt -------------------------------===//
#include "Matmul.h"

#include <algorithm>
#include <cstring>

namespace para::runtime::cuda {

namespace {
// Values of cublasLt.h and library_types.h.
enum { RealF32 = 0, RealF64 = 1, RealF16 = 2, RealBF16 = 14 };
enum { ComputeF32 = 68, ComputeF64 = 70 };
enum { LayoutBatchCount = 5, LayoutBatchStride = 6 };
enum { DescTransA = 3, DescTransB = 4 };
enum { PreferWorkspace = 1, PreferReductions = 3, PreferAlignmentA = 5, PreferAlignmentB, PreferAlignmentC, PreferAlignmentD };
/// Sums over parts of k in memory of their own: those in place use atomics, whose order changes from run to run.
constexpr uint32_t repeatableReductions = 2;

int typeOf(int32_t dtype) {
  switch (dtype) {
  case PARA_F32: return RealF32;
  case PARA_F64: return RealF64;
  case PARA_F16: return RealF16;
  case PARA_BF16: return RealBF16;
  }
  return -1;
}

struct BatchDim {
  int64_t size, a, b, c;
};

/// How rows and columns of a matrix lie in memory: `transpose` says that columns are contiguous.
bool layoutOf(int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride, bool &transpose, int64_t &leading) {
  transpose = false;
  leading = std::max(columns, rows > 1 ? rowStride : columns);
  if ((columnStride == 1 || columns == 1) && (rows == 1 || rowStride >= columns))
    return true;
  transpose = true;
  leading = std::max(rows, columns > 1 ? columnStride : rows);
  return (rowStride == 1 || rows == 1) && (columns == 1 || columnStride >= rows);
}
} // namespace

bool describe(const para_matmul_desc &desc, BlasProblem &problem, std::string &cause) {
  problem.m = desc.m, problem.n = desc.n, problem.k = desc.k;
  problem.ldc = std::max(desc.n, desc.m > 1 ? desc.c_row_stride : desc.n);
  if (!layoutOf(desc.m, desc.k, desc.a_row_stride, desc.a_column_stride, problem.transposeA, problem.lda) ||
      !layoutOf(desc.k, desc.n, desc.b_row_stride, desc.b_column_stride, problem.transposeB, problem.ldb) ||
      (desc.m > 1 && desc.c_row_stride < desc.n)) {
    cause = "matmul: cuBLASLt takes no matrix whose rows or columns overlap";
    return false;
  }
  std::vector<BatchDim> dims;
  for (int32_t d = 0; d < desc.batch_rank; ++d) {
    BatchDim dim{desc.batch[d], desc.a_batch_stride[d], desc.b_batch_stride[d], desc.c_batch_stride[d]};
    if (dim.size == 1)
      continue;
    // One loop where the outer dimension continues the inner one.
    if (!dims.empty() && dims.back().a == dim.size * dim.a && dims.back().b == dim.size * dim.b && dims.back().c == dim.size * dim.c)
      dims.back() = {dims.back().size * dim.size, dim.a, dim.b, dim.c};
    else
      dims.push_back(dim);
  }
  // Rows of a that go on from one product to the next are one product.
  bool rowsGoOn = !dims.empty() && dims.back().b == 0 && !problem.transposeA && dims.back().a == desc.m * problem.lda &&
                  dims.back().c == desc.m * problem.ldc;
  if (rowsGoOn) {
    problem.m *= dims.back().size;
    dims.pop_back();
  }
  if (!dims.empty()) { // The largest by the library, the others one by one.
    auto largest = std::max_element(dims.begin(), dims.end(), [](const BatchDim &x, const BatchDim &y) { return x.size < y.size; });
    problem.batch = largest->size, problem.aStride = largest->a, problem.bStride = largest->b, problem.cStride = largest->c;
    dims.erase(largest);
  }
  problem.offsets = {{0, 0, 0}};
  for (const BatchDim &dim : dims) {
    std::vector<BlasProblem::Offset> all;
    for (const BlasProblem::Offset &before : problem.offsets)
      for (int64_t i = 0; i < dim.size; ++i)
        all.push_back({before.a + i * dim.a, before.b + i * dim.b, before.c + i * dim.c});
    problem.offsets = std::move(all);
  }
  return true;
}

Status Matmuls::create() {
  PARA_TRY(loadBlas(blas));
  int result = blas.cublasLtCreate(&handle);
  return result == 0 ? Status::success() : Status::error(std::string("cuBLASLt: ") + blas.cublasLtGetStatusString(result));
}

void Matmuls::release(Entry &entry) {
  for (Handle layout : {entry.a, entry.b, entry.c})
    if (layout)
      blas.cublasLtMatrixLayoutDestroy(layout);
  if (entry.operation)
    blas.cublasLtMatmulDescDestroy(entry.operation);
  entry.operation = entry.a = entry.b = entry.c = nullptr;
}

Matmuls::~Matmuls() {
  for (auto &[key, entry] : entries)
    release(entry);
  if (handle)
    blas.cublasLtDestroy(handle);
}

bool Matmuls::make(Entry &entry, uint32_t alignment, std::string &cause) {
  int type = typeOf(entry.desc.dtype), resultType = typeOf(entry.desc.c_dtype), result = 0;
  const BlasProblem &p = entry.problem;
  auto succeeded = [&](int code) {
    if (result == 0)
      result = code;
    return code == 0;
  };
  bool isDouble = entry.desc.dtype == PARA_F64;
  succeeded(blas.cublasLtMatmulDescCreate(&entry.operation, isDouble ? ComputeF64 : ComputeF32, isDouble ? RealF64 : RealF32));
  // In columns our row-major b is its transpose, and comes first.
  int first = p.transposeB, second = p.transposeA;
  succeeded(blas.cublasLtMatmulDescSetAttribute(entry.operation, DescTransA, &first, sizeof(first)));
  succeeded(blas.cublasLtMatmulDescSetAttribute(entry.operation, DescTransB, &second, sizeof(second)));
  auto layout = [&](Handle &made, int type, int64_t rows, int64_t columns, int64_t leading, int64_t stride) {
    succeeded(blas.cublasLtMatrixLayoutCreate(&made, type, uint64_t(rows), uint64_t(columns), leading));
    int32_t count = int32_t(p.batch);
    if (p.batch > 1 && made) {
      succeeded(blas.cublasLtMatrixLayoutSetAttribute(made, LayoutBatchCount, &count, sizeof(count)));
      succeeded(blas.cublasLtMatrixLayoutSetAttribute(made, LayoutBatchStride, &stride, sizeof(stride)));
    }
  };
  layout(entry.b, type, p.transposeB ? p.k : p.n, p.transposeB ? p.n : p.k, p.ldb, p.bStride);
  layout(entry.a, type, p.transposeA ? p.m : p.k, p.transposeA ? p.k : p.m, p.lda, p.aStride);
  layout(entry.c, resultType, p.n, p.m, p.ldc, p.cStride);
  Handle preference = nullptr;
  succeeded(blas.cublasLtMatmulPreferenceCreate(&preference));
  uint64_t workspace = uint64_t(libraryWorkspaceBytes);
  succeeded(blas.cublasLtMatmulPreferenceSetAttribute(preference, PreferWorkspace, &workspace, sizeof(workspace)));
  uint32_t reductions = repeatableReductions;
  succeeded(blas.cublasLtMatmulPreferenceSetAttribute(preference, PreferReductions, &reductions, sizeof(reductions)));
  for (int which : {PreferAlignmentA, PreferAlignmentB, PreferAlignmentC, PreferAlignmentD})
    succeeded(blas.cublasLtMatmulPreferenceSetAttribute(preference, which, &alignment, sizeof(alignment)));
  BlasChoice choice{};
  int found = 0;
  if (result == 0)
    succeeded(blas.cublasLtMatmulAlgoGetHeuristic(handle, entry.operation, entry.b, entry.a, entry.c, entry.c, preference, 1, &choice, &found));
  if (preference)
    blas.cublasLtMatmulPreferenceDestroy(preference);
  if (result == 0 && found == 1 && choice.state == 0) {
    entry.algorithm = choice.algorithm;
    entry.workspaceBytes = int64_t(choice.workspaceBytes);
    return true;
  }
  cause = result ? std::string("cuBLASLt: ") + blas.cublasLtGetStatusString(result)
                 : format("cuBLASLt has no algorithm for a product of %lld x %lld x %lld", (long long)p.m, (long long)p.n, (long long)p.k);
  return false;
}

/// A product without terms: the result is beta * c, and beta is 0 or 1.
para_status Matmuls::addNothing(int32_t stream, const BlasProblem &problem, int64_t size, float beta, void *c, const char *op) {
  if (beta != 0)
    return PARA_OK;
  for (const BlasProblem::Offset &offset : problem.offsets)
    for (int64_t i = 0; i < problem.batch; ++i) {
      Address at = Address(uintptr_t(c)) + Address((offset.c + i * problem.cStride) * size);
      int result = ctx->driver.cuMemsetD2D8Async(at, size_t(problem.ldc * size), 0, size_t(problem.n * size), size_t(problem.m), ctx->streams[stream]);
      if (para_status status = ctx->check(op, "cuMemsetD2D8Async", result))
        return status;
    }
  return PARA_OK;
}

para_status Matmuls::run(int32_t stream, const para_matmul_desc &desc, const void *a, const void *b, void *c, const char *op) {
  bool isNarrow = desc.dtype == PARA_F16 || desc.dtype == PARA_BF16;
  if (typeOf(desc.dtype) < 0 || (desc.c_dtype != desc.dtype && !(isNarrow && desc.c_dtype == PARA_F32)))
    return ctx->fail(op, "matmul: no code for these element types");
  int64_t size = elementBytes(DType(desc.dtype)), resultSize = elementBytes(DType(desc.c_dtype));
  if (desc.batch_rank < 0 || desc.batch_rank > PARA_MAX_RANK)
    return ctx->fail(op, "matmul: too many batch dimensions");
  int64_t results = desc.m * desc.n;
  for (int32_t d = 0; d < desc.batch_rank; ++d)
    results *= desc.batch[d];
  if (results == 0)
    return PARA_OK;
  auto lowestBit = [](uint64_t bits) { return uint32_t(bits & ~(bits - 1)); };
  uint32_t alignment = lowestBit(uint64_t(uintptr_t(a) | uintptr_t(b) | uintptr_t(c)) | 256);
  Entry &entry = entries[{&desc, alignment}];
  if (!entry.isMade || std::memcmp(&entry.desc, &desc, sizeof(desc)) != 0) {
    release(entry);
    entry = Entry();
    entry.desc = desc;
    std::string cause;
    if (!describe(desc, entry.problem, cause))
      return ctx->fail(op, cause);
    uint64_t bits = alignment;
    for (const BlasProblem::Offset &offset : entry.problem.offsets)
      bits |= uint64_t((offset.a | offset.b) * size | offset.c * resultSize);
    if (desc.k > 0 && !make(entry, lowestBit(bits), cause)) {
      release(entry);
      return ctx->fail(op, cause);
    }
    entry.isMade = true;
  }
  if (desc.k == 0)
    return addNothing(stream, entry.problem, resultSize, desc.beta, c, op);
  Address workspace = entry.workspaceBytes ? ctx->scratchFor(stream, entry.workspaceBytes) : 0;
  if (entry.workspaceBytes && !workspace)
    return ctx->fail(op, "matmul: no memory is left for cuBLASLt", PARA_OUT_OF_MEMORY);
  double wide[] = {desc.alpha, desc.beta};
  float narrow[] = {desc.alpha, desc.beta};
  bool isDouble = desc.dtype == PARA_F64;
  const void *alpha = isDouble ? static_cast<const void *>(wide) : narrow;
  const void *beta = isDouble ? static_cast<const void *>(wide + 1) : narrow + 1;
  for (const BlasProblem::Offset &offset : entry.problem.offsets) {
    const char *first = static_cast<const char *>(b) + offset.b * size, *second = static_cast<const char *>(a) + offset.a * size;
    char *out = static_cast<char *>(c) + offset.c * resultSize;
    int result = blas.cublasLtMatmul(handle, entry.operation, alpha, first, entry.b, second, entry.a, beta, out, entry.c, out, entry.c,
                                     &entry.algorithm, reinterpret_cast<void *>(uintptr_t(workspace)), size_t(entry.workspaceBytes),
                                     ctx->streams[stream]);
    if (result != 0)
      return ctx->fail(op, std::string("cuBLASLt: ") + blas.cublasLtGetStatusString(result));
  }
  return PARA_OK;
}

} // namespace para::runtime::cuda

para_status para_matmul(para_context *ctx, int32_t stream, const para_matmul_desc *desc, const void *a, const void *b,
                        void *c, const char *op) {
  using namespace para::runtime;
  cuda::OpScope scope(ctx, stream, op, "matmul");
  if (!ctx->matmuls) {
    ctx->matmuls = std::make_unique<cuda::Matmuls>(ctx);
    if (Status status = ctx->matmuls->create(); status.failed())
      return ctx->fail(op, status.message());
  }
  return ctx->matmuls->run(stream, *desc, a, b, c, op);
}
