//===- Matmul.h - Products as one call with strides ---------------*- C++ -*-===//
#ifndef PARA_LOWER_MATMUL_H
#define PARA_LOWER_MATMUL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace para {

/// One dimension of a product: its size and its strides in a, b and c (0 where it is not there).
struct MatmulDim {
  int64_t size, a, b, c;
};

struct MatmulPlan {
  llvm::SmallVector<int64_t> batch, aBatch, bBatch, cBatch;
  int64_t m = 1, n = 1, k = 1, aRow = 1, aColumn = 1, bRow = 1, bColumn = 1, cRow = 1;
};

enum class MatmulObstacle { None, Lhs, Rhs, Result, Contract };

/// Folds the dimensions into one call, or says which tensor's strides stand in the way.
MatmulObstacle planMatmul(llvm::SmallVector<MatmulDim> batch, llvm::SmallVector<MatmulDim> rows, llvm::SmallVector<MatmulDim> columns,
                          llvm::SmallVector<MatmulDim> contract, MatmulPlan &plan);

/// Strides of a row-major tensor of `shape` when its elements are stored as another value sees them: that value has
/// `viewShape` and, in the row-major tensor, `viewStrides`. None if the other value's order is not made of whole dimensions.
std::optional<llvm::SmallVector<int64_t>> stridesSeenFrom(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> viewShape,
                                                          llvm::ArrayRef<int64_t> viewStrides);

} // namespace para

#endif
