//===- Search.h - The race of plans over a folded model ----------*- C++ -*-===//
//
// Meshes, ZeRO levels, sizes of microbatches, recomputation and schedules for any number of devices, priced in seconds and bytes. The model
// is folded (Layers.h) and partitioned once for each way to cut a layer; what a layer does is then priced on the machine, layers are cut
// into stages, and the schedule is simulated. How many ranks share `data` and `pipeline` needs no further partitioning: it changes sizes of
// communicators and of what is cut over them, which are counted apart (Segments.h).
//
// Example: searchFolded(module, segments, {.request = request, .machine = machine}) for 175 billion parameters on 1 024 devices.
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

namespace para {

/// What a plan costs. Seconds of one step; bytes of one rank of each stage.
struct PlanPrice {
  double seconds = 0, compute = 0, bubble = 0, lowerBound = 0;
  std::map<std::string, double> exposed; ///< communication that nothing hides, by kind, of the busiest stage
  struct Memory {
    double parameters = 0, gradients = 0, states = 0, activations = 0, gathered = 0, temporary = 0, inputs = 0, reserved = 0;
    /// Between steps, as an allocator counts.
    double getSteady() const { return parameters + gradients + states + reserved; }
    double getTotal() const { return getSteady() + activations + gathered + temporary + inputs; }
  };
  std::vector<Memory> memory; ///< by stage
  double flops = 0;           ///< of the model: forward and backward once
  double peakFlops = 0;       ///< of the devices, by their datasheet
  double bytesSent = 0;       ///< by the rank that sends most
  double getUtilization() const { return seconds > 0 ? flops / seconds / peakFlops : 0; }
  double getPeakBytes() const;
};

struct SearchOptions {
  PlanRequest request;
  Machine machine;
  CostType type = CostType::F32; ///< of products
  StoragePolicy storage;
  bool onlyCompiled = false; ///< leaves out schedules that can be simulated only
  Execution execution;
};

struct RacedPlan {
  Plan plan;
  PlanPrice price;
  std::string fault; ///< why it cannot run; empty if it can
};

/// All plans of the race, the fastest that fits first, then by time, those that do not fit last. `module` holds the folded training step.
std::vector<RacedPlan> raceFolded(mlir::ModuleOp module, llvm::ArrayRef<Segment> segments, const SearchOptions &options);

/// One plan priced in the same way.
llvm::Expected<RacedPlan> priceFolded(mlir::ModuleOp module, llvm::ArrayRef<Segment> segments, const SearchOptions &options, const Plan &plan);

} // namespace para

#endif
