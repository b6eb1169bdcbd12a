#include "Verify.h"

#include "CompareRuns.h"
#include "Exit.h"
#include "RandomInputs.h"
#include "Scratch.h"
#include "VerifyLimits.h"
#include "para/Plan/Units.h"
#include "para/Support/Output.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cmath>
#include <cstdlib>

using namespace mlir;
using namespace para;

namespace {
constexpr int64_t steps = 3;              ///< the second has optimizer state to go on from, the third what the second made of it
constexpr double bound = 1e-11;           ///< of sums of f64 in another order, by the tables of test/Execution
constexpr int64_t bytesOfRank = 32 << 20; ///< of a process beside its arena
constexpr double bytesRehearsed = 5;      ///< for each of an arena: 16 tell who has touched 4 (runtime/rehearsal/Shadow.h)
constexpr int64_t seed = 1;

std::string plural(int64_t count, StringRef noun) { return llvm::formatv("{0} {1}{2}", count, noun, count == 1 ? "" : noun.ends_with("s") ? "es" : "s"); }

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
      return failVerify(llvm::toString(std::move(error)), kInputAtFault);
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

  /// The model and its step as the flags want them, on one rank. How it is spread is the plan's, which has taken annotations in.
  DriverOptions getOptions() const {
    DriverOptions result;
    result.input = options.input;
    result.dims = options.dims;
    result.train = result.keepGradients = options.train;
    result.loss = options.loss;
    result.trainable = options.trainable;
    result.freeze = options.freeze;
    result.optimizer = options.optimizer;
    result.lrSchedule = options.lrSchedule;
    result.clipNorm = options.clipNorm;
    result.clipValue = options.clipValue;
    result.precision = "f64";
    result.ignoreAnnotations = true;
    result.progress = "never";
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
    return status == 0 || isTold ? status : failVerify("the program of " + of.what + " in f64, which was to be compared, could not be made", status);
  }

  /// Whether the program will fit, now that all of it is known but its code.
  int check(Program &of, ModuleOp lowered) {
    std::string text = lowered->getAttrOfType<StringAttr>("rt.manifest").getValue().str();
    if (runtime::Status status = runtime::parseManifest(text.data(), text.size(), of.manifest); status.failed())
      return failVerify(status.message(), kInputAtFault);
    double bytes = double(dumpBytes(of.manifest)) + double(of.manifest.ranks()) * bytesOfRank;
    for (int64_t arena : of.manifest.arenaBytesPerRank())
      bytes += double(arena) * (of.manifest.target == "host" ? 1 : bytesRehearsed);
    int status = checkVerifyMemory("the program of " + of.what, bytes);
    if (auto space = llvm::sys::fs::disk_space(folder); status == 0 && space && space->available < 2 * uint64_t(dumpBytes(of.manifest)))
      status = failVerify("what the runs leave to be compared takes " + inBytes(2 * double(dumpBytes(of.manifest))) + ", and '" + folder + "' has " + inBytes(double(space->available)) +
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
    return status.failed() ? failVerify(status.message(), kInputAtFault) : kDone;
  }

  int compare(const Program &here, const Program &serial, int64_t steps, RunComparison &found) {
    RunResult ofSerial, ofPlan;
    if (int status = execute(serial, steps, ofSerial))
      return status;
    if (int status = execute(here, steps, ofPlan))
      return status;
    auto comparison = compareRuns(here.manifest, ofPlan, ofSerial, bound);
    if (!comparison)
      return failVerify(describeInputs() + ", " + llvm::toString(comparison.takeError()) + ": nothing can be compared" +
                      (options.verifyData.empty() ? "; give inputs that suit the model (--verify=FILE)" : ""),
                  kInputAtFault);
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
      return failVerify("the program of " + of.what + " in f64, " + describeInputs() + ", did not run to its end" + (status < 0 ? ": " + message : " (status " + std::to_string(status) + ")"), kInputAtFault);
    runtime::Status read = runtime::readArrays(state, {}, result.state);
    if (!read.failed() && options.train)
      read = runtime::readArrays(gradients, {}, result.gradients);
    if (read.failed())
      return failVerify(read.message(), kInputAtFault);
    if (!options.train)
      return kDone;
    auto text = llvm::MemoryBuffer::getFile(metrics);
    if (!text)
      return failVerify("cannot read '" + metrics + "': " + text.getError().message(), kInputAtFault);
    llvm::Error error = result.readLosses((*text)->getBuffer());
    return error ? failVerify(llvm::toString(std::move(error)), kInputAtFault) : kDone;
  }

  static std::string toText(double value) { return std::isnan(value) ? "NaN" : std::isinf(value) ? "infinite" : runtime::roundTrip(value); }

  int tell(const RunComparison &found, int64_t shown) {
    std::string ranks = plural(plan.getNumRanks(), "rank") + " (" + (plan.recipe.empty() ? "" : plan.recipe + ", ") + plan.getMeshText() + (options.target == "host" ? ")" : "; rehearsed)");
    std::string how = "in f64, " + (options.train ? plural(shown, "step") + " " : "") + describeInputs();
    if (found.first) {
      const Difference &first = *found.first;
      std::string place = first.element.empty() ? "" : ", at " + runtime::shapeText(first.element) + (first.holder.empty() ? "" : " (from " + first.holder + ")");
      std::string by = std::isfinite(first.relative) ? llvm::formatv("{0:e1} of its largest element apart, where {1:e0} is allowed", first.relative, bound).str() : "no finite number apart";
      int status = failVerify(llvm::formatv("the plan computes something else than one rank does: {0} differs first{1}: {2} on {3}, {4} on one rank, {5}; {6} of {7} tensors differ ({8})", first.tensor, place,
                                      toText(first.here), ranks, toText(first.serial), by, found.numDiffering, found.getNumTensors(), how),
                        kInputAtFault);
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

int para::verifyPlan(const Plan &plan, const DriverOptions &options, StringRef program, const CompileHooks &hooks) {
  return runInScratch("--verify", [&](StringRef folder) { return Verification(plan, options, program, hooks, folder).run(); });
}
