#include "ReshardEmitter.h"

#include "para/Ops/TensorBuilder.h"

using namespace mlir;
using namespace para;

namespace {
SmallVector<int64_t> shapeOf(Value value) { return SmallVector<int64_t>(cast<RankedTensorType>(value.getType()).getShape()); }
RankedTensorType withShape(Value value, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, cast<RankedTensorType>(value.getType()).getElementType());
}
/// [.., blocks * x, ..] to [.., blocks, x, ..]
SmallVector<int64_t> unfold(ArrayRef<int64_t> shape, int64_t dim, int64_t blocks) {
  SmallVector<int64_t> result(shape);
  result[dim] /= blocks;
  result.insert(result.begin() + dim, blocks);
  return result;
}
} // namespace

Value ReshardEmitter::reshape(Location loc, Value value, ArrayRef<int64_t> shape) {
  if (ArrayRef<int64_t>(shapeOf(value)) == shape)
    return value;
  return tagged(TensorBuilder(loc, builder).reshape(value, shape));
}

Value ReshardEmitter::mask(Location loc, Value local, RankedTensorType global, const DimSharding &cut, int64_t dim, ReductionKind kind) {
  SmallVector<int64_t> shape = shapeOf(local);
  int64_t place = dim;
  if (cut.blocks > 1) {
    local = reshape(loc, local, unfold(shape, dim, cut.blocks));
    ++place;
  }
  local = tagged(buildMask(builder, loc, local, place, cut.axes, global.getDimSize(dim) / cut.blocks, cut.unit, kind));
  return reshape(loc, local, shape);
}

Value ReshardEmitter::emit(Location loc, Value local, RankedTensorType global, Sharding from, const ReshardPath &path) {
  for (size_t i = 0; i < path.moves.size(); ++i) {
    const ReshardMove &next = path.moves[i];
    if (next.kind != ReshardMove::AllReduce) {
      local = move(loc, local, global, from, next);
    } else {
      // All-reduces over several axes in a row are one over their product.
      Axes axes = {next.axis};
      while (i + 1 < path.moves.size() && path.moves[i + 1].kind == ReshardMove::AllReduce)
        axes.push_back(path.moves[++i].axis);
      llvm::sort(axes, [](Axis a, Axis b) { return a.getValue() < b.getValue(); });
      local = tagged(buildAllReduce(builder, loc, local, axes, from.reduction));
    }
    from = path.moves[i].result;
  }
  return local;
}

Value ReshardEmitter::move(Location loc, Value local, RankedTensorType global, const Sharding &from, const ReshardMove &move) {
  SmallVector<int64_t> target(move.result.getLocalType(global, mesh).getShape());
  if (move.kind == ReshardMove::AllToAll) {
    if (from.dims[move.from].blocks == 1 && move.result.dims[move.to].blocks == 1)
      return tagged(buildAllToAll(builder, loc, withShape(local, target), local, move.from, move.to, move.axis));
    // Several blocks: gather, then slice.
    Sharding gathered = from;
    gathered.dims[move.from].axes.pop_back();
    if (gathered.dims[move.from].axes.empty())
      gathered.dims[move.from] = {};
    ReshardMove gather{ReshardMove::AllGather, move.axis, move.from, -1, gathered};
    ReshardMove slice{ReshardMove::Slice, move.axis, -1, move.to, move.result};
    return this->move(loc, this->move(loc, local, global, from, gather), global, gathered, slice);
  }
  bool gathers = move.kind == ReshardMove::AllGather;
  int64_t dim = gathers ? move.from : move.to, place = dim;
  const DimSharding &cut = gathers ? from.dims[dim] : move.result.dims[dim];
  SmallVector<int64_t> shape = target;
  if (cut.blocks > 1) {
    local = reshape(loc, local, unfold(shapeOf(local), dim, cut.blocks));
    shape = unfold(target, dim, cut.blocks);
    ++place;
  }
  Type type = withShape(local, shape);
  if (gathers)
    local = tagged(buildAllGather(builder, loc, type, local, place, move.axis));
  else if (move.kind == ReshardMove::Slice)
    local = tagged(buildShardSlice(builder, loc, type, local, place, move.axis, cut.unit));
  else
    local = tagged(buildReduceScatter(builder, loc, type, local, place, move.axis, from.reduction));
  return reshape(loc, local, target);
}
