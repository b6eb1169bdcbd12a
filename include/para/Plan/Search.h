//===- Search.h - The race of plans over a folded model ----------*- C++ -*-===//
//
// Meshes, ZeRO levels, sizes of microbatches, recomputation and schedules for any number of devices, priced in seconds and bytes. The model
// is folded (Layers.h) and partitioned once for each way to cut a layer; what a layer does is then priced on the machine, layers are cut
// into stages, and the schedule is simulated. How many ranks share `data` and `pipeline` needs no further partitioning: it changes sizes of
// communicators and of what is cut over them, which are counted apart (Segments.h).
//
// Example: PlanRace(module, segments, options).run() for 175 billion parameters on 1 024 devices.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PLAN_SEARCH_H
#define PARA_PLAN_SEARCH_H

#include "para/Cost/Execution.h"
#include "para/Cost/Machine.h"
#include "para/Plan/Layers.h"
#include "para/Plan/Plan.h"
#include "para/Plan/Recipes.h"
#include "para/Plan/Segments.h"
#include "para/Simulate/Simulate.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace para {

/// What a plan costs. Seconds of one step; bytes of one rank of each stage.
struct PlanPrice {
  double seconds = 0, compute = 0, bubble = 0;
  double lowerBound = 0; ///< no order of its passes takes less
  double raceBound = 0;  ///< nor does any plan that the race has priced and that fits; 0: there was no race
  double getBound() const { return raceBound > 0 ? raceBound : lowerBound; }
  double getGap() const { return seconds > 0 ? (seconds - getBound()) / seconds : 0; }
  std::map<std::string, double> exposed; ///< communication that nothing hides, by kind, of the busiest stage
  struct Memory {
    double parameters = 0, gradients = 0, states = 0, activations = 0, gathered = 0, temporary = 0, inputs = 0, reserved = 0;
    double held = 0; ///< between steps only, of the last microbatch
    /// Between steps, as an allocator counts.
    double getSteady() const { return parameters + gradients + states + reserved + held; }
    double getTotal() const { return parameters + gradients + states + reserved + activations + gathered + temporary + inputs; }
  };
  std::vector<Memory> memory; ///< by stage
  double flops = 0;           ///< of the model: forward and backward once
  double peakFlops = 0;       ///< of the devices, by their datasheet
  double getUtilization() const { return seconds > 0 ? flops / seconds / peakFlops : 0; }
  double getPeakBytes() const;
};

struct SearchOptions {
  PlanRequest request;
  Machine machine;
  CostType type = CostType::F32; ///< of products
  StoragePolicy storage;
  Execution execution;
};

struct RacedPlan {
  Plan plan;
  PlanPrice price;
  std::string fault; ///< why it cannot run; empty if it can
  bool isPriced() const { return !price.memory.empty(); }
};

/// Which of two plans is taken: one that can run before one that cannot, the faster one of those, what has no price last.
bool isBetter(const RacedPlan &a, const RacedPlan &b);

/// How the price of a plan comes about.
struct PlanParts {
  /// Kernels or messages that are alike, of one microbatch.
  struct Item {
    std::string name;
    int64_t count = 0;
    double seconds = 0; ///< of all of them
    bool sends = false;
  };
  /// One layer of a segment; the layers that a segment stands for are alike.
  struct Layer {
    StageCost cost;
    PlanPrice::Memory memory; ///< activations: kept of one microbatch
    std::vector<Item> items;
    double getSeconds() const { return cost.forward + cost.backwardInput + cost.backwardWeight + cost.forwardTraffic + cost.backwardTraffic; }
  };
  std::vector<size_t> layers;         ///< of the model, each by its segment
  std::vector<Layer> segments;
  std::vector<int64_t> virtualStages; ///< of each of the model's layers
  Schedule schedule;
  PipelineCosts costs;
  std::vector<int64_t> inFlight;      ///< microbatches whose activations a virtual stage holds at most
  bool blocksOnSends = false;         ///< a stage computes nothing while it sends
};

class Pricer;

/// A race that remembers what it has partitioned: another machine, another request for the same batch and single plans cost sums only.
/// `module` holds the folded training step.
///
/// Example: PlanRace race(module, segments, options); auto plans = race.run(); race.setMachine(larger); auto others = race.run();
class PlanRace {
public:
  PlanRace(mlir::ModuleOp module, llvm::ArrayRef<Segment> segments, SearchOptions options);
  ~PlanRace();

  const SearchOptions &getOptions() const { return options; }
  size_t getNumLayers() const;
  PlanLimits getLimits() const;
  void setMachine(const Machine &machine); ///< and the number of ranks
  void setRequest(const PlanRequest &request);

  /// All plans that the request allows, the fastest that fits first, then by time, those that do not fit last. So many of the best are
  /// simulated action by action; the others' times are estimates. `onlyKnown`: nothing is partitioned for it in a way that is new, but for
  /// what differs from the plan `near` in `tensor` or `context` alone, by the next larger or smaller size.
  std::vector<RacedPlan> run(size_t simulated = 24, bool onlyKnown = false, const Plan *near = nullptr);
  /// One plan, simulated. Its fault says why it cannot run, or why it has no price.
  RacedPlan price(const Plan &plan);
  PlanParts dissect(const Plan &plan);

private:
  /// Ranks that have no sample, which is legal and a waste, are in the race only where every plan that the request allows has some.
  std::vector<Plan> getPlans(bool onlyKnown, const Plan *near);
  std::vector<Plan> getPlans(bool onlyKnown, const Plan *near, bool idles);
  bool hasBusyMesh() const; ///< one whose ranks all have samples, in each microbatch
  /// Of an axis that the request leaves open, for forEachMesh().
  std::vector<int64_t> getSizesOf(llvm::StringRef axis, int64_t whole, const Plan &mesh) const;
  bool canCutSequence(int64_t tensor);
  RacedPlan estimate(const Plan &plan);
  void simulate(RacedPlan &raced);
  /// Adds plans of fewer microbatches than were tried, where the fewest of these were the fastest by far: of small models.
  void addLargerMicrobatches(std::vector<RacedPlan> &plans, bool onlyKnown);
  /// Beside the first so many of `plans`, which are simulated, those that wait less under another order of microbatches; their number.
  size_t addOtherOrders(std::vector<RacedPlan> &plans, size_t simulated);

  SearchOptions options;
  std::unique_ptr<Pricer> pricer;
  std::map<int64_t, bool> sequences; ///< by the size of `tensor`: whether the model's layers can be cut along the sequence
};

} // namespace para

#endif
