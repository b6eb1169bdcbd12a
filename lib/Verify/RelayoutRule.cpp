//===- RelayoutRule.cpp - Ops that move parts of values --------------------===//
#include "Rules.h"

#include "para/IR/Program.h"
#include "para/IR/Sharding.h"

using namespace mlir;
using namespace para;

namespace {
class RelayoutRule {
public:
  RelayoutRule(Operation *op, const Relayout &relayout, MeshAttr mesh) : op(op), relayout(relayout), mesh(mesh) {}

  /// What becomes of one operand.
  FailureOr<LocalValue> apply(const LocalValue &operand, RankedTensorType type) {
    LocalValue value = operand;
    value.phase = getChunkPhase(op);
    value.running = false;
    bool any = relayout.kind == Relayout::AllReduce || relayout.kind == Relayout::Accumulate || relayout.kind == Relayout::View;
    int64_t rank = value.cuts.size();
    if (!any && (relayout.dim < 0 || relayout.dim >= rank || relayout.to < 0 || relayout.to >= rank))
      return op->emitError() << "names a dimension that its operand does not have";
    if (failed(dispatch(value, type.getShape())))
      return failure();
    return value;
  }

private:
  LogicalResult dispatch(LocalValue &value, ArrayRef<int64_t> target) {
    switch (relayout.kind) {
    case Relayout::AllReduce:
      for (StringRef axis : relayout.axes)
        if (failed(combine(value, axis)))
          return failure();
      return success();
    case Relayout::AllGather:
      return failure(failed(isSpace(relayout.axes[0])) || failed(gather(value)));
    case Relayout::ReduceScatter:
      return failure(failed(combine(value, relayout.axes[0])) || failed(cut(value, relayout.dim, target)));
    case Relayout::AllToAll:
      return failure(failed(isSpace(relayout.axes[0])) || failed(gather(value)) || failed(cut(value, relayout.to, target)));
    case Relayout::Slice:
      return slice(value);
    case Relayout::Mask:
      return mask(value);
    case Relayout::Accumulate:
      return accumulate(value);
    case Relayout::View:
      return view(value, target);
    case Relayout::Send:
    case Relayout::Recv:
      break;
    }
    return op->emitError("sends or receives where the walk matches no message");
  }

  LogicalResult isSpace(StringRef axis) {
    if (axis == kMicrobatch || axis == "pipeline")
      return op->emitError() << "communicates over " << axis << ", which is no axis of this program's ranks";
    return success();
  }

  LogicalResult combine(LocalValue &value, StringRef axis) {
    if (failed(isSpace(axis)))
      return failure();
    if (!value.isPartial(axis))
      return op->emitError() << "combines over " << axis << " what is not unfinished over it";
    if (value.reduction != relayout.reduction)
      return op->emitError() << "combines by " << stringifyReductionKind(relayout.reduction) << " an unfinished "
                             << stringifyReductionKind(value.reduction) << " over " << axis;
    llvm::erase_if(value.partial, [&](StringAttr other) { return other.getValue() == axis; });
    value.forgetPadding();
    return success();
  }

  LogicalResult gather(LocalValue &value) {
    Cut &cut = value.cuts[relayout.dim];
    if (cut.levels.empty() || cut.levels.back().axis.getValue() != relayout.axes[0] || cut.blocks != 1)
      return op->emitError() << "gathers over " << relayout.axes[0] << " dimension " << relayout.dim << ", which is " << cut.describe();
    cut.levels.pop_back();
    value.forgetPadding();
    return success();
  }

  LogicalResult isFree(const LocalValue &value, StringRef axis) {
    if (value.isCut(axis) || value.isPartial(axis))
      return op->emitError() << "cuts over " << axis << " what is already " << (value.isCut(axis) ? "cut" : "unfinished") << " over it";
    return success();
  }

  /// The message is cut into as many equal parts as there are ranks, as long as the result is.
  LogicalResult cut(LocalValue &value, int64_t dim, ArrayRef<int64_t> target) {
    StringRef axis = relayout.axes[0];
    int64_t before = value.cuts[dim].getLocalSize(value.shape[dim]), piece = int64_t(target.size()) > dim ? target[dim] : 0;
    if (failed(isFree(value, axis)))
      return failure();
    if (piece < 1 || piece * mesh.getSize(axis) < before || !startsBlock(value.cuts[dim]))
      return op->emitError() << "cuts dimension " << dim << " over " << axis << " into pieces of " << piece << ", which do not cover " << before;
    append(value, dim, axis, piece);
    return success();
  }

  LogicalResult slice(LocalValue &value) {
    StringRef axis = relayout.axes[0];
    int64_t before = value.cuts[relayout.dim].getLocalSize(value.shape[relayout.dim]);
    if (failed(isFree(value, axis)))
      return failure();
    if (axis == "pipeline" || mesh.getSize(axis) < 2 || (axis == kMicrobatch && runsOnce(getPhase(op))))
      return op->emitError() << "cuts over " << axis << ", of which there is no coordinate here";
    if (before % relayout.unit || !startsBlock(value.cuts[relayout.dim]))
      return op->emitError() << "cuts " << before << " elements in units of " << relayout.unit;
    // What was another value in each microbatch is from here on cut by it.
    value.varies &= axis != kMicrobatch;
    append(value, relayout.dim, axis, getPiece(before, relayout.unit, mesh.getSize(axis)));
    return success();
  }

  static bool startsBlock(const Cut &cut) { return cut.levels.empty() || cut.blocks == 1; }

  void append(LocalValue &value, int64_t dim, StringRef axis, int64_t piece) {
    Cut &cut = value.cuts[dim];
    if (cut.levels.empty())
      cut.blocks = 1;
    cut.levels.push_back({StringAttr::get(op->getContext(), axis), piece});
    value.forgetPadding();
  }

  LogicalResult mask(LocalValue &value) {
    auto said = Cut::read(relayout.size, relayout.axes, relayout.unit, 1, mesh);
    const Cut &own = value.cuts[relayout.dim];
    if (!said || relayout.size != value.shape[relayout.dim] || *said != own)
      return op->emitError() << "masks " << relayout.size << " elements " << (said ? said->describe() : "in a wrong unit") << " where there are "
                             << value.shape[relayout.dim] << " " << own.describe();
    for (auto &filled : value.filled) // where paddings meet, the last one stays
      if (filled != relayout.reduction)
        filled = std::nullopt;
    value.filled[relayout.dim] = relayout.reduction;
    return success();
  }

  LogicalResult accumulate(LocalValue &value) {
    if (!value.isPartial(kMicrobatch) || value.reduction != ReductionKind::Sum)
      return op->emitError("adds up over the microbatches what is no unfinished sum over them");
    llvm::erase_if(value.partial, [](StringAttr axis) { return axis.getValue() == kMicrobatch; });
    value.running = true;
    value.forgetPadding();
    return success();
  }

  /// One dimension becomes two (blocks and what is in them), or two become one.
  LogicalResult view(LocalValue &value, ArrayRef<int64_t> target) {
    SmallVector<int64_t> here = value.getLocalShape();
    ArrayRef<int64_t> own = cast<RankedTensorType>(value.serial.getType()).getShape();
    std::optional<LocalValue> found;
    for (size_t dim = 0; dim < here.size(); ++dim) {
      std::optional<LocalValue> next;
      if (target.size() == here.size() + 1)
        next = unfold(value, dim, target);
      else if (target.size() + 1 == here.size() && dim + 1 < here.size())
        next = fold(value, dim, target);
      // Where several readings fit, the one with the blocks, or the one that leads back to the value's own shape.
      if (next && (!found || (ArrayRef<int64_t>(next->shape) == own && ArrayRef<int64_t>(found->shape) != own)))
        found = std::move(next);
    }
    if (ArrayRef<int64_t>(here) == target)
      return success();
    if (!found)
      return op->emitError("changes the shape of a part in a way that is no view of the whole");
    value = std::move(*found);
    return success();
  }

  std::optional<LocalValue> unfold(const LocalValue &value, size_t dim, ArrayRef<int64_t> target) {
    SmallVector<int64_t> here = value.getLocalShape();
    int64_t blocks = target[dim];
    const Cut &cut = value.cuts[dim];
    if (blocks < 2 || here[dim] % blocks || (!cut.levels.empty() && cut.blocks != blocks))
      return std::nullopt;
    here[dim] /= blocks;
    here.insert(here.begin() + dim, blocks);
    if (ArrayRef<int64_t>(here) != target)
      return std::nullopt;
    LocalValue next = value;
    next.shape[dim] /= blocks;
    next.shape.insert(next.shape.begin() + dim, blocks);
    next.cuts[dim].blocks = 1;
    next.cuts.insert(next.cuts.begin() + dim, Cut());
    next.filled.insert(next.filled.begin() + dim, std::nullopt);
    return next;
  }

  std::optional<LocalValue> fold(const LocalValue &value, size_t dim, ArrayRef<int64_t> target) {
    SmallVector<int64_t> here = value.getLocalShape();
    const Cut &inner = value.cuts[dim + 1];
    if (!value.cuts[dim].levels.empty() || !startsBlock(inner))
      return std::nullopt;
    here[dim + 1] *= here[dim];
    here.erase(here.begin() + dim);
    if (ArrayRef<int64_t>(here) != target)
      return std::nullopt;
    LocalValue next = value;
    next.cuts[dim + 1].blocks = value.shape[dim];
    next.shape[dim + 1] *= value.shape[dim];
    next.shape.erase(next.shape.begin() + dim);
    next.cuts.erase(next.cuts.begin() + dim);
    next.filled.erase(next.filled.begin() + dim);
    return next;
  }

  Operation *op;
  const Relayout &relayout;
  MeshAttr mesh;
};
} // namespace

FailureOr<LocalValues> para::applyRelayout(Operation *op, const Relayout &relayout, ArrayRef<const LocalValue *> operands, MeshAttr mesh) {
  LocalValues results;
  if (op->getNumResults() != operands.size())
    return op->emitError("has another number of results than operands");
  for (auto [operand, result] : llvm::zip_equal(operands, op->getResults())) {
    auto value = RelayoutRule(op, relayout, mesh).apply(*operand, cast<RankedTensorType>(result.getType()));
    if (failed(value))
      return failure();
    results.push_back(std::move(*value));
  }
  if (failed(checkResultTypes(op, results)))
    return failure();
  return results;
}
