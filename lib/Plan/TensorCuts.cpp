#include "CutFinder.h"
#include "SequenceCuts.h"

#include "para/IR/Program.h"
#include "para/Plan/Plan.h"

using namespace mlir;
using namespace para;

/// Ways of cutting the columns of one weight that are tried.
static constexpr size_t kMostAttempts = 8;

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

class Finder : CutFinder {
public:
  Finder(func::FuncOp main, MeshAttr mesh) : CutFinder(main, mesh, "tensor") {}

  std::map<unsigned, Sharding> run() {
    if (mesh.getSize(axis) == 1)
      return cuts;
    for (Operation &op : main.getBody().front().without_terminator())
      if (getPhase(&op) == Phase::Forward)
        visit(&op);
    adoptSmall();
    return cuts;
  }

private:
  /// Products of a weight decide; everything else passes on what its operands have.
  void visit(Operation *op) {
    auto structured = cast<StructureOpInterface>(op);
    Structure structure = structured.getStructure();
    Projection projection(structure, mesh);
    if (structure.operands.size() == 2 && structure.linearity[0] == Linearity::Alone && structure.linearity[1] == Linearity::Alone &&
        comesFromParameter(op->getOperand(1)) != comesFromParameter(op->getOperand(0))) {
      unsigned weight = comesFromParameter(op->getOperand(1)) ? 1 : 0;
      decide(op, structure, projection, weight);
      return;
    }
    pass(op, structure, projection);
  }

  /// What is known to be cut over `tensor` of a value.
  std::optional<std::pair<int64_t, DimSharding>> find(Value value) {
    auto it = known.find(value);
    return it == known.end() ? std::nullopt : std::optional(it->second);
  }

  void spread(Operation *op, const Structure &structure, const Projection &projection, int factor, FactorSplit split) {
    OpSplit cut;
    cut.factors.resize(structure.factors.size());
    cut.factors[factor] = split;
    for (auto [number, result] : llvm::enumerate(op->getResults()))
      for (auto [dim, factors] : llvm::enumerate(structure.results[number]))
        if (llvm::is_contained(factors, factor))
          known[result] = {int64_t(dim), projection.project(factors, cut)};
  }

  void pass(Operation *op, const Structure &structure, const Projection &projection) {
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      auto cut = find(operand);
      if (!cut)
        continue;
      auto lifted = projection.lift(structure.operands[index][cut->first], cut->second);
      if (lifted && structure.factors[lifted->factor].kind == FactorKind::Parallel) {
        spread(op, structure, projection, lifted->factor, lifted->split);
        return;
      }
    }
  }

  void decide(Operation *op, const Structure &structure, const Projection &projection, unsigned weight) {
    unsigned input = 1 - weight;
    if (auto cut = find(op->getOperand(input))) {
      auto lifted = projection.lift(structure.operands[input][cut->first], cut->second);
      if (lifted && structure.factors[lifted->factor].kind == FactorKind::Reduction) { // row-parallel
        cutWeight(op, structure, projection, weight, lifted->factor, lifted->split);
        return;
      }
    }
    for (auto [dim, factors] : llvm::enumerate(structure.operands[weight])) {
      for (int factor : factors) {
        bool own = structure.factors[factor].kind == FactorKind::Parallel &&
                   llvm::none_of(structure.operands[input], [&](const DimFactors &other) { return llvm::is_contained(other, factor); });
        if (!own || structure.factors[factor].size < mesh.getSize(axis))
          continue;
        if (auto start = findStart(op, structure, factor, typeOf(op->getOperand(input)).getNumElements())) {
          known[op->getResult(0)] = {placeOf(structure, factor), *start};
          if (auto origin = trace(op->getOperand(weight), dim, *start))
            setCut(*origin);
        }
        return;
      }
    }
  }

  /// Column-parallel, in the finest pieces that what follows can take: blocks and units as the dimensions have them that it becomes.
  std::optional<DimSharding> findStart(Operation *op, const Structure &structure, int factor, int64_t inputElements) {
    SmallVector<std::pair<int64_t, int64_t>> queue = {{1, 1}}, seen = queue; // units and blocks
    for (size_t next = 0; next < queue.size() && next < kMostAttempts; ++next) {
      Walk walk;
      DimSharding start{{axis}, queue[next].first, queue[next].second};
      follow(op->getResult(0), placeOf(structure, factor), start, walk, 0);
      // Without a second product nothing is saved of what is smaller than what it is made of: the scores of a router.
      bool saves = walk.contracts || typeOf(op->getResult(0)).getNumElements() >= inputElements;
      if (walk.good && !walk.finer && walk.ends && saves)
        return start;
      if (walk.finer)
        walk.others = {*walk.finer};
      for (Pieces more : walk.others) {
        std::pair pieces = {start.unit * more.larger / more.smaller, start.blocks * more.blocks};
        if (start.unit * more.larger % more.smaller || llvm::is_contained(seen, pieces))
          continue;
        seen.push_back(pieces);
        queue.push_back(pieces);
      }
    }
    return std::nullopt;
  }

  int64_t placeOf(const Structure &structure, int factor) {
    for (auto [dim, factors] : llvm::enumerate(structure.results[0]))
      if (llvm::is_contained(factors, factor))
        return dim;
    return -1;
  }

  void cutWeight(Operation *op, const Structure &structure, const Projection &projection, unsigned weight, int factor, FactorSplit split) {
    OpSplit cut;
    cut.factors.resize(structure.factors.size());
    cut.factors[factor] = split;
    for (auto [dim, factors] : llvm::enumerate(structure.operands[weight]))
      if (llvm::is_contained(factors, factor))
        if (auto origin = trace(op->getOperand(weight), dim, projection.project(factors, cut)))
          setCut(*origin);
  }

  struct Pieces { ///< by how much the unit is larger, and smaller, and by how much there are more blocks
    int64_t larger, smaller, blocks;
  };

  struct Walk {
    llvm::DenseSet<std::pair<Value, int64_t>> seen;
    std::optional<Pieces> finer; ///< what the cut must be to go on
    SmallVector<Pieces> others;  ///< what it may be instead: each of three ranks has a third of three blocks, or one of them
    bool good = true;            ///< nothing stands in the way
    bool ends = false;           ///< a contraction with a weight, or a reduction of what few values remain of, was met
    bool contracts = false;      ///< the former
  };

  /// Follows a cut dimension through the forward pass.
  void follow(Value value, int64_t dim, DimSharding cut, Walk &walk, int depth) {
    if (!walk.good || walk.finer || depth > 200 || !walk.seen.insert({value, dim}).second)
      return;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      auto structured = dyn_cast<StructureOpInterface>(user);
      if (!structured || getPhase(user) != Phase::Forward)
        continue;
      Structure structure = structured.getStructure();
      Projection projection(structure, mesh);
      const DimFactors &factors = structure.operands[use.getOperandNumber()][dim];
      auto lifted = projection.lift(factors, cut);
      if (!lifted) {
        walk.finer = refine(structure, factors, cut);
        walk.good = walk.finer.has_value();
        return;
      }
      const Factor &factor = structure.factors[lifted->factor];
      ArrayRef<int> behind = ArrayRef<int>(factors).drop_front(llvm::find(factors, lifted->factor) - factors.begin() + 1);
      if (auto other = behind.empty() ? std::nullopt : refine(structure, factors, cut, behind.front()))
        walk.others.push_back(*other);
      if (factor.kind == FactorKind::Whole) {
        walk.good = false;
        return;
      }
      if (factor.kind == FactorKind::Reduction) {
        walk.ends = true;
        walk.contracts |= SequenceCuts::isProduct(structure) && comesFromParameter(user->getOperand(1 - use.getOperandNumber()));
        continue;
      }
      for (const Projection::Outcome &outcome : projection.getOutcomes(*lifted))
        follow(user->getResult(outcome.result), outcome.dim, outcome.sharding, walk, depth + 1);
      if (!walk.good || walk.finer)
        return;
    }
  }

  /// A dimension of several factors: the cut goes to the first that can be cut, from `first` on if it is given, in units of what follows it and blocks
  /// of what comes before it.
  std::optional<Pieces> refine(const Structure &structure, const DimFactors &factors, const DimSharding &cut, std::optional<int> first = std::nullopt) {
    int64_t before = 1, total = 1;
    bool isOther = first.has_value();
    for (int factor : factors)
      total *= structure.factors[factor].size;
    for (int factor : factors) {
      int64_t size = structure.factors[factor].size, after = total / before / size;
      if (factor == first)
        first.reset();
      if (!first && structure.factors[factor].kind != FactorKind::Whole && before >= cut.blocks) {
        int64_t common = std::gcd(after, cut.unit);
        if (before % cut.blocks || (after == common && before == cut.blocks))
          break;
        return Pieces{after / common, isOther ? cut.unit / common : 1, before / cut.blocks};
      }
      before *= size;
    }
    return std::nullopt;
  }

  llvm::DenseMap<Value, std::pair<int64_t, DimSharding>> known;
};
} // namespace

std::map<unsigned, Sharding> para::findTensorCuts(func::FuncOp main, MeshAttr mesh) { return Finder(main, mesh).run(); }
