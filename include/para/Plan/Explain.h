//===- Explain.h - A race of plans in words and numbers ----------*- C++ -*-===//
//
// Why a plan: where the model's layers are, what takes time and memory, what other plans would cost, what another machine would buy, and
// for a plan that does not fit what stands in the way and the cheapest ways out. All of it is priced by the race that chose the plan.
//
// Example: Explanation why = explain(race, {plans, names}); printRace(...); printExplanation(why, llvm::outs());
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PLAN_EXPLAIN_H
#define PARA_PLAN_EXPLAIN_H

#include "para/Plan/LayerNames.h"
#include "para/Plan/Search.h"

namespace para {

/// What is to be explained: the first of the plans.
struct ExplainRequest {
  llvm::ArrayRef<RacedPlan> plans;
  std::vector<LayerName> names; ///< of the model's layers
  bool isHand = false;          ///< the plan was given, not found
  int64_t tokens = 0;           ///< of a sample; 0: it is no sequence
};

/// Consecutive layers of the model on one virtual stage.
struct LayerRow {
  size_t begin = 0, end = 0; ///< numbers of layers
  size_t segment = 0;        ///< of the first
  int64_t stage = 0, chunk = 0;
  std::string name;
};

/// Layers that are alike.
struct LayerCost {
  size_t segment = 0;     ///< one of theirs
  std::string name;
  int64_t count = 0;      ///< layers
  double seconds = 0;     ///< of one layer and microbatch, forward and backward
  double share = 0;       ///< of the seconds of all layers
  double keptBytes = 0;   ///< of one layer and microbatch
};

struct PeakItem {
  std::string name;
  double bytes = 0;
};

/// The stage that needs most.
struct PeakMemory {
  int64_t stage = 0;
  double bytes = 0, room = 0;
  std::vector<PeakItem> items;  ///< the largest first
  std::vector<PeakItem> layers; ///< what its activations belong to, the largest first
  int64_t inFlight = 0;         ///< microbatches
};

struct Alternative {
  std::string name;              ///< "zero1 x tensor"
  std::optional<RacedPlan> plan; ///< the best of its kind
  std::string reason;            ///< why it is slower, or out
};

struct WhatIf {
  std::string change;            ///< "one more node"
  std::optional<RacedPlan> plan; ///< what would be chosen then
  double gain = 0;               ///< how many times as fast, less 1
  std::string note;
};

struct WayOut {
  std::string change;    ///< "--zero=1"
  RacedPlan plan;
  double savedBytes = 0; ///< at the peak
  double slower = 0;     ///< share of the step; negative: faster
  bool fits = false;
};

struct Refusal {
  std::string plan;
  int64_t stage = 0;
  double bytes = 0, room = 0;
  std::vector<PeakItem> causes; ///< the fewest items that are too large together
  std::vector<WayOut> ways;     ///< those that suffice first, the fastest first
  std::string note;
};

/// What is known beyond the price.
struct Certificate {
  double lowerBound = 0, gap = 0; ///< of all plans of the race that fit, or else of the plan's own passes
  bool ofRace = false;
  bool scheduleVerified = false;
  int64_t actions = 0;
  std::string fault;
  size_t priced = 0, fitting = 0;
};

struct Explanation {
  RacedPlan chosen;
  std::vector<RacedPlan> plans; ///< of the race
  std::vector<LayerName> names;
  bool isHand = false;
  int64_t tokens = 0;
  PlanParts parts;
  std::vector<LayerRow> rows;    ///< in the model's order, each of one segment
  std::vector<LayerRow> stages;  ///< likewise, all that is together on a virtual stage
  std::vector<LayerCost> costly; ///< the costliest first
  PeakMemory peak;
  std::vector<Alternative> alternatives;
  std::vector<WhatIf> whatIfs;
  std::optional<Refusal> refusal; ///< of a plan that does not fit
  Certificate certificate;
  Simulation simulation; ///< with a timeline
};

/// The race's machine and request are as they were when it returns.
Explanation explain(PlanRace &race, const ExplainRequest &request);

/// Seconds and bytes of every pass and message of the plan.
Simulation simulatePlan(const PlanParts &parts, const PlanPrice &price);

/// The fastest plans side by side, the best of each kind of mesh among them, what the first one's time and memory are made of.
void printRace(llvm::ArrayRef<RacedPlan> plans, const SearchOptions &options, llvm::raw_ostream &os);
void printExplanation(const Explanation &why, llvm::raw_ostream &os);
/// The plan, what each stage's memory is of, and layers at the peak.
void printMemory(const Explanation &why, llvm::raw_ostream &os);
/// What stands in the way of a plan and the ways out, as lines.
void printRefusal(const Refusal &refusal, llvm::raw_ostream &os);

/// What --simulate --json prints of a plan. Units: seconds, bytes of one rank; null where the plan has no price.
llvm::json::Value toJson(const RacedPlan &raced, const SearchOptions &options);
/// What --explain adds to it.
llvm::json::Value toJson(const Explanation &why);

} // namespace para

#endif
