#include "para/Plan/Explain.h"
#include "Candidate.h"

#include "llvm/Support/FormatVariadic.h"

#include <set>

using namespace para;

namespace {
constexpr size_t mostRows = 16;

std::string meshOf(const Plan &plan) {
  return llvm::formatv("data={0} tensor={1} pipeline={2}", plan.data, plan.tensor, plan.pipeline).str();
}

void printRow(const RacedPlan &raced, const RacedPlan &best, llvm::raw_ostream &os) {
  double more = best.price.seconds > 0 ? 100 * (raced.price.seconds / best.price.seconds - 1) : 0;
  os << (&raced == &best ? "  * " : "    ")
     << llvm::formatv("{0,-44} {1,-30} {2,5} {3,11} {4,8} {5,11}", raced.plan.recipe, meshOf(raced.plan), raced.plan.microbatches, inSeconds(raced.price.seconds),
                      &raced == &best ? "" : llvm::formatv("{0:F1}%", more).str(), inBytes(raced.price.getPeakBytes()));
  if (!raced.fault.empty())
    os << "  out: " << raced.fault;
  os << "\n";
}
} // namespace

void para::printRace(llvm::ArrayRef<RacedPlan> plans, const SearchOptions &options, llvm::raw_ostream &os) {
  const RacedPlan &best = plans.front();
  os << llvm::formatv("{0} plans for {1} devices on {2}, batch {3} (predicted)\n", plans.size(), options.machine.getNumRanks(), options.machine.name, options.request.batch);
  os << llvm::formatv("    {0,-44} {1,-30} {2,5} {3,11} {4,8} {5,11}\n", "plan", "mesh", "M", "step", "slower", "memory");
  std::set<std::string> shown;
  size_t rows = 0;
  // The fastest of each recipe: rows that differ in the size of an axis only say little.
  for (const RacedPlan &raced : plans)
    if (shown.insert(raced.plan.recipe).second && rows++ < mostRows)
      printRow(raced, best, os);
  const PlanPrice &price = best.price;
  os << llvm::formatv("\nchosen: {0}, {1}, {2} microbatches\n", best.plan.recipe, meshOf(best.plan), best.plan.microbatches);
  os << llvm::formatv("  step {0}: compute {1}", inSeconds(price.seconds), inSeconds(price.compute));
  for (const auto &[kind, seconds] : price.exposed)
    if (seconds > 0)
      os << ", communication of " << kind << " " << inSeconds(seconds);
  os << ", waiting " << inSeconds(price.bubble) << llvm::formatv("; {0:F1} % of the devices' peak\n", 100 * price.getUtilization());
  for (auto [stage, memory] : llvm::enumerate(price.memory)) {
    if (stage > 0 && stage + 1 < price.memory.size())
      continue;
    os << llvm::formatv("  memory of {0}: {1} = parameters {2}, gradients {3}, optimizer {4}, activations {5}", price.memory.size() == 1 ? std::string("a rank") : "stage " + std::to_string(stage),
                        inBytes(memory.getTotal()), inBytes(memory.parameters), inBytes(memory.gradients), inBytes(memory.states), inBytes(memory.activations));
    if (memory.gathered > 0)
      os << ", gathered parameters " << inBytes(memory.gathered);
    os << ", temporaries " << inBytes(memory.temporary) << "\n";
  }
}

llvm::json::Value para::toJson(const RacedPlan &raced, const SearchOptions &options) {
  const PlanPrice &price = raced.price;
  llvm::json::Array peaks, memory;
  for (const PlanPrice::Memory &stage : price.memory) {
    peaks.push_back(int64_t(stage.getTotal()));
    memory.push_back(llvm::json::Object{{"parameters", int64_t(stage.parameters)},
                                        {"gradients", int64_t(stage.gradients)},
                                        {"optimizer", int64_t(stage.states)},
                                        {"activations", int64_t(stage.activations)},
                                        {"gathered", int64_t(stage.gathered)},
                                        {"temporary", int64_t(stage.temporary)},
                                        {"inputs", int64_t(stage.inputs)},
                                        {"reserved", int64_t(stage.reserved)},
                                        {"steady", int64_t(stage.getSteady())}});
  }
  llvm::json::Object exposed;
  for (const auto &[kind, seconds] : price.exposed)
    exposed[kind] = seconds;
  return llvm::json::Object{
      {"seconds_per_step", price.seconds},
      {"samples_per_second", price.seconds > 0 ? double(options.request.batch) / price.seconds : 0},
      {"model_flops_utilization", price.getUtilization()},
      {"peak_bytes", std::move(peaks)},
      {"memory", llvm::json::Object{{"stages", std::move(memory)}}},
      {"breakdown", llvm::json::Object{{"compute", price.compute}, {"exposed", std::move(exposed)}, {"bubble", price.bubble}}},
      {"fits", raced.fault.empty()},
      {"fault", raced.fault},
      {"lower_bound", price.lowerBound},
      {"gap", price.seconds > 0 ? (price.seconds - price.lowerBound) / price.seconds : 0},
      {"plan", raced.plan.toJson()}};
}
