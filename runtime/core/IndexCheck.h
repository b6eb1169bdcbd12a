//===- IndexCheck.h - Inputs that are indices -------------------*- C++ -*-===//
//
// An index outside of its table reads zero, and a label outside of the classes counts for nothing: a run on wrong data would look like
// one on easy data. So every batch is held against the ranges which the compiler derived (`index_ranges` of the manifest).
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_INDEXCHECK_H
#define PARA_RUNTIME_CORE_INDEXCHECK_H

#include "Shard.h"

namespace para::runtime {

/// An element outside of one of its tensor's ranges.
struct BadIndex {
  std::vector<int64_t> at; ///< in the global tensor
  int64_t value;
  const IndexRange *range;
};

/// The first bad element of the part `box` of `tensor`, whose valid elements begin at the start of `local`. One pass a range, at the
/// speed of memory.
bool findBadIndex(const Tensor &tensor, const Box &box, const void *local, BadIndex &bad);

} // namespace para::runtime

#endif
