#include "Candidate.h"
#include "Explaining.h"

#include "llvm/Support/FormatVariadic.h"

#include <set>

using namespace para;

namespace {
constexpr size_t mostRows = 16;
constexpr double leastShown = 0.05e-6; // what is written as 0.0 us is nothing

void printRow(const RacedPlan &raced, const RacedPlan &best, std::pair<unsigned, unsigned> widths, llvm::raw_ostream &os) {
  bool isPriced = raced.isPriced();
  double more = best.price.seconds > 0 ? 100 * (raced.price.seconds / best.price.seconds - 1) : 0;
  os << (&raced == &best ? "  * " : "    ")
     << llvm::left_justify(raced.plan.recipe, widths.first) << " " << llvm::left_justify(describeMesh(raced.plan), widths.second)
     << llvm::formatv(" {0,5} {1,11} {2,8} {3,11}", raced.plan.microbatches, isPriced ? inSeconds(raced.price.seconds) : "-",
                      &raced == &best || !isPriced ? "" : llvm::formatv("{0:F1}%", more).str(), isPriced ? inBytes(raced.price.getPeakBytes()) : "-");
  if (!raced.fault.empty())
    os << "  out: " << raced.fault;
  os << "\n";
}
} // namespace

void para::printRace(llvm::ArrayRef<RacedPlan> plans, const SearchOptions &options, llvm::raw_ostream &os) {
  const RacedPlan &best = plans.front();
  os << llvm::formatv("{0} plan{1} for {2} device{3} on {4}, batch {5} (predicted)\n", plans.size(), plans.size() == 1 ? "" : "s", options.machine.getNumRanks(), options.machine.getNumRanks() == 1 ? "" : "s", options.machine.name, options.request.batch);
  std::set<std::string> recipes;
  std::vector<const RacedPlan *> shown;
  std::pair<unsigned, unsigned> widths = {28, 30};
  // The fastest of each recipe: rows that differ in the size of an axis only say little.
  for (const RacedPlan &raced : plans)
    if (shown.size() < mostRows && recipes.insert(raced.plan.recipe).second) {
      shown.push_back(&raced);
      widths = {std::max<unsigned>(widths.first, raced.plan.recipe.size()), std::max<unsigned>(widths.second, describeMesh(raced.plan).size())};
    }
  os << "    " << llvm::left_justify("plan", widths.first) << " " << llvm::left_justify("mesh", widths.second) << llvm::formatv(" {0,5} {1,11} {2,8} {3,11}\n", "M", "step", "slower", "memory");
  for (const RacedPlan *raced : shown)
    printRow(*raced, best, widths, os);
  if (!best.isPriced()) {
    os << "\nnone of them can be taken\n";
    return;
  }
  const PlanPrice &price = best.price;
  os << llvm::formatv("\nchosen: {0}, {1}, {2} microbatches\n", best.plan.recipe, describeMesh(best.plan), best.plan.microbatches);
  os << llvm::formatv("  step {0}: compute {1}", inSeconds(price.seconds), inSeconds(price.compute));
  for (const auto &[kind, seconds] : price.exposed)
    if (seconds >= leastShown)
      os << (kind == "parameters" ? ", gathering of parameters " : ", communication " + kind + " ") << inSeconds(seconds);
  os << ", waiting " << inSeconds(price.bubble) << llvm::formatv("; {0:F1} % of the devices' peak\n", 100 * price.getUtilization());
  for (auto [stage, memory] : llvm::enumerate(price.memory)) {
    if (stage > 0 && stage + 1 < price.memory.size())
      continue;
    os << llvm::formatv("  memory of {0}: {1} = parameters {2}, gradients {3}, optimizer {4}, activations {5}", price.memory.size() == 1 ? std::string("a rank") : "stage " + std::to_string(stage),
                        inBytes(memory.getTotal()), inBytes(memory.parameters), inBytes(memory.gradients), inBytes(memory.states), inBytes(memory.activations));
    if (memory.gathered > 0)
      os << ", gathered parameters " << inBytes(memory.gathered);
    os << ", temporaries " << inBytes(memory.temporary);
    if (memory.inputs > 0)
      os << ", inputs " << inBytes(memory.inputs);
    if (memory.reserved > 0)
      os << ", libraries and context " << inBytes(memory.reserved);
    os << "\n";
  }
}

namespace {
void printStages(const Explanation &why, llvm::raw_ostream &os) {
  constexpr size_t mostStages = 8;
  const auto &rows = why.stages;
  os << "\nwhere the layers are\n";
  for (auto [index, row] : llvm::enumerate(rows)) {
    if (rows.size() > mostStages && index >= mostStages - 2 && index + 2 < rows.size()) {
      if (index == mostStages - 2)
        os << llvm::formatv("    ... {0} more\n", rows.size() - mostStages);
      continue;
    }
    os << llvm::formatv("    stage {0}{1}: {2} layer{3}, {4}", row.stage, why.parts.schedule.chunks > 1 ? " chunk " + std::to_string(row.chunk) : "", row.end - row.begin,
                        row.end - row.begin == 1 ? "" : "s", row.name);
    const std::string &first = why.names[row.begin].first, &last = why.names[row.end - 1].last;
    if (!first.empty())
      os << " (nodes " << first << " … " << last << ")";
    os << "\n";
  }
}

void printCostly(const Explanation &why, llvm::raw_ostream &os) {
  constexpr size_t mostLayers = 4, mostItems = 6;
  os << "\nwhat takes the time: seconds of a microbatch, forward and backward\n";
  for (const LayerCost &cost : llvm::ArrayRef(why.costly).take_front(mostLayers)) {
    os << llvm::formatv("    {0}: {1}{2}, {3} of all layers\n", cost.name, inSeconds(cost.seconds), cost.count > 1 ? " each of " + std::to_string(cost.count) : "", inPercent(cost.share));
    for (const PlanParts::Item &item : llvm::ArrayRef(why.parts.segments[cost.segment].items).take_front(mostItems))
      if (item.seconds > 0.01 * cost.seconds)
        os << llvm::formatv("      {0,10} {1,6}  {2}{3}\n", inSeconds(item.seconds), inPercent(item.seconds / cost.seconds, 0), item.count > 1 ? std::to_string(item.count) + " x " : "", item.name);
  }
}

void printPeak(const Explanation &why, llvm::raw_ostream &os) {
  constexpr size_t mostLayers = 4;
  const PeakMemory &peak = why.peak;
  os << llvm::formatv("\nthe memory at the peak, stage {0}: {1} of {2}\n", peak.stage, inBytes(peak.bytes), inBytes(peak.room));
  for (const PeakItem &item : peak.items) {
    os << llvm::formatv("    {0,10} {1,6}  {2}", inBytes(item.bytes), inPercent(item.bytes / peak.bytes, 0), item.name);
    if (item.name == "activations") {
      os << llvm::formatv(" of {0} microbatch{1}: ", peak.inFlight, peak.inFlight == 1 ? "" : "es");
      for (auto [index, layer] : llvm::enumerate(llvm::ArrayRef(peak.layers).take_front(mostLayers)))
        os << (index ? ", " : "") << layer.name << " " << inBytes(layer.bytes);
    }
    os << "\n";
  }
}

void printAlternatives(const Explanation &why, llvm::raw_ostream &os) {
  os << "\nalternatives: the best of each kind\n";
  for (const Alternative &alternative : why.alternatives) {
    os << llvm::formatv("    {0,-26} ", alternative.name);
    if (!alternative.plan) {
      os << "none: " << alternative.reason << "\n";
      continue;
    }
    const RacedPlan &raced = *alternative.plan;
    double more = why.chosen.price.seconds > 0 ? raced.price.seconds / why.chosen.price.seconds - 1 : 0;
    bool differs = why.chosen.isPriced();
    os << llvm::formatv("{0,11} {1,9} {2,12}  {3,-30} M={4,-5} ", inSeconds(raced.price.seconds), differs ? (more < 0 ? "" : "+") + inPercent(more) : "",
                        differs ? inSignedBytes(raced.price.getPeakBytes() - why.chosen.price.getPeakBytes()) : "", describeMesh(raced.plan), raced.plan.microbatches)
       << (raced.fault.empty() ? "" : "out: ") << alternative.reason << "\n";
  }
}

void printWhatIfs(const Explanation &why, llvm::raw_ostream &os) {
  os << "\nwhat would buy time\n";
  for (const WhatIf &what : why.whatIfs) {
    os << llvm::formatv("    {0,-52} ", what.change);
    if (what.plan && what.gain > 0 && what.note.empty())
      os << inPercent(what.gain) << " faster: " << inSeconds(what.plan->price.seconds) << ", " << what.plan->plan.recipe << ", " << describeMesh(what.plan->plan)
         << ", " << what.plan->plan.microbatches << " microbatches";
    else
      os << what.note;
    os << "\n";
  }
}

void printCertificate(const Explanation &why, llvm::raw_ostream &os) {
  const Certificate &certificate = why.certificate;
  os << llvm::formatv("\nproved: {0} runs every pass once and in order, and no stage waits for ever ({1} actions)\n", why.chosen.plan.schedule, certificate.actions);
  os << llvm::formatv("predicted: {0} plan{1} priced, {2} fit{3}; at these prices ", certificate.priced, certificate.priced == 1 ? "" : "s", certificate.fitting, certificate.fitting == 1 ? "s" : "");
  if (!certificate.ofRace)
    os << llvm::formatv("no order of this plan's passes takes less than {0}, {1} less than the simulated one\n", inSeconds(certificate.lowerBound), inPercent(certificate.gap));
  else if (certificate.gap <= 0)
    os << "none of them is faster than this one\n";
  else
    os << llvm::formatv("none of them takes less than {0}: this one takes at most {1} more than the fastest\n", inSeconds(certificate.lowerBound), inPercent(certificate.gap / (1 - certificate.gap)));
}
} // namespace

void para::printMemory(const Explanation &why, llvm::raw_ostream &os) {
  using Memory = PlanPrice::Memory;
  static constexpr std::pair<const char *, double Memory::*> kItems[] = {
      {"parameters", &Memory::parameters}, {"gradients", &Memory::gradients}, {"optimizer", &Memory::states},  {"activations", &Memory::activations},
      {"gathered", &Memory::gathered},     {"temporary", &Memory::temporary}, {"inputs", &Memory::inputs}, {"libraries", &Memory::reserved}};
  bool holds = llvm::any_of(why.chosen.price.memory, [](const Memory &memory) { return memory.held > 0; });
  const Plan &plan = why.chosen.plan;
  os << llvm::formatv("memory of a rank under {0}, {1}, {2} microbatches (predicted)\n    {3,-6}", plan.recipe, describeMesh(plan), plan.microbatches, "stage");
  for (auto [name, member] : kItems)
    os << llvm::formatv(" {0,11}", name);
  os << llvm::formatv(" {0,11}{1} {2,11}\n", "in all", holds ? llvm::formatv(" {0,11}", "held").str() : "", "after steps");
  for (auto [stage, memory] : llvm::enumerate(why.chosen.price.memory)) {
    os << llvm::formatv("    {0,-6}", stage);
    for (auto [name, member] : kItems)
      os << llvm::formatv(" {0,11}", inBytes(memory.*member));
    os << llvm::formatv(" {0,11}{1} {2,11}\n", inBytes(memory.getTotal()), holds ? llvm::formatv(" {0,11}", inBytes(memory.held)).str() : "", inBytes(memory.getSteady()));
  }
  if (why.chosen.isPriced())
    printPeak(why, os);
}

void para::printExplanation(const Explanation &why, llvm::raw_ostream &os) {
  if (!why.rows.empty()) {
    printStages(why, os);
    printCostly(why, os);
    printPeak(why, os);
  }
  printAlternatives(why, os);
  if (!why.whatIfs.empty())
    printWhatIfs(why, os);
  if (why.certificate.scheduleVerified)
    printCertificate(why, os);
}

void para::printRefusal(const Refusal &refusal, llvm::raw_ostream &os) {
  os << llvm::formatv("  {0}: stage {1} needs {2} of {3} a device, {4} too much\n", refusal.plan, refusal.stage, inBytes(refusal.bytes), inBytes(refusal.room), inBytes(refusal.bytes - refusal.room));
  for (auto [index, cause] : llvm::enumerate(refusal.causes))
    os << (index ? " and " : "  too large: ") << cause.name << " " << inBytes(cause.bytes);
  os << "\n";
  bool headed = false;
  for (const WayOut &way : refusal.ways) {
    if (way.fits && !std::exchange(headed, true))
      os << "  ways out, the fastest first:\n";
    if (way.fits)
      os << llvm::formatv("    {0}: saves {1}, {2}{3} time ({4}: {5} a step, {6})\n", way.change, inBytes(way.savedBytes), way.slower < 0 ? "" : "+", inPercent(way.slower), way.plan.plan.recipe,
                          inSeconds(way.plan.price.seconds), inBytes(way.plan.price.getPeakBytes()));
  }
  if (!headed)
    os << "  nothing that was tried makes room\n";
  headed = false;
  for (const WayOut &way : refusal.ways) {
    if (way.fits)
      continue;
    os << (std::exchange(headed, true) ? "; " : "  not enough alone: ") << llvm::formatv("{0} saves {1} ({2}{3} time)", way.change, inBytes(way.savedBytes), way.slower < 0 ? "" : "+", inPercent(way.slower));
  }
  os << (headed ? "\n" : "");
  if (!refusal.note.empty())
    os << "  " << refusal.note << "\n";
}
