#include "Flags.h"
#include "Annotations.h"
#include "PlanFlags.h"

#include "para/Cost/Machine.h"
#include "para/Driver/Race.h"
#include "para/IR/Program.h"
#include "para/Import/OnnxImport.h"
#include "para/Plan/NamedValues.h"
#include "para/Plan/Planner.h"
#include "para/Support/Output.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace para;

static llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

static std::string count(int64_t devices) { return std::to_string(devices) + (devices == 1 ? " device" : " devices"); }

/// Ranks that flags ask for, and which flag; 0: none does.
static std::pair<int64_t, std::string> findRanksFlag(const DriverOptions &options) {
  if (options.ranks > 0)
    return {options.ranks, "--ranks " + std::to_string(options.ranks)};
  if (!options.machine.empty())
    return {llvm::cantFail(Machine::get(options.machine)).getNumRanks(), "--machine=" + options.machine}; // checked with the flags
  if (isPlanFile(options)) {
    auto plan = readPlan(options.plan);
    if (plan)
      return {plan->getNumRanks(), "--plan=" + options.plan};
    llvm::consumeError(plan.takeError()); // reported when it is taken
  }
  return {0, ""};
}

llvm::Expected<const DeviceConfiguration *> para::chooseConfiguration(const ModelOutline &outline, const DriverOptions &options) {
  if (outline.configurations.empty())
    return nullptr;
  auto [ranks, flag] = findRanksFlag(options);
  llvm::SmallVector<const DeviceConfiguration *> fitting;
  std::string all;
  for (const DeviceConfiguration &configuration : outline.configurations) {
    all += (all.empty() ? "'" : ", '") + configuration.name + "' for " + std::to_string(configuration.numDevices);
    if (ranks == 0 || configuration.numDevices == ranks)
      fitting.push_back(&configuration);
  }
  if (fitting.empty())
    return fail(flag + (ranks == options.ranks ? "" : " has " + std::to_string(ranks) + " ranks, which") +
                " contradicts the model's annotations, which are for " + count(outline.configurations.front().numDevices) +
                ": its configurations are " + all + "; --ignore-annotations leaves them out");
  if (fitting.size() > 1)
    llvm::errs() << "para-opt: note: the model has the configurations " << all << (outline.configurations.back().numDevices == 1 ? " device" : " devices") << "; '"
                 << fitting.front()->name << "' is taken\n";
  return fitting.front();
}

/// What flags say beside annotations.
static llvm::Error checkFlags(const PlanAnnotations &annotations, const DriverOptions &options) {
  auto differ = [&](const llvm::Twine &flag, const llvm::Twine &there) {
    return fail(flag + " contradicts the model's annotations ('" + annotations.configuration + "'), which have " + there + ": leave the flag out, or the annotations (--ignore-annotations)");
  };
  for (const auto &[axis, size] : options.mesh) {
    auto it = annotations.mesh.find(axis);
    int64_t there = it != annotations.mesh.end() ? it->second : annotations.isMeshFixed() ? 1 : size;
    if (there != size)
      return differ("--mesh " + axis + "=" + llvm::Twine(size), axis + "=" + llvm::Twine(there));
  }
  auto stages = annotations.mesh.find("pipeline");
  bool isStaged = stages != annotations.mesh.end() && stages->second > 1;
  if (isStaged && options.evenStages)
    return differ("--stages=even", "stages of their own");
  if (isStaged && (llvm::StringRef(options.schedule).starts_with("interleaved") || options.schedule == "zb-v"))
    return differ("--pipeline-schedule=" + options.schedule, "one part of the model on each stage");
  return llvm::Error::success();
}

/// `--shard` beside specs of the same values, under whichever names.
static llvm::Error checkShards(const PlanAnnotations &annotations, const DriverOptions &options, func::FuncOp main) {
  NamedValues values(main);
  llvm::DenseMap<Value, llvm::StringRef> there;
  for (const auto &[name, text] : annotations.shards)
    there[values.find(name)] = text;
  for (const auto &[name, text] : options.shards) {
    auto it = there.find(values.find(name));
    if (it == there.end())
      continue;
    Constraint asked = llvm::cantFail(parseConstraint(text)), given = llvm::cantFail(parseConstraint(it->second)); // checked with the flags, and written by us
    // A file tells how a parameter is used, for which it is whole over replicas; and an axis of one rank cuts nothing.
    bool isParameter = isa<BlockArgument>(it->first) && getArgKind(main, cast<BlockArgument>(it->first).getArgNumber()) == "parameter";
    auto isMoot = [&](llvm::StringRef axis) {
      auto size = annotations.mesh.find(axis.str());
      return (isParameter && isGatheredAxis(axis)) || (size != annotations.mesh.end() && size->second == 1);
    };
    for (Constraint *constraint : {&asked, &given})
      for (auto &dim : constraint->dims)
        if (dim)
          llvm::erase_if(dim->axes, isMoot);
    for (auto [index, dim] : llvm::enumerate(asked.dims))
      if (dim && (asked.dims.size() != given.dims.size() || *dim != *given.dims[index]))
        return fail("--shard '" + name + "=" + text + "' contradicts the model's annotations ('" + annotations.configuration + "'), which have " +
                    it->second + " there: leave the flag out, or the annotations (--ignore-annotations)");
  }
  return llvm::Error::success();
}

/// As the plan will have them, where no race chooses. A file does not tell how many its plan has, and how values are cut depends on whether
/// there are several, and of several rows on a rank: one number of each kind, the usual one first.
static llvm::SmallVector<int64_t> getMicrobatches(const PlanAnnotations &annotations, func::FuncOp main, const DriverOptions &options) {
  if (options.microbatches || !options.train || !annotations.isMeshFixed() || annotations.mesh.at("pipeline") == 1 || isRaced(options))
    return {options.microbatches};
  auto batch = main->getAttrOfType<IntegerAttr>("para.batch");
  PlanRequest request;
  request.ranks = annotations.ranks;
  request.mesh = annotations.mesh;
  request.batch = batch ? batch.getInt() : 1;
  request.separable = request.batch < 2 || isSeparable(main->getParentOfType<ModuleOp>());
  auto plan = makeMeshPlan(request);
  if (!plan) {
    llvm::consumeError(plan.takeError());
    return {0};
  }
  llvm::SmallVector<int64_t> microbatches = {plan->microbatches};
  for (int64_t other : {request.batch / (2 * plan->getBatchRanks()), int64_t(1)})
    if (other > 0 && other < microbatches.back())
      microbatches.push_back(other);
  return microbatches;
}

/// Finds the plan, and under which of these numbers of microbatches it is one. Of a number that is not the first one a note tells; where there is
/// none, what is wrong under the first, and that a number may be given.
static LogicalResult settle(PlanAnnotations &annotations, func::FuncOp main, llvm::ArrayRef<int64_t> microbatches, std::optional<bool> sequence, DriverOptions &options) {
  for (int64_t number : microbatches) {
    std::optional<ScopedDiagnosticHandler> quiet;
    if (microbatches.size() > 1)
      quiet.emplace(main.getContext(), [](Diagnostic &) { return success(); });
    PlanAnnotations copy = annotations;
    if (failed(copy.settle(main, number, sequence)))
      continue;
    annotations = std::move(copy);
    if (number == microbatches.front())
      return success();
    options.microbatches = number;
    llvm::errs() << "para-opt: note: the model's annotations are a plan of " << number << " microbatches, not of the usual " << microbatches.front() << ": as many are taken\n";
    return success();
  }
  if (microbatches.size() > 1) {
    (void)annotations.settle(main, microbatches.front(), sequence);
    llvm::errs() << "para-opt: note: ONNX has no words for microbatches, and " << microbatches.front() << " were assumed: those of the plan may be given (--microbatches M)\n";
  }
  return failure();
}

int para::takeAnnotations(ModuleOp imported, const ModelOutline &outline, const AutodiffOptions &autodiff, DriverOptions &options,
                          std::optional<PlanAnnotations> &annotations) {
  auto complain = [](llvm::Error error) {
    llvm::errs() << "para-opt: error: " << llvm::toString(std::move(error)) << "\n";
    return 2;
  };
  auto configuration = chooseConfiguration(outline, options);
  if (!configuration)
    return complain(configuration.takeError());
  if (!*configuration)
    return 0;
  auto read = PlanAnnotations::read(outline, **configuration, imported.lookupSymbol<func::FuncOp>("main"), options.mesh);
  if (failed(read))
    return 1;
  if (llvm::Error error = checkFlags(*read, options))
    return complain(std::move(error));
  OwningOpRef<ModuleOp> step = imported.clone();
  PassManager pm(imported.getContext());
  pm.enableVerifier(false);
  buildAutodiffPipeline(pm, autodiff);
  std::optional<bool> sequence;
  if (options.sequenceParallel || options.noSequenceParallel)
    sequence = options.sequenceParallel;
  if (failed(pm.run(*step)))
    return 1;
  auto main = step->lookupSymbol<func::FuncOp>("main");
  if (failed(settle(*read, main, getMicrobatches(*read, main, options), sequence, options)))
    return 1;
  if (llvm::Error error = checkShards(*read, options, main))
    return complain(std::move(error));
  options.configuration = read->configuration;
  options.ranks = read->ranks;
  for (const auto &[axis, size] : read->mesh)
    options.mesh[axis] = size;
  options.stages = read->stages;
  options.shards.insert(read->imposed.begin(), read->imposed.end());
  if (read->isMeshFixed()) {
    options.sequenceParallel = read->sequenceParallel;
    options.noSequenceParallel = !read->sequenceParallel;
  }
  annotations = std::move(*read);
  return 0;
}

/// What the annotations of a plan leave out.
static std::string listLost(const Plan &plan, func::FuncOp main, bool isTrained) {
  llvm::SmallVector<std::string> lost;
  if (plan.zero > 0)
    lost.push_back("--zero=" + std::to_string(plan.zero));
  if (plan.microbatches > 1 || (plan.pipeline > 1 && isTrained))
    lost.push_back("--microbatches " + std::to_string(plan.microbatches));
  if (plan.pipeline > 1 && plan.microbatches > 1)
    lost.push_back("--pipeline-schedule=" + plan.schedule);
  if (plan.recompute != "none")
    lost.push_back("--recompute=" + plan.recompute);
  for (const auto &[name, text] : plan.shards) // as it is kept between steps; a file tells how it is used
    if (int index = getArgIndex(main, name); index >= 0 && getArgKind(main, index) == "parameter" && (llvm::StringRef(text).contains("data") || llvm::StringRef(text).contains("context")))
      lost.push_back("--shard '" + name + "=" + text + "'");
  return llvm::join(lost, " ");
}

llvm::Error para::writeAnnotatedModel(ModuleOp planned, const ModelOutline &outline, const Plan &plan, const DriverOptions &options) {
  if (plan.getNumStages() > plan.pipeline) // a plan file's
    return fail(explainChunksInOnnx(plan.schedule));
  WrittenAnnotations written = writeAnnotations(outline, planned.lookupSymbol<func::FuncOp>("main"));
  auto bytes = annotateOnnx(options.input, written.configuration, written.nodes, written.assignments);
  if (!bytes)
    return fail("'" + options.input + "' " + llvm::toString(bytes.takeError()));
  if (llvm::Error error = writeOutput(options.output, *bytes))
    return error;
  if (std::string lost = listLost(plan, planned.lookupSymbol<func::FuncOp>("main"), options.train); !lost.empty())
    llvm::errs() << "para-opt: note: ONNX has no words for a part of the plan, to be given again as " << lost << "\n";
  auto folderOf = [](llvm::StringRef path) {
    llvm::SmallString<128> absolute(path), real;
    (void)llvm::sys::fs::make_absolute(absolute);
    llvm::StringRef folder = llvm::sys::path::parent_path(absolute);
    return llvm::sys::fs::real_path(folder, real) ? folder.str() : std::string(real);
  };
  if (outline.hasExternalData && options.output != "-" && folderOf(options.input) != folderOf(options.output))
    llvm::errs() << "para-opt: note: '" << options.output << "' names its weights by their files, which are looked for beside it\n";
  return llvm::Error::success();
}
