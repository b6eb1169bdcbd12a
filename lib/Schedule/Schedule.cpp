#include "para/Schedule/Schedule.h"

#include "para/IR/Phases.h"

#include <numeric>
#include <set>

using namespace para;

namespace {
llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

/// Runs a schedule action by action, as far as messages let it.
struct Execution {
  explicit Execution(const Schedule &schedule) : schedule(schedule), next(schedule.stages.size(), 0) {}

  bool hasReceived(int64_t stage, const Action &action, llvm::ArrayRef<Transfer> transfers) const {
    return action.part == BackwardPart::Weight || llvm::all_of(transfers, [&, here = schedule.getVirtualStage(stage, action.chunk)](const Transfer &t) {
             return t.to != here || t.phase != action.phase || done.count({t.from, t.phase, action.microbatch});
           });
  }
  bool hasBuffer(int64_t stage, const Action &action, const Transfer &t) const {
    return action.part == BackwardPart::Weight || t.from != schedule.getVirtualStage(stage, action.chunk) || t.written != action.phase || action.microbatch < t.depth ||
           done.count({t.to, t.phase, action.microbatch - t.depth});
  }
  void run(llvm::ArrayRef<Transfer> transfers) {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto [stage, actions] : llvm::enumerate(schedule.stages))
        while (next[stage] < actions.size()) {
          const Action &action = actions[next[stage]];
          if (!hasReceived(stage, action, transfers) || !llvm::all_of(transfers, [&, s = stage](const Transfer &t) { return hasBuffer(s, action, t); }))
            break;
          if (action.part != BackwardPart::Weight)
            done.insert({schedule.getVirtualStage(stage, action.chunk), action.phase, action.microbatch});
          ++next[stage];
          moved = true;
        }
    }
  }

  const Schedule &schedule;
  std::vector<size_t> next;                             ///< of each stage's actions
  std::set<std::tuple<int64_t, Phase, int64_t>> done; ///< what has sent: virtual stage, phase, microbatch
};

std::string describe(const Schedule &schedule, const Action &action, size_t stage) {
  llvm::StringRef part = action.part == BackwardPart::Input ? " (activations)" : action.part == BackwardPart::Weight ? " (weights)" : "";
  std::string chunk = schedule.chunks > 1 ? " of chunk " + std::to_string(action.chunk) : "";
  return (stringifyPhase(action.phase) + part + " of microbatch " + llvm::Twine(action.microbatch) + chunk + " on stage " + llvm::Twine(stage)).str();
}

/// That a stage's list is whole and in order, whatever other stages do.
llvm::Error verifyStage(const Schedule &schedule, size_t stage, int64_t microbatches) {
  auto describe = [&](const Action &action) { return ::describe(schedule, action, stage); };
  constexpr int64_t phases = int64_t(Phase::Update) + 1, parts = int64_t(BackwardPart::Weight) + 1;
  std::vector<bool> seen(schedule.chunks * microbatches * phases * parts, false);
  auto indexOf = [&](Phase phase, BackwardPart part, const Action &of) {
    return ((of.chunk * microbatches + of.microbatch) * phases + int64_t(phase)) * parts + int64_t(part);
  };
  auto has = [&](Phase phase, BackwardPart part, const Action &of) { return bool(seen[indexOf(phase, part, of)]); };
  std::set<std::pair<Phase, int64_t>> works; // phases and chunks
  for (const Action &action : schedule.stages[stage]) {
    if (action.microbatch < 0 || action.microbatch >= (runsOnce(action.phase) ? 1 : microbatches))
      return fail(describe(action) + ": there are " + llvm::Twine(microbatches) + " microbatches");
    if (action.chunk < 0 || action.chunk >= schedule.chunks)
      return fail(describe(action) + " is of chunk " + llvm::Twine(action.chunk) + "; there are " + llvm::Twine(schedule.chunks));
    bool backward = action.phase == Phase::Backward;
    if (!backward && action.part != BackwardPart::Whole)
      return fail(describe(action) + ": only a backward has parts");
    bool again = backward && action.part != BackwardPart::Weight
                     ? has(Phase::Backward, BackwardPart::Whole, action) || has(Phase::Backward, BackwardPart::Input, action)
                     : has(action.phase, action.part, action);
    if (again)
      return fail(describe(action) + " is there twice");
    if (backward && !has(Phase::Forward, BackwardPart::Whole, action))
      return fail(describe(action) + " comes before its forward");
    if (action.part == BackwardPart::Weight && !has(Phase::Backward, BackwardPart::Input, action))
      return fail(describe(action) + " comes before its gradients of activations");
    seen[indexOf(action.phase, action.part, action)] = true;
    works.insert({action.phase, action.chunk});
  }
  for (Phase phase : {Phase::Forward, Phase::Backward})
    for (int64_t chunk = 0; chunk < schedule.chunks; ++chunk)
      for (int64_t m = 0; m < microbatches && works.count({phase, chunk}); ++m) {
        Action action = {phase, m, chunk};
        bool split = has(phase, BackwardPart::Input, action);
        if (!split && !has(phase, BackwardPart::Whole, action))
          return fail(describe(action) + " is missing");
        action.part = BackwardPart::Weight;
        if (split && !has(phase, action.part, action))
          return fail(describe(action) + " is missing");
      }
  return llvm::Error::success();
}

/// That no stage waits for ever.
llvm::Error verifyProgress(const Schedule &schedule, llvm::ArrayRef<Transfer> transfers) {
  Execution execution(schedule);
  execution.run(transfers);
  for (auto [stage, actions] : llvm::enumerate(schedule.stages))
    if (execution.next[stage] < actions.size()) {
      const Action &action = actions[execution.next[stage]];
      return fail(describe(schedule, action, stage) + " waits for ever for " + (execution.hasReceived(stage, action, transfers) ? "a buffer to send from" : "what it receives"));
    }
  return llvm::Error::success();
}

/// Calls `visit` with the chunk and by how much the number of its microbatches in flight changes.
void countInFlight(const std::vector<Action> &actions, llvm::function_ref<void(int64_t chunk, int64_t change)> visit) {
  for (const Action &action : actions)
    if (action.phase == Phase::Forward)
      visit(action.chunk, 1);
    else if (action.phase == Phase::Backward && action.part != BackwardPart::Input)
      visit(action.chunk, -1);
}
} // namespace

int64_t Schedule::getVirtualStage(int64_t stage, int64_t chunk) const {
  int64_t count = int64_t(stages.size());
  return chunk * count + (folded && chunk % 2 ? count - 1 - stage : stage);
}

std::pair<int64_t, int64_t> Schedule::getPlace(int64_t virtualStage) const {
  int64_t count = int64_t(stages.size()), chunk = virtualStage / count, stage = virtualStage % count;
  return {folded && chunk % 2 ? count - 1 - stage : stage, chunk};
}

std::vector<Transfer> para::getChainTransfers(const Schedule &schedule) {
  std::vector<Transfer> transfers;
  for (int64_t v = 0; v + 1 < schedule.getNumVirtualStages(); ++v) {
    transfers.push_back({v, v + 1, Phase::Forward});
    transfers.push_back({v + 1, v, Phase::Backward});
  }
  return transfers;
}

llvm::Error para::verifySchedule(const Schedule &schedule, int64_t microbatches, llvm::ArrayRef<Transfer> transfers, llvm::ArrayRef<int64_t> mostInFlight) {
  for (size_t stage = 0; stage < schedule.stages.size(); ++stage)
    if (llvm::Error error = verifyStage(schedule, stage, microbatches))
      return error;
  if (!transfers.empty())
    if (llvm::Error error = verifyProgress(schedule, transfers))
      return error;
  if (!mostInFlight.empty())
    for (auto [v, inFlight, most] : llvm::enumerate(getMicrobatchesInFlightByChunk(schedule), mostInFlight))
      if (inFlight > most)
        return fail("chunk " + llvm::Twine(schedule.getPlace(v).second) + " of stage " + llvm::Twine(schedule.getPlace(v).first) + " holds " + llvm::Twine(inFlight) +
                    " microbatches at once; at most " + llvm::Twine(most) + " are allowed");
  return llvm::Error::success();
}

void para::deepenTransfers(const Schedule &schedule, llvm::MutableArrayRef<Transfer> transfers) {
  for (Execution execution(schedule);;) {
    execution.run(transfers);
    Transfer *full = nullptr;
    for (auto [stage, actions] : llvm::enumerate(schedule.stages))
      for (Transfer &transfer : transfers)
        if (!full && execution.next[stage] < actions.size() && !execution.hasBuffer(stage, actions[execution.next[stage]], transfer) &&
            execution.hasReceived(stage, actions[execution.next[stage]], transfers))
          full = &transfer;
    if (!full)
      return;
    ++full->depth;
  }
}

std::vector<int64_t> para::getMicrobatchesInFlight(const Schedule &schedule) {
  std::vector<int64_t> result;
  for (const auto &actions : schedule.stages) {
    int64_t now = 0, most = 0;
    countInFlight(actions, [&](int64_t, int64_t change) { most = std::max(most, now += change); });
    result.push_back(most);
  }
  return result;
}

std::vector<int64_t> para::getMicrobatchesInFlightByChunk(const Schedule &schedule) {
  std::vector<int64_t> now(schedule.getNumVirtualStages(), 0), most = now;
  for (auto [stage, actions] : llvm::enumerate(schedule.stages))
    countInFlight(actions, [&, s = int64_t(stage)](int64_t chunk, int64_t change) {
      int64_t v = schedule.getVirtualStage(s, chunk);
      most[v] = std::max(most[v], now[v] += change);
    });
  return most;
}

std::vector<double> para::getMostHeld(const Schedule &schedule, llvm::ArrayRef<double> bytes, bool share) {
  int64_t stages = int64_t(schedule.stages.size());
  std::vector<double> result;
  for (auto [stage, actions] : llvm::enumerate(schedule.stages)) {
    std::vector<double> now(schedule.chunks, 0), most = now;
    double all = 0, mostOfAll = 0;
    countInFlight(actions, [&, s = int64_t(stage)](int64_t chunk, int64_t change) {
      double changed = double(change) * bytes[chunk * stages + s];
      most[chunk] = std::max(most[chunk], now[chunk] += changed);
      mostOfAll = std::max(mostOfAll, all += changed);
    });
    result.push_back(share ? mostOfAll : std::accumulate(most.begin(), most.end(), 0.0));
  }
  return result;
}
