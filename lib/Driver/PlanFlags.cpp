#include "PlanFlags.h"

using namespace para;

static llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

llvm::Error para::addAsked(Plan &plan, const DriverOptions &options) {
  auto differ = [&](const llvm::Twine &what, const llvm::Twine &asked, const llvm::Twine &there) {
    return fail("--plan=" + options.plan + " has " + what + there + ", which contradicts the model's annotations ('" +
                options.configuration + "'): " + asked + "; --ignore-annotations leaves them out");
  };
  if (!options.configuration.empty()) {
    for (const auto &[name, size] : options.mesh)
      if (const PlanAxis *axis = findPlanAxis(name); (axis ? plan.*axis->size : 1) != size)
        return differ(name + "=", llvm::Twine(size), llvm::Twine(axis ? plan.*axis->size : 1));
    for (const auto &[name, text] : options.shards)
      if (auto it = plan.shards.find(name); it != plan.shards.end() && it->second != text)
        return differ("'" + name + "' as ", text, it->second);
    for (const auto &[node, stage] : options.stages)
      if (auto [it, isNew] = plan.stages.try_emplace(node, stage); !isNew && it->second != stage)
        return differ("'" + node + "' on stage ", llvm::Twine(stage), llvm::Twine(it->second));
  }
  for (const auto &[name, text] : options.shards) {
    if (std::string axis = findMissingAxis(plan, getShardAxes({{name, text}}), options.mesh); !axis.empty())
      return fail("--shard '" + name + "=" + text + "': the mesh (" + plan.getMeshText() + ") has no ranks of " + axis + " to cut it over: give some (--mesh " + axis + "=N), or leave the axis out");
    plan.shards[name] = text;
  }
  return llvm::Error::success();
}

llvm::Error para::checkAgainstFlags(const Plan &plan, const DriverOptions &options) {
  auto differ = [&](const llvm::Twine &flag, const llvm::Twine &asked, const llvm::Twine &there) {
    return fail(flag + "=" + asked + " contradicts --plan=" + options.plan + ", which has " + there + ": leave one of them out");
  };
  if (options.plan != "auto") {
    for (const auto &[name, size] : options.mesh)
      if (const PlanAxis *axis = findPlanAxis(name); (axis ? plan.*axis->size : 1) != size)
        return differ("--mesh " + name, llvm::Twine(size), llvm::Twine(axis ? plan.*axis->size : 1));
    if (options.microbatches > 0 && options.microbatches != plan.microbatches)
      return differ("--microbatches", llvm::Twine(options.microbatches), llvm::Twine(plan.microbatches));
    if (options.zero >= 0 && plan.getReplicas() > 1 && options.zero != plan.zero)
      return differ("--zero", llvm::Twine(options.zero), llvm::Twine(plan.zero));
    if (!options.recompute.empty() && options.recompute != "auto" && options.recompute != plan.recompute)
      return differ("--recompute", options.recompute, plan.recompute);
  }
  if (options.sequenceParallel && plan.tensor == 1)
    return fail("--sequence-parallel: the plan has no tensor-parallel ranks (--plan=tensor, or --mesh tensor=N with N > 1)");
  if (options.sequenceParallel && !plan.sequenceParallel)
    return fail("--sequence-parallel contradicts --plan=" + options.plan + ", which has none: leave one of them out");
  return llvm::Error::success();
}

llvm::Error para::checkBatch(const std::optional<Plan> &plan, const DriverOptions &options, int64_t batch) {
  int64_t microbatches = plan ? plan->microbatches : options.microbatches;
  if (microbatches <= batch)
    return llvm::Error::success();
  std::string whose = plan ? "--plan=" + options.plan + " has " + std::to_string(microbatches) + " microbatches" : "--microbatches " + std::to_string(microbatches);
  return fail(whose + ": a batch of " + llvm::Twine(batch) + " cannot run in so many; at most " + llvm::Twine(batch) + ", or a larger batch (--dim batch=N)");
}
