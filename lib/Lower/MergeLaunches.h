//===- MergeLaunches.h - Many tensors in one launch ----------------*- C++ -*-===//
//
// Launches of one kernel over different buffers become one launch over a table of places, and so do those of kernels that differ in one
// extent alone. Example: SGD updates all parameters of a model by one kernel; the table has for each the number of its elements and where it
// and its gradient are.
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
  std::string varies = {};  ///< as in LaunchKind
  int64_t extent = 0;
};

/// What of a kernel may be another number at each of its launches.
struct LaunchKind {
  /// `elements` of tensors of any shape, to each of which it does the same; `rows`, which it works on one by one; or `terms` of a sum of
  /// what it makes of each element. Empty if all of its shapes count.
  std::string varies;
  int64_t extent = 0; ///< that number
  std::string text;   ///< what it does, whatever the number: equal texts are one kernel
};
LaunchKind describeLaunch(rt::FusedOp fused, FactsCache &facts);

/// Merges launches among the ops of a segment, which are in the order in which they run.
void mergeLaunches(llvm::ArrayRef<DeviceOp> ops, mlir::ModuleOp module);

} // namespace para

#endif
