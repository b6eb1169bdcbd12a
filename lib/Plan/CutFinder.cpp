#include "CutFinder.h"

#include "para/IR/Program.h"
#include "para/Plan/Plan.h"

using namespace mlir;
using namespace para;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static void merge(std::optional<Origin> found, std::optional<Origin> &agreed, bool &all) {
  if (!found || (agreed && (agreed->dim != found->dim || agreed->cut != found->cut)))
    all = false;
  else
    agreed = found;
}

bool CutFinder::isParameter(BlockArgument argument) { return getArgKind(main, argument.getArgNumber()) == "parameter"; }

bool CutFinder::comesFromParameter(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() != 1 || typeOf(op->getOperand(0)).getNumElements() != typeOf(value).getNumElements())
      return false;
    value = op->getOperand(0);
  }
  return isParameter(cast<BlockArgument>(value));
}

std::optional<Origin> CutFinder::trace(Value value, int64_t dim, DimSharding cut) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return isParameter(argument) ? std::optional<Origin>({argument, cut, dim}) : std::nullopt;
    Operation *op = value.getDefiningOp();
    if (op->getNumOperands() != 1 || typeOf(op->getOperand(0)).getNumElements() != typeOf(value).getNumElements())
      return std::nullopt;
    Structure structure = cast<StructureOpInterface>(op).getStructure();
    Projection projection(structure, mesh);
    auto lifted = projection.lift(structure.results[0][dim], cut);
    if (!lifted)
      return std::nullopt;
    OpSplit split = projection.getSplit(*lifted);
    auto found = llvm::find_if(structure.operands[0], [&](const DimFactors &factors) { return llvm::is_contained(factors, lifted->factor); });
    if (found == structure.operands[0].end())
      return std::nullopt;
    dim = found - structure.operands[0].begin();
    cut = projection.project(*found, split);
    value = op->getOperand(0);
  }
}

void CutFinder::setCut(const Origin &origin) {
  Sharding sharding = Sharding::replicated(typeOf(origin.argument).getRank());
  sharding.dims[origin.dim] = origin.cut.getCanonical(typeOf(origin.argument).getDimSize(origin.dim), mesh);
  cuts.try_emplace(origin.argument.getArgNumber(), sharding);
}

void CutFinder::adoptSmall() {
  PropagationViews views;
  views.arguments = cuts;
  propagate(main, mesh, views);
  for (BlockArgument argument : main.getArguments()) {
    if (!isParameter(argument) || cuts.count(argument.getArgNumber()))
      continue;
    std::optional<Origin> agreed;
    bool all = true;
    followUses(argument, agreed, all);
    if (agreed && all)
      setCut(*agreed);
  }
}

void CutFinder::followUses(Value value, std::optional<Origin> &agreed, bool &all) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (!isa<StructureOpInterface>(user) || getPhase(user) != Phase::Forward)
      continue;
    Structure structure = cast<StructureOpInterface>(user).getStructure();
    Projection projection(structure, mesh);
    OpSplit split = OpSplit::get(user, structure);
    Sharding wanted = projection.getOperand(split, use.getOperandNumber());
    if (!wanted.isCut(axis)) {
      // A broadcast of a parameter is looked through: its use decides.
      if (user->getNumOperands() == 1 && user->getNumResults() == 1 && structure.linearity[0] == Linearity::Joint)
        followBroadcast(user, structure, projection, agreed, all);
      else
        all = false;
      continue;
    }
    for (auto [dim, cut] : llvm::enumerate(wanted.dims))
      if (llvm::is_contained(cut.axes, axis))
        merge(trace(use.get(), dim, cut), agreed, all);
  }
}

void CutFinder::followBroadcast(Operation *op, const Structure &structure, const Projection &projection, std::optional<Origin> &agreed, bool &all) {
  for (OpOperand &use : op->getResult(0).getUses()) {
    Operation *user = use.getOwner();
    if (!isa<StructureOpInterface>(user) || getPhase(user) != Phase::Forward)
      continue;
    Structure userStructure = cast<StructureOpInterface>(user).getStructure();
    OpSplit split = OpSplit::get(user, userStructure);
    Sharding wanted = Projection(userStructure, mesh).getOperand(split, use.getOperandNumber());
    bool found = false;
    for (auto [dim, cut] : llvm::enumerate(wanted.dims)) {
      if (!llvm::is_contained(cut.axes, axis))
        continue;
      auto lifted = projection.lift(structure.results[0][dim], cut);
      if (!lifted)
        continue;
      OpSplit own;
      own.factors.resize(structure.factors.size());
      own.factors[lifted->factor] = lifted->split;
      for (auto [place, factors] : llvm::enumerate(structure.operands[0]))
        if (llvm::is_contained(factors, lifted->factor)) {
          merge(trace(op->getOperand(0), place, projection.project(factors, own)), agreed, all);
          found = true;
        }
    }
    all &= found;
  }
}
