#include "para/Driver/Options.h"
#include "Values.h"
#include "para/Cost/Execution.h"
#include "para/Cost/Machine.h"
#include "para/Plan/Constraint.h"
#include "para/Schedule/Schedule.h"
#include "para/Support/JsonFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cfloat>
#include <functional>

using namespace llvm;
using namespace para;

namespace {
Error fail(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

enum class Takes { Nothing, Value, OptionalValue };

struct Flag {
  StringRef name, value, help;
  Takes takes;
  std::function<Error(DriverOptions &, StringRef)> set;
};

auto text(std::string DriverOptions::*field) {
  return [field](DriverOptions &options, StringRef value) -> Error {
    options.*field = value.str();
    return Error::success();
  };
}
/// A text that `check` has nothing against.
auto checked(std::string DriverOptions::*field, Error (*check)(StringRef)) {
  return [field, check](DriverOptions &options, StringRef value) -> Error {
    options.*field = value.str();
    return check(value);
  };
}
auto choice(std::string DriverOptions::*field, std::vector<StringRef> allowed) {
  return [field, allowed](DriverOptions &options, StringRef value) -> Error {
    if (!is_contained(allowed, value))
      return fail("'" + value + "' is none of " + join(allowed, ", "));
    options.*field = value.str();
    return Error::success();
  };
}
auto patterns(std::vector<std::string> DriverOptions::*field) {
  return [field](DriverOptions &options, StringRef value) -> Error {
    (options.*field).push_back(value.str());
    return checkPatterns(value);
  };
}
auto on(bool DriverOptions::*field) {
  return [field](DriverOptions &options, StringRef) -> Error {
    options.*field = true;
    return Error::success();
  };
}
Error readNumber(StringRef value, int64_t least, int64_t &target) {
  constexpr int64_t most = int64_t(1) << 40;
  if (value.getAsInteger(10, target) || target < least || target > most)
    return fail("'" + value + "' is not a whole number from " + Twine(least) + " on" + (target > most ? " (the most is " + Twine(most) + ")" : Twine()));
  return Error::success();
}
auto number(int64_t DriverOptions::*field, int64_t least) {
  return [field, least](DriverOptions &options, StringRef value) { return readNumber(value, least, options.*field); };
}
auto real(double DriverOptions::*field) {
  return [field](DriverOptions &options, StringRef value) -> Error {
    if (value.getAsDouble(options.*field) || !(options.*field > 0) || !(options.*field <= FLT_MAX))
      return fail("'" + value + "' is not a positive number (of 32 bits)");
    return Error::success();
  };
}
/// NAME=N,... into anything that maps names to numbers.
template <typename Map> Error readNumbers(StringRef value, Map &map) {
  SmallVector<StringRef> parts;
  value.split(parts, ',', -1, false);
  if (parts.empty())
    return fail("'" + value + "' is not of the form NAME=N,...");
  for (StringRef part : parts) {
    auto [name, size] = part.split('=');
    int64_t count = 0;
    if (name.empty())
      return fail("'" + part + "' is not of the form NAME=N");
    if (Error error = readNumber(size, 1, count))
      return error;
    if (map.count(name.str()))
      return fail("'" + name + "' is given twice");
    map[name.str()] = count;
  }
  return Error::success();
}

/// TYPE[:USE=BYTES,...]
Error readPrecision(StringRef value, DriverOptions &options) {
  auto [type, widths] = value.split(':');
  if (Error error = choice(&DriverOptions::precision, {"f32", "f64", "bf16", "f16", "f8"})(options, type))
    return error;
  if (!value.contains(':'))
    return Error::success();
  for (StringRef part : split(widths, ',')) {
    auto [use, bytes] = part.split('=');
    static constexpr StringLiteral uses[] = {"parameter", "gathered", "master", "gradient", "reduced", "state"};
    int64_t count = 0;
    if (!is_contained(uses, use))
      return fail("'" + use + "' is none of parameter, gathered, master, gradient, reduced, state");
    if (Error error = readNumber(bytes, 0, count))
      return error;
    options.widths[use.str()] = std::min<int64_t>(count, 8);
  }
  return Error::success();
}

ArrayRef<Flag> getFlags() {
  using D = DriverOptions;
  static const Flag flags[] = {
      {"-o", "PATH", "where the result goes; '-' is standard output (default: the model's name without its suffix)", Takes::Value, text(&D::output)},
      {"--emit", "KIND", "exe (default), shared (a library), onnx (the model with its plan as annotations), or a stage: import, autodiff, plan, partition, collectives, schedule, lower, llvm, ptx; a stage goes to FILE.mlirbc in full, as MLIR's bytecode", Takes::Value,
       choice(&D::emit, {"exe", "shared", "onnx", "import", "autodiff", "plan", "partition", "collectives", "schedule", "lower", "llvm", "ptx"})},
      {"--target", "T", "host (default), cuda, rehearsal (the program of cuda, on a processor that looks for races and misuse)", Takes::Value, choice(&D::target, {"host", "cuda", "rehearsal"})},
      {"--arch", "LIST", "GPU code to embed (default sm_80,sm_90,sm_100)", Takes::Value,
       [](D &options, StringRef value) -> Error {
         auto arch = parseArch(value);
         if (!arch)
           return arch.takeError();
         options.arch = std::move(*arch);
         return Error::success();
       }},
      {"--dim", "batch=8,seq=128", "sizes of symbolic dimensions", Takes::Value, [](D &o, StringRef v) { return readNumbers(v, o.dims); }},
      {"--precision", "P", "f32, f64 (for checking), and to be simulated only: bf16, f16, f8 (with masters of f32); with :gradient=2,... bytes of an element: parameter, gathered, master, gradient, reduced, state; default: the model's own",
       Takes::Value, [](D &o, StringRef v) { return readPrecision(v, o); }},
      {"--train", "", "derive the training step", Takes::Nothing, on(&D::train)},
      {"--loss", "L", "OUTPUT, or cross-entropy:labels=NAME,ignore=-100,smoothing=0, bce:target=NAME, mse:target=NAME, l1:target=NAME", Takes::Value, checked(&D::loss, checkLoss)},
      {"--trainable", "PATTERNS", "globs of parameters to train, separated by '|'; @FILE for its lines", Takes::Value, patterns(&D::trainable)},
      {"--freeze", "PATTERNS", "globs of parameters to leave as they are", Takes::Value, patterns(&D::freeze)},
      {"--optimizer", "O", "sgd, momentum, nesterov, adam, adamw (default), adagrad, rmsprop, lamb, lion; with :lr=1e-3,weight_decay=0.01,no_decay=PATTERNS,...", Takes::Value, checked(&D::optimizer, checkOptimizer)},
      {"--lr-schedule", "S", "constant (default), linear:warmup=W,total=T,min=M, cosine:..., inverse-sqrt:warmup=W", Takes::Value,
       checked(&D::lrSchedule, [](StringRef value) { return describeSchedule(value).takeError(); })},
      {"--clip-norm", "X", "bound of the global gradient norm", Takes::Value, real(&D::clipNorm)},
      {"--clip-value", "X", "bound of each gradient element", Takes::Value, real(&D::clipValue)},
      {"--microbatches", "M", "the batch runs in M parts", Takes::Value, number(&D::microbatches, 1)},
      {"--ranks", "N", "plan for N host ranks (default 1)", Takes::Value, number(&D::ranks, 1)},
      {"--machine", "SPEC", "plan for a machine: a preset with a node count (dgx-h100:16, a100-80:1x4) or a JSON file", Takes::Value,
       checked(&D::machine, [](StringRef value) { return Machine::get(value).takeError(); })},
      {"--plan", "P", "auto (default), data-parallel, ddp, zero1, zero2, zero3, tensor, expert, pipeline, model-parallel, or a plan file", Takes::Value, checked(&D::plan, checkPlanName)},
      {"--mesh", "data=2,tensor=2", "sizes of mesh axes: data, expert (experts of a layer), context (parts of the sequence), tensor, pipeline; with more --ranks than that, the others are chosen", Takes::Value, [](D &o, StringRef v) -> Error {
         if (Error error = readNumbers(v, o.mesh))
           return error;
         return checkMesh(o.mesh);
       }},
      {"--zero", "0..3", "what is cut over data: 1 optimizer state, 2 gradients too, 3 parameters too", Takes::Value,
       [](D &options, StringRef value) -> Error {
         if (value.getAsInteger(10, options.zero) || options.zero < 0 || options.zero > 3)
           return fail("'" + value + "' is none of 0, 1, 2, 3");
         return Error::success();
       }},
      {"--pipeline-schedule", "S", "gpipe, 1f1b; to be simulated only, with --machine: interleaved:V (V chunks a stage), zb-h1, zb-h2, zb-v", Takes::Value, checked(&D::schedule, checkScheduleName)},
      {"--sequence-parallel", "off", "with tensor ranks: what lies between their products is cut along the sequence; off: never (default: with --machine, where it is faster; else never)", Takes::OptionalValue,
       [](D &options, StringRef value) -> Error {
         if (!value.empty() && value != "off")
           return fail("'" + value + "' is not 'off'");
         (value.empty() ? options.sequenceParallel : options.noSequenceParallel) = true;
         return Error::success();
       }},
      {"--stages", "S", "of a pipeline that is simulated: balanced by cost (default), or even: as many layers in each", Takes::Value,
       [](D &options, StringRef value) -> Error {
         options.evenStages = value == "even";
         return value == "even" || value == "balanced" ? Error::success() : fail("'" + value + "' is none of balanced, even");
       }},
      {"--shard", "NAME=[data,_,tensor]", "asks for the cut of a parameter, an input or what a node makes: _ is whole, ? is free; may be repeated", Takes::Value,
       [](D &options, StringRef value) -> Error {
         auto [name, text] = value.rsplit("=[");
         if (name.empty() || text.empty())
           return fail("'" + value + "' is not NAME=[data,_,tensor]");
         if (auto constraint = parseConstraint("[" + text.str()); !constraint)
           return constraint.takeError();
         options.shards[name.str()] = "[" + text.str();
         return Error::success();
       }},
      {"--ignore-annotations", "", "leaves out what the model's multi-device annotations ask of mesh, stages and shards", Takes::Nothing, on(&D::ignoreAnnotations)},
      {"--recompute", "R", "what is computed again for the backward pass and not kept: none (default), selective, full, or auto: the fastest that fits into memory",
       Takes::Value, choice(&D::recompute, {"none", "selective", "full", "auto"})},
      {"--explain", "a.json,b.json", "why this plan: the candidates side by side; or what two plan files differ in, and nothing is compiled", Takes::OptionalValue,
       [](D &options, StringRef value) -> Error {
         options.explain = true;
         if (value.empty())
           return Error::success();
         SmallVector<StringRef> parts;
         value.split(parts, ',');
         if (parts.size() != 2 || parts[0].empty() || parts[1].empty())
           return fail("'" + value + "' is not two plan files, as in --explain=a.json,b.json (--plan-out=FILE.json writes one)");
         options.explainFiles = {parts[0].str(), parts[1].str()};
         return Error::success();
       }},
      {"--simulate", "", "price the plan and stop", Takes::Nothing, on(&D::simulate)},
      {"--fuse", "LIST", "what the simulated program has in one kernel: stream (elementwise ops and rows), attention, or none, as in eager frameworks (default stream,attention)", Takes::Value,
       choice(&D::fuse, {"stream,attention", "stream", "attention", "none"})},
      {"--execution", "E", "how the simulated program is run: compiled (default), eager (PyTorch, op by op); with :key=number,... (Execution.h)", Takes::Value,
       checked(&D::execution, [](StringRef value) { return Execution::get(value).takeError(); })},
      {"--json", "", "numbers for machines", Takes::Nothing, on(&D::json)},
      {"--plan-out", "FILE", "writes the plan as JSON", Takes::Value, text(&D::planOut)},
      {"--report", "FILE.html", "a page about the plan: where layers are, the step over time, memory, other plans (of a machine; without --machine of this host)", Takes::Value, text(&D::report)},
      {"--trace-out", "FILE.json", "the simulated step for Perfetto (ui.perfetto.dev) or chrome://tracing", Takes::Value, text(&D::traceOut)},
      {"--keep-gradients", "", "gradients stay results of the step (for --dump-grads)", Takes::Nothing, on(&D::keepGradients)},
      {"--calibrate", "", "measures this computer anew, keeps and prints the numbers; no model is needed", Takes::Nothing, on(&D::calibrate)},
      {"--run", "...", "compile and run at once; what follows are the executable's flags", Takes::Nothing, on(&D::run)},
      {"--progress", "WHEN", "auto, always, never", Takes::Value, choice(&D::progress, {"auto", "always", "never"})},
      {"-v", "", "tell what is done", Takes::Nothing, on(&D::verbose)},
      {"--timing", "", "seconds of each stage", Takes::Nothing, on(&D::timing)},
      {"--version", "", "", Takes::Nothing, on(&D::version)},
      {"--help", "", "", Takes::Nothing, on(&D::help)},
  };
  return flags;
}

const Flag *findFlag(StringRef name) {
  for (const Flag &flag : getFlags())
    if (flag.name == name)
      return &flag;
  return nullptr;
}

/// Flags of the interface that this version does not have.
constexpr StringLiteral kToCome[] = {"--verify"};

/// The flag that was meant.
StringRef guess(StringRef name) {
  auto names = map_to_vector(getFlags(), [](const Flag &flag) { return flag.name.ltrim('-'); });
  StringRef meant = findNearest(name.ltrim('-'), names);
  const Flag *flag = find_if(getFlags(), [&](const Flag &flag) { return flag.name.ltrim('-') == meant; });
  return meant.empty() ? meant : flag->name;
}

/// What flags say to each other.
Error checkTogether(const DriverOptions &options) {
  bool isProgram = options.emit == "exe" || options.emit == "shared";
  if (options.run && options.emit != "exe")
    return fail("--run runs an executable; --emit=" + options.emit + " makes none");
  if (isProgram && options.output == "-")
    return fail("-o -: only text goes to standard output; give the name of a file for --emit=" + options.emit);
  if (options.emit == "onnx" && options.output.empty())
    return fail("--emit=onnx: give the name of the new file (-o FILE.onnx)");
  if (options.emit == "ptx" && options.target != "cuda")
    return fail("--emit=ptx: PTX is made for --target=cuda only");
  if (options.json && !options.simulate && !options.explain)
    return fail("--json is for the numbers of --simulate and --explain");
  if ((options.precision == "bf16" || options.precision == "f16" || options.precision == "f8" || !options.widths.empty()) && !((options.simulate || options.emit == "onnx") && !options.machine.empty()))
    return fail("--precision=" + options.precision + ": the type can be simulated on a machine (--machine SPEC --simulate) but not compiled yet; f32 and f64 can");
  if (!options.schedule.empty() && !(options.simulate && !options.machine.empty()) && !is_contained(getCompiledScheduleNames(), options.schedule))
    return fail("--pipeline-schedule=" + options.schedule + ": the schedule can be simulated on a machine (--machine SPEC --simulate) but not compiled yet; " + join(getCompiledScheduleNames(), ", ") + " can");
  if (!options.train && (options.recompute == "selective" || options.recompute == "full"))
    return fail("--recompute=" + options.recompute + ": it is for the backward pass of training (--train)");
  if (!options.train && options.zero > 0)
    return fail("--zero=" + Twine(options.zero) + ": it cuts the optimizer's state, gradients and parameters of training (--train)");
  if (!options.train && options.microbatches > 1)
    return fail("--microbatches: they are for training (--train); inference takes its batch in one piece (--dim batch=N makes it smaller)");
  return Error::success();
}
} // namespace

Expected<DriverOptions> para::parseDriverOptions(ArrayRef<const char *> arguments) {
  DriverOptions options;
  options.arguments.assign(arguments.begin(), arguments.end());
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef argument = arguments[i];
    if (!argument.starts_with("-") || argument == "-") {
      if (!options.input.empty())
        return fail("two models are given: '" + options.input + "' and '" + argument + "'");
      options.input = argument.str();
      continue;
    }
    auto [name, value] = argument.split('=');
    const Flag *flag = findFlag(name);
    if (!flag) {
      if (llvm::is_contained(kToCome, name))
        return fail("'" + name + "' is not there yet");
      StringRef near = guess(name);
      return fail("unknown flag '" + name + "'" + (near.empty() ? Twine("") : "; did you mean '" + near + "'?"));
    }
    bool given = argument.contains('=');
    if (flag->takes == Takes::Nothing && given)
      return fail("'" + name + "' takes no value");
    if (flag->takes == Takes::OptionalValue && given && value.empty())
      return fail("'" + name + "=' lacks its value");
    if (flag->takes == Takes::Value && !given) {
      if (i + 1 == arguments.size())
        return fail("'" + name + "' needs a value");
      value = arguments[++i];
    }
    if (flag->takes == Takes::Value && value.empty())
      return fail("'" + name + "' needs a value");
    if (Error error = flag->set(options, value))
      return fail(name + ": " + toString(std::move(error)));
    if (options.run) {
      options.runFlags.assign(arguments.begin() + i + 1, arguments.end());
      break;
    }
  }
  if (Error error = checkTogether(options))
    return std::move(error);
  return options;
}

std::string para::getDriverHelp() {
  std::string text = "para-opt MODEL.onnx [flags]     compile a model into one executable that trains or runs it on many ranks\n"
                     "para-opt FILE.mlir [passes]     run passes: --para-<pass>, --para-<stage>-pipeline (see para-opt x.mlir --help)\n\n"
                     "  para-opt gpt.onnx --train --ranks 4 --explain -o gpt && ./gpt --ranks 4 --data train.npz --steps 100\n\n";
  for (const Flag &flag : getFlags()) {
    std::string left = "  " + flag.name.str();
    if (!flag.value.empty())
      left += (flag.takes == Takes::OptionalValue ? "[=" : " ") + flag.value.str() + (flag.takes == Takes::OptionalValue ? "]" : "");
    if (flag.help.empty())
      text += left + "\n";
    else
      text += left + std::string(left.size() < 26 ? 26 - left.size() : 1, ' ') + flag.help.str() + "\n";
  }
  return text;
}
