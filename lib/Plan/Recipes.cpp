#include "para/Plan/Recipes.h"
#include "para/Cost/Machine.h"

#include "llvm/ADT/StringExtras.h"

using namespace para;

namespace {
llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

/// A recipe gives all ranks to one axis.
struct Recipe {
  llvm::StringRef name;
  int64_t Plan::*axis;
  int zero;
  bool buckets;
  bool fillsPipeline; ///< several microbatches keep the stages busy
};
const Recipe kRecipes[] = {
    {"data-parallel", &Plan::data, 0, false, false}, {"ddp", &Plan::data, 0, true, false},    {"zero1", &Plan::data, 1, true, false},
    {"zero2", &Plan::data, 2, true, false},          {"zero3", &Plan::data, 3, true, false},  {"tensor", &Plan::tensor, 0, true, false},
    {"pipeline", &Plan::pipeline, 0, true, true},    {"model-parallel", &Plan::pipeline, 0, true, false},
};

/// Enough microbatches to fill the pipeline twice over, of equal size where the batch allows it.
int64_t chooseMicrobatches(const PlanRequest &request, int64_t stages, int64_t data) {
  if (request.microbatches)
    return request.microbatches;
  if (stages == 1 || !request.separable || !request.train)
    return 1;
  int64_t rows = std::max<int64_t>(1, request.batch / data), most = std::min<int64_t>(rows, 4 * stages);
  for (int64_t m = most; m >= std::min<int64_t>(stages, most); --m)
    if (request.batch % m == 0)
      return m;
  return most;
}

void setRecompute(Plan &plan, llvm::StringRef recompute) {
  plan.recompute = recompute.str();
  if (recompute != "none")
    plan.recipe += " + " + plan.recompute + " recomputation";
}

/// What the request fixes of what every plan may have.
void finish(Plan &plan, const PlanRequest &request) {
  plan.shards = request.shards;
  plan.stages = request.stages;
  if (request.sequenceParallel && plan.tensor > 1) {
    plan.sequenceParallel = true;
    plan.recipe += " + sequence";
  }
  if (request.train && !request.recompute.empty() && request.recompute != "auto")
    setRecompute(plan, request.recompute);
}

} // namespace

std::string para::nameOf(const Plan &plan) {
  llvm::SmallVector<std::string> parts;
  if (plan.data > 1)
    parts.push_back(plan.zero ? "zero" + std::to_string(plan.zero) : "ddp");
  if (plan.tensor > 1)
    parts.push_back("tensor");
  if (plan.pipeline > 1)
    parts.push_back(plan.microbatches > 1 ? plan.schedule : "model-parallel");
  return parts.empty() ? "serial" : llvm::join(parts, " x ");
}

llvm::ArrayRef<llvm::StringRef> para::getRecipeNames() {
  static const auto names = llvm::map_to_vector(kRecipes, [](const Recipe &recipe) { return recipe.name; });
  return names;
}

llvm::Expected<Plan> para::makeRecipe(llvm::StringRef name, const PlanRequest &request) {
  for (const Recipe &recipe : kRecipes) {
    if (recipe.name != name)
      continue;
    if (request.ranks > kMostRanks)
      return fail(llvm::Twine(request.ranks) + " ranks are more than " + llvm::Twine(kMostRanks));
    Plan plan;
    plan.recipe = name.str();
    plan.*recipe.axis = request.ranks;
    plan.zero = request.zero >= 0 ? request.zero : recipe.zero;
    plan.bucketBytes = recipe.buckets ? request.bucketBytes : 0;
    plan.schedule = request.schedule.empty() ? "1f1b" : request.schedule;
    plan.microbatches = recipe.fillsPipeline ? chooseMicrobatches(request, plan.pipeline, plan.data) : std::max<int64_t>(1, request.microbatches);
    finish(plan, request);
    return plan;
  }
  return fail("no recipe is called '" + name + "'; there are auto, " + llvm::join(getRecipeNames(), ", ") + ", or the name of a plan file (.json)");
}

llvm::Expected<Plan> para::makeMeshPlan(const PlanRequest &request) {
  Plan plan;
  for (const auto &[axis, size] : request.mesh) {
    if (axis == "data")
      plan.data = size;
    else if (axis == "tensor")
      plan.tensor = size;
    else if (axis == "pipeline")
      plan.pipeline = size;
    else if (size != 1)
      return fail("the mesh axis '" + axis + "' is not known; there are data, tensor, pipeline");
  }
  if (plan.data > kMostRanks || plan.tensor > kMostRanks / plan.data || plan.pipeline > kMostRanks / plan.data / plan.tensor)
    return fail("the mesh has more than " + llvm::Twine(kMostRanks) + " ranks");
  if (request.ranks > 1 && plan.getNumRanks() != request.ranks)
    return fail("the mesh has " + llvm::Twine(plan.getNumRanks()) + " ranks, --ranks says " + llvm::Twine(request.ranks));
  plan.zero = std::max(0, request.zero);
  plan.bucketBytes = request.bucketBytes;
  plan.schedule = request.schedule.empty() ? "1f1b" : request.schedule;
  plan.microbatches = chooseMicrobatches(request, plan.pipeline, plan.data);
  plan.recipe = nameOf(plan);
  finish(plan, request);
  return plan;
}

std::vector<Plan> para::getRecomputations(const Plan &plan, const PlanRequest &request) {
  std::vector<Plan> plans = {plan};
  if (!request.train || request.recompute != "auto" || plan.recompute != "none")
    return plans;
  for (llvm::StringRef recompute : getRecomputeNames().drop_front()) {
    plans.push_back(plan);
    setRecompute(plans.back(), recompute);
  }
  return plans;
}

std::vector<Plan> para::getCandidates(const PlanRequest &request) {
  std::vector<Plan> plans;
  for (int64_t pipeline = 1; pipeline <= request.ranks; ++pipeline)
    for (int64_t tensor = 1; pipeline * tensor <= request.ranks; ++tensor) {
      if (request.ranks % (pipeline * tensor))
        continue;
      int64_t data = request.ranks / pipeline / tensor;
      auto fixed = [&](llvm::StringRef axis, int64_t size) {
        auto it = request.mesh.find(axis.str());
        return it != request.mesh.end() && it->second != size;
      };
      if (fixed("data", data) || fixed("tensor", tensor) || fixed("pipeline", pipeline) || data > request.batch)
        continue;
      int levels = request.train && data > 1 ? 4 : 1;
      for (int zero = 0; zero < levels; ++zero) {
        if (request.zero >= 0 && zero != std::min(request.zero, levels - 1))
          continue;
        for (llvm::StringRef schedule : {"1f1b", "gpipe", "model-parallel"}) {
          bool first = schedule == "1f1b";
          if (pipeline == 1 && !first)
            continue;
          Plan plan;
          plan.bucketBytes = request.bucketBytes;
          plan.data = data;
          plan.tensor = tensor;
          plan.pipeline = pipeline;
          plan.zero = zero;
          bool fills = schedule != "model-parallel";
          if (fills && !request.schedule.empty() && pipeline > 1 && schedule != request.schedule)
            continue;
          plan.schedule = fills ? schedule.str() : "1f1b";
          plan.microbatches = fills ? chooseMicrobatches(request, pipeline, data) : std::max<int64_t>(1, request.microbatches);
          if (pipeline > 1 && plan.microbatches == 1 && fills)
            continue; // is the naive model parallelism below
          plan.recipe = nameOf(plan);
          finish(plan, request);
          llvm::append_range(plans, getRecomputations(plan, request));
        }
      }
    }
  return plans;
}
