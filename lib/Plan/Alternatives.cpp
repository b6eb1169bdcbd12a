#include "Candidate.h"
#include "Explaining.h"
#include "para/Schedule/Schedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

using namespace para;

namespace {
/// What of the ranks an axis has; More: some or all.
enum class Share { One, Some, All, More, Any };

/// A recipe or a mix that people know.
struct Kind {
  const char *name;
  Share data, tensor, pipeline;
  int zero;
  const char *recipe = ""; ///< that makes a plan which no race has
  Share expert = Share::One, context = Share::One;
};
const Kind kKinds[] = {
    {"ddp", Share::All, Share::One, Share::One, 0},
    {"zero1", Share::All, Share::One, Share::One, 1},
    {"zero2", Share::All, Share::One, Share::One, 2},
    {"zero3", Share::All, Share::One, Share::One, 3},
    {"tensor", Share::One, Share::All, Share::One, 0, "tensor"},
    {"pipeline", Share::One, Share::One, Share::All, 0, "pipeline"},
    {"model-parallel", Share::One, Share::One, Share::All, 0, "model-parallel"},
    {"zero1 x tensor", Share::Some, Share::Some, Share::One, 1},
    {"zero3 x tensor", Share::Some, Share::Some, Share::One, 3},
    {"zero1 x pipeline", Share::Some, Share::One, Share::Some, 1},
    {"tensor x pipeline", Share::One, Share::Some, Share::Some, 0},
    {"ddp x tensor x pipeline", Share::Some, Share::Some, Share::Some, 0},
    {"zero1 x tensor x pipeline", Share::Some, Share::Some, Share::Some, 1},
    {"expert", Share::One, Share::One, Share::One, 0, "", Share::All},
    {"zero1 x expert", Share::Some, Share::One, Share::One, 1, "", Share::Some},
    {"zero1 x expert x tensor", Share::Some, Share::Some, Share::One, 1, "", Share::Some},
    {"zero1 x expert x pipeline", Share::Some, Share::One, Share::Some, 1, "", Share::Some},
    {"zero1 x expert x tensor x pipeline", Share::Some, Share::Some, Share::Some, 1, "", Share::Some},
    {"zero1 x context", Share::Any, Share::One, Share::One, 1, "", Share::One, Share::More},
    {"zero1 x context x tensor", Share::Any, Share::Some, Share::One, 1, "", Share::One, Share::More},
};

bool suits(Share share, int64_t size, int64_t ranks) {
  switch (share) {
  case Share::One: return size == 1;
  case Share::Some: return size > 1 && size < ranks;
  case Share::All: return size == ranks && ranks > 1;
  case Share::More: return size > 1;
  case Share::Any: return true;
  }
  return false;
}

bool isOf(const Kind &kind, const Plan &plan, int64_t ranks) {
  bool naive = kind.recipe == llvm::StringRef("model-parallel");
  return suits(kind.data, plan.data, ranks) && suits(kind.tensor, plan.tensor, ranks) && suits(kind.pipeline, plan.pipeline, ranks) &&
         suits(kind.expert, plan.expert, ranks) && suits(kind.context, plan.context, ranks) &&
         (plan.getReplicas() == 1 || plan.zero == kind.zero) && (!naive || (plan.microbatches == 1 && isNaive(plan.schedule)));
}

double getSent(const PlanPrice &price) {
  double sent = 0;
  for (const auto &[kind, seconds] : price.exposed)
    sent += seconds;
  return sent;
}

/// What makes a plan slower: where most of the difference is.
std::string explainSlower(const RacedPlan &plan, const RacedPlan &chosen) {
  double compute = plan.price.compute - chosen.price.compute, sent = getSent(plan.price) - getSent(chosen.price), wait = plan.price.bubble - chosen.price.bubble;
  if (!chosen.isPriced())
    return "";
  if (plan.price.seconds <= chosen.price.seconds)
    return "faster than the plan that was given";
  double most = std::max({compute, sent, wait});
  if (most <= 0)
    return "";
  if (most == compute) {
    bool again = plan.plan.recompute != "none" && chosen.plan.recompute == "none";
    return "+" + inSeconds(compute) + (again ? " of compute: the forward pass runs again" : " of compute: smaller or uneven pieces");
  }
  return "+" + inSeconds(most) + (most == sent ? " of communication that nothing hides" : " of waiting");
}

/// Why no race has such a plan.
std::string explainAbsence(const Kind &kind, const PlanRace &race, int64_t ranks) {
  const PlanRequest &request = race.getOptions().request;
  if (ranks == 1)
    return "there is one device";
  if (kind.data == Share::All && ranks > request.batch)
    return llvm::formatv("a batch of {0} has no sample for each of {1} devices", request.batch, ranks).str();
  if (kind.data == Share::All && request.batch % ranks)
    return llvm::formatv("a batch of {0} does not fall into {1} equal parts", request.batch, ranks).str();
  if (kind.expert == Share::All && (ranks > request.experts || request.experts % ranks))
    return llvm::formatv("{0} devices do not share {1} experts evenly", ranks, request.experts).str();
  if (kind.zero > 0 && !request.train)
    return "nothing is trained: there are no gradients and no states";
  if (kind.pipeline == Share::All && int64_t(race.getNumLayers()) < ranks)
    return llvm::formatv("the model has {0} layer{1}, too few for {2} stages", race.getNumLayers(), race.getNumLayers() == 1 ? "" : "s", ranks).str();
  int parts = (kind.data != Share::One) + (kind.tensor != Share::One) + (kind.pipeline != Share::One) + (kind.expert != Share::One) + (kind.context != Share::One);
  if (parts >= 3 && ranks < int64_t(1) << parts)
    return llvm::formatv("{0} devices have no {1} factors", ranks, parts == 3 ? "three" : "four").str();
  int64_t node = race.getOptions().machine.getRanksPerNode(), layers = int64_t(race.getNumLayers());
  if (kind.data == Share::One && kind.expert == Share::One && kind.context == Share::One && node * layers < ranks)
    return llvm::formatv("{0} devices of a node times {1} layers are fewer than {2}: data is needed", node, layers, ranks).str();
  return llvm::formatv("no such mesh of {0} devices suits a batch of {1}", ranks, request.batch).str();
}
} // namespace

std::vector<Alternative> para::findAlternatives(PlanRace &race, llvm::ArrayRef<RacedPlan> plans, const RacedPlan &chosen) {
  std::vector<Alternative> alternatives;
  const SearchOptions &options = race.getOptions();
  int64_t ranks = options.machine.getNumRanks();
  for (const Kind &kind : kKinds) {
    bool hasContext = chosen.plan.context > 1 || llvm::any_of(plans, [](const RacedPlan &raced) { return raced.plan.context > 1; });
    if ((kind.expert != Share::One && options.request.experts == 0) || (kind.context != Share::One && !hasContext))
      continue; // not of this model, or not of this batch
    Alternative alternative{kind.name, std::nullopt, ""};
    const RacedPlan *best = isOf(kind, chosen.plan, ranks) ? &chosen : nullptr;
    for (const RacedPlan &raced : plans)
      if (isOf(kind, raced.plan, ranks) && (!best || (best->price.memory.empty() && !raced.price.memory.empty())))
        best = &raced;
    // The race has no axis that leaves a node and no pipeline of one microbatch.
    bool isTensor = kind.tensor == Share::All;
    if (!best && *kind.recipe && ranks > 1) {
      PlanRequest request = options.request;
      request.ranks = ranks;
      auto plan = makeRecipe(kind.recipe, request);
      if (plan && (!isTensor || ranks <= 4 * options.machine.getRanksPerNode()) && (kind.pipeline != Share::All || ranks <= int64_t(race.getNumLayers())))
        alternative.plan = race.price(*plan);
      else
        llvm::consumeError(plan.takeError());
    } else if (best) {
      alternative.plan = *best;
    }
    if (alternative.plan && alternative.plan->price.memory.empty()) { // cannot be priced at all
      alternative.reason = alternative.plan->fault;
      alternative.plan.reset();
    } else if (!alternative.plan) {
      alternative.reason = isTensor && ranks > 1 ? llvm::formatv("{0} devices are many nodes: a layer cut over all of them mostly sends", ranks).str() : explainAbsence(kind, race, ranks);
    } else if (!alternative.plan->fault.empty()) {
      const PlanPrice &price = alternative.plan->price;
      std::vector<PeakItem> items = getItems(price.memory[getPeakStage(price)]);
      alternative.reason = alternative.plan->fault + (items.empty() ? "" : ", most of it " + items.front().name + " " + inBytes(items.front().bytes));
    } else {
      alternative.reason = best == &chosen ? "chosen" : explainSlower(*alternative.plan, chosen);
    }
    alternatives.push_back(std::move(alternative));
  }
  return alternatives;
}
