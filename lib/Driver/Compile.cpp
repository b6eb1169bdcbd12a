#include "para/Driver/Compile.h"
#include "para/Autodiff/Passes.h"
#include "para/Collectives/Passes.h"
#include "para/Emit/Emit.h"
#include "para/IR/Program.h"
#include "para/Import/OnnxImport.h"
#include "para/Import/Passes.h"
#include "para/Lower/Passes.h"
#include "para/Partition/Passes.h"
#include "para/Plan/Planner.h"
#include "para/Schedule/Passes.h"
#include "para/Support/Spec.h"
#include "para/Verify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/ToolOutputFile.h"

#include <chrono>

using namespace mlir;
using namespace para;

namespace {
enum Exit { kDone = 0, kInputAtFault = 1, kWrongUsage = 2, kRefused = 3 };

/// Prints diagnostics as "error: node: message": the model's own names, no file positions.
class Reporter {
public:
  explicit Reporter(MLIRContext &context) : handler(&context, [](Diagnostic &diagnostic) {
    StringRef kind = diagnostic.getSeverity() == DiagnosticSeverity::Error ? "error: " : diagnostic.getSeverity() == DiagnosticSeverity::Warning ? "warning: " : "note: ";
    StringRef node = getNodeName(diagnostic.getLocation());
    llvm::errs() << "para-opt: " << kind << (node.empty() ? "" : (node + ": ").str()) << diagnostic.str() << "\n";
    return success();
  }) {}

private:
  ScopedDiagnosticHandler handler;
};

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
  Compiler(const DriverOptions &options, StringRef program) : options(options), program(program), reporter(context) {
    context.disableMultithreading();
    context.loadDialect<ParaDialect, func::FuncDialect>();
  }

  int run() {
    ImportOptions import;
    for (auto &[name, size] : options.dims)
      import.dims[name] = size;
    import.precision = llvm::StringSwitch<Precision>(options.precision).Case("f32", Precision::F32).Case("f64", Precision::F64)
                           .Case("bf16", Precision::BF16).Case("f16", Precision::F16).Default(Precision::Model);
    import.train = options.train;
    begin("import");
    auto imported = importOnnx(options.input, import, &context);
    if (failed(imported))
      return kInputAtFault;
    module = std::move(*imported);
    if (options.emit == "import")
      return print();

    AutodiffOptions autodiff;
    autodiff.train = options.train;
    autodiff.loss = options.loss;
    autodiff.optimizer = options.optimizer;
    autodiff.clipNorm = options.clipNorm;
    autodiff.clipValue = options.clipValue;
    autodiff.keepGradients = options.keepGradients;
    for (const std::string &pattern : options.trainable)
      autodiff.trainable.push_back(pattern);
    for (const std::string &pattern : options.freeze)
      autodiff.freeze.push_back(pattern);
    auto buildAutodiff = [&](OpPassManager &pm) {
      buildAutodiffPipeline(pm, autodiff);
      pm.addPass(createDeriveIndexRangesPass()); // of the labels too, which the loss may have added
    };
    if (!runStage("autodiff", buildAutodiff))
      return kInputAtFault;
    if (options.emit == "autodiff")
      return print();

    begin("plan");
    auto chosen = choosePlan(*module, options);
    if (!chosen) {
      llvm::errs() << "para-opt: error: " << llvm::toString(chosen.takeError()) << "\n";
      return planFault;
    }
    plan = std::move(*chosen);
    if (failed(applyPlan(module->lookupSymbol<func::FuncOp>("main"), plan)))
      return kInputAtFault;
    if (!options.planOut.empty() && !writeText(options.planOut, llvm::formatv("{0:2}\n", llvm::json::Value(plan.toJson())).str()))
      return kInputAtFault;
    if (options.simulate)
      return kDone;
    if (options.emit == "plan")
      return print();
    auto manifest = describeProgram(*module, options, plan);
    if (!manifest) {
      llvm::errs() << "para-opt: error: " << llvm::toString(manifest.takeError()) << "\n";
      return kWrongUsage;
    }

    if (!runStage("partition", [](OpPassManager &pm) { buildPartitionPipeline(pm); }))
      return kInputAtFault;
    if (options.emit == "partition")
      return print();
    CollectivesOptions collectives;
    collectives.buckets = plan.buckets;
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

    Builder builder(&context);
    (*module)->setAttr("para.mode", builder.getStringAttr(options.train ? "train" : "infer"));
    (*module)->setAttr("para.manifest", builder.getStringAttr(llvm::formatv("{0}", llvm::json::Value(std::move(*manifest))).str()));
    if (auto main = module->lookupSymbol<func::FuncOp>("main"))
      main.erase(); // the serial reference has served
    LowerOptions lower;
    lower.target = options.target;
    if (!runStage("lower", [&](OpPassManager &pm) { buildLowerPipeline(pm, lower); }))
      return kInputAtFault;
    if (options.emit == "lower")
      return print();
    return emit();
  }

private:
  llvm::Expected<Plan> choosePlan(ModuleOp module, const DriverOptions &options) {
    auto main = module.lookupSymbol<func::FuncOp>("main");
    PlanRequest request;
    request.ranks = std::max<int64_t>(1, options.ranks);
    if (!options.machine.empty()) {
      auto machine = Machine::get(options.machine);
      if (!machine)
        return machine.takeError();
      request.ranks = machine->getNumRanks();
    }
    if (!options.mesh.empty() && options.ranks == 0) {
      request.ranks = 1;
      for (auto &[axis, size] : options.mesh)
        request.ranks = size > (int64_t(1) << 40) / request.ranks ? int64_t(1) << 40 : request.ranks * size; // refused below
    }
    auto batch = main->getAttrOfType<IntegerAttr>("para.batch");
    request.batch = batch ? batch.getInt() : 1;
    request.train = options.train;
    request.separable = !options.train || options.microbatches > 0 || request.batch < 2 || isSeparable(module);
    request.microbatches = options.microbatches;
    request.zero = options.zero;
    request.schedule = options.schedule;
    request.mesh = options.mesh;
    planFault = kWrongUsage;
    if (options.microbatches > request.batch)
      return llvm::createStringError(llvm::inconvertibleErrorCode(), "a batch of %lld cannot run in %lld microbatches", (long long)request.batch, (long long)options.microbatches);
    if (!options.train && options.microbatches > 1)
      return llvm::createStringError(llvm::inconvertibleErrorCode(), "microbatches are for training: inference takes its batch in one piece (--dim batch=N makes it smaller)");
    if (StringRef(options.plan).ends_with(".json")) {
      auto json = readJsonFile("plan", options.plan);
      if (!json)
        return json.takeError();
      auto plan = Plan::fromJson(*json);
      bool asked = options.ranks > 0 || !options.machine.empty() || !options.mesh.empty();
      if (plan && asked && plan->getNumRanks() != request.ranks)
        return llvm::createStringError(llvm::inconvertibleErrorCode(), "the plan '%s' is for %lld ranks, the flags ask for %lld", options.plan.c_str(), (long long)plan->getNumRanks(), (long long)request.ranks);
      return finish(std::move(plan), module, request);
    }
    if (request.ranks > (1 << 20))
      return llvm::createStringError(llvm::inconvertibleErrorCode(), "more than %d ranks are asked for", 1 << 20);
    if (options.plan != "auto")
      return finish(makeRecipe(options.plan, request), module, request);
    if (!options.mesh.empty() || request.ranks == 1)
      return finish(makeMeshPlan(request), module, request);
    return price(module, getCandidates(request), request);
  }

  /// A plan that was asked for is taken; to be explained or simulated it is priced as the only candidate.
  llvm::Expected<Plan> finish(llvm::Expected<Plan> plan, ModuleOp module, PlanRequest request) {
    if (!plan || !(options.explain || options.simulate))
      return plan;
    request.ranks = plan->getNumRanks();
    return price(module, *plan, request);
  }

  llvm::Expected<Plan> price(ModuleOp module, ArrayRef<Plan> plans, const PlanRequest &request) {
    planFault = kWrongUsage;
    Machine machine = Machine::getHost(request.ranks);
    if (!options.machine.empty()) {
      auto given = Machine::get(options.machine);
      if (!given)
        return given.takeError();
      machine = *given;
    }
    planFault = kRefused;
    auto memory = [&](ModuleOp scheduled) {
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
    };
    return searchPlan(module, plans, request, machine, memory, options.explain || options.simulate ? &llvm::outs() : nullptr, options.json);
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
    if (options.verbose && !stage.empty())
      llvm::errs() << "para-opt: " << stage << "\n";
  }

  int print() {
    begin("");
    std::string text;
    llvm::raw_string_ostream stream(text);
    OpPrintingFlags flags;
    module->print(stream, flags.elideLargeElementsAttrs(64));
    return writeText(options.output.empty() ? "-" : options.output, text) ? kDone : kInputAtFault;
  }

  bool writeText(StringRef path, StringRef text) {
    std::error_code error;
    llvm::ToolOutputFile file(path, error, llvm::sys::fs::OF_Text);
    if (error) {
      llvm::errs() << "para-opt: error: cannot write '" << path << "': " << error.message() << "\n";
      return false;
    }
    file.os() << text;
    file.keep();
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

  const DriverOptions &options;
  StringRef program;
  MLIRContext context;
  Reporter reporter;
  OwningOpRef<ModuleOp> module;
  Plan plan;
  int planFault = kWrongUsage;
  std::string current;
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};
} // namespace

int para::compileModel(const DriverOptions &options, StringRef program) { return Compiler(options, program).run(); }
