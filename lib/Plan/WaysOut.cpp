#include "Candidate.h"
#include "Explaining.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace para;

namespace {
constexpr size_t mostWays = 8;

/// The largest items until they are too large together.
std::vector<PeakItem> findCauses(const PlanPrice::Memory &memory, double room) {
  std::vector<PeakItem> causes;
  double sum = 0;
  for (PeakItem &item : getItems(memory)) {
    if (sum > room)
      break;
    sum += item.bytes;
    causes.push_back(std::move(item));
  }
  return causes;
}

class Finder {
public:
  Finder(PlanRace &race, llvm::ArrayRef<RacedPlan> plans, const RacedPlan &refused, bool isHand)
      : race(race), plans(plans), refused(refused), isHand(isHand), machine(race.getOptions().machine), request(race.getOptions().request) {}

  Refusal run() {
    Refusal refusal;
    refusal.plan = refused.plan.recipe + ", " + describeMesh(refused.plan);
    refusal.stage = getPeakStage(refused.price);
    refusal.bytes = refused.price.getPeakBytes();
    refusal.room = machine.getMemoryBytes();
    refusal.causes = findCauses(refused.price.memory[refusal.stage], refusal.room);
    changeOne();
    if (llvm::none_of(ways, [](const WayOut &way) { return way.fits; }))
      changeSeveral();
    changeMesh();
    shrinkBatch();
    growMachine();
    race.setMachine(machine);
    race.setRequest(request);
    llvm::stable_sort(ways, [](const WayOut &a, const WayOut &b) {
      return std::make_tuple(!a.fits, a.fits ? a.plan.price.seconds : -a.savedBytes) < std::make_tuple(!b.fits, b.fits ? b.plan.price.seconds : -b.savedBytes);
    });
    if (ways.size() > mostWays)
      ways.resize(mostWays);
    refusal.ways = std::move(ways);
    const RacedPlan *least = nullptr;
    for (const RacedPlan &raced : plans)
      if (!raced.price.memory.empty() && (!least || raced.price.getPeakBytes() < least->price.getPeakBytes()))
        least = &raced;
    if (least)
      refusal.note = "of all plans " + least->plan.recipe + " (" + describeMesh(least->plan) + ") needs least: " + inBytes(least->price.getPeakBytes()) + " a device";
    return refusal;
  }

private:
  /// Keeps what saves memory.
  void add(std::string change, RacedPlan plan) {
    if (plan.price.memory.empty())
      return;
    WayOut way{std::move(change), std::move(plan), 0, 0, false};
    way.savedBytes = refused.price.getPeakBytes() - way.plan.price.getPeakBytes();
    way.slower = refused.price.seconds > 0 ? way.plan.price.seconds / refused.price.seconds - 1 : 0;
    way.fits = way.plan.fault.empty();
    auto key = [](const Plan &plan) { return std::make_tuple(plan.data, plan.expert, plan.context, plan.tensor, plan.pipeline, plan.zero, plan.microbatches, plan.recompute, plan.sequenceParallel, plan.schedule); };
    if (llvm::any_of(ways, [&](const WayOut &other) { return key(other.plan.plan) == key(way.plan.plan); }))
      return;
    if (way.savedBytes > 0.001 * refused.price.getPeakBytes())
      ways.push_back(std::move(way));
  }

  struct Change {
    std::string flag;
    std::function<void(Plan &)> apply;
  };

  /// Of the plan's own numbers, each with its values from the mildest on.
  std::vector<std::vector<Change>> getChanges() {
    const Plan &plan = refused.plan;
    std::vector<std::vector<Change>> changes(4);
    for (int zero = plan.zero + 1; zero <= 3 && plan.getReplicas() > 1 && request.train; ++zero)
      changes[0].push_back({"--zero=" + std::to_string(zero), [zero](Plan &other) { other.zero = zero; }});
    if (request.train && plan.recompute != "full") {
      if (plan.recompute == "none" && !race.getOptions().storage.fusesAttention)
        changes[1].push_back({"--recompute=selective", [](Plan &other) { other.recompute = "selective"; }});
      changes[1].push_back({"--recompute=full", [](Plan &other) { other.recompute = "full"; }});
    }
    int64_t share = request.batch / plan.getBatchRanks();
    if (request.separable && request.train)
      for (int64_t microbatches = plan.microbatches * 2; microbatches <= share; microbatches *= 2)
        if (share % microbatches == 0)
          changes[2].push_back({"--microbatches " + std::to_string(microbatches), [microbatches](Plan &other) { other.microbatches = microbatches; }});
    if (plan.tensor > 1 && !plan.sequenceParallel)
      changes[3].push_back({"--sequence-parallel", [](Plan &other) { other.sequenceParallel = true; }});
    return changes;
  }

  static Plan rename(Plan plan) {
    plan.recipe = nameOf(plan) + (plan.sequenceParallel ? " + sequence" : "") + (plan.recompute == "none" ? "" : " + " + plan.recompute + " recomputation");
    return plan;
  }

  void changeOne() {
    for (const auto &values : getChanges())
      for (const Change &change : values) {
        Plan plan = refused.plan;
        change.apply(plan);
        RacedPlan raced = race.price(rename(plan));
        bool fits = raced.fault.empty();
        add(change.flag, std::move(raced));
        if (fits)
          break; // the mildest that suffices
      }
  }

  void changeSeveral() {
    std::optional<RacedPlan> best;
    std::string flags;
    auto changes = getChanges();
    auto choose = [&](auto &self, size_t index, Plan plan, std::string text) -> void {
      if (index == changes.size()) {
        RacedPlan raced = race.price(rename(plan));
        if (raced.fault.empty() && (!best || raced.price.seconds < best->price.seconds)) {
          best = std::move(raced);
          flags = llvm::StringRef(text).trim().str();
        }
        return;
      }
      self(self, index + 1, plan, text);
      for (const Change &change : changes[index]) {
        Plan other = plan;
        change.apply(other);
        self(self, index + 1, other, text + " " + change.flag);
      }
    };
    choose(choose, 0, refused.plan, "");
    if (best)
      add(flags, std::move(*best));
  }

  /// The race without what the flags fix.
  void changeMesh() {
    if (plans.empty() || !plans.front().fault.empty())
      return;
    const RacedPlan &best = plans.front();
    add(describeFlags(best.plan), race.price(best.plan));
  }

  /// Of inference, whose batch runs in one piece: the largest part of it, by halves, that fits. Training has microbatches for that.
  void shrinkBatch() {
    if (request.train)
      return;
    for (int64_t parts = 2; request.batch / refused.plan.getBatchRanks() / parts > 0 && request.batch % (refused.plan.getBatchRanks() * parts) == 0; parts *= 2) {
      Plan plan = refused.plan;
      plan.microbatches = parts;
      RacedPlan raced = race.price(plan);
      if (raced.price.memory.empty())
        return;
      if (!raced.fault.empty())
        continue;
      raced.plan.microbatches = 1;
      raced.price.seconds /= double(parts);
      add(llvm::formatv("--dim batch={0}", request.batch / parts).str(), std::move(raced));
      return;
    }
  }

  /// A plan for that many more nodes: the given one with more data ranks, or any.
  std::optional<RacedPlan> findOn(const Machine &larger) {
    race.setMachine(larger);
    if (auto plan = isHand ? widen(refused.plan, larger.getNumRanks(), request.batch) : std::nullopt)
      if (RacedPlan raced = race.price(rename(*plan)); raced.fault.empty())
        return raced;
    std::vector<RacedPlan> others = race.run(4, /*onlyKnown=*/true);
    if (!others.empty() && others.front().fault.empty())
      return others.front();
    return std::nullopt;
  }

  /// Few more nodes under which a plan fits: doubled until one does, then halved towards what did not suffice.
  void growMachine() {
    const DeviceClass &last = machine.classes.back();
    int64_t nodes = std::max<int64_t>(1, last.count / last.levels.front().ranks), low = 0;
    constexpr int64_t mostTimes = 64;
    for (int64_t extra = 1; extra < mostTimes * nodes; extra = extra < nodes ? std::min(2 * extra, nodes) : 2 * extra + nodes) {
      auto larger = addNodes(machine, extra);
      if (!larger)
        return;
      std::optional<RacedPlan> found = findOn(*larger);
      if (!found) {
        low = extra;
        continue;
      }
      for (int step = 0; step < 4 && extra - low > 1; ++step) {
        int64_t middle = low + (extra - low) / 2;
        if (auto other = findOn(*addNodes(machine, middle))) {
          found = std::move(other);
          extra = middle;
        } else {
          low = middle;
        }
      }
      add(llvm::formatv("{0} more node{1} ({2} devices)", extra, extra == 1 ? "" : "s", found->plan.getNumRanks()).str(), std::move(*found));
      return;
    }
  }

  PlanRace &race;
  llvm::ArrayRef<RacedPlan> plans;
  const RacedPlan &refused;
  bool isHand;
  const Machine machine;
  const PlanRequest request;
  std::vector<WayOut> ways;
};
} // namespace

std::string para::describeFlags(const Plan &plan) {
  std::string flags = "--mesh " + plan.getMeshText(",");
  if (plan.microbatches > 1 || plan.pipeline > 1)
    flags += " --microbatches " + std::to_string(plan.microbatches);
  if (plan.getReplicas() > 1)
    flags += " --zero=" + std::to_string(plan.zero);
  if (plan.recompute != "none")
    flags += " --recompute=" + plan.recompute;
  if (plan.sequenceParallel)
    flags += " --sequence-parallel";
  return flags;
}

Refusal para::findWaysOut(PlanRace &race, llvm::ArrayRef<RacedPlan> plans, const RacedPlan &refused, bool isHand) { return Finder(race, plans, refused, isHand).run(); }
