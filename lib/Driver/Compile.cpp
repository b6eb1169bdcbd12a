#include "para/Driver/Compile.h"
#include "Annotations.h"
#include "Exit.h"
#include "ImportModel.h"
#include "KernelReport.h"
#include "Names.h"
#include "PlanFlags.h"
#include "Reporter.h"
#include "Verify.h"
#include "para/Driver/Race.h"
#include "para/Autodiff/Passes.h"
#include "para/Collectives/Passes.h"
#include "para/Emit/Emit.h"
#include "para/IR/Program.h"
#include "para/Import/OnnxImport.h"
#include "para/Import/Passes.h"
#include "para/Lower/Passes.h"
#include "para/Partition/Passes.h"
#include "para/Plan/Planner.h"
#include "para/Plan/ShardingSearch.h"
#include "para/Plan/Units.h"
#include "para/Schedule/Passes.h"
#include "para/Support/JsonFile.h"
#include "para/Support/Output.h"
#include "para/Support/Spec.h"
#include "para/Verify/Passes.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

#include <chrono>

using namespace mlir;
using namespace para;

namespace {
/// A search over so many ops takes about a second a mesh. Ways to cut a value multiply with each axis, and ways from one to another once more:
/// over three axes it is minutes.
constexpr size_t mostSearchedOps = 1500;
constexpr int64_t mostSearchedAxes = 2;
constexpr double searchSeconds = 60; // never reached: the search is bounded by its work

/// Bytes of each stage's arena, from the manifest that the lower stage has written.
std::vector<int64_t> getArenaBytes(ModuleOp lowered) {
  std::vector<int64_t> bytes;
  auto text = lowered->getAttrOfType<StringAttr>("rt.manifest");
  auto manifest = llvm::json::parse(text ? text.getValue() : "{}");
  if (!manifest) {
    llvm::consumeError(manifest.takeError());
    return bytes;
  }
  if (const llvm::json::Array *stages = manifest->getAsObject()->getArray("stages"))
    for (const llvm::json::Value &stage : *stages)
      bytes.push_back(stage.getAsObject()->getInteger("arena_bytes").value_or(0));
  return bytes;
}

class Compiler {
public:
  Compiler(const DriverOptions &options, StringRef program, const CompileHooks &hooks)
      : options(options), program(program), hooks(hooks), reporter(context, options.input, hooks.isQuiet) {
    context.disableMultithreading();
    context.loadDialect<ParaDialect, func::FuncDialect>();
  }

  int run() {
    begin("import");
    auto imported = importModel(options, &context, &outline);
    if (!imported)
      return complain(imported.takeError(), kWrongUsage);
    if (!*imported)
      return kInputAtFault;
    module = std::move(*imported);
    if (failed(checkParameterNames(module->lookupSymbol<func::FuncOp>("main"), outline, options)))
      return kInputAtFault;
    if (options.emit == "import")
      return print();

    AutodiffOptions autodiff;
    autodiff.train = options.train;
    autodiff.loss = options.loss;
    autodiff.optimizer = options.optimizer;
    autodiff.clipNorm = options.clipNorm;
    autodiff.clipValue = options.clipValue;
    autodiff.lossScale = options.lossScale;
    autodiff.keepGradients = options.keepGradients;
    for (const std::string &pattern : options.trainable)
      autodiff.trainable.push_back(pattern);
    for (const std::string &pattern : options.freeze)
      autodiff.freeze.push_back(pattern);
    if (!isStageBeforePlan(options.emit) && options.explainFiles.empty())
      if (int status = takeAnnotations(*module, outline, autodiff, options, annotations))
        return status;
    std::optional<Plan> raced;
    if (isRaced(options) && !isStageBeforePlan(options.emit)) {
      begin("plan");
      if (int status = checkNames(); status != kDone)
        return status;
      std::map<std::string, std::string> files;
      bool isWrongUsage = false;
      std::string printed;
      llvm::raw_string_ostream os(printed);
      // The race knows by itself what is stored in which type.
      OwningOpRef<ModuleOp> wide = options.hasOwnPrecision ? importInF32(options, &context) : OwningOpRef<ModuleOp>();
      auto chosen = racePlans(wide ? *wide : *module, autodiff, options, os, files, notes, isWrongUsage);
      if (chosen && options.explainFiles.empty() && !options.planOut.empty())
        files[options.planOut] = toText(*chosen);
      tell(printed, chosen ? &*chosen : nullptr);
      for (const auto &[path, text] : files)
        if (!writeText(path, text)) {
          llvm::consumeError(chosen.takeError());
          return kInputAtFault;
        }
      if (!chosen)
        return complain(chosen.takeError(), isWrongUsage ? kWrongUsage : kRefused);
      if (!options.explainFiles.empty()) // which has compared them
        return kDone;
      raced = std::move(*chosen);
      if (options.simulate)
        return kDone;
    }
    if (options.precision == "bf16" || options.precision == "f16")
      autodiff.precision = options.precision; // only now: the race knows by itself what is stored in which type
    autodiff.ownTypes = options.hasOwnPrecision;
    auto buildAutodiff = [&](OpPassManager &pm) {
      buildAutodiffPipeline(pm, autodiff);
      pm.addPass(createDeriveIndexRangesPass()); // of the labels too, which the loss may have added
    };
    if (!runStage("autodiff", buildAutodiff))
      return kInputAtFault;
    if (options.emit == "autodiff")
      return print();

    begin("plan");
    if (!options.explainFiles.empty())
      return compare();
    if (int status = raced ? kDone : checkNames(); status != kDone)
      return status;
    std::string printed;
    llvm::raw_string_ostream os(printed);
    auto chosen = raced ? llvm::Expected<Plan>(std::move(*raced)) : choosePlan(*module, options, os);
    if (!raced)
      tell(printed, chosen ? &*chosen : nullptr);
    if (!chosen)
      return complain(chosen.takeError(), planFault);
    plan = std::move(*chosen);
    if (annotations && failed(annotations->refit(module->lookupSymbol<func::FuncOp>("main"), plan)))
      return kInputAtFault;
    if (failed(applyPlan(module->lookupSymbol<func::FuncOp>("main"), plan)))
      return kRefused;
    if (!options.planOut.empty() && !writeText(options.planOut, toText(plan)))
      return kInputAtFault;
    if (options.simulate)
      return kDone;
    if (options.emit == "onnx") {
      llvm::Error error = writeAnnotatedModel(*module, outline, plan, options);
      return error ? complain(std::move(error), kInputAtFault) : kDone;
    }
    if (options.emit == "plan")
      return print();
    if (options.verify)
      if (int status = admitVerification(*module, plan, options))
        return status;
    auto manifest = describeProgram(*module, options, plan);
    if (!manifest)
      return complain(manifest.takeError(), kWrongUsage);

    if (!runStage("partition", [](OpPassManager &pm) { buildPartitionPipeline(pm); }))
      return kInputAtFault;
    if (options.emit == "partition")
      return print();
    CollectivesOptions collectives;
    collectives.bucketBytes = plan.bucketBytes;
    if (!runStage("collectives", [&](OpPassManager &pm) { buildCollectivesPipeline(pm, collectives); }))
      return kInputAtFault;
    if (options.emit == "collectives")
      return print();
    if (!runStage("schedule", [&](OpPassManager &pm) { buildSchedulePipeline(pm, plan.schedule); }))
      return kRefused;
    if (!runStage("proofs", [](OpPassManager &pm) { buildVerifyPipeline(pm); }))
      return kRefused;
    if (options.emit == "schedule")
      return print();
    if (hooks.proven)
      hooks.proven(*module);

    Builder builder(&context);
    (*module)->setAttr("para.mode", builder.getStringAttr(options.train ? "train" : "infer"));
    (*module)->setAttr("para.manifest", builder.getStringAttr(llvm::formatv("{0}", llvm::json::Value(std::move(*manifest))).str()));
    if (auto main = module->lookupSymbol<func::FuncOp>("main"))
      main.erase(); // the serial reference has served
    LowerOptions lower;
    lower.target = options.target;
    lower.describe = options.reportKernels;
    if (!runStage("lower", [&](OpPassManager &pm) { buildLowerPipeline(pm, lower); }))
      return kInputAtFault;
    if (hooks.lowered)
      if (int status = hooks.lowered(*module))
        return status;
    if (options.reportKernels)
      return reportKernels();
    if (options.emit == "lower")
      return print();
    if (options.verify) {
      begin("verify");
      if (int status = verifyPlan(plan, options, program, hooks))
        return status;
    }
    return emit();
  }

private:
  static int complain(llvm::Error error, int status) {
    llvm::errs() << "para-opt: error: " << llvm::toString(std::move(error)) << "\n";
    return status;
  }

  /// What --explain and --simulate show, at once: later steps may fail. And what is to be said of flags beside the plan that was taken.
  void tell(StringRef printed, const Plan *chosen) {
    llvm::outs() << printed;
    llvm::outs().flush();
    if (chosen && options.plan == "auto" && options.explainFiles.empty())
      for (std::string &note : findIdleFlags(*chosen, options))
        if (!llvm::is_contained(notes, note))
          notes.push_back(std::move(note));
    for (const std::string &note : notes)
      if (!hooks.isQuiet)
        llvm::errs() << "para-opt: note: " << note << "\n";
  }

  static std::string toText(const Plan &plan) { return llvm::formatv("{0:2}\n", llvm::json::Value(plan.toJson())); }

  static bool isStageBeforePlan(StringRef emit) { return emit == "import" || emit == "autodiff"; }

  /// Names of values are the model's, whoever gives them: flags or a plan file.
  int checkNames() {
    auto main = module->lookupSymbol<func::FuncOp>("main");
    if (failed(checkShards(main, outline, options, options.shards, "--shard")))
      return kInputAtFault;
    if (!isPlanFile(options) || !options.explainFiles.empty())
      return kDone;
    auto plan = readPlan(options.plan);
    if (!plan)
      return complain(plan.takeError(), kWrongUsage);
    if (failed(checkStages(main, outline, plan->stages, "--plan=" + options.plan)))
      return kWrongUsage;
    std::map<std::string, std::string> all = plan->shards;
    all.insert(options.shards.begin(), options.shards.end());
    return succeeded(checkShards(main, outline, options, all, "--plan=" + options.plan + ": 'shard'")) ? kDone : kWrongUsage;
  }

  int64_t getBatch() {
    auto batch = module->lookupSymbol<func::FuncOp>("main")->getAttrOfType<IntegerAttr>("para.batch");
    return batch ? batch.getInt() : 1;
  }

  /// The machine of the flags, or this one with `ranks` ranks.
  Machine getMachine(int64_t ranks) {
    if (options.machine.empty())
      return Machine::getHost(ranks);
    return llvm::cantFail(Machine::get(options.machine)); // checked with the flags
  }

  int compare() {
    std::vector<NamedPlan> plans;
    for (const std::string &path : options.explainFiles) {
      auto plan = readPlan(path);
      if (!plan)
        return complain(plan.takeError(), kWrongUsage);
      plans.push_back({path, std::move(*plan)});
    }
    auto memory = [this](ModuleOp scheduled) { return measureMemory(scheduled); };
    auto machine = [this](int64_t ranks) { return getMachine(ranks); };
    if (llvm::Error error = comparePlans(*module, plans[0], plans[1], getBatch(), machine, memory, llvm::outs(), options.json))
      return complain(std::move(error), kRefused);
    return kDone;
  }

  /// Writes what --explain and --simulate show to `os`.
  llvm::Expected<Plan> choosePlan(ModuleOp module, const DriverOptions &options, llvm::raw_ostream &os) {
    planFault = kWrongUsage;
    auto ranks = getAskedRanks(options);
    if (!ranks)
      return ranks.takeError();
    PlanRequest request = makeRequest(options, getMachine(std::max<int64_t>(1, *ranks)), std::max<int64_t>(1, *ranks), getBatch());
    request.separable = !options.train || options.microbatches > 0 || request.batch < 2 || isSeparable(module);
    request.experts = countExperts(module.lookupSymbol<func::FuncOp>("main"));
    if (llvm::Error error = checkBatch(std::nullopt, options, request.batch))
      return std::move(error);
    if (isPlanFile(options))
      return finish(readPlan(options.plan), module, request, os);
    if (options.plan != "auto") {
      request.zero = -1; // the recipe's own; another is refused
      return finish(makeRecipe(options.plan, request), module, request, os);
    }
    int64_t left = request.ranks; // for axes that --mesh does not name
    for (auto &[axis, size] : options.mesh)
      left = left % size ? 0 : left / size;
    if (request.ranks == 1 || (!options.mesh.empty() && left <= 1))
      return finish(makeMeshPlan(request), module, request, os);
    std::vector<Plan> candidates = getCandidates(request);
    if (candidates.empty())
      return llvm::createStringError(llvm::inconvertibleErrorCode(), explainNoPlans(request, {}));
    addSearched(module, request, candidates);
    return price(module, candidates, request, os);
  }

  /// For what is small enough to be searched in a few seconds, one sharding for every value on each mesh without a pipeline.
  void addSearched(ModuleOp module, const PlanRequest &request, std::vector<Plan> &candidates) {
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!request.shards.empty() || request.zero >= 0 || main.getBody().front().getOperations().size() > mostSearchedOps)
      return;
    Machine machine = getMachine(request.ranks);
    std::vector<Plan> found;
    for (const Plan &candidate : candidates) {
      if (candidate.pipeline > 1 || candidate.microbatches > 1 || candidate.zero > 0 || candidate.recompute != "none" || candidate.sequenceParallel)
        continue;
      if (llvm::count_if(getPlanAxes(), [&](const PlanAxis &axis) { return candidate.*axis.size > 1; }) > mostSearchedAxes)
        continue;
      double gap = 0;
      if (auto plan = searchShardings(main, candidate, machine, searchSeconds, gap))
        found.push_back(std::move(*plan));
    }
    llvm::append_range(candidates, found);
  }

  /// A plan that was asked for is taken, with the cheapest recomputation that fits if that is left open; to be explained or simulated it is priced
  /// as the only candidate.
  llvm::Expected<Plan> finish(llvm::Expected<Plan> plan, ModuleOp module, PlanRequest request, llvm::raw_ostream &os) {
    if (!plan)
      return plan;
    plan = settlePlan(std::move(*plan), options, request.batch, notes);
    if (!plan)
      return plan;
    std::vector<Plan> plans = isPlanFile(options) ? std::vector<Plan>{*plan} : getRecomputations(*plan, request);
    if (plans.size() == 1 && !options.explain && !options.simulate)
      return plan;
    request.ranks = plan->getNumRanks();
    request.schedule = plan->schedule;
    return price(module, plans, request, os);
  }

  llvm::Expected<Plan> price(ModuleOp module, ArrayRef<Plan> plans, const PlanRequest &request, llvm::raw_ostream &os) {
    planFault = kRefused;
    auto memory = [this](ModuleOp scheduled) { return measureMemory(scheduled); };
    auto best = searchPlan(module, plans, request, getMachine(request.ranks), memory, options.explain || options.simulate ? &os : nullptr, options.json);
    if (best && options.explain && !options.json && request.batch < request.ranks && options.mesh.empty() && !isPlanFile(options))
      explainFewer(module, *best, request, os);
    return best;
  }

  /// Where ranks are more than samples, whether as many as samples would be faster.
  void explainFewer(ModuleOp module, const Plan &best, PlanRequest request, llvm::raw_ostream &os) {
    request.ranks = request.batch;
    std::vector<Plan> plans;
    if (options.plan == "auto")
      plans = getCandidates(request);
    else if (auto plan = makeRecipe(options.plan, request))
      plans.push_back(std::move(*plan));
    else
      llvm::consumeError(plan.takeError());
    std::optional<double> now = getSecondsPerStep(module, best, getMachine(best.getNumRanks())), fewest;
    for (const Plan &plan : plans)
      if (auto seconds = getSecondsPerStep(module, plan, getMachine(request.ranks)); seconds && (!fewest || *seconds < *fewest))
        fewest = seconds;
    if (now && fewest && *fewest < *now)
      os << llvm::formatv("fewer ranks are faster: {0}, one for each sample (--ranks {0}), take {1} a step, {2} less\n", request.ranks, inSeconds(*fewest),
                          inPercent(1 - *fewest / *now));
  }

  /// What the program of each stage will allocate.
  std::vector<int64_t> measureMemory(ModuleOp scheduled) {
    scheduled->setAttr("para.mode", StringAttr::get(&context, options.train ? "train" : "infer"));
    scheduled->setAttr("para.manifest", StringAttr::get(&context, "{}"));
    if (auto main = scheduled.lookupSymbol<func::FuncOp>("main"))
      main.erase();
    PassManager pm(&context);
    pm.enableVerifier(false);
    LowerOptions lower;
    lower.target = options.target;
    buildLowerPipeline(pm, lower);
    return failed(pm.run(scheduled)) ? std::vector<int64_t>() : getArenaBytes(scheduled);
  }

  bool runStage(StringRef name, llvm::function_ref<void(OpPassManager &)> build) {
    begin(name);
    PassManager pm(&context);
    pm.enableVerifier(options.verbose);
    build(pm);
    return succeeded(pm.run(*module));
  }

  void begin(StringRef stage) {
    auto now = std::chrono::steady_clock::now();
    if (options.timing && !current.empty())
      llvm::errs() << llvm::formatv("para-opt: {0,-10} {1,8:F3} s\n", current, std::chrono::duration<double>(now - since).count());
    current = stage.str();
    since = now;
    if (options.isWatched() && !stage.empty())
      llvm::errs() << "para-opt: " << stage << "\n";
  }

  int reportKernels() {
    begin("");
    std::vector<KernelRow> rows = tabulateKernels(*module);
    auto manifest = llvm::cantFail(llvm::json::parse(module->getOperation()->getAttrOfType<StringAttr>("rt.manifest").getValue())); // as the lower stage wrote it
    CostType type = parseCostType(manifest.getAsObject()->getString("precision").value_or("f32")).value_or(CostType::F32);
    std::optional<Machine> machine;
    if (!options.machine.empty())
      machine = getMachine(1);
    if (options.json)
      llvm::outs() << llvm::formatv("{0:2}\n", kernelsToJson(rows, machine ? &*machine : nullptr, type));
    else
      printKernels(rows, machine ? &*machine : nullptr, type, llvm::outs());
    return kDone;
  }

  int print() {
    begin("");
    std::string text;
    llvm::raw_string_ostream stream(text);
    OpPrintingFlags flags;
    bool isForPrograms = StringRef(options.output).ends_with(".mlirbc"); // all of it
    if (isForPrograms && failed(writeBytecodeToFile(*module, stream)))
      return kInputAtFault;
    if (!isForPrograms)
      module->print(stream, flags.elideLargeElementsAttrs(64));
    return writeText(options.output.empty() ? "-" : options.output, text) ? kDone : kInputAtFault;
  }

  bool writeText(StringRef path, StringRef text) {
    if (llvm::Error error = writeOutput(path, text))
      return complain(std::move(error), kInputAtFault) == kDone;
    return true;
  }

  int emit() {
    begin("emit");
    EmitOptions emission;
    emission.kind = options.emit;
    emission.target = options.target;
    emission.arch = options.arch;
    emission.program = program.str();
    emission.output = !options.output.empty() ? options.output : llvm::sys::path::stem(options.input).str();
    if ((options.emit == "llvm" || options.emit == "ptx") && options.output.empty())
      emission.output = "-";
    if (failed(emitProgram(*module, emission)))
      return kInputAtFault;
    begin("");
    return options.run ? execute(emission.output) : kDone;
  }

  int execute(StringRef path) {
    llvm::SmallString<256> absolute(path);
    (void)llvm::sys::fs::make_absolute(absolute);
    SmallVector<StringRef> arguments = {absolute};
    for (const std::string &flag : options.runFlags)
      arguments.push_back(flag);
    std::string message;
    int status = llvm::sys::ExecuteAndWait(absolute, arguments, std::nullopt, {}, 0, 0, &message);
    if (status < 0)
      llvm::errs() << "para-opt: error: '" << path << "' did not run: " << message << "\n";
    return status < 0 ? kInputAtFault : status;
  }

  DriverOptions options; ///< with what annotations of the model ask for
  ModelOutline outline;
  std::optional<PlanAnnotations> annotations;
  StringRef program;
  const CompileHooks &hooks;
  MLIRContext context;
  Reporter reporter;
  OwningOpRef<ModuleOp> module;
  Plan plan;
  int planFault = kWrongUsage;
  std::vector<std::string> notes; ///< on flags, of the plan that is taken
  std::string current;
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};
} // namespace

int para::compileModel(const DriverOptions &options, StringRef program, const CompileHooks &hooks) { return Compiler(options, program, hooks).run(); }
