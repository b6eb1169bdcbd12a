#include "Shape/Shape.h"

using namespace mlir;
using namespace para;

// A constant is the same on every rank; a shard of it is cut by a reshard, which moves no bytes.
Structure ConstantOp::getStructure() {
  Structure structure;
  ValueFactors result;
  bool splat = isa<SplatElementsAttr>(getValue());
  for (int64_t size : getType().getShape()) {
    DimFactors factors;
    if (size != 1)
      factors.push_back(structure.addFactor(size, splat ? FactorKind::Parallel : FactorKind::Whole));
    result.push_back(factors);
  }
  structure.results.push_back(result);
  return structure;
}

Structure IotaOp::getStructure() {
  Structure structure;
  ValueFactors result;
  for (int64_t size : getType().getShape())
    result.push_back(size == 1 ? DimFactors() : DimFactors{structure.addFactor(size)});
  structure.results.push_back(result);
  return structure;
}

Relayout ReshapeOp::getRelayout() { return {Relayout::View}; }

// Walks both shapes from the left and pairs up equal products: [6, 4] to [2, 12] has factors 2, 3, 4.
Structure ReshapeOp::getStructure() {
  Structure structure;
  structure.linearity.push_back(Linearity::Joint);
  ArrayRef<int64_t> from = getInput().getType().getShape(), to = getType().getShape();
  ValueFactors operand(from.size()), result(to.size());
  size_t i = 0, j = 0;
  int64_t left = 1, right = 1; // what is unconsumed of dimensions i and j
  auto next = [](ArrayRef<int64_t> shape, size_t &dim, int64_t &rest) {
    while (rest == 1 && dim < shape.size())
      rest = shape[dim++];
  };
  while (true) {
    next(from, i, left);
    next(to, j, right);
    if (left <= 1 || right <= 1)
      break;
    int64_t common = std::min(left, right);
    if (left % common || right % common) {
      // No common factor: all that follows up to the next meeting point is one block that must stay whole.
      size_t firstI = i - 1, firstJ = j - 1;
      int64_t productI = left, productJ = right;
      while (productI != productJ) {
        if (productI < productJ)
          productI *= from[i++];
        else
          productJ *= to[j++];
      }
      for (size_t dim = firstI; dim < i; ++dim)
        if (int64_t size = dim == firstI ? left : from[dim]; size != 1)
          operand[dim].push_back(structure.addFactor(size, FactorKind::Whole));
      for (size_t dim = firstJ; dim < j; ++dim)
        if (int64_t size = dim == firstJ ? right : to[dim]; size != 1)
          result[dim].push_back(structure.addFactor(size, FactorKind::Whole));
      left = right = 1;
      continue;
    }
    int factor = structure.addFactor(common);
    operand[i - 1].push_back(factor);
    result[j - 1].push_back(factor);
    left /= common;
    right /= common;
  }
  structure.operands.push_back(operand);
  structure.results.push_back(result);
  return structure;
}

Structure TransposeOp::getStructure() {
  SmallVector<int64_t> dims(getPermutation().size());
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    dims[from] = to;
  return Structure::permuted(*this, dims, Linearity::Joint);
}

Structure BroadcastOp::getStructure() { return Structure::permuted(*this, getDims(), Linearity::Joint); }

namespace {
/// A larger dimension that consists of blocks of the smaller one's size, of which one is taken (slice) or filled (pad): the
/// choice of the block stays whole, what is inside can be cut. Empty where the block does not lie on a multiple of its size.
bool isBlock(int64_t large, int64_t small, int64_t offset) { return small > 1 && large % small == 0 && offset % small == 0; }

/// Structure of slice and pad, `large` being the value that holds more.
Structure blockwise(ArrayRef<int64_t> large, ArrayRef<int64_t> small, ArrayRef<int64_t> offsets, ArrayRef<int64_t> steps,
                    ValueFactors &largeFactors, ValueFactors &smallFactors) {
  Structure structure;
  for (auto [l, s, offset, step] : llvm::zip(large, small, offsets, steps)) {
    DimFactors outer, inner;
    if (l == s && offset == 0 && step == 1) {
      if (l != 1)
        outer = inner = {structure.addFactor(l)};
    } else if (step == 1 && offset >= 0 && isBlock(l, s, offset)) {
      inner = {structure.addFactor(s)};
      outer = {structure.addFactor(l / s, FactorKind::Whole), inner[0]};
    } else {
      if (l != 1)
        outer = {structure.addFactor(l, FactorKind::Whole)};
      if (s != 1)
        inner = {structure.addFactor(s, FactorKind::Whole)};
    }
    largeFactors.push_back(outer);
    smallFactors.push_back(inner);
  }
  return structure;
}
} // namespace

Structure SliceOp::getStructure() {
  ValueFactors operand, result;
  Structure structure = blockwise(getInput().getType().getShape(), getType().getShape(), getOffsets(), getStrides(), operand, result);
  structure.operands.push_back(operand);
  structure.results.push_back(result);
  structure.linearity.push_back(Linearity::Joint);
  return structure;
}

// On a shard a block is as long as the local result, and so are the offsets counted.
Operation *SliceOp::buildLocal(OpBuilder &builder, ValueRange operands, TypeRange types) {
  SmallVector<int64_t> offsets(getOffsets());
  auto local = cast<RankedTensorType>(types[0]).getShape();
  for (auto [offset, from, to] : llvm::zip(offsets, getType().getShape(), local))
    if (from != to)
      offset = offset / from * to;
  return SliceOp::create(builder, getLoc(), types[0], operands[0], offsets, getStrides());
}

Operation *IotaOp::buildLocal(OpBuilder &builder, ValueRange, TypeRange types) {
  return IotaOp::create(builder, getLoc(), types[0], getDim(), getAxes(), getSizeAttr(), getUnitAttr());
}

void IotaOp::describeShard(Operation *local, unsigned factor, ArrayAttr axes, int64_t size, int64_t unit) {
  if (llvm::is_contained(getStructure().results[0][getDim()], int(factor)))
    setShardDescription(local, axes, size, unit);
}

static bool isZero(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValue().isPosZero();
  return cast<IntegerAttr>(value).getValue().isZero();
}

Structure PadOp::getStructure() {
  ValueFactors operand, result;
  Structure structure = blockwise(getType().getShape(), getInput().getType().getShape(), getLow(), getInterior(), result, operand);
  structure.operands.push_back(operand);
  structure.results.push_back(result);
  structure.linearity.push_back(isZero(cast<TypedAttr>(getValue())) ? Linearity::Joint : Linearity::None);
  return structure;
}

Operation *PadOp::buildLocal(OpBuilder &builder, ValueRange operands, TypeRange types) {
  SmallVector<int64_t> low(getLow());
  auto local = cast<RankedTensorType>(operands[0].getType()).getShape();
  for (auto [offset, from, to] : llvm::zip(low, getInput().getType().getShape(), local))
    if (from != to)
      offset = offset / from * to;
  return PadOp::create(builder, getLoc(), types[0], operands[0], low, getInterior(), getValue());
}

// Parts of one size are the blocks of the result: which block stays whole, the inside can be cut.
Structure ConcatOp::getStructure() {
  Structure structure;
  auto first = cast<RankedTensorType>(getInputs()[0].getType());
  bool equal = llvm::all_of(getInputs().getTypes(), [&](Type type) { return type == first; });
  ValueFactors result;
  int inner = -1;
  for (auto [dim, size] : llvm::enumerate(getType().getShape())) {
    DimFactors factors;
    if (dim == getDim() && equal && first.getDimSize(dim) != 1) {
      inner = structure.addFactor(first.getDimSize(dim));
      factors = {structure.addFactor(getInputs().size(), FactorKind::Whole), inner};
    } else if (size != 1) {
      factors = {structure.addFactor(size, dim == getDim() ? FactorKind::Whole : FactorKind::Parallel)};
    }
    result.push_back(factors);
  }
  for (Value input : getInputs()) {
    ValueFactors operand = result;
    int64_t size = cast<RankedTensorType>(input.getType()).getDimSize(getDim());
    if (inner >= 0)
      operand[getDim()] = {inner};
    else
      operand[getDim()] = size == 1 ? DimFactors() : DimFactors{structure.addFactor(size, FactorKind::Whole)};
    structure.operands.push_back(operand);
    structure.linearity.push_back(Linearity::Joint);
  }
  structure.results.push_back(result);
  return structure;
}
