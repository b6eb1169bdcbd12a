#include "Candidate.h"
#include "Explaining.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace para;

namespace {
/// Rows of layers of one segment, or of any.
std::vector<LayerRow> findRows(const PlanParts &parts, llvm::ArrayRef<LayerName> names, bool bySegment) {
  std::vector<LayerRow> rows;
  for (size_t layer = 0; layer < parts.virtualStages.size(); ++layer) {
    auto [stage, chunk] = parts.schedule.getPlace(parts.virtualStages[layer]);
    if (rows.empty() || (bySegment && rows.back().segment != parts.layers[layer]) || rows.back().stage != stage || rows.back().chunk != chunk)
      rows.push_back({layer, layer, parts.layers[layer], stage, chunk, ""});
    rows.back().end = layer + 1;
  }
  for (LayerRow &row : rows)
    row.name = nameRow(names[row.begin], names[row.end - 1]);
  return rows;
}

/// Whether layers of two segments do the same work in about the same time.
bool areAlike(const PlanParts::Layer &a, const PlanParts::Layer &b) {
  auto key = [](const PlanParts::Layer &layer) {
    std::map<std::string, int64_t> counts;
    for (const PlanParts::Item &item : layer.items)
      counts[item.name] = item.count;
    return counts;
  };
  return std::abs(a.getSeconds() - b.getSeconds()) <= 0.02 * a.getSeconds() && key(a) == key(b);
}

std::vector<LayerCost> findCostly(const PlanParts &parts, llvm::ArrayRef<LayerName> names) {
  std::vector<LayerCost> result;
  std::vector<size_t> first; // layer of each of them
  double all = 0;
  for (auto [layer, segment] : llvm::enumerate(parts.layers)) {
    const PlanParts::Layer &part = parts.segments[segment];
    all += part.getSeconds();
    auto it = llvm::find_if(result, [&, s = segment](const LayerCost &cost) { return cost.segment == s || areAlike(parts.segments[cost.segment], part); });
    if (it == result.end()) {
      first.push_back(layer);
      result.push_back({segment, "", 0, 0, 0, 0});
      it = std::prev(result.end());
    }
    const PlanParts::Layer &largest = parts.segments[it->segment];
    if (it->count == 0 || part.memory.activations > largest.memory.activations)
      it->segment = segment;
    it->count += 1;
    it->share += part.getSeconds();
    it->name = nameRow(names[first[it - result.begin()]], names[layer]);
  }
  for (LayerCost &cost : result) {
    cost.seconds = cost.share / double(cost.count);
    cost.keptBytes = parts.segments[cost.segment].memory.activations;
    cost.share = all > 0 ? cost.share / all : 0;
  }
  llvm::stable_sort(result, [](const LayerCost &a, const LayerCost &b) { return a.share > b.share; });
  return result;
}

PeakMemory findPeak(const PlanParts &parts, const PlanPrice &price, llvm::ArrayRef<LayerRow> rows, double room) {
  PeakMemory peak;
  peak.stage = getPeakStage(price);
  peak.bytes = price.getPeakBytes();
  peak.room = room;
  peak.items = getItems(price.memory[peak.stage]);
  for (const LayerRow &row : rows) {
    if (row.stage != peak.stage)
      continue;
    int64_t inFlight = parts.inFlight[parts.virtualStages[row.begin]];
    peak.inFlight = std::max(peak.inFlight, inFlight);
    double bytes = parts.segments[row.segment].memory.activations * double(row.end - row.begin) * double(inFlight);
    if (bytes > 0)
      peak.layers.push_back({row.name, bytes});
  }
  llvm::stable_sort(peak.layers, [](const PeakItem &a, const PeakItem &b) { return a.bytes > b.bytes; });
  return peak;
}

Certificate certify(const PlanParts &parts, const Plan &plan, const PlanPrice &price, llvm::ArrayRef<RacedPlan> plans) {
  Certificate certificate;
  certificate.lowerBound = price.getBound();
  certificate.gap = price.getGap();
  certificate.ofRace = price.raceBound > 0;
  certificate.priced = plans.size();
  certificate.fitting = llvm::count_if(plans, [](const RacedPlan &raced) { return raced.fault.empty(); });
  for (const auto &actions : parts.schedule.stages)
    certificate.actions += int64_t(actions.size());
  std::vector<Transfer> transfers = getChainTransfers(parts.schedule);
  deepenTransfers(parts.schedule, transfers);
  llvm::Error error = verifySchedule(parts.schedule, plan.microbatches, transfers, parts.inFlight);
  certificate.scheduleVerified = !error;
  certificate.fault = llvm::toString(std::move(error));
  return certificate;
}
} // namespace

Simulation para::simulatePlan(const PlanParts &parts, const PlanPrice &price) {
  PipelineCosts costs = parts.costs;
  for (auto [stage, memory] : llvm::enumerate(price.memory)) { // the first chunk has what all chunks of a stage share
    costs.costs[stage].fixedBytes = int64_t(memory.getTotal() - memory.activations - memory.temporary);
    costs.costs[stage].temporaryBytes = int64_t(memory.temporary);
  }
  SimulationOptions options;
  options.keepTimeline = true;
  options.blockingTransfers = parts.blocksOnSends;
  auto simulation = simulate(parts.schedule, costs, options);
  if (simulation)
    return std::move(*simulation);
  llvm::consumeError(simulation.takeError()); // the price has said it
  return Simulation();
}

Explanation para::explain(PlanRace &race, const ExplainRequest &request) {
  Explanation why;
  why.chosen = request.plans.front();
  why.plans = request.plans.vec();
  why.names = request.names;
  why.isHand = request.isHand;
  why.tokens = request.tokens;
  const PlanRequest asked = race.getOptions().request;
  race.setRequest(openRequest(asked));
  std::vector<RacedPlan> open = isOpen(asked) && !request.isHand ? why.plans : race.run(8);
  if (!why.chosen.price.memory.empty()) {
    why.parts = race.dissect(why.chosen.plan);
    why.rows = findRows(why.parts, why.names, true);
    why.stages = findRows(why.parts, why.names, false);
    why.costly = findCostly(why.parts, why.names);
    why.peak = findPeak(why.parts, why.chosen.price, why.rows, race.getOptions().machine.getMemoryBytes());
    why.certificate = certify(why.parts, why.chosen.plan, why.chosen.price, request.plans);
    why.simulation = simulatePlan(why.parts, why.chosen.price);
  }
  why.alternatives = findAlternatives(race, open, why.chosen);
  bool fits = why.chosen.fault.empty();
  if (!fits && !why.chosen.price.memory.empty())
    why.refusal = findWaysOut(race, open, why.chosen, request.isHand);
  race.setRequest(asked);
  if (fits)
    why.whatIfs = askWhatIf(race, request.plans, why.chosen, request.isHand);
  return why;
}

PlanRequest para::openRequest(const PlanRequest &request) {
  PlanRequest open = request;
  open.microbatches = request.separable ? 0 : request.microbatches;
  open.zero = -1;
  open.schedule.clear();
  open.recompute.clear();
  open.sequenceParallel = false;
  open.mesh.clear();
  return open;
}

bool para::isOpen(const PlanRequest &request) {
  PlanRequest open = openRequest(request);
  return request.microbatches == open.microbatches && request.zero < 0 && request.schedule.empty() && (request.recompute.empty() || request.recompute == "auto") &&
         !request.sequenceParallel && request.mesh.empty();
}

std::vector<PeakItem> para::getItems(const PlanPrice::Memory &memory) {
  std::vector<PeakItem> items = {{"parameters", memory.parameters}, {"gradients", memory.gradients},          {"optimizer", memory.states},
                                 {"activations", memory.activations}, {"gathered parameters", memory.gathered}, {"temporaries", memory.temporary},
                                 {"inputs", memory.inputs}, {"libraries and context", memory.reserved}};
  llvm::erase_if(items, [](const PeakItem &item) { return item.bytes <= 0; });
  llvm::stable_sort(items, [](const PeakItem &a, const PeakItem &b) { return a.bytes > b.bytes; });
  return items;
}

int64_t para::getPeakStage(const PlanPrice &price) {
  auto least = [](const PlanPrice::Memory &a, const PlanPrice::Memory &b) { return a.getTotal() < b.getTotal(); };
  return llvm::max_element(price.memory, least) - price.memory.begin();
}

std::string para::describeMesh(const Plan &plan) {
  return plan.getMeshText();
}

std::string para::inSignedBytes(double bytes) { return (bytes < 0 ? "-" : "+") + inBytes(std::abs(bytes)); }

std::string para::inPercent(double share, int digits) {
  return digits ? llvm::formatv("{0:F1} %", 100 * share).str() : llvm::formatv("{0:F0} %", 100 * share).str();
}
