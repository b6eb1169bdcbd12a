//===- Relayout.h - What changes how a value lies on the ranks ---*- C++ -*-===//
//
// Ops which partitioning adds do not compute anything new: they move, combine or mark the parts of a value. The checker asks each of
// them what it does in these words and derives the new layout itself.
//
// Example: all_gather of dimension 1 along `tensor`: {AllGather, axes {tensor}, dim 1}.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_INTERFACES_RELAYOUT_H
#define PARA_INTERFACES_RELAYOUT_H

#include "para/IR/ParaDialect.h"

#include "mlir/IR/OpDefinition.h"

namespace para {

struct Relayout {
  enum Kind {
    AllReduce,     ///< combines over `axes` by `reduction`; result i is of operand i
    AllGather,     ///< puts the pieces of `dim` along the axis together
    ReduceScatter, ///< combines over the axis by `reduction` and cuts `dim`
    AllToAll,      ///< gathers `dim` and cuts `to`
    Slice,         ///< cuts `dim` along the axis in units of `unit`
    Mask,          ///< the padding of `dim`, `size` elements cut by `axes` in units of `unit`, becomes the identity of `reduction`
    Accumulate,    ///< adds up what the microbatches make
    Send,          ///< to stage `peer`, marked `tag`
    Recv,          ///< from stage `peer`, marked `tag`
    View           ///< the same elements in row-major order in another shape
  } kind;
  llvm::SmallVector<llvm::StringRef> axes = {};
  int64_t dim = 0, to = 0, size = 0, unit = 1, peer = 0, tag = 0;
  ReductionKind reduction = ReductionKind::Sum;
};

} // namespace para

#include "para/Interfaces/Relayout.h.inc"

#endif
