#include "para/Plan/Recipes.h"

#include "llvm/ADT/StringExtras.h"

using namespace para;

namespace {
/// Sizes that the request gives, as they may be typed.
std::string listMesh(const PlanRequest &request) {
  std::vector<std::string> sizes;
  for (const auto &[axis, size] : request.mesh)
    sizes.push_back(axis + "=" + std::to_string(size));
  return "--mesh " + llvm::join(sizes, ",");
}

/// Ranks that are left for the axes which the request leaves open; 0: the others do not divide all.
int64_t getLeft(const PlanRequest &request) {
  int64_t left = request.ranks;
  for (const auto &[axis, size] : request.mesh)
    left = size > 0 && left % size == 0 ? left / size : 0;
  return left;
}

bool isGiven(const PlanRequest &request, llvm::StringRef axis) { return request.mesh.count(axis.str()); }

/// Why sizes that divide the ranks make no mesh: some are left, and no axis takes them.
std::string explainLeft(const PlanRequest &request, const PlanLimits &limits, int64_t left) {
  std::vector<std::string> most;
  if (!isGiven(request, "tensor"))
    most.push_back("tensor takes at most " + std::to_string(limits.tensor) + " (of a node)");
  if (!isGiven(request, "pipeline"))
    most.push_back("pipeline at most " + std::to_string(limits.layers) + " (the model's layers)");
  if (!isGiven(request, "expert"))
    most.push_back(request.experts > 0 ? "expert at most " + std::to_string(request.experts) + " (the model's experts)" : "expert none (the model has no experts of one weight)");
  if (!isGiven(request, "context"))
    most.push_back(request.ranks > request.batch ? "context the fewest that leave each rank one of " + std::to_string(request.batch) + " samples"
                                                 : "context none (there are samples for all ranks; --mesh context=N asks for it)");
  std::string text = listMesh(request) + " has " + std::to_string(request.ranks / left) + " of " + std::to_string(request.ranks) + " ranks";
  return text + (most.empty() ? "" : ", and of what is open " + llvm::join(most, ", ")) + ": give more to an axis";
}
} // namespace

std::string para::explainNoPlans(const PlanRequest &request, const PlanLimits &limits) {
  std::vector<std::string> causes;
  for (const auto &[axis, size] : request.mesh)
    if (request.ranks % size)
      causes.push_back("--mesh " + axis + "=" + std::to_string(size) + " does not divide " + std::to_string(request.ranks) + " ranks");
  int64_t left = getLeft(request);
  if (causes.empty() && left == 0)
    causes.push_back(listMesh(request) + " together do not divide " + std::to_string(request.ranks) + " ranks");
  if (auto it = request.mesh.find("pipeline"); it != request.mesh.end() && it->second > limits.layers)
    causes.push_back("--mesh pipeline=" + std::to_string(it->second) + " has more stages than the model has layers, " + std::to_string(limits.layers));
  auto tensor = request.mesh.find("tensor");
  if (request.sequenceParallel && causes.empty() && (tensor == request.mesh.end() || tensor->second == 1))
    causes.push_back("--sequence-parallel cuts what lies between products of tensor ranks, and there are none: give some (--mesh tensor=N), or leave it out");
  bool cuts = request.zero > 0 && request.train && llvm::none_of(getReplicaAxes(), [&](llvm::StringRef axis) { return isGiven(request, axis); });
  if (cuts && causes.empty() && left == 1)
    causes.push_back("--zero=" + std::to_string(request.zero) +
                     " cuts over ranks of data, expert or context, and there are none: give some (--mesh data=N), or leave it out");
  if (!request.schedule.empty() && !isGiven(request, "pipeline") && causes.empty() && left == 1)
    causes.push_back("--pipeline-schedule=" + request.schedule +
                     " orders the microbatches of a pipeline, and there is none: give one (--mesh pipeline=N), or leave it out");
  for (const std::string &axis : getShardAxes(request.shards)) // no plan has all of them, or none suits the flags that has
    if (causes.empty() && !isGiven(request, axis))
      causes.push_back("--shard cuts over " + axis + ", of which there are no ranks: give some (--mesh " + axis + "=N), or leave it out");
  if (causes.empty() && left > 1 && !request.mesh.empty())
    causes.push_back(explainLeft(request, limits, left));
  if (causes.empty() && !request.schedule.empty() && !request.stages.empty())
    causes.push_back("--pipeline-schedule=" + request.schedule + " has several parts of the model on a stage, and the stages are given");
  return "no mesh of " + std::to_string(request.ranks) + " ranks suits" + (causes.empty() ? " the flags given" : ": " + llvm::join(causes, "; "));
}
