//===- SettleAnnotations.cpp - Which plan has what annotations ask for ----===//

#include "PlacedValues.h"
#include "ShardingSpecs.h"

#include "para/IR/Program.h"
#include "para/Plan/Annotations.h"
#include "para/Plan/Recipes.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace para;

/// What of `asked` an annotated program does not have.
static std::map<std::string, std::string> findOthers(func::FuncOp main, const std::map<std::string, std::string> &asked) {
  PlacedValues placed(main);
  std::map<std::string, std::string> others;
  for (const auto &[name, text] : asked) {
    Value value = placed.getNames().find(name);
    if (!value)
      continue;
    Sharding there = placed.getValue(value), wanted = llvm::cantFail(parseConstraint(text)).apply(there, main.getContext());
    if (withoutMicrobatches(wanted, cast<RankedTensorType>(value.getType()), placed.getMesh()) != there)
      others[name] = text;
  }
  return others;
}

LogicalResult PlanAnnotations::dropVanished(func::FuncOp main) {
  NamedValues values(main);
  bool failed = false;
  for (auto *list : {&shards, &taken}) {
    std::map<std::string, std::string> kept;
    for (const auto &[name, text] : *list) {
      Value value = values.findTensor(name);
      if (!value)
        continue;
      if (values.find(name) == value) {
        kept[name] = text;
        continue;
      }
      // A node of the tensor's name makes something else.
      StringRef node = getNodeName(value.getDefiningOp()->getLoc());
      if (values.find(node) == value) {
        kept[node.str()] = text;
      } else {
        emitError(value.getLoc()) << "its output '" << name << "' has the name of another node, so that a sharding spec for it cannot be told apart";
        failed = true;
      }
    }
    *list = std::move(kept);
  }
  for (auto it = stages.begin(); it != stages.end();)
    it = values.getOps(it->first).empty() ? stages.erase(it) : std::next(it);
  return failure(failed);
}

LogicalResult PlanAnnotations::check(func::FuncOp main) const {
  PlacedValues placed(main);
  bool failed = false;
  for (const Use &use : uses) {
    Value value = placed.getNames().findTensor(use.value);
    std::optional<Sharding> there = value ? placed.getUse(use.made, value) : std::nullopt;
    auto argument = dyn_cast_or_null<BlockArgument>(value); // comes as it is kept, and the op may want it otherwise
    if (!there || *there == use.sharding || (argument && (placed.getArgument(argument) == use.sharding || placed.getValue(argument) == use.sharding)))
      continue;
    emitError(NameLoc::get(StringAttr::get(main.getContext(), use.node)))
        << "its sharding spec takes '" << use.tensor << "' as " << toText(use.sharding) << ", but by all other specs the node takes it as " << toText(*there);
    failed = true;
  }
  return failure(failed);
}

LogicalResult PlanAnnotations::settle(func::FuncOp main, int64_t microbatches, std::optional<bool> sequence) {
  if (failed(dropVanished(main)))
    return failure();
  imposed = shards;
  if (!isMeshFixed())
    return success();
  PlanRequest request;
  request.ranks = ranks;
  request.microbatches = microbatches;
  request.mesh = mesh;
  auto plan = makeMeshPlan(request);
  if (!plan)
    return main.emitError() << llvm::toString(plan.takeError());
  plan->stages = stages;
  if (sequence.value_or(false) && plan->tensor == 1)
    return main.emitError() << "--sequence-parallel contradicts the model's annotations, which have no tensor-parallel ranks";
  llvm::StringSet<> arguments;
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    arguments.insert(getArgName(main, index));
  std::map<std::string, std::string> all = taken;
  all.insert(shards.begin(), shards.end());

  // What comes out by itself is not asked for again, so that ZeRO may cut it further; else arguments are, then what ops make.
  struct Way {
    bool sequenceParallel;
    std::map<std::string, std::string> imposed;
  };
  std::map<std::string, std::string> others; // of the last attempt
  auto attempt = [&](const Way &way, const std::map<std::string, std::string> &asked) {
    OwningOpRef<ModuleOp> copy = main->getParentOfType<ModuleOp>().clone();
    auto step = copy->lookupSymbol<func::FuncOp>("main");
    plan->sequenceParallel = way.sequenceParallel;
    plan->shards = way.imposed;
    others.clear();
    if (failed(applyPlan(step, *plan)))
      return failure();
    others = findOthers(step, asked);
    return success(succeeded(check(step)) && others.empty());
  };
  auto settleOn = [&](const Way &way) {
    imposed = way.imposed;
    sequenceParallel = way.sequenceParallel;
    return success();
  };
  std::vector<std::pair<Way, const std::map<std::string, std::string> *>> left;
  {
    ScopedDiagnosticHandler quiet(main.getContext(), [](Diagnostic &) { return success(); });
    for (bool cutsRows : {false, true}) {
      if (cutsRows != sequence.value_or(cutsRows) || (cutsRows && plan->tensor == 1))
        continue;
      Way way{cutsRows, {}};
      if (succeeded(attempt(way, shards)))
        return settleOn(way);
      for (const auto &[name, text] : others)
        if (arguments.contains(name))
          way.imposed[name] = text;
      if (!way.imposed.empty() && succeeded(attempt(way, shards)))
        return settleOn(way);
      for (const auto *asked : {&shards, &all}) {
        Way forced = way;
        for (const auto &[name, text] : *asked)
          if (!arguments.contains(name))
            forced.imposed[name] = text;
        left.push_back({forced, asked});
      }
    }
    llvm::stable_sort(left, [&](const auto &a, const auto &b) { return a.second == &shards && b.second != &shards; });
    for (const auto &[way, asked] : left)
      if (succeeded(attempt(way, *asked)))
        return settleOn(way);
  }
  if (failed(attempt(left.front().first, shards)) && others.empty())
    return failure();
  for (const auto &[name, text] : others)
    main.emitError() << "the sharding specs of '" << name << "' ask for " << text << ", which no plan under the others has";
  return failure();
}

LogicalResult PlanAnnotations::refit(func::FuncOp main, Plan &plan) const {
  OwningOpRef<ModuleOp> copy = main->getParentOfType<ModuleOp>().clone();
  auto step = copy->lookupSymbol<func::FuncOp>("main");
  if (failed(applyPlan(step, plan)))
    return success(); // reported when it is applied
  {
    ScopedDiagnosticHandler quiet(main.getContext(), [](Diagnostic &) { return success(); });
    auto others = findOthers(step, shards); // of arguments, what ZeRO has cut further
    bool areMade = llvm::all_of(others, [&](const auto &entry) { return getArgIndex(main, entry.first) >= 0; });
    if (succeeded(check(step)) && areMade)
      return success();
  }
  if (!isMeshFixed())
    return check(step);
  PlanAnnotations again = *this;
  if (failed(again.settle(main, plan.microbatches, std::nullopt)))
    return failure();
  plan.shards.insert(again.imposed.begin(), again.imposed.end());
  plan.sequenceParallel = again.sequenceParallel;
  return success();
}
