#include "Flags.h"
#include "para/Driver/Race.h"
#include "para/Schedule/Schedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace para;

namespace {
Error fail(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

bool compares(const DriverOptions &options) { return !options.explainFiles.empty(); }
bool stopsEarly(const DriverOptions &options) { return options.emit == "import" || options.emit == "autodiff"; }

/// What stops a run before a program is made of its plan, as it was typed.
std::string stopOf(const DriverOptions &options) {
  return compares(options) ? "--explain=" + join(options.explainFiles, ",") : options.isGiven("--simulate") ? "--simulate" : options.reportMemory ? "--report=memory"
         : options.reportKernels ? "--report=kernels" : "--emit=" + options.emit;
}

/// Whether a need is met, and what is told where it is not.
struct NeedRule {
  Need need;
  bool (*isMet)(const DriverOptions &);
  std::string (*tell)(const DriverOptions &);
};
const NeedRule kNeeds[] = {
    {Need::Training, [](const DriverOptions &o) { return o.train; }, [](const DriverOptions &) -> std::string { return "it is for training (--train)"; }},
    {Need::Gpu, [](const DriverOptions &o) { return o.target == "cuda"; },
     [](const DriverOptions &) -> std::string { return "it chooses code for GPUs, which is made for --target=cuda"; }},
    {Need::Planning, [](const DriverOptions &o) { return !stopsEarly(o); },
     [](const DriverOptions &o) { return "it is about the plan, and --emit=" + o.emit + " stops before there is one: leave one of them out"; }},
    {Need::Choice, [](const DriverOptions &o) { return !compares(o); },
     [](const DriverOptions &o) { return stopOf(o) + " compares two plans as they are, and takes neither: leave one of them out"; }},
    {Need::Program, [](const DriverOptions &o) { return !compares(o) && !o.simulate && !o.reportKernels; },
     [](const DriverOptions &o) { return stopOf(o) + " stops before there is a program: leave one of them out"; }},
    {Need::Prices, isRaced,
     [](const DriverOptions &) -> std::string {
       return "it is for the prices of a machine (--machine SPEC, --report or --trace-out), not for the program that is made";
     }},
    {Need::Pricing, [](const DriverOptions &o) { return isRaced(o) && (o.simulate || compares(o)); },
     [](const DriverOptions &) -> std::string {
       return "it can be simulated on a machine (--machine SPEC --simulate) but not compiled: stages of programs are balanced by cost";
     }},
    {Need::Numbers, [](const DriverOptions &o) { return o.simulate || o.explain || o.reportKernels; },
     [](const DriverOptions &) -> std::string { return "it is for the numbers of --simulate, --explain and --report=kernels"; }},
};

/// Each flag that was given, and is no more than what is there without it, has what it needs.
Error checkNeeds(const DriverOptions &options) {
  for (const auto &[name, value, typed] : options.given) {
    const Flag *flag = findFlag(name);
    if (!flag || (!flag->isList && typed != options.show(name)) || is_contained(flag->neutral, value))
      continue;
    for (auto [index, need] : enumerate(flag->needs)) {
      const NeedRule *rule = find_if(kNeeds, [need = need](const NeedRule &rule) { return rule.need == need; });
      if (!rule->isMet(options))
        return fail(typed + ": " + (index == 0 && !flag->use.empty() ? flag->use.str() : rule->tell(options)));
    }
  }
  return Error::success();
}

/// Each result has a file of its own, and none takes the model's place but the model itself, annotated.
/// One text for all names of a file: where its folder really is, through links, and what links there lead to.
std::string identify(StringRef path) {
  SmallString<256> real, name(path);
  if (!sys::fs::real_path(path, real))
    return real.str().str();
  (void)sys::fs::make_absolute(name);
  sys::path::remove_dots(name, /*remove_dot_dot=*/false);
  if (!sys::fs::real_path(sys::path::parent_path(name), real)) {
    sys::path::append(real, sys::path::filename(name));
    return real.str().str();
  }
  return name.str().str();
}

Error checkFiles(const DriverOptions &options) {
  std::map<std::string, StringRef> taken;
  if (options.emit != "onnx" && !options.input.empty())
    taken[identify(options.input)] = "the model";
  for (const auto &[flag, path] : {std::pair<StringRef, StringRef>("--plan", options.plan), {"--machine", options.machine}})
    if (path.ends_with(".json") && !(flag == "--plan" && identify(path) == identify(options.planOut))) // a plan may be written anew
      taken.try_emplace(identify(path), flag);
  for (const auto &[flag, path] : {std::pair<StringRef, StringRef>("-o", options.output), {"--plan-out", options.planOut}, {"--report", options.report}, {"--trace-out", options.traceOut}}) {
    if (path.empty() || path == "-" || path.starts_with("/dev/"))
      continue;
    if (auto [it, isNew] = taken.try_emplace(identify(path), flag); !isNew)
      return fail(flag + " " + path + ": that is the file of " + it->second + "; give another name");
  }
  return Error::success();
}
} // namespace

std::string para::explainChunksInOnnx(StringRef schedule) {
  return ("--emit=onnx: ONNX has no words for several parts of the model on a rank, as --pipeline-schedule=" + schedule + " has them; take " +
          listOneChunkSchedules() + ", or --plan-out, which has all of the plan").str();
}

Error para::checkTogether(const DriverOptions &options) {
  for (const GivenFlag &given : options.given)
    if (options.calibrate && !is_contained({"--calibrate", "-v", "--timing", "--progress"}, given.name))
      return fail("--calibrate measures this computer and stops: leave " + given.typed + " out");
  if (options.calibrate && !options.input.empty())
    return fail("--calibrate measures this computer and stops; '" + options.input + "' is for a command of its own");
  bool isProgram = options.emit == "exe" || options.emit == "shared";
  if (options.run && options.emit != "exe")
    return fail("--run runs an executable; --emit=" + options.emit + " makes none");
  if (options.verify && !isProgram)
    return fail(options.show("--verify") + " runs the plan's program, and --emit=" + options.emit + " stops before there is one: leave one of them out");
  if (isProgram && options.output == "-")
    return fail("-o -: only text goes to standard output; give the name of a file for --emit=" + options.emit);
  if (options.emit == "onnx" && options.output.empty())
    return fail("--emit=onnx: give the name of the new file (-o FILE.onnx)");
  if (options.emit == "onnx" && getScheduleChunks(options.schedule) > 1)
    return fail(explainChunksInOnnx(options.schedule));
  if (options.emit == "ptx" && options.target != "cuda")
    return fail("--emit=ptx: PTX is made for --target=cuda only");
  bool isPricedOnly = options.precision == "f8" || !options.widths.empty();
  if (isPricedOnly && (options.machine.empty() || !(options.simulate || options.emit == "onnx")))
    return fail("--precision=" + options.precision + ": the type can be simulated on a machine (--machine SPEC --simulate) but not compiled" + (options.precision == "f8" ? " yet; f32, bf16, f16 and f64 can" : " with widths of its own; leave them out"));
  if (options.isGiven("--loss-scale") && options.precision != "f16" && !options.precision.empty())
    return fail(options.show("--loss-scale") + ": only f16 needs a loss scale (--precision=f16)");
  if (options.reportKernels && (options.simulate || !is_contained({"exe", "shared", "lower", "llvm", "ptx"}, options.emit)))
    return fail("--report=kernels is about the device program, which is not made for " + (options.simulate ? stopOf(options) : "--emit=" + options.emit) + ": leave one of them out");
  if (Error error = checkFiles(options))
    return error;
  return checkNeeds(options);
}

std::vector<std::string> para::findIdleOutputs(const DriverOptions &options) {
  std::vector<std::string> notes;
  if (!compares(options) && !options.simulate && !options.reportKernels)
    return notes;
  for (StringRef name : {"-o", "--emit"})
    if (options.isGiven(name) && !(name == "--emit" && options.emit == "exe"))
      notes.push_back(options.show(name) + ": nothing is written there, for " + stopOf(options) + " stops before");
  if (compares(options) || options.simulate) // a report of kernels is of the target's
    for (StringRef name : {"--target", "--arch", "--keep-gradients"})
      if (options.isGiven(name) && !(name == "--target" && options.target == "host"))
        notes.push_back(options.show(name) + ": it is about the program, and " + stopOf(options) + " stops before there is one");
  return notes;
}
