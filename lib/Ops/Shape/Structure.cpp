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

Structure SliceOp::getStructure() {
  Structure structure = Structure::permuted(*this, llvm::to_vector(llvm::seq<int64_t>(0, getType().getRank())), Linearity::Joint);
  for (auto [dim, stride] : llvm::enumerate(getStrides()))
    if (stride < 0 && !structure.results[0][dim].empty())
      structure.factors[structure.results[0][dim][0]].kind = FactorKind::Whole;
  return structure;
}

Operation *SliceOp::buildLocal(OpBuilder &builder, ValueRange operands, TypeRange types) {
  return SliceOp::create(builder, getLoc(), types[0], operands[0], getOffsets(), getStrides());
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
  auto linearity = isZero(cast<TypedAttr>(getValue())) ? Linearity::Joint : Linearity::None;
  Structure structure = Structure::permuted(*this, llvm::to_vector(llvm::seq<int64_t>(0, getType().getRank())), linearity);
  for (auto [dim, low, step] : llvm::enumerate(getLow(), getInterior())) // a shift keeps the size but not the places
    if ((low != 0 || step != 1) && !structure.results[0][dim].empty())
      structure.factors[structure.results[0][dim][0]].kind = FactorKind::Whole;
  return structure;
}

Structure ConcatOp::getStructure() {
  Structure structure;
  ValueFactors result;
  for (auto [dim, size] : llvm::enumerate(getType().getShape())) {
    DimFactors factors;
    if (size != 1)
      factors.push_back(structure.addFactor(size, dim == getDim() ? FactorKind::Whole : FactorKind::Parallel));
    result.push_back(factors);
  }
  for (Value input : getInputs()) {
    ValueFactors operand = result;
    int64_t size = cast<RankedTensorType>(input.getType()).getDimSize(getDim());
    operand[getDim()] = size == 1 ? DimFactors() : DimFactors{structure.addFactor(size, FactorKind::Whole)};
    structure.operands.push_back(operand);
    structure.linearity.push_back(Linearity::Joint);
  }
  structure.results.push_back(result);
  return structure;
}
