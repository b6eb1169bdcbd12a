//===- IndexUse.h - Which integers of a program are indices ------*- C++ -*-===//
//
// A program says what its integer inputs may be by what it does with them: an op that looks something up states the legal range, ops
// which move elements say where they came from, and a value that the program tests for (a label to be ignored) is one that it knows
// how to treat. `para-derive-index-ranges` puts the three together; the runtime holds each batch against the result.
//
// Example, labels[:, 1:] into cross_entropy of 96 classes, and `labels != -100`: the columns from 1 on are in [0, 96), or -100.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_INTERFACES_INDEXUSE_H
#define PARA_INTERFACES_INDEXUSE_H

#include "mlir/IR/OpDefinition.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace para {

/// From `begin` to before `end`.
struct IndexRange {
  int64_t begin, end;
};

/// A box of a tensor's elements.
struct TensorPart {
  llvm::SmallVector<int64_t> offsets, sizes;

  static TensorPart whole(llvm::ArrayRef<int64_t> shape);
  bool isWhole(llvm::ArrayRef<int64_t> shape) const;
  bool isEmpty() const;
};

} // namespace para

#include "para/Interfaces/IndexUse.h.inc"

#endif
