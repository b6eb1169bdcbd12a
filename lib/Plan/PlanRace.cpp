#include "Candidate.h"
#include "Pricer.h"
#include "para/Cost/Collective.h"
#include "para/Schedule/Schedule.h"

#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace mlir;
using namespace para;

namespace {
/// Rows of a microbatch at first, and of one without sequence parallelism where there could be.
constexpr int64_t mostRows = 4, mostPlainRows = 2;
/// More of them are no more use and make schedules long.
constexpr int64_t mostMicrobatches = 4096;
/// Gain that makes still larger microbatches worth a try, of plans that are no more than so much behind the best.
constexpr double leastGain = 0.01, mostBehind = 1.25;

/// Numbers to divide `whole` by that keep meshes few: all divisors up to 16, powers of two and their triples beyond.
std::vector<int64_t> divisorsOf(int64_t whole, int64_t most) {
  std::vector<int64_t> result;
  for (int64_t d = 1; d <= std::min(whole, most); ++d) {
    int64_t odd = d;
    while (odd % 2 == 0)
      odd /= 2;
    if (whole % d == 0 && (d <= 16 || odd == 1 || odd == 3))
      result.push_back(d);
  }
  return result;
}

/// Whether no other divisor of `whole` is between them.
bool areNeighbours(int64_t a, int64_t b, int64_t whole) {
  return a != b && llvm::none_of(getDivisors(whole), [&](int64_t size) { return std::min(a, b) < size && size < std::max(a, b); });
}

/// Microbatches that are tried of so many rows a rank, most first; the last one may be smaller. `idles`: some may leave ranks without a row.
std::vector<int64_t> getMicrobatches(const PlanRequest &request, int64_t rank, bool idles) {
  if (request.microbatches)
    return request.microbatches <= rank || idles ? std::vector<int64_t>{request.microbatches} : std::vector<int64_t>();
  if (!request.separable || !request.train)
    return {1};
  std::vector<int64_t> microbatches;
  int64_t fewest = std::max<int64_t>(1, llvm::PowerOf2Ceil(llvm::divideCeil(rank, mostMicrobatches)));
  for (int64_t rows = fewest; rows <= fewest * mostRows && rows <= rank; rows *= 2)
    if (int64_t parts = llvm::divideCeil(rank, rows); fewest > 1 || int64_t(llvm::divideCeil(rank, parts)) == rows)
      microbatches.push_back(parts);
  return microbatches;
}

/// Ranks for parts of a sequence, of meshes that have so many for parts of the batch too: none, and the fewest that leave each a sample.
std::vector<int64_t> getContexts(const PlanRequest &request, int64_t whole, int64_t expert) {
  std::vector<int64_t> contexts = {1};
  if (whole * expert > request.batch)
    for (int64_t context : divisorsOf(whole, whole))
      if (whole / context * expert <= request.batch && contexts.size() < 3)
        contexts.push_back(context);
  return contexts;
}

/// Schedules that are tried: 1F1B, and chunks where there are layers for them and microbatches to fill them.
std::vector<std::string> getSchedules(const SearchOptions &options, int64_t stages, int64_t microbatches, size_t layers) {
  if (!options.request.schedule.empty())
    return {options.request.schedule};
  std::vector<std::string> schedules = {"1f1b"};
  if (stages > 1 && microbatches >= stages && !options.request.oneStageARank)
    for (int64_t chunks : {2, 4, 8})
      if (int64_t(layers) >= chunks * stages)
        schedules.push_back("interleaved:" + std::to_string(chunks));
  return schedules;
}

/// Of what is done over the mesh, and how.
std::string nameAll(const Plan &plan) {
  return nameOf(plan) + (plan.sequenceParallel ? " + sequence" : "") + (plan.recompute == "none" ? "" : " + " + plan.recompute + " recomputation");
}

std::string checkFit(const PlanPrice &price, const SearchOptions &options) {
  const Execution &execution = options.execution;
  double peak = price.getPeakBytes() * (1 + execution.fragmentation) + execution.contextBytes, room = options.machine.getMemoryBytes();
  if (peak <= room)
    return "";
  return llvm::formatv("needs {0:F1} GiB of {1:F1} GiB a device", peak / (1 << 30), room / (1 << 30)).str();
}
} // namespace

/// What a layer of a plan may be: recomputation and sequence parallelism, as far as the request leaves them open.
static std::vector<std::pair<std::string, bool>> getKinds(const SearchOptions &options, int64_t tensor) {
  const PlanRequest &request = options.request;
  std::vector<std::pair<std::string, bool>> kinds;
  for (StringRef recompute : getRecomputeNames()) {
    bool isOpen = request.recompute.empty() || request.recompute == "auto";
    if (!(isOpen || request.recompute == recompute) || (!request.train && recompute != "none"))
      continue;
    // Selective is to compute scores again, and to gather again what sequence parallelism gathers: without either it is none.
    bool hasScores = recompute != "selective" || !options.storage.fusesAttention || !isOpen;
    if (hasScores && !request.sequenceParallel)
      kinds.push_back({recompute.str(), false});
    if (tensor > 1 && !request.noSequenceParallel)
      kinds.push_back({recompute.str(), true});
  }
  return kinds;
}

bool PlanRace::hasBusyMesh() const {
  bool has = false;
  auto getSizes = [&](StringRef axis, int64_t whole, const Plan &mesh) { return getSizesOf(axis, whole, mesh); };
  forEachMesh(options.request, options.machine.getNumRanks(), /*idles=*/false, getSizes, [&](const Plan &mesh) {
    has |= !options.request.microbatches || options.request.microbatches <= int64_t(llvm::divideCeil(options.request.batch, mesh.getBatchRanks()));
  });
  return has;
}

std::vector<int64_t> PlanRace::getSizesOf(StringRef axis, int64_t whole, const Plan &mesh) const {
  if (axis == "context")
    return getContexts(options.request, whole, mesh.expert);
  auto [layers, mostTensor] = getLimits();
  return divisorsOf(whole, axis == "tensor" ? mostTensor : axis == "pipeline" ? layers : std::max<int64_t>(1, options.request.experts));
}

std::vector<Plan> PlanRace::getPlans(bool onlyKnown, const Plan *near) {
  return getPlans(onlyKnown, near, !hasBusyMesh());
}

std::vector<Plan> PlanRace::getPlans(bool onlyKnown, const Plan *near, bool idles) {
  const PlanRequest &request = options.request;
  int64_t ranks = options.machine.getNumRanks();
  auto isNear = [&](const Plan &plan, int64_t rows, bool sequence) {
    if (!near || plan.expert != near->expert || rows != int64_t(llvm::divideCeil(request.batch, near->getBatchRanks() * near->microbatches)))
      return false;
    bool isOpen = near->tensor == 1 || plan.tensor == 1; // where nothing is cut over it, there is no sequence parallelism
    if (plan.context == near->context)
      return areNeighbours(plan.tensor, near->tensor, ranks) && (isOpen || sequence == near->sequenceParallel);
    return plan.tensor == near->tensor && areNeighbours(plan.context, near->context, ranks) && sequence == near->sequenceParallel;
  };
  std::vector<Plan> plans;
  auto isKnown = [&](Plan plan, const std::string &recompute, bool sequence) {
    plan.recompute = recompute;
    plan.sequenceParallel = sequence;
    return pricer->isKnown(plan, !request.train);
  };
  auto addKinds = [&](Plan plan, int64_t rows) {
    for (const auto &[recompute, sequence] : getKinds(options, plan.tensor)) {
      // Without sequence parallelism more is kept of the same work: a few sizes show by how much, where there is a choice.
      if (onlyKnown && !isKnown(plan, recompute, sequence) && !isNear(plan, rows, sequence))
        continue;
      bool isOneOfMany = request.train && request.separable && !request.microbatches && rows > mostPlainRows;
      if (isOneOfMany && plan.tensor > 1 && !sequence && !request.noSequenceParallel && canCutSequence(plan.tensor))
        continue;
      plan.recompute = recompute;
      plan.sequenceParallel = sequence;
      plan.recipe = nameAll(plan);
      plans.push_back(plan);
    }
  };
  auto addPlans = [&](Plan plan) {
    plan.shards = request.shards;
    plan.bucketBytes = request.bucketBytes;
    int64_t share = llvm::divideCeil(request.batch, plan.getBatchRanks());
    for (int64_t microbatches : getMicrobatches(request, share, idles)) {
      plan.microbatches = microbatches;
      int64_t rows = llvm::divideCeil(request.batch, plan.getBatchRanks() * microbatches);
      bool hasReplicas = plan.getReplicas() > 1;
      for (plan.zero = 0; plan.zero <= (request.train && hasReplicas ? 3 : 0); ++plan.zero) {
        if (request.zero >= 0 && hasReplicas && plan.zero != request.zero)
          continue;
        for (const std::string &schedule : getSchedules(options, plan.pipeline, microbatches, getNumLayers())) {
          if (!request.stages.empty() && getScheduleChunks(schedule) > 1)
            continue; // cuts stages into chunks
          plan.schedule = schedule;
          addKinds(plan, rows);
        }
      }
    }
  };
  auto getSizes = [&](StringRef axis, int64_t whole, const Plan &mesh) { return getSizesOf(axis, whole, mesh); };
  forEachMesh(request, ranks, idles, getSizes, addPlans);
  return plans;
}

bool PlanRace::canCutSequence(int64_t tensor) {
  auto [it, isNew] = sequences.try_emplace(tensor, true);
  if (isNew) {
    Plan plan;
    plan.tensor = tensor;
    plan.sequenceParallel = true;
    plan.microbatches = std::min(options.request.batch, mostMicrobatches); // one row, of usual batches
    std::string fault;
    pricer->estimate(plan, false, fault);
    it->second = fault.empty();
  }
  return it->second;
}

RacedPlan PlanRace::estimate(const Plan &plan) {
  RacedPlan raced{plan, {}, ""};
  raced.price = pricer->estimate(raced.plan, false, raced.fault);
  if (raced.fault.empty())
    raced.fault = checkFit(raced.price, options);
  return raced;
}

void PlanRace::addLargerMicrobatches(std::vector<RacedPlan> &plans, bool onlyKnown) {
  const PlanRequest &request = options.request;
  if (request.microbatches || !request.train || !request.separable)
    return;
  double best = std::numeric_limits<double>::infinity();
  for (const RacedPlan &raced : plans)
    if (raced.fault.empty())
      best = std::min(best, raced.price.seconds);
  // Of plans that are the same but for their microbatches, the one of fewest and the one of next to fewest.
  std::map<std::string, std::pair<const RacedPlan *, const RacedPlan *>> ends;
  for (const RacedPlan &raced : plans) {
    Plan key = raced.plan;
    key.microbatches = 1;
    key.recipe.clear();
    key.shards.clear(); // of all plans
    auto &[last, before] = ends[llvm::formatv("{0}", llvm::json::Value(key.toJson()))];
    if (!last || raced.plan.microbatches < last->plan.microbatches) {
      before = last;
      last = &raced;
    } else if (!before || raced.plan.microbatches < before->plan.microbatches) {
      before = &raced;
    }
  }
  // Without sequence parallelism, where there could be, a few sizes show enough, unless they lead.
  auto isOpen = [&](const RacedPlan &raced) {
    bool isPlain = raced.plan.tensor > 1 && !raced.plan.sequenceParallel && !request.noSequenceParallel;
    return !isPlain || raced.price.seconds <= best || !canCutSequence(raced.plan.tensor);
  };
  std::vector<std::pair<const RacedPlan *, const RacedPlan *>> order;
  for (const auto &[key, end] : ends)
    if (end.second && end.first->fault.empty() && isOpen(*end.first) && end.first->price.seconds < end.second->price.seconds * (1 - leastGain))
      order.push_back(end);
  llvm::stable_sort(order, [](const auto &a, const auto &b) { return a.first->price.seconds < b.first->price.seconds; });
  std::vector<RacedPlan> added;
  for (const auto &[last, before] : order) {
    RacedPlan raced = *last;
    double previous = before->price.seconds;
    while (raced.fault.empty() && raced.plan.microbatches > 1 && raced.price.seconds < previous * (1 - leastGain)) {
      previous = raced.price.seconds;
      Plan plan = raced.plan;
      plan.microbatches = llvm::divideCeil(plan.microbatches, 2);
      if (getScheduleChunks(plan.schedule) > 1 && plan.microbatches < plan.pipeline)
        break; // the estimate is for chunks that microbatches fill
      // What must be partitioned for it is so only near the best.
      bool isKnown = pricer->isKnown(plan, false);
      if (!isKnown && (onlyKnown || previous > best * mostBehind))
        break;
      plan.recipe = nameAll(plan);
      raced = estimate(plan);
      if (raced.fault.empty())
        best = std::min(best, raced.price.seconds);
      added.push_back(raced);
    }
  }
  llvm::append_range(plans, std::move(added));
}

bool para::isBetter(const RacedPlan &a, const RacedPlan &b) {
  auto key = [](const RacedPlan &raced) { return std::make_tuple(!raced.fault.empty(), !raced.isPriced(), raced.price.seconds); };
  return key(a) < key(b);
}

void PlanRace::simulate(RacedPlan &raced) {
  raced.price = pricer->estimate(raced.plan, true, raced.fault);
  if (raced.fault.empty())
    raced.fault = checkFit(raced.price, options);
}

size_t PlanRace::addOtherOrders(std::vector<RacedPlan> &plans, size_t simulated) {
  simulated = std::min(plans.size(), simulated);
  std::vector<RacedPlan> added;
  double best = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < simulated; ++i)
    if (plans[i].fault.empty())
      best = std::min(best, plans[i].price.seconds);
  for (size_t i = 0; i < simulated; ++i)
    if (plans[i].fault.empty() && plans[i].price.seconds - plans[i].price.bubble < best)
      for (const Plan &plan : getOtherOrders(plans[i].plan, options.request)) {
        bool isThere = llvm::is_contained(getSchedules(options, plan.pipeline, plan.microbatches, getNumLayers()), plan.schedule);
        if (isThere || int64_t(getNumLayers()) < plan.getNumStages())
          continue;
        simulate(added.emplace_back(RacedPlan{plan, {}, ""}));
        if (added.back().fault.empty())
          best = std::min(best, added.back().price.seconds);
      }
  plans.insert(plans.begin() + simulated, added.begin(), added.end());
  return added.size();
}

std::vector<RacedPlan> PlanRace::run(size_t simulated, bool onlyKnown, const Plan *near) {
  std::vector<RacedPlan> plans;
  for (const Plan &plan : getPlans(onlyKnown, near))
    plans.push_back(estimate(plan));
  addLargerMicrobatches(plans, onlyKnown);
  auto sort = [&] { llvm::stable_sort(plans, isBetter); };
  sort();
  for (size_t i = 0; i < std::min(plans.size(), simulated) && plans[i].fault.empty(); ++i)
    simulate(plans[i]);
  simulated += addOtherOrders(plans, simulated);
  if (plans.size() > simulated) { // estimates of the others do not race with simulations
    std::stable_sort(plans.begin(), plans.begin() + simulated, isBetter);
  } else {
    sort();
  }
  if (!plans.empty() && plans.front().fault.empty()) { // what is simulated is slower; of all others, their bounds say how fast they may be
    double bound = plans.front().price.seconds;
    for (size_t i = std::min(plans.size(), simulated); i < plans.size(); ++i)
      if (plans[i].fault.empty())
        bound = std::min(bound, plans[i].price.lowerBound);
    plans.front().price.raceBound = bound;
  }
  if (!plans.empty())
    plans.front().price.flops = pricer->getModelFlops(plans.front().plan);
  return plans;
}

RacedPlan PlanRace::price(const Plan &plan) {
  RacedPlan raced{plan, {}, ""};
  simulate(raced);
  raced.price.flops = pricer->getModelFlops(plan);
  return raced;
}

PlanParts PlanRace::dissect(const Plan &plan) {
  PlanParts parts;
  std::string fault;
  pricer->estimate(plan, false, fault, &parts);
  return parts;
}

PlanRace::PlanRace(ModuleOp module, ArrayRef<Segment> segments, SearchOptions given) : options(std::move(given)), pricer(Pricer::create(module, segments, options)) {}
PlanRace::~PlanRace() = default;

size_t PlanRace::getNumLayers() const { return pricer->getNumLayers(); }

PlanLimits PlanRace::getLimits() const {
  int64_t ranks = options.machine.getNumRanks(), node = options.machine.getRanksPerNode();
  // A layer is cut over several nodes only where there are too few samples for as many ranks.
  return {int64_t(getNumLayers()), options.request.batch * node < ranks ? ranks : std::min(ranks, node)};
}

void PlanRace::setMachine(const Machine &machine) {
  options.machine = machine;
  options.request.ranks = machine.getNumRanks();
  pricer->takeMachine();
}

void PlanRace::setRequest(const PlanRequest &request) { options.request = request; }

std::string para::describe(const KernelWork &work) {
  switch (work.kind) {
  case KernelWork::Product:
    return llvm::formatv("products {0}{1} x {2} x {3}", work.batch > 1 ? std::to_string(work.batch) + " x " : "", work.m, work.n, work.k).str();
  case KernelWork::Attention:
    return llvm::formatv("attention of {0} heads, {1} queries, {2} keys", work.batch, work.m, work.n).str();
  case KernelWork::Convolution:
    return "convolutions";
  case KernelWork::Stream:
    return "elementwise and reductions";
  }
  return "";
}

std::string para::describe(const TrafficWork &work) {
  static constexpr const char *names[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"};
  return llvm::formatv("{0} over {1}, {2}", names[work.kind], work.axis, inBytes(work.bytes)).str();
}
