//===- Shard.h - Which part of a global tensor a rank holds -----*- C++ -*-===//
//
// A dimension of size g cut by an axis of size n has pieces of p = ceil(g / n); the next axis cuts each piece of p in the
// same way. Cuts are made on padded sizes, so that gathering the pieces of an axis gives the next outer piece without gaps;
// what of a piece lies beyond its outer piece or the dimension's end is padding.
//
//   shape 10, dims [data=4]: local 3, begins 0 3 6 9, valid 3 3 3 1.
//
// A dimension may be cut in units of several elements, and may fall into equal blocks that are cut each by itself (a fused
// [3, heads, width] cut between heads): a rank then holds one box a block, one after another.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_SHARD_H
#define PARA_RUNTIME_CORE_SHARD_H

#include "Manifest.h"

namespace para::runtime {

/// A box of a global tensor: per dimension where it begins, how many elements are valid, and where it begins in the local tensor.
struct Box {
  std::vector<int64_t> begin, size, local;
  bool empty() const;
  int64_t elements() const;
};

/// Size of dimension `d` after all cuts, with its padding.
int64_t paddedSize(const Manifest &manifest, const Tensor &tensor, size_t d);

/// What `tensor` holds at `coordinates` (mesh order) for one microbatch, a box a block; boxes may be empty.
std::vector<Box> shardBoxes(const Manifest &manifest, const Tensor &tensor, const std::vector<int64_t> &coordinates,
                            int64_t microbatch);

/// Whether `rank` is the one of all ranks with equal data that speaks for them: 0 on every axis that does not cut the
/// tensor. The pipeline axis is not looked at.
bool isFirstReplica(const Manifest &manifest, const Tensor &tensor, int64_t rank);

/// Copies a box of `size` between two row-major arrays.
void copyBox(const void *from, const std::vector<int64_t> &fromShape, const std::vector<int64_t> &fromBegin, void *to,
             const std::vector<int64_t> &toShape, const std::vector<int64_t> &toBegin,
             const std::vector<int64_t> &size, int64_t bytesPerElement);

} // namespace para::runtime

#endif
