//===- ComputeRule.cpp - Ops that compute, on parts of their operands -----===//
#include "Rules.h"

#include "para/IR/Program.h"
#include "para/IR/Sharding.h"
#include "para/Interfaces/Structure.h"

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallSet.h"

#include <map>

using namespace mlir;
using namespace para;

namespace {
class ComputeRule {
public:
  ComputeRule(Operation *local, Operation *serial, ArrayRef<const LocalValue *> operands, MeshAttr mesh)
      : local(local), serial(serial), operands(operands), mesh(mesh), structure(cast<StructureOpInterface>(serial).getStructure()),
        cuts(structure.factors.size()), owners(structure.factors.size(), -1), isElementwise(serial->hasTrait<OpTrait::Elementwise>()) {
    structure.linearity.resize(operands.size(), Linearity::None);
  }

  FailureOr<LocalValues> run() {
    if (failed(checkAttributes(local, serial)) || failed(checkOperands()) || failed(liftOperands()) || failed(checkDescription()) ||
        failed(checkFactors()) || failed(passPartials()) || failed(checkPadding()))
      return failure();
    LocalValues results;
    for (unsigned index = 0; index < serial->getNumResults(); ++index) {
      auto result = getResult(index);
      if (failed(result))
        return failure();
      results.push_back(std::move(*result));
    }
    if (failed(checkResultTypes(local, results)) || failed(checkLoops()))
      return failure();
    return results;
  }

private:
  LogicalResult checkOperands() {
    if (local->getNumOperands() != serial->getNumOperands() || local->getNumResults() != serial->getNumResults())
      return local->emitError() << "has another number of operands or results than the serial op";
    for (auto [index, operand, whole] : llvm::enumerate(operands, serial->getOperands())) {
      if (operand->serial != whole)
        return local->emitError() << "operand " << index << " is a part of " << describeSerial(operand->serial) << " where the serial op takes "
                                  << describeSerial(whole);
      if (ArrayRef<int64_t>(operand->shape) != cast<RankedTensorType>(whole.getType()).getShape())
        return local->emitError() << "operand " << index << " is used in another shape than its own";
    }
    return success();
  }

  /// Which cut of which factor the cut of a dimension is.
  LogicalResult liftOperands() {
    for (auto [index, operand] : llvm::enumerate(operands))
      for (auto [dim, factors] : llvm::enumerate(structure.operands[index]))
        if (failed(lift(index, dim, factors, operand->cuts[dim])))
          return failure();
    return success();
  }

  /// The cuts of a dimension's loops, in their order, that its cut is; empty if it is none.
  SmallVector<Cut> getLoopCuts(const DimFactors &factors, const Cut &cut) {
    SmallVector<Cut> lifted(factors.size());
    int64_t before = 1;
    for (auto [place, factor] : llvm::enumerate(factors)) {
      int64_t after = getExtent(ArrayRef(factors).drop_front(place + 1));
      int64_t size = structure.factors[factor].size;
      // Blocks are single elements of the loops before this one, or equal parts of it.
      int64_t inner = cut.blocks % before ? 0 : cut.blocks / before;
      bool begins = inner == 1 || (inner > 1 && inner < size && size % inner == 0);
      if (begins && after > 0 && llvm::all_of(cut.levels, [&](const Cut::Level &level) { return level.piece % after == 0; })) {
        lifted[place].blocks = inner;
        for (const Cut::Level &level : cut.levels)
          lifted[place].levels.push_back({level.axis, level.piece / after});
        return lifted;
      }
      before *= size;
    }
    // Pieces of single elements of a loop are cut once more along the next one.
    size_t next = 0;
    for (auto [place, factor] : llvm::enumerate(factors)) {
      int64_t after = getExtent(ArrayRef(factors).drop_front(place + 1));
      while (next < cut.levels.size() && after > 0 && cut.levels[next].piece % after == 0 && (lifted[place].levels.empty() || lifted[place].levels.back().piece > 1)) {
        lifted[place].levels.push_back({cut.levels[next].axis, cut.levels[next].piece / after});
        ++next;
      }
      if (next == cut.levels.size() && cut.blocks == 1)
        return lifted;
      if (lifted[place].levels.empty() && structure.factors[factor].size == 1)
        continue;
      if (lifted[place].levels.empty() || lifted[place].levels.back().piece != 1)
        break;
    }
    return {};
  }

  LogicalResult lift(unsigned index, unsigned dim, const DimFactors &factors, const Cut &cut) {
    if (factors.empty() && isElementwise)
      return liftSingle(index, dim, cut);
    SmallVector<Cut> lifted(factors.size());
    if (!cut.levels.empty()) {
      lifted = getLoopCuts(factors, cut);
      if (lifted.empty())
        return local->emitError() << "operand " << index << " is " << cut.describe() << " in dimension " << dim << ", which cuts none of the op's loops";
    }
    for (auto [factor, own] : llvm::zip(factors, lifted)) {
      if (!own.levels.empty() && structure.factors[factor].kind == FactorKind::Whole)
        return needsWhole(index, cut);
      if (owners[factor] < 0) {
        owners[factor] = index;
        cuts[factor] = own;
      } else if (cuts[factor] != own) {
        if (own.levels.empty())
          return needsWhole(owners[factor], cuts[factor]);
        if (cuts[factor].levels.empty())
          return needsWhole(index, own);
        return local->emitError() << "operand " << owners[factor] << " is " << cuts[factor].describe() << " where operand " << index << " is "
                                  << own.describe();
      }
    }
    return success();
  }

  /// A dimension of one element has no loop. An elementwise op computes that element where it is, and elsewhere padding: the result is cut likewise.
  LogicalResult liftSingle(unsigned index, unsigned dim, const Cut &cut) {
    auto [known, isFirst] = singles.try_emplace(dim, Single{index, cut});
    const Single &told = known->second;
    if (!isFirst && told.cut != cut)
      return told.cut.levels.empty() ? needsWhole(index, cut) : needsWhole(told.operand, told.cut);
    return success();
  }

  int64_t getExtent(ArrayRef<int> factors) {
    int64_t extent = 1;
    for (int factor : factors)
      extent *= structure.factors[factor].size;
    return extent;
  }

  LogicalResult needsWhole(int index, const Cut &cut) {
    SmallVector<StringAttr> axes = llvm::map_to_vector(cut.levels, [](const Cut::Level &level) { return level.axis; });
    return local->emitError() << "operand " << index << " is cut over " << describeAxes(axes) << " where the op needs all of it";
  }

  /// An op that speaks of global coordinates says how the factor that it counts along is cut.
  LogicalResult checkDescription() {
    auto axes = local->getAttrOfType<ArrayAttr>("axes");
    if (!axes && !serial->hasAttr("axes"))
      return success();
    int described = findDescribedFactor();
    Cut said;
    if (axes && !axes.empty()) {
      auto size = local->getAttrOfType<IntegerAttr>("size"), unit = local->getAttrOfType<IntegerAttr>("unit");
      auto names = llvm::map_to_vector(axes, [](Attribute axis) { return cast<StringAttr>(axis).getValue(); });
      std::optional<Cut> read;
      if (described >= 0 && size && unit && size.getInt() == structure.factors[described].size)
        read = Cut::read(size.getInt(), names, unit.getInt(), 1, mesh);
      if (!read)
        return local->emitError() << "describes a shard of something else than its loop";
      said = *read;
    }
    if (described < 0)
      return success();
    if (owners[described] < 0) {
      cuts[described] = said;
      owners[described] = int(operands.size());
      return success();
    }
    if (cuts[described] != said)
      return local->emitError() << "says that its shard is " << said.describe() << " where it is " << cuts[described].describe();
    return success();
  }

  /// The op itself knows which of its factors it would describe: each is told to it in turn.
  int findDescribedFactor() {
    Operation *probe = serial->clone();
    Builder builder(local->getContext());
    ArrayAttr mark = builder.getStrArrayAttr({"?"});
    int found = -1;
    for (unsigned factor = 0; factor < structure.factors.size() && found < 0; ++factor) {
      cast<StructureOpInterface>(serial).describeShard(probe, factor, mark, 1, 1);
      if (probe->getAttr("axes") == mark)
        found = factor;
    }
    probe->destroy();
    return found;
  }

  /// An axis is used once: the coordinate of a rank picks one range of one loop.
  LogicalResult checkFactors() {
    llvm::SmallSet<StringRef, 4> used;
    SmallVector<Cut> all(cuts.begin(), cuts.end());
    for (const auto &[dim, single] : singles)
      all.push_back(single.cut);
    for (const Cut &cut : all)
      for (const Cut::Level &level : cut.levels)
        if (!used.insert(level.axis.getValue()).second)
          return local->emitError() << "the axis " << level.axis.getValue() << " cuts two loops of the op at once";
    for (const LocalValue *operand : operands)
      for (StringAttr axis : operand->partial)
        if (used.contains(axis.getValue()))
          return local->emitError() << "one operand is an unfinished " << stringifyReductionKind(operand->reduction) << " over " << axis.getValue()
                                    << ", which cuts another";
    return success();
  }

  /// Parts of a sum pass through an op that is linear in what is unfinished.
  LogicalResult passPartials() {
    llvm::SmallSetVector<StringAttr, 2> axes;
    for (const LocalValue *operand : operands)
      axes.insert(operand->partial.begin(), operand->partial.end());
    for (StringAttr axis : axes) {
      SmallVector<unsigned> unfinished, joint;
      for (unsigned index = 0; index < operands.size(); ++index) {
        if (structure.linearity[index] == Linearity::Joint)
          joint.push_back(index);
        if (!operands[index]->isPartial(axis.getValue()))
          continue;
        if (operands[index]->reduction != ReductionKind::Sum || structure.linearity[index] == Linearity::None)
          return local->emitError() << "operand " << index << " is an unfinished " << stringifyReductionKind(operands[index]->reduction) << " over "
                                    << axis.getValue() << " where the op needs the whole";
        unfinished.push_back(index);
      }
      bool alone = unfinished.size() == 1 && structure.linearity[unfinished[0]] == Linearity::Alone;
      if (!alone && unfinished != joint)
        return local->emitError() << "operand " << unfinished[0] << " is an unfinished sum over " << axis.getValue()
                                  << (unfinished.size() == 1 ? " and the others are whole" : " together with a factor of it");
      partial.push_back(axis);
    }
    return success();
  }

  LogicalResult checkPadding() {
    for (auto [index, operand] : llvm::enumerate(operands))
      for (auto [dim, factors] : llvm::enumerate(structure.operands[index]))
        for (int factor : factors) {
          const Factor &loop = structure.factors[factor];
          if (loop.kind != FactorKind::Reduction || !loop.readsPadding || !cuts[factor].isPadded(loop.size, mesh))
            continue;
          if (operand->filled[dim] != loop.reduction)
            return local->emitError() << "operand " << index << " has padding in dimension " << dim << " that takes part in a "
                                      << stringifyReductionKind(loop.reduction);
        }
    return success();
  }

  FailureOr<LocalValue> getResult(unsigned index) {
    LocalValue result = LocalValue::whole(serial->getResult(index), getChunkPhase(local));
    for (const auto &[dim, single] : singles)
      result.cuts[dim] = single.cut;
    for (auto [dim, factors] : llvm::enumerate(structure.results[index])) {
      int64_t before = 1;
      Cut &whole = result.cuts[dim];
      for (auto [place, factor] : llvm::enumerate(factors)) {
        int64_t after = getExtent(ArrayRef(factors).drop_front(place + 1));
        if (!cuts[factor].levels.empty()) {
          // A second loop is cut within what the first leaves of all its own elements: a single one.
          bool isWithin = !whole.levels.empty() && whole.blocks == 1 && cuts[factor].blocks == 1 && whole.levels.back().piece == structure.factors[factor].size * after;
          if (!whole.levels.empty() && !isWithin)
            return local->emitError() << "two loops of dimension " << dim << " of result " << index << " are cut";
          if (whole.levels.empty())
            whole.blocks = before * cuts[factor].blocks;
          for (const Cut::Level &level : cuts[factor].levels)
            whole.levels.push_back({level.axis, level.piece * after});
        }
        before *= structure.factors[factor].size;
      }
    }
    for (StringAttr axis : partial)
      result.addPartial(axis);
    bool varies = false;
    for (auto [factor, cut] : llvm::zip(structure.factors, cuts)) {
      if (factor.kind != FactorKind::Reduction)
        continue;
      for (const Cut::Level &level : cut.levels) {
        if (isLocal(level.axis)) {
          varies = true;
          continue;
        }
        assert((result.partial.empty() || result.reduction == factor.reduction) && "an op that is linear sums, and has one reduction");
        result.reduction = factor.reduction;
        result.addPartial(level.axis);
      }
    }
    // What differs from microbatch to microbatch goes with the rows of its microbatch, or with its terms of a sum.
    varies |= llvm::any_of(operands, [](const LocalValue *operand) { return operand->varies; });
    result.varies = varies && !result.isCut(kMicrobatch) && !result.isPartial(kMicrobatch);
    return result;
  }

  /// Whether @main itself says that a reduction is of each microbatch alone.
  bool isLocal(StringAttr axis) {
    auto axes = serial->getAttrOfType<ArrayAttr>("para.local");
    return axes && axis.getValue() == kMicrobatch && llvm::is_contained(axes, Attribute(axis));
  }

  /// The local op has the same loops, each as long as its piece: attributes that speak of sizes must have followed.
  LogicalResult checkLoops() {
    Structure own = cast<StructureOpInterface>(local).getStructure();
    SmallVector<int> names(structure.factors.size(), -1);
    auto matches = [&](const ValueFactors &whole, const ValueFactors &part) {
      for (auto [wholeDim, partDim] : llvm::zip_equal(whole, part)) {
        auto kept = llvm::make_filter_range(wholeDim, [&](int factor) { return localSize(factor) != 1; });
        auto it = partDim.begin();
        for (int factor : kept) {
          if (it == partDim.end())
            return false;
          int other = *it++;
          if (names[factor] < 0)
            names[factor] = other;
          const Factor &a = structure.factors[factor], &b = own.factors[other];
          if (names[factor] != other || localSize(factor) != b.size || a.kind != b.kind || a.reduction != b.reduction)
            return false;
        }
        if (it != partDim.end())
          return false;
      }
      return true;
    };
    for (auto [whole, part] : llvm::zip_equal(structure.operands, own.operands))
      if (!matches(whole, part))
        return local->emitError("has other loops on its parts than the serial op");
    for (auto [whole, part] : llvm::zip_equal(structure.results, own.results))
      if (!matches(whole, part))
        return local->emitError("has other loops on its parts than the serial op");
    return success();
  }
  int64_t localSize(int factor) { return cuts[factor].getLocalSize(structure.factors[factor].size); }

  Operation *local, *serial;
  ArrayRef<const LocalValue *> operands;
  MeshAttr mesh;
  Structure structure;
  std::vector<Cut> cuts;   ///< of each factor
  SmallVector<int> owners; ///< the operand that told it
  bool isElementwise;
  struct Single {
    unsigned operand; ///< that told it
    Cut cut;
  };
  std::map<unsigned, Single> singles; ///< of an elementwise op, of each dimension of one element
  SmallVector<StringAttr> partial;
};
} // namespace

FailureOr<LocalValues> para::applyCompute(Operation *local, Operation *serial, ArrayRef<const LocalValue *> operands, MeshAttr mesh) {
  if (local->getName() != serial->getName() || !isa<StructureOpInterface>(serial))
    return local->emitError() << "is said to be a part of a " << serial->getName();
  return ComputeRule(local, serial, operands, mesh).run();
}
