//===- Library.h - Ops that are calls of the runtime -------------*- C++ -*-===//
//
// What an op asks of the runtime, in terms of its operands' dimensions; the lower stage finds strides, packs what is not
// contiguous and numbers communicators.
//
// Example: dot of a[b, m, k] and w[k, n]: Matmul, batch {} {}, contract {2} {0}.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_INTERFACES_LIBRARY_H
#define PARA_INTERFACES_LIBRARY_H

#include "para/IR/ParaDialect.h"

#include "mlir/IR/OpDefinition.h"

#include <optional>

namespace para {

struct LibraryCall {
  enum Kind { Matmul, Convolution, ScatterAdd, AllReduce, AllGather, ReduceScatter, AllToAll, Send, Recv, Accumulate };
  Kind kind;
  explicit LibraryCall(Kind kind) : kind(kind) {}

  // Matmul: dimensions of the two operands.
  llvm::SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract;
  // Convolution: 0 forward, 1 input gradient, 2 weight gradient, with its windows.
  int64_t convolution = 0, groups = 1;
  llvm::SmallVector<int64_t> strides, dilations, padLow, padHigh;
  // Scatter: where this shard's rows begin.
  llvm::SmallVector<llvm::StringRef> shardAxes;
  int64_t shardSize = 0, shardUnit = 1;
  // Collectives.
  llvm::SmallVector<llvm::StringRef> axes;
  int64_t dim = 0, toDim = 0;
  ReductionKind reduction = ReductionKind::Sum;
  // Point to point.
  int64_t peer = 0, tag = 0, depth = 1;
};

} // namespace para

#include "para/Interfaces/Library.h.inc"

#endif
