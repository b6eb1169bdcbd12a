//===- Recipes.h - The canonical ways to spread a program --------*- C++ -*-===//
//
// Example: makeRecipe("zero1", {4 ranks, batch 16}) is a plan with data = 4, zero = 1.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PLAN_RECIPES_H
#define PARA_PLAN_RECIPES_H

#include "para/Plan/Plan.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace para {

/// What a recipe is made for. Fields that are given (not 0, not -1, not empty) are fixed.
struct PlanRequest {
  int64_t ranks = 1;
  int64_t batch = 1;
  bool train = true;
  bool separable = true; ///< microbatches mean the same as the whole batch
  int64_t microbatches = 0;
  int64_t bucketBytes = 25 << 20; ///< what the machine wants: Machine::getBucketBytes
  int zero = -1;
  std::string schedule;
  std::string recompute; ///< "auto": what is fastest of all that fits
  bool sequenceParallel = false; ///< of all plans, which have a tensor axis then
  bool noSequenceParallel = false; ///< not in the race
  int64_t experts = 0; ///< the fewest of a layer that are one weight: countExperts()
  bool oneStageARank = false; ///< no schedules that put several chunks of the model on a rank
  bool evenStages = false; ///< as many layers in each; or else balanced by cost
  std::map<std::string, int64_t> mesh;
  std::map<std::string, std::string> shards; ///< Plan::shards
  std::map<std::string, int64_t> stages;     ///< Plan::stages
};

llvm::ArrayRef<llvm::StringRef> getRecipeNames();

/// The plan of a recipe; an error says why the recipe does not suit the request.
llvm::Expected<Plan> makeRecipe(llvm::StringRef name, const PlanRequest &request);

/// "zero1 x tensor x 1f1b" for people.
std::string nameOf(const Plan &plan);

/// A plan with the sizes of a mesh and nothing else. An error where an axis is not known, or ranks are too many.
llvm::Expected<Plan> readMesh(const std::map<std::string, int64_t> &mesh);

/// Of a plan file: that its name is made of words that there are ("zero1 x tensor + full recomputation"), and that nothing which they stand for is
/// left out of the file, which would be another plan than its name says. `has` tells what is in the file.
llvm::Error checkRecipeWords(llvm::StringRef name, const Plan &plan, llvm::function_ref<bool(llvm::StringRef key)> has);

/// Plan of a mesh given by hand, which has all ranks.
llvm::Expected<Plan> makeMeshPlan(const PlanRequest &request);

/// The plan with every recomputation that the request leaves open; itself, first, where it leaves none.
std::vector<Plan> getRecomputations(const Plan &plan, const PlanRequest &request);

/// A pipeline under 1F1B with its microbatches in other orders that the request allows and that may wait less: zero bubble and interleaved. None of
/// other plans, nor where the request names an order.
std::vector<Plan> getOtherOrders(const Plan &plan, const PlanRequest &request);

/// All numbers that divide it, ascending.
std::vector<int64_t> getDivisors(int64_t whole);

/// The sizes that are tried of an axis which the request leaves open: divisors of the `whole` ranks that are left for it and the axes behind
/// it. Those before it are set in `mesh`; the order is tensor, pipeline, expert, context, and `data` takes the rest.
using MeshSizes = llvm::function_ref<std::vector<int64_t>(llvm::StringRef axis, int64_t whole, const Plan &mesh)>;

/// Visits the meshes of so many ranks with the sizes that the request gives and `sizes` tries. Of axes that are left open, `expert` has as many
/// experts on each rank, and `context` cuts sequences only where ranks are more than samples; every rank of `data` and `expert` has a sample,
/// or `idles`: some may have none. Axes that shards are asked for over have ranks.
void forEachMesh(const PlanRequest &request, int64_t ranks, bool idles, MeshSizes sizes, llvm::function_ref<void(const Plan &mesh)> visit);

/// All plans that are in the race: every recipe and every product of up to three axes that the request allows, in a fixed order.
std::vector<Plan> getCandidates(const PlanRequest &request);

/// What a model and a machine allow of axes that the request leaves open.
struct PlanLimits {
  int64_t layers = kMostAxis; ///< stages
  int64_t tensor = kMostAxis; ///< ranks of a node
  static constexpr int64_t kMostAxis = int64_t(1) << 40;
};

/// Of a request under which there is no plan: what stands in the way, each in the flags' words with a way out. Example: "no mesh of 8 ranks suits:
/// --mesh tensor=3 does not divide 8 ranks".
std::string explainNoPlans(const PlanRequest &request, const PlanLimits &limits);

} // namespace para

#endif
