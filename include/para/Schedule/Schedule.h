//===- Schedule.h - Which stage runs which microbatch when -------*- C++ -*-===//
//
// A schedule is a list of actions for each pipeline stage. Generators make them, one verifier checks them all. Sources: GPipe
// (Huang et al. 2019), 1F1B (Narayanan et al. 2019, PipeDream-Flush), interleaved (Narayanan et al. 2021), zero bubble (Qi et al. 2023).
//
// Where a stage has several chunks of the model, each is a virtual stage: the activations run through the virtual stages in their order.
//
// Example: makeSchedule("1f1b", 2, 3) gives stage 0: F0 F1 B0 F2 B1 B2 and stage 1: F0 B0 F1 B1 F2 B2.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_SCHEDULE_SCHEDULE_H
#define PARA_SCHEDULE_SCHEDULE_H

#include "para/IR/ParaDialect.h"

#include "llvm/Support/Error.h"

namespace para {

/// What a backward action computes: gradients of activations and weights, or one of them. The previous stage waits for the former only.
enum class BackwardPart { Whole, Input, Weight };

struct Action {
  Phase phase;
  int64_t microbatch;
  int64_t chunk = 0; ///< of the model, on this stage
  BackwardPart part = BackwardPart::Whole;
  bool operator==(const Action &other) const {
    return phase == other.phase && microbatch == other.microbatch && chunk == other.chunk && part == other.part;
  }
};

struct Schedule {
  std::vector<std::vector<Action>> stages;
  int64_t chunks = 1;  ///< of the model, on each stage
  bool folded = false; ///< odd chunks lie on the stages from the last to the first: with two chunks a V

  /// Place of a stage's chunk in the order of the model. Example: of 4 stages, chunk 1 on stage 0 is 4; folded it is 7.
  int64_t getVirtualStage(int64_t stage, int64_t chunk) const;
  /// Stage and chunk of a virtual stage.
  std::pair<int64_t, int64_t> getPlace(int64_t virtualStage) const;
  int64_t getNumVirtualStages() const { return int64_t(stages.size()) * chunks; }
};

/// Names of the schedules that there are; "interleaved:V" stands for any number V of chunks from 2 on.
llvm::ArrayRef<llvm::StringRef> getScheduleNames();
/// An error lists the schedules there are.
llvm::Error checkScheduleName(llvm::StringRef name);
/// Chunks of the model on each stage under a schedule; 1 for a name that is none.
int64_t getScheduleChunks(llvm::StringRef name);
/// "gpipe, 1f1b, ...": those with one chunk on each stage.
std::string listOneChunkSchedules();
/// Whether one microbatch runs under the schedule as without any: once forward through all stages and once back. Not in chunks, nor in halves.
bool isNaive(llvm::StringRef name);

/// Forward and backward actions of all stages. An error names the schedules there are.
llvm::Expected<Schedule> makeSchedule(llvm::StringRef name, int64_t stages, int64_t microbatches);

/// A message that virtual stage `from` sends to `to` in each action of `phase` (backward: in the part that makes the gradients of
/// activations). The sender's buffer holds `depth` of them: it does not begin an action before the message of `depth` microbatches ago
/// was taken.
struct Transfer {
  int64_t from, to;
  Phase phase;
  int64_t depth = 1;
  Phase written = phase; ///< in which the sender writes the buffer
};

/// What every pipeline sends: activations to the next virtual stage, their gradients back.
std::vector<Transfer> getChainTransfers(const Schedule &schedule);

/// Checks that every virtual stage runs every microbatch once a phase, backward after forward, gradients of weights after those of
/// activations, and that no stage waits for ever: an action that receives runs after the action of the same phase and microbatch that
/// sends. `mostInFlight`, if given, bounds getMicrobatchesInFlightByChunk, by virtual stage. The error names stages and actions.
llvm::Error verifySchedule(const Schedule &schedule, int64_t microbatches, llvm::ArrayRef<Transfer> transfers, llvm::ArrayRef<int64_t> mostInFlight = {});

/// Raises depths, each by as little as it takes, until no stage waits for ever for a buffer. Example: under 1F1B the first of seven
/// stages is six microbatches ahead of the last; a message that skips stages must keep up with the chain of buffers beside it.
void deepenTransfers(const Schedule &schedule, llvm::MutableArrayRef<Transfer> transfers);

/// Largest number of microbatches whose forward has run and whose backward (all of it) has not, by stage: of all its chunks together.
std::vector<int64_t> getMicrobatchesInFlight(const Schedule &schedule);
/// The same of each chunk by itself, by virtual stage.
std::vector<int64_t> getMicrobatchesInFlightByChunk(const Schedule &schedule);

/// Bytes that a stage holds at most for microbatches in flight, of which each takes `bytes`, by [chunk * stages + stage]. Where chunks do not
/// `share` memory each has what it needs at most, whenever that is.
std::vector<double> getMostHeld(const Schedule &schedule, llvm::ArrayRef<double> bytes, bool share);

} // namespace para

#endif
