//===- SettleAnnotations.cpp - Which plan has what annotations ask for ----===//

#include "PlacedValues.h"
#include "ShardingSpecs.h"

#include "para/IR/Program.h"
#include "para/Plan/Annotations.h"
#include "para/Plan/Recipes.h"

using namespace mlir;
using namespace para;

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
    // A parameter that is kept as asked is whole where its owner axis is the batch's.
    if (!there || *there == use.sharding || (isa<BlockArgument>(value) && placed.getValue(value) == use.sharding))
      continue;
    emitError(NameLoc::get(StringAttr::get(main.getContext(), use.node)))
        << "its sharding spec takes '" << use.tensor << "' as " << toText(use.sharding) << ", but by all other specs the node takes it as " << toText(*there);
    failed = true;
  }
  return failure(failed);
}

LogicalResult PlanAnnotations::settle(func::FuncOp main, std::optional<bool> sequence) {
  if (failed(dropVanished(main)))
    return failure();
  if (!isMeshFixed())
    return success();
  PlanRequest request;
  request.ranks = ranks;
  request.mesh = mesh;
  auto plan = makeMeshPlan(request);
  if (!plan)
    return main.emitError() << llvm::toString(plan.takeError());
  plan->stages = stages;
  std::map<std::string, std::string> all = taken;
  all.insert(shards.begin(), shards.end());
  std::vector<Plan> ways;
  for (bool cutsRows : {false, true}) {
    plan->sequenceParallel = cutsRows;
    if (cutsRows != sequence.value_or(cutsRows) || (cutsRows && plan->tensor == 1))
      continue;
    for (const auto *asked : {&shards, &all}) {
      if (asked == &all && taken.empty())
        continue;
      plan->shards = *asked;
      ways.push_back(*plan);
    }
  }
  auto attempt = [&](const Plan &way) {
    OwningOpRef<ModuleOp> copy = main->getParentOfType<ModuleOp>().clone();
    auto step = copy->lookupSymbol<func::FuncOp>("main");
    return success(succeeded(applyPlan(step, way)) && succeeded(check(step)));
  };
  for (const Plan &way : ways) {
    ScopedDiagnosticHandler quiet(main.getContext(), [](Diagnostic &) { return success(); });
    if (succeeded(attempt(way))) {
      shards = way.shards;
      sequenceParallel = way.sequenceParallel;
      return success();
    }
  }
  return ways.empty() ? failure() : attempt(ways.front());
}
