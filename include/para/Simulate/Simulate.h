//===- Simulate.h - A training step under a pipeline schedule ----*- C++ -*-===//
//
// Runs a schedule with given costs: when every pass, message and collective runs, what waits for what, and the memory it takes. One rank
// stands for all of a stage (its data and tensor replicas do the same at the same time), so that the size of the machine enters through
// the costs only and a step of 100 000 devices takes seconds.
//
// A pass computes and then waits for its collectives (less the share that runs beside it); its result goes to the next virtual stage over
// the link, beside what its stage computes then. When the passes of a stage are over its gradients are reduced (less the share that ran
// beside the last passes), the optimizer's traffic and update follow, then parameters are gathered.
//
// Example: 1F1B with two stages and four microbatches has a bubble of (p - 1) / m = 1/4:
//   StageCost cost{/*forward=*/1, /*backwardInput=*/1, /*backwardWeight=*/1};
//   PipelineCosts costs{/*stages=*/2, /*chunks=*/1, /*microbatches=*/4, {cost, cost}};
//   Simulation s = cantFail(simulate(cantFail(makeSchedule("1f1b", 2, 4)), costs)); // s.seconds == 15: 12 of compute, 3 of waiting
//
//===----------------------------------------------------------------------===//
#ifndef PARA_SIMULATE_SIMULATE_H
#define PARA_SIMULATE_SIMULATE_H

#include "para/Schedule/Schedule.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <vector>

namespace para {

/// Of one chunk on one stage. Seconds of a pass are those of one microbatch.
struct StageCost {
  double forward = 0, backwardInput = 0, backwardWeight = 0; ///< compute; a whole backward takes the sum of its two parts
  double forwardTraffic = 0, backwardTraffic = 0;            ///< collectives of a pass (backward: of the part that makes the gradients of activations)
  double trafficOverlap = 0;                                 ///< share (0 to 1) of these that runs beside the compute of its own pass
  double transfer = 0;                                       ///< sending activations to the next virtual stage, and their gradients back
  // Once a step:
  double gradientTraffic = 0;  ///< reduction of gradients
  double gradientOverlap = 0;  ///< share (0 to 1) of it that may run beside backward passes, from the beginning of the chunk's last one on
  double updateTraffic = 0;    ///< collectives before the update, once the gradients are reduced: a global norm
  double update = 0;           ///< compute of the optimizer
  double gatherTraffic = 0;    ///< gathering of parameters behind the update
  // Memory:
  int64_t activationBytes = 0;                ///< of a microbatch, from its forward to its backward
  std::optional<int64_t> activationBytesHeld; ///< of these, what a backward of weights needs after that of activations; by default all
  int64_t fixedBytes = 0;                     ///< parameters, gradients, optimizer state
  int64_t temporaryBytes = 0;                 ///< the most that one pass takes besides
};

struct PipelineCosts {
  int64_t stages = 1, chunks = 1, microbatches = 1;
  std::vector<StageCost> costs; ///< [chunk * stages + stage]
  const StageCost &get(int64_t stage, int64_t chunk) const { return costs[chunk * stages + stage]; }
};

struct SimulationOptions {
  bool blockingTransfers = false; ///< a stage computes nothing while it sends
  bool updatesWaitForAll = false; ///< no stage updates before all stages' gradients are reduced, as the clipping of a global norm has it
  bool keepTimeline = false;
};

/// What a rank of each stage has, one queue each.
enum class SimulatedResource { Compute, Collectives, Gradients, Send, SendBack };
constexpr int64_t kNumSimulatedResources = 5;
enum class SimulatedKind { Forward, Backward, BackwardInput, BackwardWeight, Traffic, Send, GradientTraffic, UpdateTraffic, Update, GatherTraffic };

struct SimulatedEvent {
  int64_t stage, chunk, microbatch; ///< microbatch -1: once a step
  SimulatedResource resource;
  SimulatedKind kind;
  double begin, seconds;
};
/// Memory of a stage from a time on.
struct SimulatedMemory {
  int64_t stage;
  double seconds;
  int64_t bytes;
};

struct Simulation {
  double seconds = 0;                ///< of the step
  std::vector<double> begin, end;    ///< of each stage
  /// The step of each stage: it computes; it does not while its own collectives (or blocking sends) run; it waits for other stages. They
  /// sum to `seconds`.
  std::vector<double> compute, exposed, bubble;
  std::vector<int64_t> peakBytes; ///< of each stage: fixed, most activations in flight, most temporary
  std::vector<int64_t> inFlight;  ///< most microbatches in flight, [chunk * stages + stage]
  std::vector<SimulatedEvent> timeline; ///< if asked for: by stage and resource in order of time
  std::vector<SimulatedMemory> memory;  ///< if asked for: by stage in order of time

  /// The longest time from a stage's begin to its end: seconds a step in a row of steps between which stages do not wait for each other.
  double getSpan() const;
  /// Waiting as a share of `span`, where all stages compute alike: (cost - m (T_F + T_B + T_W)) / cost of Qi et al.
  double getBubbleRate(double span) const;
};

/// Error: costs that do not fit the schedule or are no numbers; a schedule that verifySchedule refuses or under which stages wait for
/// each other for ever.
llvm::Expected<Simulation> simulate(const Schedule &schedule, const PipelineCosts &costs, const SimulationOptions &options = {});

} // namespace para

#endif
