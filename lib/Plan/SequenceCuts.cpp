#include "SequenceCuts.h"

#include "para/IR/Program.h"
#include "para/Partition/Projection.h"

using namespace mlir;
using namespace para;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool SequenceCuts::isProduct(const Structure &structure) {
  return structure.operands.size() == 2 && llvm::all_of(structure.linearity, [](Linearity linearity) { return linearity == Linearity::Alone; }) &&
         llvm::any_of(structure.factors, [](const Factor &factor) { return factor.kind == FactorKind::Reduction; });
}

/// A sum of values, which passes what is unfinished in all of them.
static bool isSum(const Structure &structure) {
  return structure.operands.size() > 1 && llvm::all_of(structure.linearity, [](Linearity linearity) { return linearity == Linearity::Joint; });
}

/// Whether one sum of the backward pass takes all of it: the cotangents that meet there are finished together.
static bool feedsSum(Operation *op) {
  if (getPhase(op) != Phase::Backward || !op->hasOneUse())
    return false;
  auto user = dyn_cast<StructureOpInterface>(*op->user_begin());
  return user && getPhase(user) == Phase::Backward && isSum(user.getStructure());
}

/// Rows of a parameter picked by integers.
bool SequenceCuts::isLookup(Operation *op, const Structure &structure) {
  if (op->getNumOperands() != 2 || structure.linearity[0] == Linearity::None || structure.linearity[1] != Linearity::None || !typeOf(op->getOperand(1)).getElementType().isInteger())
    return false;
  auto argument = dyn_cast<BlockArgument>(op->getOperand(0));
  return argument && getArgKind(main, argument.getArgNumber()) == "parameter";
}

std::optional<int64_t> SequenceCuts::follow(Value value, int64_t dim, llvm::DenseSet<std::pair<Value, int64_t>> &seen) {
  if (!seen.insert({value, dim}).second)
    return 0;
  int64_t obstacles = 0;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    auto structured = dyn_cast<StructureOpInterface>(user);
    if (!structured || getPhase(user) != Phase::Forward)
      continue;
    Structure structure = structured.getStructure();
    if (isProduct(structure))
      continue; // takes it whole
    auto lifted = Projection(structure, mesh).lift(structure.operands[use.getOperandNumber()][dim], DimSharding{{tensor}, 1, 1});
    if (!lifted || structure.factors[lifted->factor].kind == FactorKind::Whole) {
      ++obstacles;
      continue;
    }
    if (structure.factors[lifted->factor].kind == FactorKind::Reduction)
      return std::nullopt;
    for (auto [number, result] : llvm::enumerate(user->getResults()))
      for (auto [place, factors] : llvm::enumerate(structure.results[number]))
        if (factors.size() == 1 && factors[0] == lifted->factor) {
          auto further = follow(result, place, seen);
          if (!further)
            return std::nullopt;
          obstacles += *further;
        }
  }
  return obstacles;
}

std::optional<int64_t> SequenceCuts::findDim(Value value, const Sharding &sharding) {
  RankedTensorType type = typeOf(value);
  std::vector<int64_t> shape = type.getShape().vec();
  if (auto it = dims.find(shape); it != dims.end())
    return it->second;
  if (getPhase(value.getDefiningOp()) != Phase::Forward)
    return std::nullopt;
  std::optional<int64_t> best;
  std::tuple<int64_t, bool, bool, int64_t> least; // batch dimensions come first: of several the last is the sequence
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (shape[dim] < 2)
      continue;
    llvm::DenseSet<std::pair<Value, int64_t>> seen;
    auto obstacles = follow(value, dim, seen);
    if (!obstacles)
      continue;
    std::tuple<int64_t, bool, bool, int64_t> cost = {*obstacles, !sharding.dims[dim].axes.empty(), shape[dim] < mesh.getSize(tensor), -dim};
    if (!best || cost < least) {
      best = dim;
      least = cost;
    }
  }
  if (best)
    dims[shape] = *best;
  return best;
}

std::optional<Sharding> SequenceCuts::getTarget(Operation *op, const Structure &structure, const Sharding &sharding) {
  if (op->getNumResults() != 1 || typeOf(op->getResult(0)).getRank() < 2 || !isa<FloatType>(typeOf(op->getResult(0)).getElementType()) || sharding.isCut(tensor))
    return std::nullopt;
  bool lookup = isLookup(op, structure);
  bool unfinished = sharding.isPartial(tensor) && sharding.reduction == ReductionKind::Sum;
  bool makes = isProduct(structure) || (getPhase(op) == Phase::Backward && isSum(structure));
  if (!lookup && (!unfinished || !makes || feedsSum(op)))
    return std::nullopt;
  if (llvm::any_of(sharding.partial, [&](Axis axis) { return axis != tensor; }))
    return std::nullopt;
  auto dim = findDim(op->getResult(0), sharding);
  if (!dim)
    return std::nullopt;
  Sharding target = sharding;
  target.removePartial(tensor);
  target.dims[*dim].axes.push_back(tensor);
  return target.getCanonical(typeOf(op->getResult(0)), mesh);
}

void SequenceCuts::note(Operation *op, const Structure &structure, const Sharding &sharding) {
  bool follows = !isProduct(structure) && llvm::any_of(op->getOperands(), [&](Value operand) { return isCut(operand); });
  if (op->getNumResults() == 1 && sharding.isCut(tensor) && (op->hasAttr("para.target") || follows))
    cut.insert(op->getResult(0));
}
