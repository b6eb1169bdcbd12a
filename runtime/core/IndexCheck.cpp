//===- IndexCheck.cpp - Inputs that are indices -------------------------------===//
#include "IndexCheck.h"

#include <algorithm>

namespace para::runtime {

/// Number of the first element in [0, count) that is not in the range, or -1.
template <typename T>
static int64_t findOutside(const T *values, int64_t count, const IndexRange &range) {
  uint64_t width = uint64_t(range.end) - uint64_t(range.begin);
  int64_t known = range.exempt.empty() ? range.begin : range.exempt[0];
  bool anyOutside = false;
  for (int64_t i = 0; i < count; ++i) { // without a branch, for vectors
    int64_t value = int64_t(values[i]);
    anyOutside |= (uint64_t(value) - uint64_t(range.begin) >= width) & (value != known);
  }
  for (int64_t i = 0; anyOutside && i < count; ++i) {
    int64_t value = int64_t(values[i]);
    bool isExempt = std::find(range.exempt.begin(), range.exempt.end(), value) != range.exempt.end();
    if ((value < range.begin || value >= range.end) && !isExempt)
      return i;
  }
  return -1;
}

template <typename T>
static bool findIn(const Tensor &tensor, const Box &box, const T *local, const IndexRange &range, BadIndex &bad) {
  size_t rank = tensor.shape.size();
  std::vector<int64_t> begin(rank), end(rank);
  for (size_t d = 0; d < rank; ++d) {
    begin[d] = std::max(box.begin[d], range.offsets[d]);
    end[d] = std::min(box.begin[d] + box.size[d], range.offsets[d] + range.sizes[d]);
    if (begin[d] >= end[d])
      return false;
  }
  int64_t count = rank == 0 ? 1 : end[rank - 1] - begin[rank - 1];
  std::vector<int64_t> at = begin;
  while (true) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d)
      offset = offset * tensor.local[d] + at[d] - box.begin[d];
    if (int64_t found = findOutside(local + offset, count, range); found >= 0) {
      bad = {at, int64_t(local[offset + found]), &range};
      if (rank > 0)
        bad.at[rank - 1] += found;
      return true;
    }
    size_t d = rank > 0 ? rank - 1 : 0;
    while (d > 0 && ++at[d - 1] == end[d - 1]) {
      at[d - 1] = begin[d - 1];
      --d;
    }
    if (d == 0)
      return false;
  }
}

bool findBadIndex(const Tensor &tensor, const Box &box, const void *local, BadIndex &bad) {
  for (const IndexRange &range : tensor.indexRanges) {
    bool found = false;
    switch (tensor.dtype) {
    case PARA_I64:
      found = findIn(tensor, box, static_cast<const int64_t *>(local), range, bad);
      break;
    case PARA_I32:
      found = findIn(tensor, box, static_cast<const int32_t *>(local), range, bad);
      break;
    case PARA_I16:
      found = findIn(tensor, box, static_cast<const int16_t *>(local), range, bad);
      break;
    case PARA_I8:
      found = findIn(tensor, box, static_cast<const int8_t *>(local), range, bad);
      break;
    default:
      break;
    }
    if (found)
      return true;
  }
  return false;
}

} // namespace para::runtime
