//===- UnderWay.h - How many messages may be under way ------------*- C++ -*-===//
//
// A message whose result nobody wants in its segment would be waited for when the segment ends, and all that it reads kept as long:
// reduce-scatters of the backward pass would keep every whole gradient. So it is waited for earlier.
//
// Example: of reduce-scatters of 4, 4, 8 and 4 bytes, the first two are waited for before the fourth is begun.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_UNDERWAY_H
#define PARA_LOWER_UNDERWAY_H

#include "para/Lower/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace para {

/// For each message that is waited for early, the later one before which that is. Beside a message that begins, at most as many bytes are under
/// way as the largest of its segment has, so that two of any size overlap with compute.
llvm::DenseMap<mlir::Operation *, mlir::Operation *> limitUnderWay(mlir::func::FuncOp func);

} // namespace para

#endif
