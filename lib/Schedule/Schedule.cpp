#include "para/Schedule/Schedule.h"

#include <set>

using namespace para;

namespace {
llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

// All forwards, then all backwards.
std::vector<Action> gpipe(int64_t, int64_t, int64_t microbatches) {
  std::vector<Action> actions;
  for (Phase phase : {Phase::Forward, Phase::Backward})
    for (int64_t m = 0; m < microbatches; ++m)
      actions.push_back({phase, m});
  return actions;
}

// As many forwards ahead as there are stages behind, then one backward for each forward.
std::vector<Action> oneForwardOneBackward(int64_t stage, int64_t stages, int64_t microbatches) {
  std::vector<Action> actions;
  int64_t ahead = std::min(stages - 1 - stage, microbatches), forward = 0, backward = 0;
  while (forward < ahead)
    actions.push_back({Phase::Forward, forward++});
  while (backward < microbatches) {
    if (forward < microbatches)
      actions.push_back({Phase::Forward, forward++});
    actions.push_back({Phase::Backward, backward++});
  }
  return actions;
}

struct Generator {
  llvm::StringRef name;
  std::vector<Action> (*make)(int64_t stage, int64_t stages, int64_t microbatches);
};
constexpr Generator kGenerators[] = {{"gpipe", gpipe}, {"1f1b", oneForwardOneBackward}};

/// Runs a schedule action by action, as far as messages let it.
struct Execution {
  explicit Execution(const Schedule &schedule) : schedule(schedule), next(schedule.stages.size(), 0) {}

  bool hasReceived(int64_t stage, const Action &action, llvm::ArrayRef<Transfer> transfers) const {
    return llvm::all_of(transfers, [&](const Transfer &t) { return t.to != stage || t.phase != action.phase || done.count({t.from, t.phase, action.microbatch}); });
  }
  bool hasBuffer(int64_t stage, const Action &action, const Transfer &t) const {
    return t.from != stage || t.written != action.phase || action.microbatch < t.depth || done.count({t.to, t.phase, action.microbatch - t.depth});
  }
  void run(llvm::ArrayRef<Transfer> transfers) {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto [stage, actions] : llvm::enumerate(schedule.stages))
        while (next[stage] < actions.size()) {
          const Action &action = actions[next[stage]];
          if (!hasReceived(stage, action, transfers) || !llvm::all_of(transfers, [&, s = stage](const Transfer &t) { return hasBuffer(s, action, t); }))
            break;
          done.insert({stage, action.phase, action.microbatch});
          ++next[stage];
          moved = true;
        }
    }
  }

  const Schedule &schedule;
  std::vector<size_t> next; ///< of each stage's actions
  std::set<std::tuple<int64_t, Phase, int64_t>> done;
};

std::string describe(const Action &action, size_t stage) {
  return (stringifyPhase(action.phase) + " of microbatch " + llvm::Twine(action.microbatch) + " on stage " + llvm::Twine(stage)).str();
}
} // namespace

llvm::ArrayRef<llvm::StringRef> para::getScheduleNames() {
  static const llvm::StringRef names[] = {kGenerators[0].name, kGenerators[1].name};
  return names;
}

llvm::Expected<Schedule> para::makeSchedule(llvm::StringRef name, int64_t stages, int64_t microbatches) {
  for (const Generator &generator : kGenerators) {
    if (generator.name != name)
      continue;
    Schedule schedule;
    for (int64_t stage = 0; stage < stages; ++stage)
      schedule.stages.push_back(generator.make(stage, stages, microbatches));
    return schedule;
  }
  return fail("no pipeline schedule is called '" + name + "'; there are " + llvm::join(getScheduleNames(), ", "));
}

llvm::Error para::verifySchedule(const Schedule &schedule, int64_t microbatches, llvm::ArrayRef<Transfer> transfers) {
  using Key = std::tuple<size_t, Phase, int64_t>;
  for (auto [stage, actions] : llvm::enumerate(schedule.stages)) {
    std::set<Key> seen;
    for (const Action &action : actions) {
      bool once = action.phase == Phase::Setup || action.phase == Phase::Update;
      if (action.microbatch < 0 || action.microbatch >= (once ? 1 : microbatches))
        return fail(describe(action, stage) + ": there are " + llvm::Twine(microbatches) + " microbatches");
      if (!seen.insert({stage, action.phase, action.microbatch}).second)
        return fail(describe(action, stage) + " is there twice");
      if (action.phase == Phase::Backward && !seen.count({stage, Phase::Forward, action.microbatch}))
        return fail(describe(action, stage) + " comes before its forward");
    }
    for (Phase phase : {Phase::Forward, Phase::Backward})
      for (int64_t m = 0; m < microbatches; ++m)
        if (seen.count({stage, phase, 0}) && !seen.count({stage, phase, m}))
          return fail(describe({phase, m}, stage) + " is missing");
  }
  Execution execution(schedule);
  execution.run(transfers);
  for (auto [stage, actions] : llvm::enumerate(schedule.stages))
    if (execution.next[stage] < actions.size()) {
      const Action &action = actions[execution.next[stage]];
      return fail(describe(action, stage) + " waits for ever for " + (execution.hasReceived(stage, action, transfers) ? "a buffer to send from" : "what it receives"));
    }
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
    for (const Action &action : actions) {
      now += action.phase == Phase::Forward ? 1 : action.phase == Phase::Backward ? -1 : 0;
      most = std::max(most, now);
    }
    result.push_back(most);
  }
  return result;
}
