#include "CutFinder.h"

#include "SequenceCuts.h"

#include "para/IR/Program.h"
#include "para/Plan/Plan.h"

using namespace mlir;
using namespace para;

namespace {
int64_t placeOf(const ValueFactors &dims, int factor) {
  for (auto [dim, factors] : llvm::enumerate(dims))
    if (llvm::is_contained(factors, factor))
      return int64_t(dim);
  return -1;
}

/// Experts are what a product has of a weight and of its other operand, and keeps: to each its own matrix.
class Finder : CutFinder {
public:
  Finder(func::FuncOp main, MeshAttr mesh) : CutFinder(main, mesh, mesh && mesh.getSize("expert") > 1 ? "expert" : "tensor") {}

  /// The fewest experts of a layer; 0 if there are none.
  int64_t count() {
    int64_t fewest = 0;
    forEachProduct([&](Operation *, const Structure &structure, unsigned, int factor) {
      int64_t size = structure.factors[factor].size;
      fewest = fewest ? std::min(fewest, size) : size;
    });
    return fewest;
  }

  std::map<unsigned, Sharding> run() {
    if (mesh.getSize(axis) == 1)
      return cuts;
    forEachProduct([&](Operation *op, const Structure &structure, unsigned weight, int factor) {
      cutAlong(op->getOperand(weight), placeOf(structure.operands[weight], factor), structure.factors[factor].size);
      follow(op->getOperand(1 - weight), placeOf(structure.operands[1 - weight], factor), structure.factors[factor].size);
    });
    if (!cuts.empty())
      adoptSmall();
    return cuts;
  }

private:
  /// The weight's place of a product of exactly one weight, or -1.
  int getWeight(Operation *op, const Structure &structure) {
    if (!SequenceCuts::isProduct(structure) || comesFromParameter(op->getOperand(0)) == comesFromParameter(op->getOperand(1)))
      return -1;
    return comesFromParameter(op->getOperand(1)) ? 1 : 0;
  }

  void forEachProduct(llvm::function_ref<void(Operation *, const Structure &, unsigned, int)> visit) {
    for (Operation &op : main.getBody().front().without_terminator()) {
      auto structured = getPhase(&op) == Phase::Forward ? dyn_cast<StructureOpInterface>(op) : StructureOpInterface();
      if (!structured)
        continue;
      Structure structure = structured.getStructure();
      int weight = getWeight(&op, structure);
      if (weight < 0)
        continue;
      for (auto [factor, facts] : llvm::enumerate(structure.factors))
        if (facts.kind == FactorKind::Parallel && facts.size > 1 && placeOf(structure.operands[0], factor) >= 0 && placeOf(structure.operands[1], factor) >= 0)
          visit(&op, structure, unsigned(weight), int(factor));
    }
  }

  /// Ranks of `tensor` have experts of their own where there are enough: exchanging tokens costs less than cutting small matrices. They
  /// come first, so that what is exchanged over `expert` stays cut over `tensor`.
  DimSharding getCut(int64_t experts) {
    DimSharding cut;
    for (StringRef name : {"tensor", "expert"})
      if (mesh.getSize(name) > 1 && (name == axis.getValue() || experts % (mesh.getSize("tensor") * mesh.getSize("expert")) == 0))
        cut.axes.push_back(StringAttr::get(main.getContext(), name));
    return cut;
  }

  void cutAlong(Value weight, int64_t dim, int64_t experts) {
    if (experts < mesh.getSize(axis) || (axis.getValue() == "tensor" && experts % mesh.getSize("tensor")))
      return;
    if (auto origin = trace(weight, dim, getCut(experts)))
      setCut(*origin);
  }

  /// Back along the experts' dimension to the products that have made it of a weight.
  void follow(Value value, int64_t dim, int64_t experts) {
    Operation *op = value.getDefiningOp();
    auto structured = op && seen.insert({value, dim}).second ? dyn_cast<StructureOpInterface>(op) : StructureOpInterface();
    if (!structured)
      return;
    Structure structure = structured.getStructure();
    const DimFactors &factors = structure.results[cast<OpResult>(value).getResultNumber()][dim];
    if (factors.size() != 1)
      return;
    int weight = getWeight(op, structure);
    if (weight >= 0 && placeOf(structure.operands[weight], factors[0]) >= 0)
      return cutAlong(op->getOperand(weight), placeOf(structure.operands[weight], factors[0]), experts);
    if (structure.factors[factors[0]].size != experts || SequenceCuts::isProduct(structure))
      return;
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      if (int64_t place = placeOf(structure.operands[index], factors[0]); place >= 0 && structure.operands[index][place].size() == 1)
        follow(operand, place, experts);
  }

  llvm::DenseSet<std::pair<Value, int64_t>> seen;
};
} // namespace

std::map<unsigned, Sharding> para::findExpertCuts(func::FuncOp main, MeshAttr mesh) { return Finder(main, mesh).run(); }
int64_t para::countExperts(func::FuncOp main) { return Finder(main, {}).count(); }
