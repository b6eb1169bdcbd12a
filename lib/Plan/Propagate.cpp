#include "SequenceCuts.h"

#include "para/IR/Program.h"
#include "para/Partition/Projection.h"
#include "para/Partition/Reshard.h"
#include "para/Plan/Plan.h"

using namespace mlir;
using namespace para;

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

// Relative weights of a reference device, used only to compare splits of one op: 100 Gflop/s, 10 GB/s of memory, 2 GB/s of
// network for each GB/s of a host core. The planner prices whole plans by the machine itself.
constexpr double kSecondsPerFlop = 1e-11, kSecondsPerByte = 1e-10, kSecondsPerSentByte = 5e-10;
/// Bytes for which rows rather go to experts than experts' matrices to rows: more than there are.
constexpr double kExpertsStay = 1e12;

class Propagator {
public:
  Propagator(func::FuncOp main, MeshAttr mesh, const PropagationViews &views) : main(main), mesh(mesh), views(views), reshards(mesh) {}

  llvm::DenseMap<Value, Sharding> run() {
    if (mesh.getSize("context") > 1)
      context.emplace(main, mesh);
    if (views.sequenceParallel && mesh.getSize("tensor") > 1)
      rows.emplace(main, mesh);
    if (rows || context)
      pass(); // finds dimensions and places, which hold for all of the program in the second round
    if (rows)
      rows->restart();
    for (Operation *op : targeted)
      op->removeAttr("para.target");
    if (context && !rows && !context->foundAny() && targeted.empty())
      return std::move(shardings);
    pass();
    return std::move(shardings);
  }

private:
  void pass() {
    shardings.clear();
    moved.clear();
    for (BlockArgument argument : main.getArguments()) {
      auto it = views.arguments.find(argument.getArgNumber());
      shardings[argument] = it != views.arguments.end() ? it->second : Sharding::replicated(typeOf(argument).getRank());
    }
    for (Operation &op : main.getBody().front().without_terminator())
      visit(&op);
  }

  struct Proposal {
    int factor;
    FactorSplit split;
    int64_t bytes; ///< of the operand that makes it
  };

  Sharding getView(Operation *user, Value value) {
    if (getPhase(user) == Phase::Update) {
      auto it = views.updateViews.find(value);
      if (it != views.updateViews.end())
        return it->second;
    }
    Sharding sharding = shardings[value];
    Sharding finished = sharding;
    finished.partial.clear();
    if (sharding.partial.empty() || !isThere(user, value, finished))
      return sharding;
    if (sharding.isPartial(kMicrobatch))
      finished.addPartial(StringAttr::get(main.getContext(), kMicrobatch));
    return finished; // a sum that an op before has had finished
  }

  void visit(Operation *op) {
    auto structured = dyn_cast<StructureOpInterface>(op);
    if (!structured)
      return;
    Structure structure = structured.getStructure();
    Projection projection(structure, mesh);
    SmallVector<Sharding> operands;
    SmallVector<SmallVector<Proposal>> proposals;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      operands.push_back(getView(op, operand));
      proposals.push_back(propose(structure, projection, index, operands.back(), operand));
      if (rows && rows->isCut(operand) && SequenceCuts::isProduct(structure))
        dropTensor(proposals.back());
    }
    OpSplit best = choose(op, structure, projection, operands, proposals);
    addPartials(op, structure, operands, best);
    best.annotate(op);
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      Sharding wanted = projection.getOperand(best, index);
      Sharding from = operands[index];
      wanted.removePartial(kMicrobatch);
      from.removePartial(kMicrobatch);
      if (wanted != from && wanted.partial.empty() && !isThere(op, operand, wanted))
        moved[operand].push_back({op, wanted});
    }
    if (context)
      for (auto [index, operand] : llvm::enumerate(op->getOperands()))
        context->noteUse(op, structure, operand, operands[index], projection.getOperand(best, index));
    for (auto [index, result] : llvm::enumerate(op->getResults()))
      shardings[result] = projection.getResult(best, index).getCanonical(typeOf(result), mesh);
    if (rows && op->getNumResults() == 1 && !op->hasAttr("para.target"))
      if (auto target = rows->getTarget(op, structure, shardings[op->getResult(0)])) {
        op->setAttr("para.target", target->getAttr(op->getContext()));
        targeted.push_back(op);
      }
    if (context && op->getNumResults() == 1 && !op->hasAttr("para.target"))
      if (auto target = context->getTarget(op, structure, shardings[op->getResult(0)])) {
        op->setAttr("para.target", target->getAttr(op->getContext()));
        targeted.push_back(op);
      }
    if (auto it = views.constraints.find(op); it != views.constraints.end()) {
      Sharding wanted = it->second.apply(shardings[op->getResult(0)], op->getContext()).getCanonical(typeOf(op->getResult(0)), mesh);
      Sharding made = shardings[op->getResult(0)];
      wanted.removePartial(kMicrobatch);
      made.removePartial(kMicrobatch);
      if (wanted != made || op->hasAttr("para.target"))
        op->setAttr("para.target", wanted.getAttr(op->getContext()));
    }
    if (auto target = op->getAttrOfType<ShardingAttr>("para.target")) {
      Sharding sharding = Sharding::get(target);
      if (shardings[op->getResult(0)].isPartial(kMicrobatch))
        sharding.addPartial(StringAttr::get(op->getContext(), kMicrobatch));
      shardings[op->getResult(0)] = sharding;
    }
    if (rows && op->getNumResults() == 1)
      rows->note(op, structure, shardings[op->getResult(0)]);
    if (context)
      for (Value result : op->getResults())
        context->note(result, shardings[result]);
  }

  static void dropTensor(SmallVector<Proposal> &proposals) {
    for (Proposal &proposal : proposals) // what is cut over other axes, too, stays cut over those before
      proposal.split.axes.erase(llvm::find_if(proposal.split.axes, [](Axis axis) { return axis.getValue() == "tensor"; }), proposal.split.axes.end());
    llvm::erase_if(proposals, [](const Proposal &proposal) { return proposal.split.axes.empty(); });
  }

  SmallVector<Proposal> propose(const Structure &structure, const Projection &projection, unsigned index, const Sharding &sharding, Value operand) {
    SmallVector<Proposal> result;
    RankedTensorType type = typeOf(operand);
    int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    for (auto [factors, cut] : llvm::zip(structure.operands[index], sharding.dims)) {
      for (const Projection::Lifted &lifted : projection.liftAll(factors, cut))
        if (structure.factors[lifted.factor].kind != FactorKind::Whole)
          result.push_back({lifted.factor, lifted.split, bytes});
    }
    return result;
  }

  /// Adds what fits: a factor is cut once, an axis cuts one factor, and the cuts of a dimension's factors are one of the dimension. Of the
  /// axes of a proposal those before the first that is taken are a coarser cut, which may fit.
  static void merge(const Structure &structure, const Projection &projection, OpSplit &split, ArrayRef<Proposal> proposals) {
    for (const Proposal &proposal : proposals) {
      if (!split.factors[proposal.factor].axes.empty())
        continue;
      OpSplit wider = split;
      FactorSplit &cut = wider.factors[proposal.factor] = proposal.split;
      cut.axes.erase(llvm::find_if(cut.axes, [&](Axis axis) { return isUsed(split, axis); }), cut.axes.end());
      auto fits = [&](const DimFactors &factors) { return projection.canBeCut(factors, wider); };
      bool all = !cut.axes.empty();
      for (const auto &values : {structure.operands, structure.results})
        for (const ValueFactors &value : values)
          all &= llvm::all_of(value, fits);
      if (all)
        split = wider;
    }
  }

  double price(Operation *op, const Structure &structure, const Projection &projection, ArrayRef<Sharding> operands, const OpSplit &split) {
    double pieces = 1, sent = 0;
    for (auto [factor, cut] : llvm::zip(structure.factors, split.factors)) {
      int64_t units = factor.size / cut.blocks / cut.unit, local = units;
      for (Axis axis : cut.axes)
        local = llvm::divideCeil(local, mesh.getSize(axis));
      pieces *= double(units) / double(std::max<int64_t>(local, 1));
    }
    auto structured = cast<StructureOpInterface>(op);
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      Sharding from = operands[index], wanted = projection.getOperand(split, index);
      // What stays partial by linearity is decided later and costs nothing here.
      for (Axis axis : from.partial)
        if (structure.linearity[index] != Linearity::None && !isUsed(split, axis))
          wanted.addPartial(axis);
      from.removePartial(kMicrobatch);
      wanted.removePartial(kMicrobatch);
      bool isThere = this->isThere(op, operand, wanted);
      if (gathersExperts(operand, from, wanted))
        sent += kExpertsStay;
      if (isThere)
        continue;
      const auto &path = reshards.find(typeOf(operand), from, wanted);
      sent += path ? double(path->bytes) : 1e30;
    }
    for (auto [index, result] : llvm::enumerate(op->getResults())) {
      Sharding sharding = projection.getResult(split, index);
      sharding.removePartial(kMicrobatch);
      double bytes = double(sharding.getLocalType(typeOf(result), mesh).getNumElements()) * 4;
      for (Axis axis : sharding.partial)
        sent += 2.0 * bytes * double(mesh.getSize(axis) - 1) / double(mesh.getSize(axis));
    }
    return (structured.getFlops() * kSecondsPerFlop + structured.getBytesMoved() * kSecondsPerByte) / pieces + sent * kSecondsPerSentByte;
  }

  /// Whether an op before `op` has wanted it so. What has been moved stays there for its stage; of arguments, for its phase.
  bool isThere(Operation *op, Value value, const Sharding &wanted) const {
    auto it = moved.find(value);
    return it != moved.end() && llvm::any_of(it->second, [&](const std::pair<Operation *, Sharding> &other) {
      return other.second == wanted && getStage(other.first) == getStage(op) && (value.getDefiningOp() || getPhase(other.first) == getPhase(op));
    });
  }
  static int64_t getStage(Operation *op) {
    auto stage = op->getAttrOfType<IntegerAttr>("para.stage");
    return stage ? stage.getInt() : 0;
  }

  /// A parameter that is cut over `expert` is to leave the rank.
  bool gathersExperts(Value value, const Sharding &from, const Sharding &wanted) {
    Axis expert = StringAttr::get(main.getContext(), "expert");
    if (!from.isCut(expert) || wanted.isCut(expert))
      return false;
    while (Operation *op = value.getDefiningOp()) {
      if (op->getNumOperands() != 1)
        return false;
      value = op->getOperand(0);
    }
    return getArgKind(main, cast<BlockArgument>(value).getArgNumber()) == "parameter";
  }

  OpSplit choose(Operation *op, const Structure &structure, const Projection &projection, ArrayRef<Sharding> operands,
                 ArrayRef<SmallVector<Proposal>> proposals) {
    OpSplit none;
    none.factors.resize(structure.factors.size());
    // Each operand once has the first word; then the others in the order of their size.
    SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, proposals.size()));
    llvm::stable_sort(order, [&](unsigned a, unsigned b) {
      int64_t x = proposals[a].empty() ? 0 : proposals[a][0].bytes, y = proposals[b].empty() ? 0 : proposals[b][0].bytes;
      return x > y;
    });
    SmallVector<OpSplit> candidates;
    auto add = [&](ArrayRef<SmallVector<Proposal>> proposals) {
      for (unsigned first : order) {
        OpSplit split = none;
        merge(structure, projection, split, proposals[first]);
        for (unsigned other : order)
          merge(structure, projection, split, proposals[other]);
        if (llvm::none_of(candidates, [&](const OpSplit &seen) { return seen.factors == split.factors; }))
          candidates.push_back(split);
      }
    };
    add(proposals);
    bool sums = llvm::any_of(candidates, [&](const OpSplit &split) { return projection.getResult(split, 0).isPartial("tensor"); });
    if (rows && sums) { // or rows are brought together, where their sum is larger (the gradient of a table)
      SmallVector<SmallVector<Proposal>> whole(proposals);
      for (auto [index, operand] : llvm::enumerate(op->getOperands()))
        if (rows->isCut(operand))
          dropTensor(whole[index]);
      add(whole);
    }
    if (candidates.empty())
      return none;
    if (candidates.size() == 1)
      return candidates[0];
    double least = 0;
    const OpSplit *best = nullptr;
    for (const OpSplit &candidate : candidates) {
      double seconds = price(op, structure, projection, operands, candidate);
      if (!best || seconds < least) {
        least = seconds;
        best = &candidate;
      }
    }
    return *best;
  }

  /// Lets sums that are not finished pass through linear ops as long as that costs nothing; over microbatches, always.
  void addPartials(Operation *op, const Structure &structure, ArrayRef<Sharding> operands, OpSplit &split) {
    SmallVector<unsigned> joint;
    for (auto [index, linearity] : llvm::enumerate(structure.linearity))
      if (linearity == Linearity::Joint)
        joint.push_back(index);
    for (auto [index, sharding] : llvm::enumerate(operands)) {
      if (sharding.partial.empty() || sharding.reduction != ReductionKind::Sum || structure.linearity[index] == Linearity::None)
        continue;
      bool cheap = typeOf(op->getResult(0)).getNumElements() <= typeOf(op->getOperand(index)).getNumElements() &&
                   cast<StructureOpInterface>(op).getFlops() <= 2.0 * double(typeOf(op->getOperand(index)).getNumElements());
      for (Axis axis : sharding.partial) {
        if (!cheap && axis.getValue() != kMicrobatch)
          continue;
        if (llvm::is_contained(split.partial, axis) || isUsed(split, axis))
          continue;
        if (structure.linearity[index] == Linearity::Joint) {
          bool all = llvm::all_of(joint, [&](unsigned other) { return operands[other].isPartial(axis) && operands[other].reduction == ReductionKind::Sum; });
          if (all && split.partialOperand < 0)
            split.partial.push_back(axis);
          continue;
        }
        // An operand in which the op is not linear is finished before it is used, whatever it is now.
        bool alone = true;
        for (auto [other, otherSharding] : llvm::enumerate(operands))
          alone &= other == index || structure.linearity[other] == Linearity::None || !otherSharding.isPartial(axis);
        if (alone && (split.partial.empty() || split.partialOperand == int(index))) {
          split.partial.push_back(axis);
          split.partialOperand = index;
        }
      }
    }
    llvm::sort(split.partial, [](Axis a, Axis b) { return a.getValue() < b.getValue(); });
  }

  static bool isUsed(const OpSplit &split, Axis axis) {
    return llvm::any_of(split.factors, [&](const FactorSplit &factor) { return llvm::is_contained(factor.axes, axis); });
  }

  func::FuncOp main;
  MeshAttr mesh;
  const PropagationViews &views;
  ReshardFinder reshards;
  llvm::DenseMap<Value, Sharding> shardings;
  llvm::DenseMap<Value, SmallVector<std::pair<Operation *, Sharding>, 2>> moved; ///< what ops so far have wanted of it besides
  std::optional<SequenceCuts> rows; ///< under sequence parallelism
  std::optional<ContextRows> context;
  SmallVector<Operation *> targeted;
};
} // namespace

llvm::DenseMap<Value, Sharding> para::propagate(func::FuncOp main, MeshAttr mesh, const PropagationViews &views) {
  return Propagator(main, mesh, views).run();
}
