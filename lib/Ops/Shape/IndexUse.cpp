//===- IndexUse.cpp - Where the elements of moved indices came from -------===//
#include "Shape/Shape.h"

using namespace mlir;
using namespace para;

// Both shapes fall into groups of dimensions with equal products; of a group that is more than one dimension on either side only the
// whole has a box on the other.
bool ReshapeOp::traceToOperand(unsigned, TensorPart &part) {
  ArrayRef<int64_t> from = getInput().getType().getShape(), to = getType().getShape();
  if (part.isWhole(to)) {
    part = TensorPart::whole(from);
    return true;
  }
  if (getType().getNumElements() == 0)
    return false;
  TensorPart source = TensorPart::whole(from);
  for (size_t i = 0, j = 0; i < from.size() || j < to.size();) {
    if (i < from.size() && from[i] == 1) {
      ++i;
      continue;
    }
    if (j < to.size() && to[j] == 1) {
      ++j;
      continue;
    }
    size_t firstI = i, firstJ = j;
    int64_t here = 1, there = 1;
    do
      here <= there ? here *= from[i++] : there *= to[j++];
    while (here != there);
    if (i - firstI == 1 && j - firstJ == 1) {
      source.offsets[firstI] = part.offsets[firstJ];
      source.sizes[firstI] = part.sizes[firstJ];
      continue;
    }
    for (size_t d = firstJ; d < j; ++d)
      if (part.offsets[d] != 0 || part.sizes[d] != to[d])
        return false;
  }
  part = source;
  return true;
}

bool TransposeOp::traceToOperand(unsigned, TensorPart &part) {
  TensorPart source = part;
  for (auto [i, dim] : llvm::enumerate(getPermutation())) {
    source.offsets[dim] = part.offsets[i];
    source.sizes[dim] = part.sizes[i];
  }
  part = source;
  return true;
}

bool BroadcastOp::traceToOperand(unsigned, TensorPart &part) {
  TensorPart source = TensorPart::whole(getInput().getType().getShape());
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (source.sizes[i] != 1) {
      source.offsets[i] = part.offsets[dim];
      source.sizes[i] = part.sizes[dim];
    }
  if (part.isEmpty())
    source.sizes.assign(source.sizes.size(), 0);
  part = source;
  return true;
}

bool SliceOp::traceToOperand(unsigned, TensorPart &part) {
  for (auto [i, offset, stride] : llvm::enumerate(getOffsets(), getStrides())) {
    if (part.sizes[i] > 1 && stride != 1)
      return false;
    part.offsets[i] = offset + part.offsets[i] * stride;
  }
  return true;
}

/// What of a box lies in the `size` elements from `begin` on, counted from there.
static void cutTo(TensorPart &part, size_t dim, int64_t begin, int64_t size) {
  int64_t low = std::max(part.offsets[dim], begin), high = std::min(part.offsets[dim] + part.sizes[dim], begin + size);
  part.offsets[dim] = low - begin;
  part.sizes[dim] = std::max<int64_t>(0, high - low);
}

bool PadOp::traceToOperand(unsigned, TensorPart &part) {
  for (auto [i, low, interior, size] : llvm::enumerate(getLow(), getInterior(), getInput().getType().getShape())) {
    if (size > 1 && interior != 1)
      return false;
    cutTo(part, i, low, size);
  }
  return true;
}

bool ConcatOp::traceToOperand(unsigned operand, TensorPart &part) {
  int64_t begin = 0;
  for (Value before : getInputs().take_front(operand))
    begin += cast<RankedTensorType>(before.getType()).getDimSize(getDim());
  cutTo(part, getDim(), begin, cast<RankedTensorType>(getInputs()[operand].getType()).getDimSize(getDim()));
  return true;
}
