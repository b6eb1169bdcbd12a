//===- Structure.h - What an op computes, as loop factors -------*- C++ -*-===//
//
// An op describes itself by factors: the loops of its naive implementation. Each dimension of each operand and result is a
// list of factors, major first (a reshape has several a dimension). Propagation, strategies, local shapes, partial sums and
// cost are all derived from this one table.
//
// Example: dot of a[m, k] and b[k, n]: factors m, n parallel and k a sum;
//   operands {{{m}, {k}}, {{k}, {n}}}, results {{{m}, {n}}}, both operands Linearity::Alone.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_INTERFACES_STRUCTURE_H
#define PARA_INTERFACES_STRUCTURE_H

#include "para/IR/ParaDialect.h"

#include "mlir/IR/OpDefinition.h"

namespace para {

/// Parallel: in every result. Reduction: only in operands, combined. Whole: must not be split.
enum class FactorKind { Parallel, Reduction, Whole };

struct Factor {
  int64_t size;
  FactorKind kind;
  ReductionKind reduction = ReductionKind::Sum;
  /// Whether padding of a shard would take part in the reduction and must be masked; false where indices never point there.
  bool readsPadding = true;
};

/// Alone: op(x + y) = op(x) + op(y) with the other operands fixed (products). Joint: the sum passes if all Joint operands are
/// partial together (additions); a unary linear op is Joint.
enum class Linearity { None, Alone, Joint };

/// Factors of one dimension, major first; empty for a dimension of size 1.
using DimFactors = llvm::SmallVector<int, 2>;
/// Factors of all dimensions of one value.
using ValueFactors = llvm::SmallVector<DimFactors, 4>;

struct Structure {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<ValueFactors> operands;
  llvm::SmallVector<ValueFactors> results;
  llvm::SmallVector<Linearity> linearity;

  int addFactor(int64_t size, FactorKind kind = FactorKind::Parallel, ReductionKind reduction = ReductionKind::Sum);

  /// Every operand and result has the shape of the first result. `linearity` has an entry an operand, or is empty for none.
  static Structure elementwise(mlir::Operation *op, llvm::ArrayRef<Linearity> linearity = {});
  /// Dimension by dimension: `dims[i]` is the result dimension of operand dimension i. Sizes that differ make Whole factors.
  static Structure permuted(mlir::Operation *op, llvm::ArrayRef<int64_t> dims, Linearity linearity);
};

/// Sets the attributes `axes`, `size`, `unit` of ops which speak of global coordinates.
void setShardDescription(mlir::Operation *local, mlir::ArrayAttr axes, int64_t size, int64_t unit);

namespace detail {
/// Product of the extents of all factors.
double getIterationPoints(mlir::Operation *op);
/// Bytes of all operands and results.
double getBytesMoved(mlir::Operation *op);
} // namespace detail
} // namespace para

#include "para/Interfaces/Structure.h.inc"

#endif
