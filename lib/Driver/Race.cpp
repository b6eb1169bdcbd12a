#include "para/Driver/Race.h"
#include "ImportModel.h"
#include "PlanFlags.h"
#include "para/IR/Program.h"
#include "para/Plan/Explain.h"
#include "para/Plan/Planner.h"
#include "para/Plan/Units.h"
#include "para/Report/Report.h"
#include "para/Simulate/Trace.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace para;

namespace {
llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

/// What is stored and computed in which type: halves are computed in halves, with masters, gradients and states of f32.
void setPrecision(SearchOptions &search, const DriverOptions &options, func::FuncOp main) {
  FloatType own = getParameterType(main), type = own ? own : Float32Type::get(main.getContext());
  bool isBf16 = options.precision == "bf16" || (options.precision.empty() && type.isBF16());
  bool isF16 = options.precision == "f16" || (options.precision.empty() && type.isF16());
  bool isF8 = options.precision == "f8";
  search.storage.fusesAttention = llvm::StringRef(options.fuse).contains("attention");
  search.storage.fusesStreams = llvm::StringRef(options.fuse).contains("stream");
  if (isBf16 || isF16 || isF8) {
    search.type = isF8 ? CostType::F8 : isBf16 ? CostType::BF16 : CostType::F16;
    search.storage.compute = search.storage.parameter = search.storage.gathered = 2;
    search.storage.master = 4;
    search.storage.operand = isF8 ? 1 : 0;
  } else if (options.precision == "f64" || (options.precision.empty() && type.isF64())) {
    search.type = CostType::F64;
    search.storage.compute = search.storage.parameter = search.storage.gathered = search.storage.gradient = search.storage.reduced = search.storage.state = 8;
  }
  const std::pair<const char *, int64_t StoragePolicy::*> uses[] = {{"parameter", &StoragePolicy::parameter}, {"gathered", &StoragePolicy::gathered}, {"master", &StoragePolicy::master},
                                                                    {"gradient", &StoragePolicy::gradient},   {"reduced", &StoragePolicy::reduced},   {"state", &StoragePolicy::state}};
  for (auto [use, width] : uses)
    if (auto it = options.widths.find(use); it != options.widths.end())
      search.storage.*width = it->second;
  const Execution &execution = search.execution;
  search.storage.lossBytes = execution.lossBytes;
  search.storage.lossKept = execution.lossKept;
  search.storage.lossTemporary = execution.lossTemporary;
  search.storage.regathers = execution.regathers != 0;
  search.storage.rescales = execution.rescales != 0;
  search.storage.dropout = execution.dropout != 0;
}

/// The plan of a file, or a recipe's with what the flags leave open of it: sequence parallelism, recomputation. None if there is more to choose.
llvm::Expected<std::vector<Plan>> getFixedPlans(const DriverOptions &options, PlanRequest request) {
  if (isPlanFile(options)) {
    auto plan = readPlan(options.plan);
    if (!plan)
      return plan.takeError();
    return std::vector<Plan>{std::move(*plan)};
  }
  std::vector<Plan> plans;
  if (options.plan == "auto")
    return plans;
  request.zero = -1; // the recipe's own; another is refused
  auto plan = makeRecipe(options.plan, request);
  if (!plan)
    return plan.takeError();
  llvm::append_range(plans, getRecomputations(*plan, request));
  if (plan->tensor > 1 && !request.sequenceParallel && !request.noSequenceParallel) {
    request.sequenceParallel = true;
    llvm::append_range(plans, getRecomputations(llvm::cantFail(makeRecipe(options.plan, request)), request));
  }
  return plans;
}
/// The machine of the flags, or this one with the ranks that they ask for.
llvm::Expected<Machine> getMachine(const DriverOptions &options) {
  auto ranks = getAskedRanks(options);
  if (!ranks)
    return ranks.takeError();
  return options.machine.empty() ? Machine::getHost(std::max<int64_t>(1, *ranks)) : Machine::get(options.machine);
}

/// The two plans of --explain, priced as the race prices them.
llvm::Error compareFiles(PlanRace &race, const DriverOptions &options, llvm::raw_ostream &os, bool &isWrongUsage) {
  const SearchOptions &search = race.getOptions();
  std::array<ComparedPlan, 2> plans;
  for (auto [compared, path] : llvm::zip_equal(plans, options.explainFiles)) {
    auto plan = readPlan(path);
    if (!plan)
      return plan.takeError();
    if (plan->getNumRanks() != search.machine.getNumRanks())
      return fail("the plan '" + path + "' is for " + llvm::Twine(plan->getNumRanks()) + " ranks, the machine has " + llvm::Twine(search.machine.getNumRanks()));
    RacedPlan raced = race.price(*plan);
    compared = {path, *plan, std::nullopt, raced.fault, search.machine.name, {}, {}};
    if (!raced.isPriced())
      continue;
    Price price;
    price.secondsPerStep = raced.price.seconds;
    price.computeSeconds = raced.price.compute;
    price.bubbleSeconds = raced.price.bubble;
    for (const auto &[kind, seconds] : raced.price.exposed)
      price.exposedSeconds += seconds;
    for (const PlanPrice::Memory &stage : raced.price.memory) {
      price.peakBytes.push_back(int64_t(stage.getTotal()));
      price.stateBytes.push_back(int64_t(stage.parameters + stage.states));
    }
    compared.price = price;
    compared.json = std::move(*toJson(raced, search).getAsObject());
  }
  isWrongUsage = false;
  return printComparison(std::move(plans), os, options.json);
}

/// What was typed, for a shell.
std::string quote(const DriverOptions &options) {
  std::string text = "para-opt";
  for (llvm::StringRef argument : options.arguments) {
    bool plain = !argument.empty() && llvm::all_of(argument, [](char c) { return llvm::isAlnum(c) || llvm::StringRef("-_=./,:+@%").contains(c); });
    std::string quoted;
    for (char c : argument)
      quoted += c == '\'' ? "'\\''" : std::string(1, c);
    text += " " + (plain ? argument.str() : "'" + quoted + "'");
  }
  return text;
}

/// What --report and --trace-out want.
void fillFiles(const DriverOptions &options, const PlanRace &race, const Explanation &why, std::map<std::string, std::string> &files) {
  if (!options.report.empty()) {
    llvm::raw_string_ostream page(files[options.report]);
    writeReport(page, why, race.getOptions(), {options.input, quote(options)});
  }
  if (options.traceOut.empty() || why.stages.empty())
    return;
  std::vector<std::string> names(why.chosen.price.memory.size());
  for (const LayerRow &row : why.stages)
    names[row.stage] += (names[row.stage].empty() ? "stage " + std::to_string(row.stage) + ": " : ", ") + row.name;
  llvm::raw_string_ostream trace(files[options.traceOut]);
  writeTrace(trace, why.simulation, names);
}

/// Which of two plans that do not fit needs less; those without a price last.
bool isNearer(const RacedPlan &a, const RacedPlan &b) {
  auto key = [](const RacedPlan &raced) { return std::make_pair(raced.price.memory.empty(), raced.price.getPeakBytes()); };
  return key(a) < key(b);
}

/// Of a sample: where an input of whole numbers is a row of them for each sample; 0: there is none.
int64_t countTokens(func::FuncOp main, int64_t batch) {
  for (BlockArgument argument : main.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (getArgKind(main, argument.getArgNumber()) == "input" && type.getElementType().isInteger() && type.getRank() == 2 && type.getDimSize(0) == batch)
      return type.getDimSize(1);
  }
  return 0;
}
/// Of a plan that cannot be priced: why, and the fastest that the flags do not allow.
void printFault(const RacedPlan &refused, const Explanation &why, llvm::raw_ostream &os) {
  os << "  " << refused.plan.recipe << ": " << refused.fault << "\n";
  const RacedPlan *other = nullptr;
  for (const Alternative &alternative : why.alternatives)
    if (alternative.plan && alternative.plan->fault.empty() && (!other || alternative.plan->price.seconds < other->price.seconds))
      other = &*alternative.plan;
  if (other)
    os << llvm::formatv("  way out: {0} ({1}: {2} a step)\n", describeFlags(other->plan), other->plan.recipe, inSeconds(other->price.seconds));
}

/// Where selective recomputation was asked for, and neither seconds nor bytes of the plan are others for it.
void noteMoot(PlanRace &race, const RacedPlan &chosen) {
  if (!chosen.isPriced() || chosen.plan.recompute != "selective" || race.getOptions().request.recompute != "selective")
    return;
  Plan plan = chosen.plan;
  plan.recompute = "none";
  RacedPlan without = race.price(plan);
  auto isAlike = [](const PlanPrice::Memory &a, const PlanPrice::Memory &b) { return a.getTotal() == b.getTotal(); };
  if (without.isPriced() && without.price.seconds == chosen.price.seconds && llvm::equal(without.price.memory, chosen.price.memory, isAlike))
    llvm::errs() << "para-opt: note: --recompute=selective changes nothing here: no attention scores are kept and nothing is gathered that could be gathered again; "
                    "--execution=compiled:streams_again=1 prices programs that compute norms and activations again, and --recompute=full layers\n";
}
} // namespace

bool para::isRaced(const DriverOptions &options) {
  return (!options.machine.empty() || !options.report.empty() || options.reportMemory || !options.traceOut.empty()) && (options.explainFiles.empty() || !options.machine.empty());
}

llvm::Expected<Plan> para::racePlans(ModuleOp imported, const AutodiffOptions &autodiff, const DriverOptions &options, llvm::raw_ostream &os,
                                     std::map<std::string, std::string> &files, std::vector<std::string> &notes, bool &isWrongUsage) {
  isWrongUsage = true;
  auto machine = getMachine(options);
  if (!machine)
    return machine.takeError();
  OwningOpRef<ModuleOp> folded = imported.clone();
  auto main = folded->lookupSymbol<func::FuncOp>("main");
  SearchOptions search;
  search.machine = std::move(*machine);
  auto execution = Execution::get(options.execution);
  if (!execution)
    return execution.takeError();
  search.execution = std::move(*execution);
  setPrecision(search, options, main);
  auto batch = main->getAttrOfType<IntegerAttr>("para.batch");
  PlanRequest &request = search.request;
  request = makeRequest(options, search.machine, search.machine.getNumRanks(), batch ? batch.getInt() : 1);
  if (llvm::Error error = checkBatch(std::nullopt, options, request.batch))
    return std::move(error);
  NodeParameters parameters = getNodeParameters(main);
  std::vector<Segment> segments = foldLayers(main);
  PassManager pm(folded->getContext());
  pm.enableVerifier(false);
  buildAutodiffPipeline(pm, autodiff);
  if (failed(pm.run(*folded)))
    return fail("the training step cannot be derived");
  request.experts = countExperts(folded->lookupSymbol<func::FuncOp>("main"));
  request.separable = !options.train || options.microbatches > 0 || request.batch < 2 || isSeparable(*folded);
  auto fixed = getFixedPlans(options, request);
  if (!fixed)
    return fixed.takeError();
  for (Plan &plan : *fixed) {
    auto settled = settlePlan(std::move(plan), options, request.batch, notes);
    if (!settled)
      return settled.takeError();
    plan = std::move(*settled);
  }
  if (!options.explainFiles.empty()) {
    PlanRace race(*folded, segments, search);
    if (llvm::Error error = compareFiles(race, options, os, isWrongUsage))
      return std::move(error);
    return Plan();
  }
  isWrongUsage = false;
  PlanRace race(*folded, segments, search);
  if (race.getNumLayers() == 0)
    return fail("the model computes nothing, for its outputs are inputs or constants: there is nothing to plan for a machine; it runs as it is, on --ranks N too");
  std::vector<RacedPlan> plans;
  for (const Plan &plan : *fixed)
    plans.push_back(race.price(plan));
  if (fixed->empty())
    plans = race.run();
  else if (!plans.front().isPriced()) // of which the others are variants
    return fail(plans.front().fault);
  else
    llvm::stable_sort(plans, isBetter);
  if (plans.empty()) {
    isWrongUsage = true;
    return fail(explainNoPlans(request, race.getLimits()));
  }
  noteMoot(race, plans.front());
  bool fits = plans.front().fault.empty();
  if (!fits) // the plan that is nearest to fitting speaks for all
    std::rotate(plans.begin(), llvm::min_element(plans, isNearer), std::next(llvm::min_element(plans, isNearer)));
  bool refuses = !fits;
  bool explains = options.explain || !options.traceOut.empty() || !options.report.empty() || options.reportMemory || refuses || (options.simulate && !options.json);
  std::optional<Explanation> why;
  if (explains)
    why = explain(race, {plans, nameLayers(segments, parameters), !fixed->empty(), countTokens(main, request.batch)});
  if (why)
    fillFiles(options, race, *why, files);
  if ((options.simulate || options.explain) && options.json) {
    llvm::json::Value json = toJson(plans.front(), search);
    if (options.explain)
      (*json.getAsObject())["explain"] = toJson(*why);
    os << llvm::formatv("{0:2}\n", json);
  } else if (options.reportMemory && !options.explain) {
    printMemory(*why, os);
    if (options.machine.empty())
      llvm::errs() << "para-opt: note: this host is priced as machines are, by layers; a program for it may be cut otherwise, and its --info tells the bytes of each rank\n";
  } else if (options.simulate || options.explain) {
    printRace(plans, search, os);
    printExplanation(*why, os);
  }
  if (refuses) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (why->refusal)
      printRefusal(*why->refusal, stream);
    else
      printFault(plans.front(), *why, stream);
    return fail("no plan fits\n" + llvm::StringRef(text).rtrim());
  }
  Plan best = plans.front().plan;
  if (best.stages.empty())
    best.stages = request.stages; // of all plans
  return best;
}
