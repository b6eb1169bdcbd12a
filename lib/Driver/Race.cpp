#include "para/Driver/Race.h"
#include "para/IR/Program.h"
#include "para/Plan/Explain.h"
#include "para/Plan/Planner.h"
#include "para/Support/JsonFile.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace para;

namespace {
llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

/// Element type of the model's parameters.
Type parameterType(func::FuncOp main) {
  for (BlockArgument argument : main.getArguments())
    if (Type type = cast<RankedTensorType>(argument.getType()).getElementType(); isa<FloatType>(type) && getArgKind(main, argument.getArgNumber()) == "parameter")
      return type;
  return Float32Type::get(main.getContext());
}

/// What is stored and computed in which type: halves are computed in halves, with masters, gradients and states of f32.
void setPrecision(SearchOptions &search, const DriverOptions &options, func::FuncOp main) {
  Type type = parameterType(main);
  bool isBf16 = options.precision == "bf16" || (options.precision.empty() && type.isBF16());
  bool isF16 = options.precision == "f16" || (options.precision.empty() && type.isF16());
  bool isF8 = options.precision == "f8";
  search.storage.fusesAttention = llvm::StringRef(options.fuse).contains("attention");
  search.storage.fusesStreams = llvm::StringRef(options.fuse).contains("stream");
  if (isBf16 || isF16 || isF8) {
    search.type = isF8 ? CostType::F8 : isBf16 ? CostType::BF16 : CostType::F16;
    search.storage.compute = search.storage.parameter = search.storage.gathered = 2;
    search.storage.master = 4;
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
  search.storage.dropout = execution.dropout != 0;
}

llvm::Expected<Plan> readPlan(llvm::StringRef path) {
  auto json = readJsonFile("plan", path);
  if (!json)
    return json.takeError();
  return Plan::fromJson(*json);
}

/// The plan that flags, a recipe's name or a file fix; none if something is left to choose.
llvm::Expected<std::optional<Plan>> getFixedPlan(const DriverOptions &options, const PlanRequest &request) {
  if (llvm::StringRef(options.plan).ends_with(".json")) {
    auto plan = readPlan(options.plan);
    if (!plan)
      return plan.takeError();
    if (plan->getNumRanks() != request.ranks)
      return fail("the plan '" + options.plan + "' is for " + llvm::Twine(plan->getNumRanks()) + " ranks, the machine has " + llvm::Twine(request.ranks));
    return std::optional<Plan>(std::move(*plan));
  }
  if (options.plan == "auto")
    return std::optional<Plan>();
  auto plan = makeRecipe(options.plan, request);
  if (!plan)
    return plan.takeError();
  return std::optional<Plan>(std::move(*plan));
}
} // namespace

bool para::isRaced(const DriverOptions &options) { return !options.machine.empty() && options.explainFiles.empty(); }

llvm::Expected<Plan> para::racePlans(ModuleOp imported, const AutodiffOptions &autodiff, const DriverOptions &options, llvm::raw_ostream &os) {
  auto machine = Machine::get(options.machine);
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
  PlanRequest &request = search.request;
  auto batch = main->getAttrOfType<IntegerAttr>("para.batch");
  request.ranks = search.machine.getNumRanks();
  request.batch = batch ? batch.getInt() : 1;
  request.train = options.train;
  request.microbatches = options.microbatches;
  request.bucketBytes = search.machine.getBucketBytes();
  request.zero = options.zero;
  request.schedule = options.schedule;
  request.recompute = options.recompute;
  request.sequenceParallel = options.sequenceParallel;
  request.noSequenceParallel = options.noSequenceParallel;
  request.evenStages = options.evenStages;
  request.mesh = options.mesh;
  if (options.microbatches > request.batch)
    return fail("--microbatches " + llvm::Twine(options.microbatches) + ": a batch of " + llvm::Twine(request.batch) + " cannot run in so many; a larger batch (--dim batch=N) can");
  std::vector<Segment> segments = foldLayers(main);
  PassManager pm(folded->getContext());
  pm.enableVerifier(false);
  buildAutodiffPipeline(pm, autodiff);
  if (failed(pm.run(*folded)))
    return fail("the training step cannot be derived");
  request.separable = !options.train || options.microbatches > 0 || request.batch < 2 || isSeparable(*folded);
  auto fixed = getFixedPlan(options, request);
  if (!fixed)
    return fixed.takeError();
  std::vector<RacedPlan> plans;
  if (*fixed) {
    auto priced = priceFolded(*folded, segments, search, **fixed);
    if (!priced)
      return priced.takeError();
    plans.push_back(std::move(*priced));
  } else {
    plans = raceFolded(*folded, segments, search);
  }
  if (plans.empty())
    return fail("no mesh of " + llvm::Twine(request.ranks) + " ranks suits a batch of " + llvm::Twine(request.batch) + " and the flags given");
  bool isHand = *fixed || !options.mesh.empty();
  if (options.simulate && options.json)
    os << llvm::formatv("{0:2}\n", toJson(plans.front(), search));
  else if (options.simulate || options.explain)
    printRace(plans, search, os);
  if (!plans.front().fault.empty() && !(isHand && options.simulate)) {
    std::string causes;
    for (const RacedPlan &raced : llvm::ArrayRef(plans).take_front(8))
      causes += "\n  " + raced.plan.recipe + ": " + raced.fault;
    return fail("no plan fits:" + causes + "\nmore ranks, a smaller batch (--dim batch=N), more microbatches (--microbatches M) or recomputation (--recompute=full) make room");
  }
  return plans.front().plan;
}
