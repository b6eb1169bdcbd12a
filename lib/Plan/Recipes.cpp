#include "para/Plan/Recipes.h"
#include "para/Cost/Machine.h"
#include "para/Schedule/Schedule.h"

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
    {"expert", &Plan::expert, 0, true, false},
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

/// Whether what the request asks for has no ranks of the mesh to work over, and no size of 1 was given.
bool isIdle(const Plan &mesh, const PlanRequest &request) {
  auto isGiven = [&](llvm::StringRef axis) { return request.mesh.count(axis.str()) > 0; };
  bool cuts = request.zero > 0 && request.train && mesh.getReplicas() == 1 && llvm::none_of(getReplicaAxes(), isGiven);
  return request.ranks > 1 && (cuts || (!request.schedule.empty() && mesh.pipeline == 1 && !isGiven("pipeline")));
}

} // namespace

std::string para::nameOf(const Plan &plan) {
  llvm::SmallVector<std::string> parts;
  if (plan.getReplicas() > 1 && (plan.data > 1 || plan.zero))
    parts.push_back(plan.zero ? "zero" + std::to_string(plan.zero) : "ddp");
  if (plan.expert > 1)
    parts.push_back("expert");
  if (plan.context > 1)
    parts.push_back("context");
  if (plan.tensor > 1)
    parts.push_back("tensor");
  if (plan.pipeline > 1)
    parts.push_back(plan.microbatches > 1 || !isNaive(plan.schedule) ? plan.schedule : "model-parallel");
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
    if (!request.train && recipe.zero > 0)
      return fail("--plan=" + name + ": it cuts the optimizer's state, gradients and parameters of training (--train); inference has --plan=ddp");
    Plan plan;
    plan.recipe = name.str();
    plan.*recipe.axis = request.ranks;
    plan.zero = request.zero >= 0 ? request.zero : recipe.zero;
    plan.bucketBytes = recipe.buckets ? request.bucketBytes : 0;
    plan.schedule = request.schedule.empty() ? "1f1b" : request.schedule;
    plan.microbatches = recipe.fillsPipeline ? chooseMicrobatches(request, plan.pipeline, plan.getBatchRanks()) : std::max<int64_t>(1, request.microbatches);
    finish(plan, request);
    return plan;
  }
  return fail("no recipe is called '" + name + "'; there are auto, " + llvm::join(getRecipeNames(), ", ") + ", or the name of a plan file (.json)");
}

llvm::Expected<Plan> para::readMesh(const std::map<std::string, int64_t> &mesh) {
  Plan plan;
  for (const auto &[axis, size] : mesh) {
    const PlanAxis *known = findPlanAxis(axis);
    if (!known)
      return fail("the mesh axis '" + axis + "' is not known; there are " + listPlanAxes());
    plan.*known->size = size;
  }
  int64_t room = kMostRanks;
  for (const PlanAxis &axis : getPlanAxes()) {
    room /= plan.*axis.size;
    if (room == 0)
      return fail("the mesh has more than " + llvm::Twine(kMostRanks) + " ranks");
  }
  return plan;
}

llvm::Expected<Plan> para::makeMeshPlan(const PlanRequest &request) {
  auto mesh = readMesh(request.mesh);
  if (!mesh)
    return mesh.takeError();
  Plan plan = std::move(*mesh);
  if (plan.getNumRanks() != request.ranks)
    return fail("the mesh has " + llvm::Twine(plan.getNumRanks()) + " ranks, --ranks says " + llvm::Twine(request.ranks) +
                ": leave --ranks out, or give the axes as many (--mesh)");
  plan.zero = std::max(0, request.zero);
  plan.bucketBytes = request.bucketBytes;
  plan.schedule = request.schedule.empty() ? "1f1b" : request.schedule;
  plan.microbatches = chooseMicrobatches(request, plan.pipeline, plan.getBatchRanks());
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

std::vector<int64_t> para::getDivisors(int64_t whole) {
  std::vector<int64_t> divisors;
  for (int64_t size = 1; size <= whole; ++size)
    if (whole % size == 0)
      divisors.push_back(size);
  return divisors;
}

void para::forEachMesh(const PlanRequest &request, int64_t ranks, bool idles, MeshSizes sizes, llvm::function_ref<void(const Plan &mesh)> visit) {
  const std::set<std::string> shardAxes = getShardAxes(request.shards);
  Plan mesh;
  auto isGiven = [&](llvm::StringRef axis) { return request.mesh.count(axis.str()) > 0; };
  auto sizesOf = [&](llvm::StringRef axis, int64_t whole) {
    auto it = request.mesh.find(axis.str());
    if (it == request.mesh.end())
      return sizes(axis, whole, mesh);
    return whole % it->second == 0 ? std::vector<int64_t>{it->second} : std::vector<int64_t>();
  };
  for (int64_t tensor : sizesOf("tensor", ranks)) {
    mesh.tensor = tensor;
    for (int64_t pipeline : sizesOf("pipeline", ranks / tensor)) {
      mesh.pipeline = pipeline;
      int64_t replicas = ranks / tensor / pipeline;
      for (int64_t expert : sizesOf("expert", replicas)) {
        if (expert > 1 && !isGiven("expert") && (request.experts == 0 || request.experts % expert))
          continue;
        mesh.expert = expert;
        for (int64_t context : sizesOf("context", replicas / expert)) {
          if (context > 1 && !isGiven("context") && replicas <= request.batch)
            continue;
          mesh.context = context;
          mesh.data = replicas / expert / context;
          if (!findMissingAxis(mesh, shardAxes, request.mesh).empty() || isIdle(mesh, request))
            continue; // what was asked for would do nothing
          if ((idles || mesh.getBatchRanks() <= request.batch) && (!isGiven("data") || request.mesh.at("data") == mesh.data))
            visit(mesh);
        }
      }
    }
  }
}

std::vector<Plan> para::getOtherOrders(const Plan &plan, const PlanRequest &request) {
  std::vector<Plan> plans;
  if (!request.train || !request.schedule.empty() || plan.pipeline == 1 || plan.microbatches == 1 || plan.schedule != "1f1b" || !plan.stages.empty())
    return plans;
  for (llvm::StringRef schedule : {"zb-h1", "zb-h2", "interleaved:2", "zb-v"}) {
    if (getScheduleChunks(schedule) > 1 && (request.oneStageARank || plan.microbatches < plan.pipeline))
      continue; // chunks wait for each other where microbatches do not fill them
    Plan other = plan;
    other.schedule = schedule.str();
    if (size_t at = other.recipe.find(plan.schedule); at != std::string::npos)
      other.recipe.replace(at, plan.schedule.size(), other.schedule);
    plans.push_back(std::move(other));
  }
  return plans;
}

std::vector<Plan> para::getCandidates(const PlanRequest &request) {
  std::vector<Plan> plans;
  auto getSizes = [](llvm::StringRef, int64_t whole, const Plan &) { return getDivisors(whole); };
  std::vector<Plan> meshes;
  for (bool idles : {false, true})
    if (meshes.empty())
      forEachMesh(request, request.ranks, idles, getSizes, [&](const Plan &mesh) {
        if (!request.sequenceParallel || mesh.tensor > 1) // without, there are no sums to cut
          meshes.push_back(mesh);
      });
  for (Plan plan : meshes) {
    bool hasReplicas = plan.getReplicas() > 1;
    plan.bucketBytes = request.bucketBytes;
    for (plan.zero = 0; plan.zero < (request.train && hasReplicas ? 4 : 1); ++plan.zero) {
      if (request.zero >= 0 && hasReplicas && request.train && plan.zero != std::min(request.zero, 3))
        continue;
      llvm::SmallVector<llvm::StringRef> schedules = {"1f1b", "gpipe"}; // others where they are asked for: each is a program to make and to price
      if (!request.schedule.empty())
        schedules = {request.schedule};
      if (plan.pipeline == 1)
        schedules = {"1f1b"};
      else
        schedules.push_back("model-parallel");
      for (llvm::StringRef schedule : schedules) {
        bool fills = schedule != "model-parallel";
        if (!fills && !request.schedule.empty() && chooseMicrobatches(request, plan.pipeline, plan.getBatchRanks()) > 1)
          continue; // of one microbatch, which has no order
        Plan candidate = plan;
        candidate.schedule = fills ? schedule.str() : "1f1b";
        candidate.microbatches = fills ? chooseMicrobatches(request, plan.pipeline, plan.getBatchRanks()) : std::max<int64_t>(1, request.microbatches);
        if (plan.pipeline > 1 && candidate.microbatches == 1 && fills)
          continue; // is the naive model parallelism below
        candidate.recipe = nameOf(candidate);
        finish(candidate, request);
        llvm::append_range(plans, getRecomputations(candidate, request));
      }
    }
  }
  return plans;
}
