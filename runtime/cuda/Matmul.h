//===- Matmul.h - Matrix products by cuBLASLt -------------------*- C++ -*-===//
#ifndef PARA_RUNTIME_CUDA_MATMUL_H
#define PARA_RUNTIME_CUDA_MATMUL_H

#include "Context.h"

#include <map>

namespace para::runtime::cuda {

/// A product as cuBLASLt takes it, in columns: c' = b' x a', `batch` times at fixed strides, and that at each of `offsets`.
struct BlasProblem {
  int64_t m, n, k; ///< of the caller
  bool transposeA, transposeB;
  int64_t lda, ldb, ldc;
  int64_t batch = 1, aStride = 0, bStride = 0, cStride = 0;
  struct Offset {
    int64_t a, b, c;
  };
  std::vector<Offset> offsets; ///< elements
};

/// False with a sentence where cuBLASLt cannot do it.
bool describe(const para_matmul_desc &desc, BlasProblem &problem, std::string &cause);

class Matmuls {
public:
  explicit Matmuls(para_context *ctx) : ctx(ctx) {}
  ~Matmuls();
  Status create();
  para_status run(int32_t stream, const para_matmul_desc &desc, const void *a, const void *b, void *c, const char *op);

private:
  struct Entry {
    para_matmul_desc desc;
    BlasProblem problem;
    Handle operation = nullptr, a = nullptr, b = nullptr, c = nullptr;
    BlasAlgorithm algorithm{};
    int64_t workspaceBytes = 0;
    bool isMade = false;
  };
  /// By the descriptor, a constant of the program, and what the addresses are multiples of.
  using Key = std::pair<const para_matmul_desc *, uint32_t>;
  bool make(Entry &entry, uint32_t alignment, std::string &cause);
  void release(Entry &entry);
  para_status addNothing(int32_t stream, const BlasProblem &problem, int64_t size, float beta, void *c, const char *op);
  para_context *ctx;
  Blas blas;
  Handle handle = nullptr;
  std::map<Key, Entry> entries;
};

} // namespace para::runtime::cuda

#endif
