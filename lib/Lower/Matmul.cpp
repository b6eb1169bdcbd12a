//===- Matmul.cpp - Products as one call with strides ---------------------===//
#include "Matmul.h"

#include "IndexMath.h"

#include "para/Runtime/para_runtime.h"

#include <algorithm>

using namespace para;
using llvm::SmallVector;

/// Drops dimensions of size 1 and joins neighbours that are one range in every tensor.
static void fold(SmallVector<MatmulDim> &dims) {
  SmallVector<MatmulDim> folded;
  for (const MatmulDim &d : dims) {
    if (d.size == 1)
      continue;
    if (!folded.empty()) {
      MatmulDim &last = folded.back();
      if (last.a == d.a * d.size && last.b == d.b * d.size && last.c == d.c * d.size) {
        last = {last.size * d.size, d.a, d.b, d.c};
        continue;
      }
    }
    folded.push_back(d);
  }
  dims = folded;
}

/// One of the strides of a matrix must be 1 and the other step over whole rows.
static bool fixStrides(int64_t rows, int64_t columns, int64_t &row, int64_t &column) {
  if (rows == 1 && columns == 1) {
    row = column = 1;
    return true;
  }
  if (columns == 1) {
    column = 1;
    return row >= 1;
  }
  if (rows == 1) {
    row = 1;
    if (column == 1) {
      row = columns;
      return true;
    }
    return column >= 1;
  }
  return (column == 1 && row >= columns) || (row == 1 && column >= rows);
}

MatmulObstacle para::planMatmul(SmallVector<MatmulDim> batch, SmallVector<MatmulDim> rows, SmallVector<MatmulDim> columns,
                                SmallVector<MatmulDim> contract, MatmulPlan &plan) {
  for (auto *dims : {&rows, &columns, &contract})
    fold(*dims);
  if (contract.size() > 1)
    return MatmulObstacle::Contract;
  // What does not fold into one range of rows or columns is a batch in which the other side repeats.
  auto take = [&](SmallVector<MatmulDim> &dims, bool last) {
    if (dims.empty())
      return MatmulDim{1, 1, 1, 1};
    size_t chosen = dims.size() - 1;
    if (!last)
      for (size_t i = 0; i < dims.size(); ++i)
        if (dims[i].size > dims[chosen].size)
          chosen = i;
    MatmulDim result = dims[chosen];
    dims.erase(dims.begin() + chosen);
    batch.append(dims.begin(), dims.end());
    return result;
  };
  MatmulDim n = take(columns, true), m = take(rows, false);
  MatmulDim k = contract.empty() ? MatmulDim{1, 1, 1, 1} : contract.front();
  fold(batch);
  if (batch.size() > PARA_MAX_RANK)
    return MatmulObstacle::Result;
  plan = MatmulPlan();
  for (const MatmulDim &d : batch) {
    plan.batch.push_back(d.size);
    plan.aBatch.push_back(d.a);
    plan.bBatch.push_back(d.b);
    plan.cBatch.push_back(d.c);
  }
  plan.m = m.size, plan.n = n.size, plan.k = k.size;
  plan.aRow = m.a, plan.aColumn = k.a, plan.bRow = k.b, plan.bColumn = n.b, plan.cRow = m.c;
  if (!fixStrides(plan.m, plan.k, plan.aRow, plan.aColumn))
    return MatmulObstacle::Lhs;
  if (!fixStrides(plan.k, plan.n, plan.bRow, plan.bColumn))
    return MatmulObstacle::Rhs;
  if (plan.m == 1)
    plan.cRow = plan.n;
  if ((plan.n > 1 && n.c != 1) || plan.cRow < plan.n)
    return MatmulObstacle::Result;
  return MatmulObstacle::None;
}

std::optional<SmallVector<int64_t>> para::stridesSeenFrom(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> viewShape,
                                                          llvm::ArrayRef<int64_t> viewStrides) {
  SmallVector<int64_t> own = stridesOf(shape), stored = stridesOf(viewShape), result(shape.size(), 1);
  for (size_t j = 0; j < shape.size(); ++j) {
    if (shape[j] == 1)
      continue;
    bool found = false;
    for (size_t i = 0; i < viewShape.size() && !found; ++i) {
      int64_t s = viewStrides[i];
      if (viewShape[i] == 1 || s <= 0 || s > own[j] || own[j] % s || own[j] * shape[j] > s * viewShape[i])
        continue;
      result[j] = stored[i] * (own[j] / s);
      found = true;
    }
    if (!found)
      return std::nullopt;
  }
  return result;
}
