#include "Candidate.h"
#include "para/Collectives/Passes.h"
#include "para/IR/Program.h"
#include "para/Partition/Passes.h"
#include "para/Partition/SeparateMicrobatches.h"
#include "para/Schedule/Passes.h"
#include "para/Verify/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

using namespace mlir;
using namespace para;

namespace {
void checkFit(Candidate &candidate, const Machine &machine) {
  double most = double(*llvm::max_element(candidate.price->peakBytes));
  candidate.lacksMemory = most > machine.getMemoryBytes();
  candidate.fault = candidate.lacksMemory ? "needs " + inBytes(most) + " of " + inBytes(machine.getMemoryBytes()) : "";
}

Candidate *findFastest(std::vector<Candidate> &candidates) {
  Candidate *best = nullptr;
  for (Candidate &candidate : candidates)
    if (candidate.price && candidate.fault.empty() && (!best || candidate.price->secondsPerStep < best->price->secondsPerStep))
      best = &candidate;
  return best;
}

void printTable(ArrayRef<Candidate> candidates, const Candidate *best, const Machine &machine, llvm::raw_ostream &os) {
  os << llvm::formatv("plans for {0} rank{1} on {2} (predicted)\n", candidates.front().plan.getNumRanks(), candidates.front().plan.getNumRanks() == 1 ? "" : "s", machine.name);
  unsigned names = 28, meshes = 26;
  for (const Candidate &candidate : candidates) {
    names = std::max<unsigned>(names, candidate.plan.recipe.size());
    meshes = std::max<unsigned>(meshes, candidate.plan.getMeshText().size());
  }
  os << "    " << llvm::left_justify("plan", names) << " " << llvm::left_justify("mesh", meshes) << llvm::formatv(" {0,4} {1,12} {2,12} {3,12}\n", "M", "step", "memory/rank", "sent/rank");
  for (const Candidate &candidate : candidates) {
    const Plan &plan = candidate.plan;
    os << (&candidate == best ? "  * " : "    ") << llvm::left_justify(plan.recipe, names) << " " << llvm::left_justify(plan.getMeshText(), meshes) << llvm::formatv(" {0,4}", plan.microbatches);
    if (candidate.price)
      os << llvm::formatv(" {0,12} {1,12} {2,12}", inSeconds(candidate.price->secondsPerStep),
                          (candidate.exact ? "" : "~") + inBytes(double(*llvm::max_element(candidate.price->peakBytes))),
                          inBytes(double(candidate.price->bytesSent)));
    if (!candidate.fault.empty())
      os << "  out: " << candidate.fault;
    os << "\n";
  }
  const Price &price = *best->price;
  os << llvm::formatv("\nchosen: {0}: compute {1}, communication {2}, waiting {3}; parameters and optimizer state {4} a rank\n", best->plan.recipe,
                      inSeconds(price.computeSeconds), inSeconds(price.exposedSeconds), inSeconds(price.bubbleSeconds),
                      inBytes(double(*llvm::max_element(price.stateBytes))));
}
} // namespace

std::string para::inBytes(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit)
    bytes /= 1024;
  return llvm::formatv(unit ? "{0:F1} {1}" : "{0:F0} {1}", bytes, units[unit]).str();
}

std::string para::inSeconds(double seconds) {
  return seconds < 1e-3 ? llvm::formatv("{0:F1} us", seconds * 1e6).str() : seconds < 1 ? llvm::formatv("{0:F2} ms", seconds * 1e3).str() : llvm::formatv("{0:F3} s", seconds).str();
}

void para::price(ModuleOp module, Candidate &candidate, const Machine &machine, std::optional<MemoryOracle> memory) {
  OwningOpRef<ModuleOp> copy = module.clone();
  MLIRContext *context = module.getContext();
  std::string fault;
  ScopedDiagnosticHandler quiet(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && fault.empty())
      fault = StringRef((getNodeName(diagnostic.getLocation()) + " " + diagnostic.str()).str()).trim().str();
    return success();
  });
  PassManager pm(context);
  pm.enableVerifier(false);
  buildPartitionPipeline(pm);
  buildCollectivesPipeline(pm, {candidate.plan.bucketBytes});
  buildSchedulePipeline(pm, candidate.plan.schedule);
  if (failed(applyPlan(copy->lookupSymbol<func::FuncOp>("main"), candidate.plan)) || failed(pm.run(*copy))) {
    candidate.fault = fault.empty() ? "cannot be partitioned" : fault;
    return;
  }
  candidate.price = priceProgram(*copy, machine);
  if (memory) {
    PassManager proofs(context);
    buildVerifyPipeline(proofs);
    if (failed(proofs.run(*copy))) {
      candidate.exact = true;
      candidate.fault = "cannot be proved: " + fault;
      return;
    }
    std::vector<int64_t> bytes = (*memory)(*copy);
    candidate.exact = bytes.size() == candidate.price->peakBytes.size();
    if (candidate.exact)
      candidate.price->peakBytes = bytes;
  }
  checkFit(candidate, machine);
}

std::optional<double> para::getSecondsPerStep(ModuleOp module, const Plan &plan, const Machine &machine) {
  Candidate candidate{plan, std::nullopt, ""};
  price(module, candidate, machine);
  return candidate.price && candidate.fault.empty() ? std::optional(candidate.price->secondsPerStep) : std::nullopt;
}

llvm::json::Value para::toJson(const Candidate &best, int64_t batch, const Machine &machine) {
  const Price &price = *best.price;
  llvm::json::Array peaks(price.peakBytes), states(price.stateBytes);
  return llvm::json::Object{
      {"seconds_per_step", price.secondsPerStep},
      {"samples_per_second", double(batch) / price.secondsPerStep},
      {"model_flops_utilization", price.flops / double(best.plan.getNumRanks()) / machine.getFlopsPerSecond() / price.secondsPerStep},
      {"peak_bytes", std::move(peaks)},
      {"memory", llvm::json::Object{{"state_bytes", std::move(states)}}},
      {"breakdown", llvm::json::Object{{"compute", price.computeSeconds}, {"exposed", llvm::json::Object{{"communication", price.exposedSeconds}}}, {"bubble", price.bubbleSeconds}}},
      {"bytes_sent", price.bytesSent},
      {"plan", best.plan.toJson()}};
}

bool para::isSeparable(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  auto main = copy->lookupSymbol<func::FuncOp>("main");
  Plan plan;
  plan.microbatches = 2;
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  if (failed(applyPlan(main, plan)))
    return false;
  FailureOr<std::string> local = separateMicrobatches(main, plan.getMesh(module.getContext()));
  if (failed(local) || !local->empty())
    return false;
  PassManager pm(module.getContext());
  pm.enableVerifier(false);
  pm.addPass(createPartitionPass());
  return succeeded(pm.run(*copy)); // not where rows meet rows of other microbatches
}

/// Why none of them can be taken, what is in the way of several once. Room is asked for only where it is lacking.
static std::string listFaults(ArrayRef<Candidate> candidates) {
  llvm::MapVector<StringRef, SmallVector<StringRef>> names;
  for (const Candidate &candidate : candidates)
    if (auto &those = names[candidate.fault]; !llvm::is_contained(those, candidate.plan.recipe))
      those.push_back(candidate.plan.recipe);
  bool lacksMemory = llvm::any_of(candidates, [](const Candidate &candidate) { return candidate.lacksMemory; });
  std::string text = "no plan fits:";
  for (const auto &[fault, those] : names)
    text += "\n  " + llvm::join(those, ", ") + ": " + fault.str();
  return text + (lacksMemory ? "\nmore ranks, a smaller batch (--dim batch=N) or more microbatches (--microbatches M) make room" : "");
}

/// Other orders of microbatches for the fastest pipelines, of which an order may save the waiting and little else.
static std::vector<Plan> findOtherOrders(ArrayRef<Candidate> candidates, const PlanRequest &request) {
  constexpr size_t mostPipelines = 2; // each order is a program to make and to price
  std::vector<const Candidate *> fastest;
  for (const Candidate &candidate : candidates)
    if (candidate.price && candidate.fault.empty())
      fastest.push_back(&candidate);
  llvm::stable_sort(fastest, [](const Candidate *a, const Candidate *b) { return a->price->secondsPerStep < b->price->secondsPerStep; });
  std::vector<Plan> plans;
  auto nameAll = [](const Plan &plan) {
    llvm::json::Object all = plan.toJson();
    all.erase("recipe"); // which says nothing that the others do not
    return llvm::formatv("{0}", llvm::json::Value(std::move(all))).str();
  };
  std::set<std::string> tried;
  for (const Candidate *candidate : fastest) {
    std::vector<Plan> others = getOtherOrders(candidate->plan, request);
    bool mayWin = candidate->price->secondsPerStep - candidate->price->bubbleSeconds < fastest.front()->price->secondsPerStep;
    if (mayWin && !others.empty() && tried.insert(nameAll(others.front())).second && tried.size() <= mostPipelines)
      llvm::append_range(plans, others);
  }
  return plans;
}

llvm::Expected<Plan> para::searchPlan(ModuleOp module, ArrayRef<Plan> plans, const PlanRequest &request, const Machine &machine, MemoryOracle memory,
                                      llvm::raw_ostream *table, bool json) {
  std::vector<Candidate> candidates;
  // For people all candidates' memory is made certain, unless the program is so large that they would wait for it.
  size_t ops = module.lookupSymbol<func::FuncOp>("main").getBody().front().getOperations().size();
  bool certain = table && !json && ops * plans.size() < 200000;
  auto addAll = [&](ArrayRef<Plan> added) {
    for (const Plan &plan : added) {
      candidates.push_back({plan, std::nullopt, ""});
      price(module, candidates.back(), machine, certain ? std::optional(memory) : std::nullopt);
    }
  };
  addAll(plans);
  if (plans.size() > 1)
    addAll(findOtherOrders(candidates, request));
  Candidate *best = findFastest(candidates);
  while (best && !best->exact) { // the fastest one's memory is made certain; if it does not fit after all, the next one's
    price(module, *best, machine, memory);
    bool wasExact = best->exact;
    Candidate *next = findFastest(candidates);
    if (next == best && !wasExact)
      break;
    best = next;
  }
  if (!best) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), listFaults(candidates));
  }
  if (table && json)
    *table << llvm::formatv("{0:2}\n", toJson(*best, request.batch, machine));
  else if (table) {
    printTable(candidates, best, machine, *table);
    OwningOpRef<ModuleOp> copy = module.clone();
    auto main = copy->lookupSymbol<func::FuncOp>("main");
    if (succeeded(applyPlan(main, best->plan)))
      describePlan(main, *table);
  }
  return best->plan;
}
