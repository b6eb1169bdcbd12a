#include "para/IR/Program.h"
#include "para/Interfaces/Precision.h"
#include "para/Partition/Projection.h"
#include "para/Plan/NamedValues.h"
#include "para/Plan/Plan.h"
#include "para/Schedule/Schedule.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace para;

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Cuts one more dimension by `axis`: the one that leaves least on a rank; as it was if none does.
Sharding cutFurther(Sharding sharding, RankedTensorType type, Axis axis, MeshAttr mesh) {
  Sharding best = sharding;
  int64_t least = sharding.getLocalType(type, mesh).getNumElements();
  for (size_t dim = 0; dim < sharding.dims.size(); ++dim) {
    Sharding candidate = sharding;
    candidate.dims[dim].axes.push_back(axis);
    int64_t elements = candidate.getLocalType(type, mesh).getNumElements();
    if (elements < least) {
      least = elements;
      best = candidate;
    }
  }
  return best;
}

/// As a parameter is used that is kept as `kept`: whole over replicas.
Sharding gather(Sharding kept, RankedTensorType type, MeshAttr mesh) {
  for (DimSharding &dim : kept.dims)
    llvm::erase_if(dim.axes, [](Axis axis) { return isGatheredAxis(axis.getValue()); });
  return kept.getCanonical(type, mesh);
}

class Applier {
public:
  Applier(func::FuncOp main, const Plan &plan) : main(main), plan(plan), ctx(main.getContext()), mesh(plan.getMesh(ctx)) {}

  LogicalResult run() {
    main->getParentOfType<ModuleOp>()->setAttr("para.mesh", mesh);
    placeStages();
    if (failed(assignStages(main, plan.getNumStages(), plan.stages)))
      return failure();
    std::map<unsigned, Sharding> cuts = findTensorCuts(main, mesh);
    if (plan.sequenceParallel && cuts.empty())
      return main.emitError() << "has no product that is cut over `tensor`, between which a sequence could be: give --mesh tensor=N, or leave --sequence-parallel out";
    std::map<unsigned, Sharding> experts = findExpertCuts(main, mesh);
    if (plan.expert > 1 && experts.empty()) {
      int64_t most = countExperts(main);
      InFlightDiagnostic error = main.emitError();
      if (most == 0)
        return error << "has no layer with one weight for several experts, which `expert` could cut: give these ranks to another axis (--mesh data=N)";
      return error << "has " << most << " experts in a layer, too few for " << plan.expert << " ranks of `expert`: give it fewer, and the others to data (--mesh expert=N,data=M)";
    }
    for (auto &[index, sharding] : experts) // which are cut within as far as their number is not cut over `tensor`, too
      if (auto it = cuts.find(index); !sharding.isCut("tensor") && it != cuts.end() && it->second.dims.size() == sharding.dims.size())
        for (auto [dim, cut] : llvm::zip_equal(sharding.dims, it->second.dims))
          dim = dim.axes.empty() ? cut : dim;
    for (const auto &[index, sharding] : experts)
      cuts.insert_or_assign(index, sharding);
    if (plan.context > 1)
      sequences = findSequenceDims(main, mesh);
    if (plan.context > 1 && sequences.empty())
      return main.emitError() << "has no input with a dimension that is a sequence of at least " << plan.context << ", which `context` could cut: leave --mesh context out";
    if (failed(readConstraints()))
      return failure();
    for (BlockArgument argument : main.getArguments())
      setArgument(argument, cuts);
    findGradients();
    views.sequenceParallel = plan.sequenceParallel;
    llvm::DenseMap<Value, Sharding> shardings = propagate(main, mesh, views);
    if (plan.sequenceParallel && failed(checkSequence(shardings)))
      return failure();
    markCopies();
    return markRecomputed(main, plan, shardings);
  }

private:
  /// Says where stages lie if there are more than ranks.
  void placeStages() {
    ModuleOp module = main->getParentOfType<ModuleOp>();
    module->removeAttr("para.places");
    Schedule schedule = llvm::cantFail(makeSchedule(plan.schedule, plan.pipeline, plan.microbatches)); // the name was checked
    SmallVector<int64_t> places;
    for (int64_t stage = 0; stage < plan.getNumStages(); ++stage)
      places.push_back(schedule.getPlace(stage).first);
    if (plan.getNumStages() > plan.pipeline)
      module->setAttr("para.places", DenseI64ArrayAttr::get(ctx, places));
  }

  /// Finds the values that are asked for.
  LogicalResult readConstraints() {
    NamedValues values(main);
    for (const auto &[name, text] : plan.shards) {
      auto constraint = parseConstraint(text);
      if (!constraint)
        return main.emitError() << "--shard " << name << ": " << llvm::toString(constraint.takeError());
      Value value = values.find(name);
      if (!value && isa_and_nonnull<BlockArgument>(values.find(StringRef(name).rsplit('/').first)))
        continue; // the state of a parameter that is not trained here
      if (!value)
        return main.emitError() << "--shard " << name << ": the model has no parameter, input or node of that name";
      if (llvm::Error error = constraint->check(typeOf(value)))
        return main.emitError() << "--shard " << name << "=" << text << ": " << llvm::toString(std::move(error));
      auto argument = dyn_cast<BlockArgument>(value);
      bool isInput = argument && getArgKind(main, argument.getArgNumber()) == "input";
      if (isInput && llvm::any_of(constraint->dims, [](const auto &cut) { return cut && cut->blocks > 1; }))
        return main.emitError() << "--shard " << name << "=" << text << ": data are given to ranks in one piece each, and blocks of an input cannot be cut: leave the number of blocks out";
      if (argument)
        arguments[argument.getArgNumber()] = *constraint;
      else
        views.constraints[value.getDefiningOp()] = *constraint;
    }
    return success();
  }

  /// Some sum over `tensor` of the forward pass ends in cut rows, else the plan says what is not so.
  LogicalResult checkSequence(const llvm::DenseMap<Value, Sharding> &shardings) {
    Operation *whole = nullptr;
    for (Operation &op : main.getBody().front().without_terminator()) {
      if (getPhase(&op) != Phase::Forward || op.getNumResults() != 1)
        continue;
      if (op.hasAttr("para.target"))
        return success();
      auto it = shardings.find(op.getResult(0));
      if (!whole && it != shardings.end() && it->second.isPartial("tensor"))
        whole = &op;
    }
    InFlightDiagnostic error = whole ? whole->emitError() : main.emitError();
    return error << "has no dimension that may stay cut over `tensor` up to the next product: leave --sequence-parallel out";
  }

  /// Those of the named axes that cut anything; microbatches and `data` always.
  Axes getAxes(ArrayRef<StringRef> names) const {
    Axes axes;
    for (StringRef name : names)
      if (mesh.getSize(name) > 1 || name == kMicrobatch || name == "data")
        axes.push_back(StringAttr::get(ctx, name));
    return axes;
  }

  void setArgument(BlockArgument argument, const std::map<unsigned, Sharding> &cuts) {
    unsigned index = argument.getArgNumber();
    StringRef kind = getArgKind(main, index);
    RankedTensorType type = typeOf(argument);
    Sharding rest = Sharding::replicated(type.getRank());
    auto asked = arguments.find(index);
    auto ask = [&](const Sharding &sharding) { return asked == arguments.end() ? sharding : asked->second.apply(sharding, ctx).getCanonical(type, mesh); };
    if (kind == "input") {
      auto batch = main.getArgAttrOfType<IntegerAttr>(index, "para.batch_dim");
      if (batch && type.getDimSize(batch.getInt()) > 1) // one sample has no loop to be cut: all ranks take it, and nobody sends it
        rest.dims[batch.getInt()].axes = getAxes({kMicrobatch, "data", "expert"});
      if (auto it = sequences.find(index); it != sequences.end())
        rest.dims[it->second].axes = getAxes({"context"});
      rest = ask(rest.getCanonical(type, mesh));
      views.arguments[index] = rest;
    } else if (kind == "parameter") {
      if (auto it = cuts.find(index); it != cuts.end())
        rest = it->second;
      rest = ask(rest);
      Sharding used = gather(rest, type, mesh);
      views.arguments[index] = used;
      bool trained = bool(main.getArgAttr(index, "para.trainable"));
      Sharding owned = rest;
      if (asked == arguments.end())
        for (StringRef axis : getReplicaAxes())
          if (mesh.getSize(axis) > 1 && !rest.isCut(axis))
            owned = cutFurther(owned, type, StringAttr::get(ctx, axis), mesh);
      if (trained)
        owners[getArgName(main, index)] = plan.zero >= 1 ? owned : rest;
      SmallVector<Operation *> copies = plan.zero == 1 || plan.zero == 2 ? findNarrowCopies(argument) : SmallVector<Operation *>();
      if (trained && (plan.zero >= 3 || !copies.empty()))
        rest = owned;
      Sharding kept = rest.getCanonical(type, mesh);
      if (kept != views.arguments[index]) {
        for (Operation *copy : copies)
          copy->setAttr("para.phase", PhaseAttr::get(ctx, Phase::Setup));
        if (copies.empty())
          gathered.insert(argument);
        if (trained) // the update has its part and takes no more of it, as weight decay does
          views.updateViews[argument] = kept;
      }
      main.removeArgAttr(index, "para.used");
      if (used != gather(rest, type, mesh)) // `expert`, which cuts experts in use, and others between steps only
        main.setArgAttr(index, "para.used", used.getAttr(ctx));
    } else if (kind == "state") {
      if (auto of = main.getArgAttrOfType<StringAttr>(index, "para.state_of"))
        if (auto it = owners.find(of.getValue()); it != owners.end() && it->second.dims.size() == rest.dims.size())
          rest = it->second;
      rest = ask(rest);
      views.arguments[index] = rest;
    }
    main.setArgAttr(index, "para.sharding", rest.getCanonical(type, mesh).getAttr(ctx));
  }

  /// The roundings of a master of which the step, but for the update, takes nothing else, and each on one stage: they are gathered once a
  /// step instead of the master after it.
  static SmallVector<Operation *> findNarrowCopies(BlockArgument argument) {
    SmallVector<Operation *> copies;
    for (Operation *user : argument.getUsers()) {
      if (getPhase(user) == Phase::Update && !user->hasTrait<OpTrait::IsTerminator>())
        continue;
      bool rounds = getPrecisionRule(user) == PrecisionRule::Converts && isNarrow(user->getResult(0).getType()) && !isNarrow(argument.getType());
      auto isHere = [&](Operation *other) { return !other->hasTrait<OpTrait::IsTerminator>() && other->getAttr("para.stage") == user->getAttr("para.stage"); };
      if (!rounds || !llvm::all_of(user->getUsers(), isHere))
        return {};
      copies.push_back(user);
    }
    return copies;
  }

  /// The gradient of a parameter is what its update takes from before the update phase, of the parameter's shape. All of the update
  /// sees it in the sharding of the optimizer's state; from ZeRO-2 on it has it from where it is made.
  void findGradients() {
    for (auto [index, result] : llvm::enumerate(getResults(main))) {
      auto target = main.getResultAttrOfType<StringAttr>(index, "para.updates");
      auto owner = target ? owners.find(target.getValue()) : owners.end();
      if (owner == owners.end())
        continue;
      SmallVector<Value> work = {result.value};
      llvm::DenseSet<Value> seen;
      while (!work.empty()) {
        Value value = work.pop_back_val();
        Operation *op = value.getDefiningOp();
        // By scalars (the norm) all parameters are tied to each other; those of a scalar parameter are its own, or whole as it is.
        bool ties = typeOf(value).getRank() == 0 && typeOf(result.value).getRank() > 0;
        if (!op || !seen.insert(value).second || ties)
          continue;
        if (getPhase(op) == Phase::Update) {
          llvm::append_range(work, op->getOperands());
          continue;
        }
        if (typeOf(value).getShape() != typeOf(result.value).getShape())
          continue;
        Sharding sharding = owner->second.getCanonical(typeOf(value), mesh);
        views.updateViews[value] = sharding;
        if (plan.zero >= 2 && op->getNumResults() == 1)
          op->setAttr("para.target", sharding.getAttr(ctx));
      }
    }
  }

  /// What holds no more than gathered parameters moved, cast or scaled is not kept for the backward pass, which would keep them whole, but
  /// made again from a gather of its own.
  void markCopies() {
    llvm::DenseSet<Value> copies(gathered);
    for (Operation &op : main.getBody().front().without_terminator()) {
      auto structured = dyn_cast<StructureOpInterface>(op);
      if (!structured || getPhase(&op) != Phase::Forward || !isMemoryEffectFree(&op))
        continue;
      auto isConstant = [](Value value) { return value.getDefiningOp() && value.getDefiningOp()->getNumOperands() == 0; };
      bool any = llvm::any_of(op.getOperands(), [&](Value operand) { return copies.contains(operand); });
      bool all = llvm::all_of(op.getOperands(), [&](Value operand) { return copies.contains(operand) || isConstant(operand); });
      bool sums = llvm::any_of(structured.getStructure().factors, [](const Factor &factor) { return factor.kind == FactorKind::Reduction; });
      if (!any || !all || sums)
        continue;
      copies.insert_range(op.getResults());
      op.setAttr("para.recompute", UnitAttr::get(ctx));
    }
  }

  func::FuncOp main;
  const Plan &plan;
  MLIRContext *ctx;
  MeshAttr mesh;
  PropagationViews views;
  std::map<unsigned, int64_t> sequences; ///< dimensions of inputs that `context` cuts
  std::map<unsigned, Constraint> arguments; ///< what is asked of them
  llvm::StringMap<Sharding> owners;
  llvm::DenseSet<Value> gathered; ///< parameters that a rank has a part of and uses whole
};
} // namespace

LogicalResult para::applyPlan(func::FuncOp main, const Plan &plan) {
  main.walk([](Operation *op) {
    for (StringRef name : {"para.split", "para.partial_operand", "para.local", "para.target", "para.stage", "para.recompute", "para.regather"})
      op->removeAttr(name);
    if (getPhase(op) == Phase::Setup) // a copy that an earlier plan gathered once a step
      op->setAttr("para.phase", PhaseAttr::get(op->getContext(), getMarkedPhase(op->getLoc()).value_or(Phase::Forward)));
  });
  return Applier(main, plan).run();
}
