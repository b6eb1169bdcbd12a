#include "para/IR/Program.h"
#include "para/Partition/Projection.h"
#include "para/Plan/Plan.h"

using namespace mlir;
using namespace para;

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// A dimension of an argument that a dimension of a value comes from, through ops that only move elements.
struct Origin {
  BlockArgument argument;
  DimSharding cut;
  int64_t dim;
};

class Finder {
public:
  Finder(func::FuncOp main, MeshAttr mesh) : main(main), mesh(mesh), tensor(StringAttr::get(main.getContext(), "tensor")) {}

  std::map<unsigned, Sharding> run() {
    if (mesh.getSize(tensor) == 1)
      return cuts;
    for (Operation &op : main.getBody().front().without_terminator())
      if (getPhase(&op) == Phase::Forward)
        visit(&op);
    adoptSmall();
    return cuts;
  }

private:
  bool isParameter(BlockArgument argument) { return getArgKind(main, argument.getArgNumber()) == "parameter"; }

  std::optional<Origin> trace(Value value, int64_t dim, DimSharding cut) {
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

  bool comesFromParameter(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (op->getNumOperands() != 1 || typeOf(op->getOperand(0)).getNumElements() != typeOf(value).getNumElements())
        return false;
      value = op->getOperand(0);
    }
    return isParameter(cast<BlockArgument>(value));
  }

  void setCut(const Origin &origin) {
    Sharding sharding = Sharding::replicated(typeOf(origin.argument).getRank());
    sharding.dims[origin.dim] = origin.cut.getCanonical(typeOf(origin.argument).getDimSize(origin.dim), mesh);
    cuts.try_emplace(origin.argument.getArgNumber(), sharding);
  }

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
        if (!own || structure.factors[factor].size < mesh.getSize(tensor))
          continue;
        // Column-parallel, in the finest pieces that what follows can take.
        FactorSplit split{{tensor}, 1};
        int64_t blocks = 1;
        for (int attempt = 0; attempt < 4; ++attempt) {
          Walk walk{{}, 1, 1, true, false};
          DimSharding start{{tensor}, split.unit, blocks};
          auto result = placeOf(structure, factor);
          follow(op->getResult(0), result, start, walk, 0);
          if (walk.unit == 1 && walk.blocks == 1) {
            if (walk.good && walk.ends) {
              known[op->getResult(0)] = {result, start};
              if (auto origin = trace(op->getOperand(weight), dim, start))
                setCut(*origin);
            }
            return;
          }
          split.unit *= walk.unit;
          blocks *= walk.blocks;
        }
      }
    }
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

  struct Walk {
    llvm::DenseSet<std::pair<Value, int64_t>> seen;
    int64_t unit, blocks; ///< by how much coarser the cut must be to go on
    bool good;            ///< nothing stands in the way
    bool ends;            ///< a contraction with a weight, or a reduction of what few values remain of, was met
  };

  /// Follows a cut dimension through the forward pass.
  void follow(Value value, int64_t dim, DimSharding cut, Walk &walk, int depth) {
    if (!walk.good || walk.unit != 1 || walk.blocks != 1 || depth > 200 || !walk.seen.insert({value, dim}).second)
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
        refine(structure, factors, cut, walk);
        return;
      }
      const Factor &factor = structure.factors[lifted->factor];
      if (factor.kind == FactorKind::Whole) {
        walk.good = false;
        return;
      }
      if (factor.kind == FactorKind::Reduction) {
        walk.ends = true;
        continue;
      }
      for (const Projection::Outcome &outcome : projection.getOutcomes(*lifted))
        follow(user->getResult(outcome.result), outcome.dim, outcome.sharding, walk, depth + 1);
      if (!walk.good || walk.unit != 1 || walk.blocks != 1)
        return;
    }
  }

  /// A dimension of several factors: the cut goes to the first that can be cut, in units of what follows it.
  void refine(const Structure &structure, const DimFactors &factors, const DimSharding &cut, Walk &walk) {
    int64_t before = 1, total = 1;
    for (int factor : factors)
      total *= structure.factors[factor].size;
    for (int factor : factors) {
      int64_t size = structure.factors[factor].size, after = total / before / size;
      if (structure.factors[factor].kind != FactorKind::Whole && before >= cut.blocks) {
        int64_t unit = after / std::gcd(after, cut.unit);
        if (before % cut.blocks || (unit == 1 && before == cut.blocks))
          break;
        walk.unit = unit;
        walk.blocks = before / cut.blocks;
        return;
      }
      before *= size;
    }
    walk.good = false;
  }

  /// Parameters without a decision (biases, scales) are cut as their first use is.
  void adoptSmall() {
    PropagationViews views;
    views.arguments = cuts;
    propagate(main, mesh, views);
    for (BlockArgument argument : main.getArguments()) {
      if (!isParameter(argument) || cuts.count(argument.getArgNumber()))
        continue;
      std::optional<Origin> agreed;
      bool all = true;
      followUses(argument, agreed, all, argument);
      if (agreed && all)
        setCut(*agreed);
    }
  }

  void followUses(Value value, std::optional<Origin> &agreed, bool &all, BlockArgument argument) {
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (!isa<StructureOpInterface>(user) || getPhase(user) != Phase::Forward)
        continue;
      Structure structure = cast<StructureOpInterface>(user).getStructure();
      Projection projection(structure, mesh);
      OpSplit split = OpSplit::get(user, structure);
      Sharding wanted = projection.getOperand(split, use.getOperandNumber());
      if (!wanted.isCut(tensor)) {
        // A broadcast of a parameter is looked through: its use decides.
        if (user->getNumOperands() == 1 && user->getNumResults() == 1 && structure.linearity[0] == Linearity::Joint)
          followBroadcast(user, structure, projection, agreed, all, argument);
        else
          all = false;
        continue;
      }
      for (auto [dim, cut] : llvm::enumerate(wanted.dims))
        if (llvm::is_contained(cut.axes, tensor))
          merge(trace(use.get(), dim, cut), agreed, all);
    }
  }

  void followBroadcast(Operation *op, const Structure &structure, const Projection &projection, std::optional<Origin> &agreed, bool &all, BlockArgument argument) {
    for (OpOperand &use : op->getResult(0).getUses()) {
      Operation *user = use.getOwner();
      if (!isa<StructureOpInterface>(user) || getPhase(user) != Phase::Forward)
        continue;
      Structure userStructure = cast<StructureOpInterface>(user).getStructure();
      OpSplit split = OpSplit::get(user, userStructure);
      Sharding wanted = Projection(userStructure, mesh).getOperand(split, use.getOperandNumber());
      bool found = false;
      for (auto [dim, cut] : llvm::enumerate(wanted.dims)) {
        if (!llvm::is_contained(cut.axes, tensor))
          continue;
        auto lifted = projection.lift(structure.results[0][dim], DimSharding{{tensor}, cut.unit, cut.blocks});
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

  static void merge(std::optional<Origin> found, std::optional<Origin> &agreed, bool &all) {
    if (!found || (agreed && (agreed->dim != found->dim || agreed->cut != found->cut)))
      all = false;
    else
      agreed = found;
  }

  func::FuncOp main;
  MeshAttr mesh;
  StringAttr tensor;
  std::map<unsigned, Sharding> cuts;
  llvm::DenseMap<Value, std::pair<int64_t, DimSharding>> known;
};
} // namespace

std::map<unsigned, Sharding> para::findTensorCuts(func::FuncOp main, MeshAttr mesh) { return Finder(main, mesh).run(); }
