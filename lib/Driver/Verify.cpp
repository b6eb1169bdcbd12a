#include "Verify.h"

#include "CompareRuns.h"
#include "RandomInputs.h"
#include "Scratch.h"
#include "para/IR/Program.h"
#include "para/Plan/Recipes.h"
#include "para/Plan/Units.h"
#include "para/Support/Output.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cmath>
#include <unistd.h>

using namespace mlir;
using namespace para;

namespace {
constexpr int64_t steps = 3;         ///< the second has optimizer state to go on from, the third what the second made of it
constexpr double bound = 1e-11;      ///< of sums of f64 in another order, by the tables of test/Execution
constexpr int64_t mostRanks = 256;   ///< processes on one computer
constexpr int64_t bytesOfRank = 32 << 20; ///< of a process beside its arena
constexpr int64_t seed = 1;

enum Exit { kDone = 0, kDiffers = 1, kWrongUsage = 2, kRefused = 3 };

int fail(const llvm::Twine &message, int status) {
  llvm::errs() << "para-opt: error: --verify: " << message << "\n";
  return status;
}

std::string plural(int64_t count, StringRef noun) { return llvm::formatv("{0} {1}{2}", count, noun, count == 1 ? "" : noun.ends_with("s") ? "es" : "s"); }

std::optional<int64_t> readNumber(StringRef path) {
  int64_t number = 0;
  auto text = llvm::MemoryBuffer::getFileAsStream(path);
  if (!text || (*text)->getBuffer().trim().getAsInteger(10, number))
    return std::nullopt; // there is no such limit
  return number;
}

/// Bytes of memory that programs could have: what the kernel says, and what is left of a container's.
int64_t getFreeMemory() {
  int64_t bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE), kilobytes = 0;
  if (auto text = llvm::MemoryBuffer::getFileAsStream("/proc/meminfo")) {
    StringRef line = (*text)->getBuffer().split("MemAvailable:").second.ltrim();
    if (!line.consumeInteger(10, kilobytes))
      bytes = kilobytes * 1024;
  }
  if (auto limit = readNumber("/sys/fs/cgroup/memory.max"))
    bytes = std::min(bytes, *limit - readNumber("/sys/fs/cgroup/memory.current").value_or(0));
  return bytes;
}

/// Says that `what` does not fit, if so.
int checkMemory(const llvm::Twine &what, double bytes) {
  double free = double(getFreeMemory());
  if (bytes <= free)
    return kDone;
  return fail(what + " would take " + inBytes(bytes) + " in f64, and this computer has " + inBytes(free) +
                  " left: verify the plan of a smaller model (fewer layers or narrower ones, --dim batch=N), or compile without --verify",
              kRefused);
}

/// Bytes of what is there on one rank in f64, be the program as it may: parameters, states and the gradients that are compared.
double getLeastBytes(func::FuncOp main) {
  constexpr double bytesOfElement = 8;
  double bytes = 0;
  for (BlockArgument argument : main.getArguments()) {
    StringRef kind = getArgKind(main, argument.getArgNumber());
    double elements = double(cast<RankedTensorType>(argument.getType()).getNumElements());
    if (kind == "parameter" || kind == "state")
      bytes += bytesOfElement * elements;
    if (main.getArgAttr(argument.getArgNumber(), "para.trainable"))
      bytes += bytesOfElement * elements;
  }
  return bytes;
}

/// A program that is compared.
struct Program {
  std::string what, path;
  runtime::Manifest manifest;
};

class Verification {
public:
  Verification(const Plan &plan, const DriverOptions &options, StringRef program, const CompileHooks &hooks, StringRef folder)
      : plan(plan), options(options), program(program), hooks(hooks), folder(folder) {}

  int run() {
    Program here, serial;
    here.what = plural(plan.getNumRanks(), "rank") + (options.target == "host" ? "" : ", rehearsed");
    serial.what = "one rank";
    DriverOptions spread = getOptions(), single = getOptions();
    spread.target = options.target == "host" ? "host" : "rehearsal";
    spread.plan = file("plan.json");
    single.ranks = 1;
    single.microbatches = options.train ? plan.microbatches : 0;
    if (llvm::Error error = writeOutput(spread.plan, llvm::formatv("{0}", llvm::json::Value(plan.toJson())).str()))
      return fail(llvm::toString(std::move(error)), kDiffers);
    if (int status = compile(here, "plan", spread, hooks.proven))
      return status;
    if (int status = compile(serial, "serial", single, nullptr))
      return status;
    if (int status = prepareInputs(serial.manifest))
      return status;
    RunComparison found;
    int64_t shown = steps;
    if (int status = compare(here, serial, steps, found))
      return status;
    // What a step gets wrong is everywhere some steps later: the first step to differ tells where it began.
    for (int64_t fewer = 1; found.first && options.train && shown == steps && fewer < steps; ++fewer) {
      RunComparison sooner;
      if (int status = compare(here, serial, fewer, sooner))
        return status;
      if (sooner.first) {
        found = std::move(sooner);
        shown = fewer;
      }
    }
    return tell(found, shown);
  }

private:
  std::string file(const llvm::Twine &name) const { return (folder + "/" + name).str(); }

  void progress(const llvm::Twine &what) const {
    if (options.isWatched())
      llvm::errs() << "para-opt: verify: " << what << "\n";
  }

  /// The model and its step as the flags want them; how it is spread is the plan's, and nothing but the program is made.
  DriverOptions getOptions() const {
    DriverOptions own, result = options;
    result.precision = "f64";
    result.keepGradients = options.train;
    result.ignoreAnnotations = true;
    result.emit = "exe";
    result.target = "host";
    result.plan = own.plan;
    result.machine = own.machine, result.schedule = own.schedule, result.recompute = own.recompute;
    result.planOut = own.planOut, result.report = own.report, result.traceOut = own.traceOut, result.progress = "never";
    result.widths.clear(), result.mesh.clear(), result.shards.clear(), result.stages.clear(), result.given.clear(), result.explainFiles.clear();
    result.configuration.clear();
    result.microbatches = result.ranks = 0;
    result.zero = own.zero;
    result.explain = result.run = result.verbose = result.timing = result.verify = false;
    result.sequenceParallel = result.noSequenceParallel = result.evenStages = false;
    return result;
  }

  int compile(Program &of, StringRef name, DriverOptions &flags, std::function<void(ModuleOp)> proven) {
    progress("compiling " + of.what + " in f64");
    of.path = flags.output = file(name);
    CompileHooks own;
    own.isQuiet = true;
    own.proven = std::move(proven);
    own.lowered = [&](ModuleOp lowered) { return check(of, lowered); };
    int status = compileModel(flags, program, own);
    return status == 0 || isTold ? status : fail("the program of " + of.what + " in f64, which was to be compared, could not be made", status);
  }

  /// Whether the program will fit, now that all of it is known but its code.
  int check(Program &of, ModuleOp lowered) {
    std::string text = lowered->getAttrOfType<StringAttr>("rt.manifest").getValue().str();
    if (runtime::Status status = runtime::parseManifest(text.data(), text.size(), of.manifest); status.failed())
      return fail(status.message(), kDiffers);
    double bytes = double(dumpBytes(of.manifest)) + double(of.manifest.ranks()) * bytesOfRank;
    for (int64_t arena : of.manifest.arenaBytesPerRank())
      bytes += double(arena);
    int status = checkMemory("the program of " + of.what, bytes);
    if (auto space = llvm::sys::fs::disk_space(folder); status == 0 && space && space->available < 2 * uint64_t(dumpBytes(of.manifest)))
      status = fail("what the runs leave to be compared takes " + inBytes(2 * double(dumpBytes(of.manifest))) + ", and '" + folder + "' has " + inBytes(double(space->available)) +
                        " left: let TMPDIR name another folder",
                    kRefused);
    isTold = status != 0;
    return status;
  }

  /// What rank 0 gathers and writes.
  static int64_t dumpBytes(const runtime::Manifest &manifest) {
    std::map<std::pair<bool, std::string>, int64_t> bytes;
    for (const runtime::Stage &stage : manifest.stages)
      for (const runtime::Tensor &tensor : stage.tensors)
        if (tensor.kind != runtime::TensorKind::Input && tensor.kind != runtime::TensorKind::Hyper)
          bytes[{tensor.kind == runtime::TensorKind::Gradient, tensor.name}] = tensor.globalElements() * runtime::elementBytes(tensor.dtype);
    int64_t sum = 0;
    for (const auto &[name, size] : bytes)
      sum += size;
    return sum;
  }

  std::string describeInputs() const {
    return (options.verifyData.empty() ? "on random inputs" : "on the inputs of '" + options.verifyData + "'") + (hasWeights ? "" : " from random weights");
  }

  /// Whether the files that the manifest names are there: models may be planned without.
  static bool findWeights(const runtime::Manifest &manifest) {
    for (const runtime::Stage &stage : manifest.stages)
      for (const runtime::Tensor &tensor : stage.tensors) {
        SmallString<256> path(tensor.source.file);
        llvm::sys::path::make_absolute(manifest.directory, path);
        if (tensor.source.present && !tensor.source.file.empty() && !llvm::sys::fs::exists(path))
          return false;
      }
    return true;
  }

  int prepareInputs(const runtime::Manifest &manifest) {
    inputs = options.verifyData;
    hasWeights = findWeights(manifest);
    if (!inputs.empty())
      return kDone;
    inputs = file("inputs.npz");
    runtime::Status status = runtime::writeNpz(inputs, makeRandomInputs(manifest, seed));
    return status.failed() ? fail(status.message(), kDiffers) : kDone;
  }

  int compare(const Program &here, const Program &serial, int64_t steps, RunComparison &found) {
    RunResult ofSerial, ofPlan;
    if (int status = execute(serial, steps, ofSerial))
      return status;
    if (int status = execute(here, steps, ofPlan))
      return status;
    auto comparison = compareRuns(here.manifest, ofPlan, ofSerial, bound);
    if (!comparison)
      return fail(describeInputs() + ", " + llvm::toString(comparison.takeError()) + ": nothing can be compared" +
                      (options.verifyData.empty() ? "; give inputs that suit the model (--verify=FILE)" : ""),
                  kDiffers);
    found = std::move(*comparison);
    return kDone;
  }

  int execute(const Program &of, int64_t steps, RunResult &result) {
    progress("running " + of.what);
    // Of a job that para-opt itself may be a part of.
    for (const char *variable : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "PARA_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
      unsetenv(variable);
    std::string state = of.path + ".state.npz", gradients = of.path + ".gradients.npz", metrics = of.path + ".jsonl";
    SmallVector<std::string> arguments = {of.path, options.train ? "--data" : "--inputs", inputs, hasWeights ? "--init=file,xavier" : "--init=xavier", "--seed", std::to_string(seed),
                                          "--dump-state", state, "--progress=" + (options.isWatched() ? options.progress : "never")};
    if (options.train)
      arguments.append({"--steps", std::to_string(steps), "--dump-grads", gradients, "--metrics", metrics});
    (void)llvm::sys::fs::remove(metrics); // or lines are added
    SmallVector<StringRef> list(arguments.begin(), arguments.end());
    std::optional<StringRef> redirects[] = {StringRef(""), StringRef(""), std::nullopt};
    std::string message;
    if (int status = llvm::sys::ExecuteAndWait(of.path, list, std::nullopt, redirects, 0, 0, &message))
      return fail("the program of " + of.what + " in f64, " + describeInputs() + ", did not run to its end" + (status < 0 ? ": " + message : " (status " + std::to_string(status) + ")"), kDiffers);
    runtime::Status read = runtime::readArrays(state, {}, result.state);
    if (!read.failed() && options.train)
      read = runtime::readArrays(gradients, {}, result.gradients);
    if (read.failed())
      return fail(read.message(), kDiffers);
    if (!options.train)
      return kDone;
    auto text = llvm::MemoryBuffer::getFile(metrics);
    if (!text)
      return fail("cannot read '" + metrics + "': " + text.getError().message(), kDiffers);
    llvm::Error error = result.readLosses((*text)->getBuffer());
    return error ? fail(llvm::toString(std::move(error)), kDiffers) : kDone;
  }

  static std::string toText(double value) { return std::isnan(value) ? "NaN" : std::isinf(value) ? "infinite" : runtime::roundTrip(value); }

  int tell(const RunComparison &found, int64_t shown) {
    std::string ranks = plural(plan.getNumRanks(), "rank") + " (" + (plan.recipe.empty() ? "" : plan.recipe + ", ") + plan.getMeshText() + (options.target == "host" ? ")" : "; rehearsed)");
    std::string how = "in f64, " + (options.train ? plural(shown, "step") + " " : "") + describeInputs();
    if (found.first) {
      const Difference &first = *found.first;
      std::string place = first.element.empty() ? "" : ", at " + runtime::shapeText(first.element) + (first.holder.empty() ? "" : " (from " + first.holder + ")");
      std::string by = std::isfinite(first.relative) ? llvm::formatv("{0:e1} of its largest element apart, where {1:e0} is allowed", first.relative, bound).str() : "no finite number apart";
      int status = fail(llvm::formatv("the plan computes something else than one rank does: {0} differs first{1}: {2} on {3}, {4} on one rank, {5}; {6} of {7} tensors differ ({8})", first.tensor, place,
                                      toText(first.here), ranks, toText(first.serial), by, found.numDiffering, found.getNumTensors(), how),
                        kDiffers);
      llvm::errs() << "para-opt: note: no program is written; this is a fault of para's, and another plan (--plan) may be sound\n";
      return status;
    }
    std::vector<std::string> compared;
    for (auto [count, noun] : {std::pair(found.losses, "loss"), {found.gradients, "gradient"}, {found.parameters, "parameter"}, {found.states, "state"}, {found.outputs, "output"}})
      if (count)
        compared.push_back(plural(count, noun));
    llvm::outs() << llvm::formatv("verified: {0} compute what one rank does, {1}: {2}; the largest difference is {3:e1} of the tensor's largest element", ranks, how,
                                  llvm::join(compared, ", "), found.worst.relative);
    if (found.worst.relative > 0)
      llvm::outs() << ", in " << found.worst.tensor;
    if (found.noise > 0)
      llvm::outs() << "; " << plural(found.noise, "element") << " of parameters in the gradient alone, which is rounding noise";
    llvm::outs() << "\n";
    return kDone;
  }

  const Plan &plan;
  const DriverOptions &options;
  StringRef program;
  const CompileHooks &hooks;
  StringRef folder;
  std::string inputs;
  bool hasWeights = true; ///< of the model's own
  bool isTold = false;    ///< why a compilation ended
};
} // namespace

int para::admitVerification(ModuleOp planned, const Plan &plan, DriverOptions &options) {
  int64_t ranks = plan.getNumRanks();
  if (ranks == 1 && options.target == "host" && plan.recompute == "none") {
    bool isSwept = options.ranks == 1 || !options.mesh.empty() || options.plan != "auto";
    if (!isSwept)
      return fail("one rank is compared with several, and the plan has one: give the number of ranks (--ranks N, --mesh, --machine)", kWrongUsage);
    llvm::errs() << "para-opt: note: " << options.show("--verify") << " does nothing here: the plan has one rank, as was asked, and its program is the serial one\n";
    options.verify = false;
    return kDone;
  }
  if (ranks > mostRanks)
    return fail("the plan has " + llvm::Twine(ranks) + " ranks, and at most " + llvm::Twine(mostRanks) +
                    " run on one computer: verify the same way to plan on fewer of them, or compile without --verify",
                kRefused);
  return checkMemory("one rank with all parameters" + llvm::Twine(options.train ? ", gradients and optimizer state" : ""), getLeastBytes(planned.lookupSymbol<func::FuncOp>("main")));
}

int para::verifyPlan(const Plan &plan, const DriverOptions &options, StringRef program, const CompileHooks &hooks) {
  return runInScratch("--verify", [&](StringRef folder) { return Verification(plan, options, program, hooks, folder).run(); });
}
