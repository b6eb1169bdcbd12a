//===- Parts.h - The parts that a program repeats -----------------------===//
//
// Where the forward pass of @main may be parted such that little goes from part to part. Where its structure repeats (op by op the same
// ops on the same shapes), each repetition is a part, begun where least is alive; else about the square root of n parts of n ops.
//
// Example: a transformer of 12 blocks has 14 parts: the embedding, the blocks, and the head with the loss.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_PLAN_PARTS_H
#define PARA_LIB_PLAN_PARTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace para {

struct Parts {
  llvm::DenseMap<mlir::Operation *, int64_t> of; ///< the part of each forward op
  llvm::DenseSet<mlir::Value> fromInputs;        ///< values that follow from an input of the program, not from parameters alone
  int64_t count = 0;
};

/// `bytesOf` is what it costs to keep a value.
Parts findParts(mlir::func::FuncOp main, llvm::function_ref<int64_t(mlir::Value)> bytesOf);

/// A run of `period` and more things that each equal the one a period later.
struct Repetition {
  int64_t begin = 0, period = 0, length = 0; ///< `length` things are covered from `begin` on
};
/// The one that covers most, of the shortest period; `period` 0 where nothing repeats.
Repetition findRepetition(llvm::ArrayRef<int64_t> things);

} // namespace para

#endif
