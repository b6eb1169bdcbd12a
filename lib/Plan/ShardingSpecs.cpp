#include "ShardingSpecs.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace para;

static llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

std::vector<int64_t> SpecCuts::getGrid() const {
  std::vector<int64_t> grid;
  for (const Cut &cut : cuts)
    grid.push_back(cut.shards);
  return grid;
}

/// One dimension of `size`, as the product of its parts.
static llvm::Expected<SpecCuts::Cut> readDim(const ShardingSpec::Dim &dim, int64_t axis, int64_t size) {
  SpecCuts::Cut cut{axis, 1, 1, 1};
  if (dim.parts.size() == 1) {
    if (dim.parts[0].size && dim.parts[0].size != size)
      return fail("has " + llvm::Twine(size) + " elements along axis " + llvm::Twine(axis) + ", and its sharding spec says " + llvm::Twine(dim.parts[0].size));
    cut.shards = dim.parts[0].shards;
    return cut;
  }
  int64_t product = 1, whole = 1; // `whole`: size of what is cut so far
  bool isBehind = false;
  for (const ShardingSpec::Part &part : dim.parts) {
    if (part.size == 0)
      return fail("falls into several factors along axis " + llvm::Twine(axis) + ", whose sizes the sharding spec must give as numbers");
    if (part.size > size / product)
      return fail("has " + llvm::Twine(size) + " elements along axis " + llvm::Twine(axis) + ", fewer than its sharding spec's factors make");
    product *= part.size;
    if (part.shards == 1 && cut.shards == 1) {
      cut.blocks *= part.size;
    } else if (part.shards == 1) {
      cut.unit *= part.size;
      isBehind |= part.size > 1;
    } else if (isBehind || cut.shards != whole || (cut.shards > 1 && part.size % part.shards)) {
      return fail("is cut in two factors of axis " + llvm::Twine(axis) + ", of which the outer one is not cut into single elements: no axis of a mesh does that");
    } else {
      whole *= part.size;
      cut.shards *= part.shards;
    }
  }
  if (product != size && !dim.parts.empty())
    return fail("has " + llvm::Twine(size) + " elements along axis " + llvm::Twine(axis) + ", and the factors of its sharding spec make " + llvm::Twine(product));
  return cut;
}

llvm::Expected<SpecCuts> para::readSpec(const ShardingSpec &spec, ArrayRef<int64_t> shape) {
  SpecCuts cuts;
  int64_t rank = shape.size();
  llvm::SmallVector<bool> seen(rank, false);
  for (const ShardingSpec::Dim &dim : spec.dims) {
    if (dim.axis < -rank || dim.axis >= rank)
      return fail("has " + llvm::Twine(rank) + " dimensions; its sharding spec cuts along axis " + llvm::Twine(dim.axis));
    int64_t axis = dim.axis < 0 ? dim.axis + rank : dim.axis;
    if (std::exchange(seen[axis], true))
      return fail("has two cuts along axis " + llvm::Twine(axis));
    auto cut = readDim(dim, axis, shape[axis]);
    if (!cut)
      return cut.takeError();
    if (cut->shards > 1)
      cuts.cuts.push_back(*cut);
  }
  return cuts;
}

std::vector<ShardingSpec::Dim> para::writeSpec(const Sharding &sharding, ArrayRef<int64_t> shape, MeshAttr mesh) {
  std::vector<ShardingSpec::Dim> dims;
  for (auto [axis, dim, size] : llvm::zip(llvm::seq<int64_t>(0, shape.size()), sharding.dims, shape)) {
    if (dim.axes.empty())
      continue;
    int64_t shards = 1;
    for (Axis name : dim.axes)
      shards *= mesh.getSize(name.getValue());
    dims.push_back({axis, {}});
    auto &parts = dims.back().parts;
    bool isWhole = dim.blocks == 1 && dim.unit == 1;
    if (dim.blocks > 1)
      parts.push_back({dim.blocks, 1});
    parts.push_back({isWhole ? 0 : size / dim.blocks / dim.unit, shards});
    if (dim.unit > 1)
      parts.push_back({dim.unit, 1});
  }
  return dims;
}

DeviceShards para::getShards(const Sharding &sharding, int64_t stage, MeshAttr mesh) {
  DeviceShards shards;
  ArrayRef<int64_t> sizes = mesh.getSizes();
  llvm::StringMap<int64_t> place;
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    int64_t rest = rank;
    for (unsigned i = sizes.size(); i-- > 0;) {
      StringRef axis = cast<StringAttr>(mesh.getAxes()[i]).getValue();
      if (axis == kMicrobatch)
        continue;
      place[axis] = rest % sizes[i];
      rest /= sizes[i];
    }
    if (place.lookup("pipeline") != stage)
      continue;
    int64_t shard = 0;
    for (const DimSharding &dim : sharding.dims)
      for (Axis axis : dim.axes)
        shard = shard * mesh.getSize(axis.getValue()) + place.lookup(axis.getValue());
    shards.push_back({int32_t(rank), int32_t(shard)});
  }
  return shards;
}

Sharding para::withoutMicrobatches(Sharding sharding, RankedTensorType type, MeshAttr mesh) {
  for (DimSharding &dim : sharding.dims)
    llvm::erase_if(dim.axes, [](Axis axis) { return axis.getValue() == kMicrobatch; });
  sharding.removePartial(kMicrobatch);
  return sharding.getCanonical(type, mesh);
}
