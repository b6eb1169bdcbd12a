//===- MergeLaunches.h - Many tensors in one launch ----------------*- C++ -*-===//
//
// Launches of one kernel over different buffers, or of kernels that do the same to every element of tensors of any shape, become one
// launch over a table of places. Example: SGD updates all parameters of a model by one kernel; the table has for each the number of its
// elements and where it and its gradient are.
//
// For that, launches move past ops that touch nothing of what they write, and write nothing of what they touch: addresses are known, and
// so this is certain.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_MERGELAUNCHES_H
#define PARA_LOWER_MERGELAUNCHES_H

#include "OpFacts.h"

#include "para/Lower/Rt.h"

#include <string>
#include <vector>

namespace para {

/// An op of a segment and the ranges of the arena that it touches.
struct DeviceOp {
  struct Range {
    int64_t begin, end;
    bool isWrite;
  };
  mlir::Operation *op = nullptr;
  std::vector<Range> ranges;
  bool isBarrier = false;   ///< nothing moves past it: what it touches is not known, or when it runs counts
  std::string key;          ///< of launches: those with equal keys can be one; empty for none
  int64_t elements = 0;     ///< of a kernel that does the same to every element; 0 for others
};

/// What a fused body does to every element, whatever the shape: equal texts are one kernel. Empty if the shape counts.
std::string describeElement(rt::FusedOp fused, FactsCache &facts);

/// Merges launches among the ops of a segment, which are in the order in which they run.
void mergeLaunches(llvm::ArrayRef<DeviceOp> ops, mlir::ModuleOp module);

} // namespace para

#endif
