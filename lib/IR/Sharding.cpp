#include "para/IR/Sharding.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace para;

int64_t DimSharding::getLocalSize(int64_t size, MeshAttr mesh) const {
  if (axes.empty())
    return size;
  assert(size % (blocks * unit) == 0 && "a dimension is made of whole blocks and units");
  int64_t units = size / blocks / unit;
  for (Axis axis : axes)
    units = llvm::divideCeil(units, mesh.getSize(axis));
  return units * blocks * unit;
}

bool DimSharding::hasPadding(int64_t size, MeshAttr mesh) const {
  int64_t units = size / blocks / unit;
  for (Axis axis : axes) {
    if (units % mesh.getSize(axis))
      return true;
    units /= mesh.getSize(axis);
  }
  return false;
}

DimSharding DimSharding::getCanonical(int64_t size, MeshAttr mesh) const {
  DimSharding result = *this;
  llvm::erase_if(result.axes, [&](Axis axis) { return mesh.getSize(axis) == 1; });
  if (result.axes.empty())
    return {};
  if (!result.hasPadding(size, mesh))
    result.unit = 1;
  return result;
}

Sharding Sharding::get(ShardingAttr attr) {
  Sharding sharding = replicated(attr.getRank());
  for (auto [dim, axes, unit, blocks] : llvm::zip(sharding.dims, attr.getDims(), attr.getUnits().asArrayRef(), attr.getBlocks().asArrayRef())) {
    for (Attribute axis : cast<ArrayAttr>(axes))
      dim.axes.push_back(cast<StringAttr>(axis));
    dim.unit = unit;
    dim.blocks = blocks;
  }
  for (Attribute axis : attr.getPartial())
    sharding.addPartial(cast<StringAttr>(axis));
  sharding.reduction = attr.getReduction();
  return sharding;
}

ShardingAttr Sharding::getAttr(MLIRContext *ctx) const {
  auto array = [&](ArrayRef<Axis> axes) { return ArrayAttr::get(ctx, SmallVector<Attribute>(axes.begin(), axes.end())); };
  SmallVector<Attribute> lists;
  SmallVector<int64_t> units, blocks;
  for (const DimSharding &dim : dims) {
    lists.push_back(array(dim.axes));
    units.push_back(dim.unit);
    blocks.push_back(dim.blocks);
  }
  return ShardingAttr::get(ctx, ArrayAttr::get(ctx, lists), DenseI64ArrayAttr::get(ctx, units), DenseI64ArrayAttr::get(ctx, blocks),
                           array(partial), reduction);
}

bool Sharding::isPartial(StringRef axis) const {
  return llvm::any_of(partial, [&](Axis other) { return other.getValue() == axis; });
}

bool Sharding::isCut(StringRef axis) const {
  return llvm::any_of(dims, [&](const DimSharding &dim) { return llvm::any_of(dim.axes, [&](Axis other) { return other.getValue() == axis; }); });
}

void Sharding::addPartial(Axis axis) {
  if (isPartial(axis))
    return;
  partial.push_back(axis);
  llvm::sort(partial, [](Axis a, Axis b) { return a.getValue() < b.getValue(); });
}

void Sharding::removePartial(StringRef axis) {
  llvm::erase_if(partial, [&](Axis other) { return other.getValue() == axis; });
}

RankedTensorType Sharding::getLocalType(RankedTensorType global, MeshAttr mesh) const {
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::zip(dims, global.getShape()))
    shape.push_back(dim.getLocalSize(size, mesh));
  return RankedTensorType::get(shape, global.getElementType());
}

Sharding Sharding::getCanonical(RankedTensorType global, MeshAttr mesh) const {
  Sharding result = *this;
  for (auto [dim, size] : llvm::zip(result.dims, global.getShape()))
    dim = dim.getCanonical(size, mesh);
  llvm::erase_if(result.partial, [&](Axis axis) { return mesh.getSize(axis) == 1; });
  return result;
}
