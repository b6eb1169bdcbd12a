//===- Schedule.h - Which stage runs which microbatch when -------*- C++ -*-===//
//
// A schedule is a list of actions for each pipeline stage. Generators make them, one verifier checks them all. Sources: GPipe
// (Huang et al. 2019), 1F1B (Narayanan et al. 2019, PipeDream-Flush).
//
// Example: makeSchedule("1f1b", 2, 3) gives stage 0: F0 F1 B0 F2 B1 B2 and stage 1: F0 B0 F1 B1 F2 B2.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_SCHEDULE_SCHEDULE_H
#define PARA_SCHEDULE_SCHEDULE_H

#include "para/IR/ParaDialect.h"

#include "llvm/Support/Error.h"

namespace para {

struct Action {
  Phase phase;
  int64_t microbatch;
  bool operator==(const Action &other) const { return phase == other.phase && microbatch == other.microbatch; }
};

struct Schedule {
  std::vector<std::vector<Action>> stages;
};

/// Names of the schedules that there are.
llvm::ArrayRef<llvm::StringRef> getScheduleNames();

/// Forward and backward actions of all stages. An error names the schedules there are.
llvm::Expected<Schedule> makeSchedule(llvm::StringRef name, int64_t stages, int64_t microbatches);

/// A message that stage `from` sends to stage `to` in each action of `phase`. The sender's buffer holds `depth` of them: it does not begin
/// an action before the message of `depth` microbatches ago was taken.
struct Transfer {
  int64_t from, to;
  Phase phase;
  int64_t depth = 1;
  Phase written = phase; ///< in which the sender writes the buffer
};

/// Checks that every stage runs every microbatch once a phase, backward after forward, and that no stage waits for ever: an action
/// that receives runs after the action of the same phase and microbatch that sends. The error names stages and actions.
llvm::Error verifySchedule(const Schedule &schedule, int64_t microbatches, llvm::ArrayRef<Transfer> transfers);

/// Raises depths, each by as little as it takes, until no stage waits for ever for a buffer. Example: under 1F1B the first of seven
/// stages is six microbatches ahead of the last; a message that skips stages must keep up with the chain of buffers beside it.
void deepenTransfers(const Schedule &schedule, llvm::MutableArrayRef<Transfer> transfers);

/// Largest number of microbatches whose forward has run and whose backward has not, by stage.
std::vector<int64_t> getMicrobatchesInFlight(const Schedule &schedule);

} // namespace para

#endif
