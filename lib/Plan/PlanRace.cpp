#include "Candidate.h"
#include "Pricer.h"
#include "para/Cost/Collective.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace para;

namespace {
/// Rows of a microbatch at most, and of one without sequence parallelism where there could be.
constexpr int64_t mostRows = 8, mostPlainRows = 2;

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

/// Rows of a microbatch that are tried, of so many a rank: powers of two, more of which gain nothing and keep more.
std::vector<int64_t> getRows(const PlanRequest &request, int64_t rank) {
  if (request.microbatches)
    return rank % request.microbatches ? std::vector<int64_t>() : std::vector<int64_t>{rank / request.microbatches};
  if (!request.separable || !request.train)
    return {rank};
  std::vector<int64_t> rows;
  for (int64_t r = 1; r <= mostRows && rank % r == 0; r *= 2)
    rows.push_back(r);
  return rows;
}

/// Schedules that are tried: 1F1B, and chunks where there are layers for them and microbatches to fill them.
std::vector<std::string> getSchedules(const SearchOptions &options, int64_t stages, int64_t microbatches, size_t layers) {
  if (!options.request.schedule.empty())
    return {options.request.schedule};
  std::vector<std::string> schedules = {"1f1b"};
  if (stages > 1 && microbatches % stages == 0 && !options.onlyCompiled)
    for (int64_t chunks : {2, 4, 8})
      if (int64_t(layers) >= chunks * stages)
        schedules.push_back("interleaved:" + std::to_string(chunks));
  return schedules;
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
    if (hasScores && (tensor == 1 || !request.sequenceParallel))
      kinds.push_back({recompute.str(), false});
    if (tensor > 1 && !request.noSequenceParallel)
      kinds.push_back({recompute.str(), true});
  }
  return kinds;
}

std::vector<Plan> PlanRace::getPlans(bool onlyKnown) {
  const PlanRequest &request = options.request;
  int64_t ranks = options.machine.getNumRanks(), node = options.machine.getRanksPerNode();
  auto isGiven = [&](StringRef axis, int64_t size) {
    auto it = request.mesh.find(axis.str());
    return it == request.mesh.end() ? true : it->second == size;
  };
  std::vector<Plan> plans;
  auto addKinds = [&](Plan plan, int64_t rows) {
    for (const auto &[recompute, sequence] : getKinds(options, plan.tensor)) {
      // Without sequence parallelism more is kept of the same work: a few sizes show by how much, where there is a choice.
      if (onlyKnown && !pricer->isKnown(plan.tensor, request.train ? rows : 0, sequence))
        continue;
      bool isOneOfMany = request.train && request.separable && !request.microbatches && rows > mostPlainRows;
      if (isOneOfMany && plan.tensor > 1 && !sequence && !request.noSequenceParallel && canCutSequence(plan.tensor))
        continue;
      plan.recompute = recompute;
      plan.sequenceParallel = sequence;
      plan.recipe = nameOf(plan) + (sequence ? " + sequence" : "") + (recompute == "none" ? "" : " + " + recompute + " recomputation");
      plans.push_back(plan);
    }
  };
  // What is given, or else what is tried.
  auto sizesOf = [&](StringRef axis, int64_t whole, int64_t most) {
    auto it = request.mesh.find(axis.str());
    if (it == request.mesh.end())
      return divisorsOf(whole, most);
    return whole % it->second == 0 && it->second <= whole ? std::vector<int64_t>{it->second} : std::vector<int64_t>();
  };
  for (int64_t tensor : sizesOf("tensor", ranks, std::min(ranks, node))) {
    for (int64_t pipeline : sizesOf("pipeline", ranks / tensor, int64_t(getNumLayers()))) {
      int64_t data = ranks / tensor / pipeline;
      if (!isGiven("data", data) || data > request.batch || request.batch % data)
        continue;
      for (int64_t rows : getRows(request, request.batch / data)) {
        Plan plan;
        plan.data = data;
        plan.tensor = tensor;
        plan.pipeline = pipeline;
        plan.microbatches = request.batch / data / rows;
        plan.shards = request.shards;
        plan.bucketBytes = request.bucketBytes;
        for (plan.zero = 0; plan.zero <= (request.train && data > 1 ? 3 : 0); ++plan.zero) {
          if (request.zero >= 0 && data > 1 && plan.zero != request.zero)
            continue;
          for (const std::string &schedule : getSchedules(options, pipeline, plan.microbatches, getNumLayers())) {
            plan.schedule = schedule;
            addKinds(plan, rows);
          }
        }
      }
    }
  }
  return plans;
}

bool PlanRace::canCutSequence(int64_t tensor) {
  auto [it, isNew] = sequences.try_emplace(tensor, true);
  if (isNew) {
    Plan plan;
    plan.tensor = tensor;
    plan.sequenceParallel = true;
    plan.microbatches = options.request.batch; // one row
    std::string fault;
    pricer->estimate(plan, false, fault);
    it->second = fault.empty();
  }
  return it->second;
}

std::vector<RacedPlan> PlanRace::run(size_t simulated, bool onlyKnown) {
  std::vector<RacedPlan> plans;
  for (Plan &plan : getPlans(onlyKnown)) {
    RacedPlan raced{std::move(plan), {}, ""};
    raced.price = pricer->estimate(raced.plan, false, raced.fault);
    if (raced.fault.empty())
      raced.fault = checkFit(raced.price, options);
    plans.push_back(std::move(raced));
  }
  auto sort = [&] {
    llvm::stable_sort(plans, [](const RacedPlan &a, const RacedPlan &b) {
      return std::make_pair(!a.fault.empty(), a.price.seconds) < std::make_pair(!b.fault.empty(), b.price.seconds);
    });
  };
  sort();
  for (size_t i = 0; i < std::min(plans.size(), simulated) && plans[i].fault.empty(); ++i) {
    plans[i].price = pricer->estimate(plans[i].plan, true, plans[i].fault);
    if (plans[i].fault.empty())
      plans[i].fault = checkFit(plans[i].price, options);
  }
  if (plans.size() > simulated) { // estimates of the others do not race with simulations
    std::stable_sort(plans.begin(), plans.begin() + simulated, [](const RacedPlan &a, const RacedPlan &b) {
      return std::make_pair(!a.fault.empty(), a.price.seconds) < std::make_pair(!b.fault.empty(), b.price.seconds);
    });
  } else {
    sort();
  }
  return plans;
}

RacedPlan PlanRace::price(const Plan &plan) {
  RacedPlan raced{plan, {}, ""};
  raced.price = pricer->estimate(plan, true, raced.fault);
  if (raced.fault.empty())
    raced.fault = checkFit(raced.price, options);
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
    return llvm::formatv("convolutions {0} x {1} x {2}", work.m, work.n, work.k).str();
  case KernelWork::Stream:
    return "elementwise and reductions";
  }
  return "";
}

std::string para::describe(const TrafficWork &work) {
  static constexpr const char *names[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"};
  return llvm::formatv("{0} over {1}, {2}", names[work.kind], work.axis, inBytes(work.bytes)).str();
}
