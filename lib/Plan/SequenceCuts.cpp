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

bool SequenceCuts::feedsSum(Operation *op) {
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

void ContextRows::note(Value value, const Sharding &sharding) {
  if (getPhase(value.getDefiningOp()) != Phase::Forward || !sharding.isCut(axis))
    return;
  int64_t place = llvm::find_if(sharding.dims, [&](const DimSharding &dim) { return llvm::is_contained(dim.axes, axis); }) - sharding.dims.begin();
  auto [it, isNew] = places.try_emplace(value, place);
  if (isNew || it->second != place) {
    it->second = place;
    rowsOf.clear();
  }
  placesOfShape[typeOf(value).getShape().vec()].insert(place);
}

/// One operand, of which it passes sums on.
static bool isLinear(Operation *op) {
  auto structured = op && op->getNumOperands() == 1 && op->getNumResults() == 1 ? dyn_cast<StructureOpInterface>(op) : StructureOpInterface();
  return structured && structured.getStructure().linearity[0] == Linearity::Joint;
}

void ContextRows::noteUse(Operation *op, const Structure &structure, Value operand, const Sharding &is, const Sharding &wanted) {
  if (!SequenceCuts::isProduct(structure) || getPhase(op) != Phase::Forward || !is.isCut(axis) || wanted.isCut(axis))
    return;
  Value smallest = operand;
  for (Value value = operand; isLinear(value.getDefiningOp());) {
    value = value.getDefiningOp()->getOperand(0);
    if (typeOf(value).getNumElements() < typeOf(smallest).getNumElements())
      smallest = value;
  }
  if (smallest != operand && smallest.getDefiningOp())
    gathered.insert(smallest);
}

bool ContextRows::shrinksLater(Operation *op) {
  while (op->hasOneUse() && isLinear(*op->user_begin())) {
    Operation *user = *op->user_begin();
    if (typeOf(user->getResult(0)).getNumElements() < typeOf(op->getResult(0)).getNumElements())
      return true;
    op = user;
  }
  return false;
}

/// The dimension with the same major factor.
static std::optional<int64_t> findDim(const ValueFactors &dims, const DimFactors &like) {
  for (auto [dim, factors] : llvm::enumerate(dims))
    if (!factors.empty() && !like.empty() && factors.front() == like.front())
      return dim;
  return std::nullopt;
}

std::optional<int64_t> ContextRows::findRows(Operation *op, const Structure &structure) const {
  for (unsigned index : {0, 1}) {
    Value kept = op->getOperand(index), cotangent = op->getOperand(1 - index);
    for (OpOperand &use : kept.getUses()) {
      Operation *forward = use.getOwner();
      auto structured = dyn_cast<StructureOpInterface>(forward);
      if (!structured || getPhase(forward) != Phase::Forward || getNodeName(forward->getLoc()) != getNodeName(op->getLoc()))
        continue;
      Structure product = structured.getStructure();
      unsigned own = use.getOperandNumber();
      auto place = SequenceCuts::isProduct(product) ? places.find(forward->getOperand(1 - own)) : places.end();
      if (place == places.end() || forward->getNumResults() != 1 || forward->getResult(0).getType() != cotangent.getType())
        continue;
      // Rows that were summed over are those of the other factor; others came out in the result, and come back in its cotangent.
      const DimFactors &rows = product.operands[1 - own][place->second];
      std::optional<int64_t> found;
      if (auto dim = findDim(product.operands[own], rows))
        found = findDim(structure.results[0], structure.operands[index][*dim]);
      else if (auto dim = findDim(product.results[0], rows))
        found = findDim(structure.results[0], structure.operands[1 - index][*dim]);
      if (found)
        return found;
    }
  }
  return std::nullopt;
}

std::optional<int64_t> ContextRows::followRows(Operation *op) const {
  auto structured = dyn_cast_or_null<StructureOpInterface>(op);
  if (!structured || op->getNumResults() != 1 || getPhase(op) != Phase::Backward)
    return std::nullopt;
  if (auto it = rowsOf.find(op); it != rowsOf.end())
    return it->second;
  Structure structure = structured.getStructure();
  std::optional<int64_t> rows;
  if (SequenceCuts::isProduct(structure))
    rows = findRows(op, structure);
  else if (isLinear(op) || isSum(structure))
    for (OpOperand &operand : op->getOpOperands())
      if (auto dim = rows ? std::nullopt : followRows(operand.get().getDefiningOp()))
        rows = findDim(structure.results[0], structure.operands[operand.getOperandNumber()][*dim]);
  rowsOf[op] = rows;
  return rows;
}

std::optional<int64_t> ContextRows::findPlace(Operation *op) const {
  if (auto rows = followRows(op))
    return rows;
  std::vector<int64_t> shape = typeOf(op->getResult(0)).getShape().vec();
  auto it = placesOfShape.find(shape);
  if (it == placesOfShape.end() || it->second.size() > 1 || isOfParameter.count(shape))
    return std::nullopt;
  return *it->second.begin();
}

std::optional<Sharding> ContextRows::getTarget(Operation *op, const Structure &structure, const Sharding &sharding) const {
  if (op->getNumResults() != 1)
    return std::nullopt;
  RankedTensorType type = typeOf(op->getResult(0));
  Sharding target = sharding;
  if (gathered.contains(op->getResult(0)) && sharding.isCut(axis)) {
    for (DimSharding &dim : target.dims)
      llvm::erase(dim.axes, axis);
    return target.getCanonical(type, mesh);
  }
  bool makes = SequenceCuts::isProduct(structure) || isLinear(op);
  if (getPhase(op) != Phase::Backward || !sharding.isPartial(axis) || sharding.reduction != ReductionKind::Sum || !makes || SequenceCuts::feedsSum(op) || shrinksLater(op))
    return std::nullopt;
  std::optional<int64_t> place = findPlace(op);
  if (!place)
    return std::nullopt;
  target.removePartial(axis);
  target.dims[*place].axes.push_back(axis);
  return target.getCanonical(type, mesh);
}

ContextRows::ContextRows(func::FuncOp main, MeshAttr mesh) : mesh(mesh), axis(StringAttr::get(main.getContext(), "context")) {
  for (BlockArgument argument : main.getArguments())
    if (getArgKind(main, argument.getArgNumber()) == "parameter")
      isOfParameter.insert(typeOf(argument).getShape().vec());
}

void SequenceCuts::follow(Value value, int64_t dim, const DimSharding &cut, Walk &walk) {
  if (!walk.seen.insert({value, dim}).second)
    return;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    auto structured = dyn_cast<StructureOpInterface>(user);
    if (!structured || getPhase(user) != Phase::Forward)
      continue;
    Structure structure = structured.getStructure();
    if (isProduct(structure)) { // takes it whole
      ++walk.products;
      continue;
    }
    Projection projection(structure, mesh);
    const DimFactors &factors = structure.operands[use.getOperandNumber()][dim];
    auto lifted = projection.lift(factors, cut);
    if (!lifted || structure.factors[lifted->factor].kind == FactorKind::Whole) {
      ++walk.obstacles;
      if (factors.size() > 1 && walk.blocks == 0) {
        walk.blocks = 1;
        for (int factor : ArrayRef(factors).drop_back())
          walk.blocks *= structure.factors[factor].size;
      }
      continue;
    }
    if (structure.factors[lifted->factor].kind == FactorKind::Reduction) {
      walk.reduced = true;
      return;
    }
    for (const Projection::Outcome &outcome : projection.getOutcomes(*lifted))
      follow(user->getResult(outcome.result), outcome.dim, outcome.sharding, walk);
    if (walk.reduced)
      return;
  }
}

std::optional<SequenceCuts::Place> SequenceCuts::findPlace(Value value, const Sharding &sharding) {
  RankedTensorType type = typeOf(value);
  std::vector<int64_t> shape = type.getShape().vec();
  if (auto it = places.find(shape); it != places.end())
    return it->second;
  if (getPhase(value.getDefiningOp()) != Phase::Forward)
    return std::nullopt;
  std::optional<Place> best;
  std::tuple<int64_t, bool, bool, int64_t> least; // batch dimensions come first: of several the last is the sequence
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t more = 0;
    for (int64_t blocks = 1; blocks > 0; blocks = std::exchange(more, 0)) {
      Walk walk;
      follow(value, dim, {{tensor}, 1, blocks}, walk);
      if (blocks == 1)
        more = walk.blocks;
      std::tuple<int64_t, bool, bool, int64_t> cost = {walk.getHindrance(), !sharding.dims[dim].axes.empty(), shape[dim] / blocks < mesh.getSize(tensor), -dim};
      if (!walk.reduced && shape[dim] / blocks > 1 && (!best || cost < least)) {
        best = {dim, blocks};
        least = cost;
      }
    }
  }
  if (best)
    places[shape] = *best;
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
  auto place = findPlace(op->getResult(0), sharding);
  if (!place)
    return std::nullopt;
  Sharding target = sharding;
  target.removePartial(tensor);
  DimSharding &rows = target.dims[place->dim];
  if (rows.axes.empty())
    rows.blocks = place->blocks;
  rows.axes.push_back(tensor);
  return target.getCanonical(typeOf(op->getResult(0)), mesh);
}

void SequenceCuts::note(Operation *op, const Structure &structure, const Sharding &sharding) {
  bool follows = !isProduct(structure) && llvm::any_of(op->getOperands(), [&](Value operand) { return isCut(operand); });
  if (op->getNumResults() == 1 && sharding.isCut(tensor) && (op->hasAttr("para.target") || follows))
    cut.insert(op->getResult(0));
}
