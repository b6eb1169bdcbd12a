#include "Candidate.h"
#include "Explaining.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace para;

namespace {
constexpr double gib = 1 << 30;
/// Gains below are none: estimates are not so good.
constexpr double leastGain = 0.001;

/// PRESET[:NODES[xDEVICES]] with other numbers; none for files and machines of several kinds.
std::optional<Machine> respecify(const Machine &machine, int64_t nodes, int64_t perNode) {
  llvm::StringRef name = machine.name;
  if (name.contains('+') || name.ends_with(".json") || machine.classes.size() != 1)
    return std::nullopt;
  auto other = Machine::get(llvm::formatv("{0}:{1}x{2}", name.split(':').first, nodes, perNode).str());
  if (other)
    return std::move(*other);
  llvm::consumeError(other.takeError());
  return std::nullopt;
}

/// The machine with so many of its devices: of whole nodes, or of one; none where it has several kinds.
std::optional<Machine> takeDevices(const Machine &machine, int64_t devices) {
  int64_t perNode = machine.classes.front().levels.front().ranks;
  if (machine.classes.size() != 1 || (devices > perNode && devices % perNode))
    return std::nullopt;
  if (auto other = respecify(machine, devices > perNode ? devices / perNode : 1, std::min(devices, perNode)))
    return other;
  Machine smaller = machine;
  DeviceClass &only = smaller.classes.front();
  only.count = devices;
  while (only.levels.size() > 1 && only.levels[only.levels.size() - 2].ranks >= devices)
    only.levels.pop_back();
  only.levels.back().ranks = devices;
  return smaller;
}

/// Bandwidth of the levels inside nodes or outside of them.
Machine speedUp(const Machine &machine, bool inside) {
  Machine faster = machine;
  for (DeviceClass &devices : faster.classes)
    for (auto [index, level] : llvm::enumerate(devices.levels))
      if ((index == 0) == inside)
        level.bytesPerSecond *= 2;
  return faster;
}

class Asker {
public:
  Asker(PlanRace &race, const RacedPlan &chosen, bool isHand) : race(race), chosen(chosen), isHand(isHand), machine(race.getOptions().machine), request(race.getOptions().request) {}
  ~Asker() {
    race.setMachine(machine);
    race.setRequest(request);
  }

  /// Races again on another machine; a plan given by hand is priced again, with other data ranks if it has to be.
  WhatIf ask(std::string change, const Machine &other) {
    WhatIf what{std::move(change), std::nullopt, 0, ""};
    race.setRequest(request);
    race.setMachine(other);
    std::vector<RacedPlan> plans;
    if (!isHand)
      plans = race.run(8, /*onlyKnown=*/true, &chosen.plan);
    if (plans.empty() && (isHand || !request.mesh.empty())) {
      if (auto plan = widen(chosen.plan, other.getNumRanks(), request.batch))
        what.plan = race.price(*plan);
      else
        what.note = llvm::formatv("the plan that was given has no place for {0} devices", other.getNumRanks()).str();
    } else {
      if (!plans.empty() && plans.front().fault.empty())
        what.plan = plans.front();
      else
        what.note = plans.empty() ? llvm::formatv("no mesh of {0} devices that is like this one", other.getNumRanks()).str() : plans.front().fault;
    }
    if (what.plan && what.plan->price.seconds > 0)
      what.gain = chosen.price.seconds / what.plan->price.seconds - 1;
    if (what.plan && what.gain < leastGain) {
      if (what.gain < -leastGain)
        what.note = isHand ? "nothing: the given plan is slower with all of them" : "no plan for all of them is faster";
      else
        what.note = "nothing";
      what.gain = std::max(0.0, what.gain);
    }
    return what;
  }

private:
  PlanRace &race;
  const RacedPlan &chosen;
  bool isHand;
  Machine machine;
  PlanRequest request;
};
} // namespace

std::optional<Plan> para::widen(Plan plan, int64_t ranks, int64_t batch) {
  if (ranks == plan.getNumRanks())
    return plan;
  int64_t block = plan.getNumRanks() / plan.data;
  if (ranks % block || batch % (ranks / block * plan.expert))
    return std::nullopt;
  int64_t rows = std::max<int64_t>(1, batch / (plan.getBatchRanks() * plan.microbatches));
  plan.data = ranks / block;
  plan.microbatches = std::max<int64_t>(1, batch / plan.getBatchRanks() / rows);
  return plan;
}

std::optional<Machine> para::addNodes(const Machine &machine, int64_t nodes) {
  const DeviceClass &last = machine.classes.back();
  int64_t perNode = last.levels.front().ranks, there = std::max<int64_t>(1, last.count / perNode), total = machine.getNumRanks();
  if (total + nodes * perNode > kMostRanks)
    return std::nullopt;
  if (auto other = respecify(machine, there + nodes, perNode))
    return other;
  if (last.levels.size() < 2)
    return std::nullopt;
  Machine larger = machine;
  larger.classes.back().count += nodes * perNode;
  for (DeviceClass &devices : larger.classes)
    for (Level &level : llvm::drop_begin(devices.levels))
      if (level.ranks == total)
        level.ranks = larger.getNumRanks();
  return larger;
}

std::optional<Machine> para::addDevice(const Machine &machine) {
  const DeviceClass &last = machine.classes.back();
  if (machine.classes.size() != 1 || last.levels.size() != 1)
    return std::nullopt;
  if (auto other = respecify(machine, 1, last.count + 1))
    return other;
  Machine larger = machine;
  larger.classes[0].levels[0].ranks = ++larger.classes[0].count;
  return larger;
}

std::vector<WhatIf> para::askWhatIf(PlanRace &race, llvm::ArrayRef<RacedPlan> plans, const RacedPlan &chosen, bool isHand) {
  const Machine machine = race.getOptions().machine;
  const DeviceClass &last = machine.classes.back();
  Asker asker(race, chosen, isHand);
  std::vector<WhatIf> result;

  // Memory changes no price: what the race has refused is asked again.
  WhatIf &memory = result.emplace_back(WhatIf{"one more GiB a device", std::nullopt, 0, ""});
  const RacedPlan *next = nullptr; // the plan that the least more memory makes possible
  for (const RacedPlan &raced : plans)
    if (!raced.fault.empty() && !raced.price.memory.empty() && raced.price.getPeakBytes() > machine.getMemoryBytes() && raced.price.seconds > 0 &&
        raced.price.seconds < 0.99 * chosen.price.seconds && (!next || raced.price.getPeakBytes() < next->price.getPeakBytes()))
      next = &raced;
  if (next && next->price.getPeakBytes() <= machine.getMemoryBytes() + gib) {
    for (const RacedPlan &raced : plans)
      if (raced.price.getPeakBytes() <= machine.getMemoryBytes() + gib && !raced.price.memory.empty() && raced.price.seconds < next->price.seconds)
        next = &raced;
    memory.plan = race.price(next->plan);
    memory.plan->fault.clear();
    memory.gain = chosen.price.seconds / memory.plan->price.seconds - 1;
  }
  if (memory.gain < leastGain) {
    memory.note = "nothing";
    memory.plan.reset();
    if (next)
      memory.note += llvm::formatv("; {0:F1} GiB more a device make room for {1}, about {2} faster", (next->price.getPeakBytes() - machine.getMemoryBytes()) / gib, next->plan.recipe,
                                   inPercent(chosen.price.seconds / next->price.seconds - 1));
    else
      memory.note += isHand ? "" : "; no faster plan of the race lacks memory";
  }
  if (auto larger = addDevice(machine))
    result.push_back(asker.ask("one more device", *larger));
  if (auto larger = addNodes(machine, 1))
    result.push_back(asker.ask(llvm::formatv("one more node ({0} more devices)", larger->getNumRanks() - machine.getNumRanks()).str(), *larger));
  // Ranks without samples wait, or take parts of what others do: it may be faster without them.
  int64_t batch = race.getOptions().request.batch, perNode = last.levels.front().ranks, devices = batch > perNode ? batch - batch % perNode : batch;
  if (auto smaller = batch < machine.getNumRanks() ? takeDevices(machine, devices) : std::nullopt) {
    WhatIf fewer = asker.ask(llvm::formatv("fewer devices: {0}, for a batch of {1}", devices, batch).str(), *smaller);
    if (fewer.plan && fewer.gain > 0 && fewer.note.empty())
      result.push_back(std::move(fewer));
  }
  int64_t nodes = last.count / last.levels.front().ranks;
  if (nodes > 2 && nodes % 2 == 0 && machine.classes.size() == 1)
    if (auto larger = addNodes(machine, nodes / 2))
      result.push_back(asker.ask(llvm::formatv("half as many nodes again ({0} devices)", larger->getNumRanks()).str(), *larger));
  if (nodes > 1 && machine.classes.size() == 1)
    if (auto larger = addNodes(machine, nodes))
      result.push_back(asker.ask(llvm::formatv("twice as many nodes ({0} devices)", larger->getNumRanks()).str(), *larger));
  if (last.levels.size() > 1)
    result.push_back(asker.ask("twice the bandwidth between nodes (" + last.levels.back().name + ")", speedUp(machine, false)));
  if (last.levels.front().ranks > 1)
    result.push_back(asker.ask("twice the bandwidth inside a node (" + last.levels.front().name + ")", speedUp(machine, true)));
  return result;
}
