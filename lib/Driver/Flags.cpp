#include "Flags.h"
#include "Values.h"
#include "para/Cost/Execution.h"
#include "para/Cost/Machine.h"
#include "para/Plan/Constraint.h"
#include "para/Schedule/Schedule.h"
#include "para/Support/Spec.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <cfloat>

using namespace llvm;
using namespace para;

namespace {
Error fail(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

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
/// One more of what a flag lists by name: the same again is no matter, another is a contradiction.
template <typename Map, typename Value> Error add(Map &map, StringRef name, const Value &value, StringRef asked) {
  auto [it, isNew] = map.try_emplace(name.str(), value);
  if (isNew || it->second == value)
    return Error::success();
  std::string before;
  raw_string_ostream(before) << it->second;
  return fail("'" + name + "' is given twice, as " + before + " and as " + asked + ": leave one of them out");
}
/// NAME=N,... into anything that maps names to numbers.
template <typename Map> Error readNumbers(StringRef value, Map &map) {
  auto parts = splitList(value);
  if (!parts)
    return parts.takeError();
  for (StringRef part : *parts) {
    auto [name, size] = part.split('=');
    int64_t count = 0;
    if (name.empty())
      return fail("'" + part + "' is not of the form NAME=N");
    if (Error error = readNumber(size, 1, count))
      return error;
    if (Error error = add(map, name, count, size))
      return error;
  }
  return Error::success();
}

/// TYPE[:USE=BYTES,...]
Error readPrecision(StringRef value, DriverOptions &options) {
  auto [type, widths] = value.split(':');
  if (Error error = choice(&DriverOptions::precision, {"f32", "f64", "bf16", "f16", "f8"})(options, type))
    return error;
  options.widths.clear();
  if (!value.contains(':'))
    return Error::success();
  auto parts = splitList(widths);
  if (!parts)
    return parts.takeError();
  constexpr int64_t widest = 8;
  std::map<std::string, int64_t> given;
  for (StringRef part : *parts) {
    auto [use, bytes] = part.split('=');
    static constexpr StringLiteral uses[] = {"parameter", "gathered", "master", "gradient", "reduced", "state"};
    int64_t count = 0;
    if (!is_contained(uses, use))
      return fail("'" + use + "' is none of parameter, gathered, master, gradient, reduced, state");
    if (Error error = readNumber(bytes, 0, count))
      return error;
    if (count > widest)
      return fail("'" + part + "': an element has at most " + Twine(widest) + " bytes");
    if (Error error = add(given, use, count, bytes))
      return error;
  }
  options.widths = std::move(given);
  return Error::success();
}

/// NAME=[data,_,tensor]
Error readShard(StringRef value, DriverOptions &options) {
  auto [name, text] = value.rsplit("=[");
  if (name.empty() || text.empty())
    return fail("'" + value + "' is not NAME=[data,_,tensor]");
  std::string list = "[" + text.str();
  auto asked = parseConstraint(list);
  if (!asked)
    return asked.takeError();
  auto [it, isNew] = options.shards.try_emplace(name.str(), list);
  if (!isNew && cantFail(parseConstraint(it->second)) != *asked)
    return fail("'" + name + "' is given twice, as " + it->second + " and as " + list + ": leave one of them out");
  return Error::success();
}

/// A page's file, or what is reported on standard output.
Error readReport(StringRef value, DriverOptions &options) {
  if (value == "kernels") {
    options.reportKernels = true;
    return Error::success();
  }
  if (value == "memory") {
    options.reportMemory = options.simulate = true;
    return Error::success();
  }
  if (!value.contains('.') && !value.contains('/'))
    return fail("'" + value + "' is none of memory, kernels, and no page's FILE.html");
  if (!options.report.empty() && options.report != value)
    return fail("a page is written at a time, and '" + value + "' is given beside '" + options.report + "': leave one of them out");
  options.report = value.str();
  return Error::success();
}

/// Nothing, or two files.
Error readExplain(StringRef value, DriverOptions &options) {
  options.explain = true;
  if (value.empty())
    return Error::success();
  SmallVector<StringRef> parts;
  value.split(parts, ',');
  if (parts.size() != 2 || parts[0].empty() || parts[1].empty())
    return fail("'" + value + "' is not two plan files, as in --explain=a.json,b.json (--plan-out=FILE.json writes one)");
  std::vector<std::string> files = {parts[0].str(), parts[1].str()};
  if (!options.explainFiles.empty() && options.explainFiles != files)
    return fail("two plans are compared at a time, and '" + value + "' is given beside '" + join(options.explainFiles, ",") + "': leave one of them out");
  options.explainFiles = std::move(files);
  return Error::success();
}
} // namespace

ArrayRef<Flag> para::getFlags() {
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
         if (!options.isGiven("--arch"))
           options.arch.clear(); // of the default
         for (const std::string &gpu : *arch)
           if (!is_contained(options.arch, gpu))
             options.arch.push_back(gpu);
         return Error::success();
       }, {Need::Gpu}, "", {}, true},
      {"--dim", "batch=8,seq=128", "sizes of symbolic dimensions", Takes::Value, [](D &o, StringRef v) { return readNumbers(v, o.dims); }, {}, "", {}, true},
      {"--precision", "P", "f32, bf16, f16 (of what is stored and multiplied, with f32 masters and sums), f64 (for checking), and to be simulated only: f8; with :gradient=2,... bytes of an element: parameter, gathered, master, gradient, reduced, state; default: the model's own",
       Takes::Value, [](D &o, StringRef v) { return readPrecision(v, o); }},
      {"--train", "", "derive the training step", Takes::Nothing, on(&D::train)},
      {"--loss", "L", "OUTPUT, or cross-entropy:labels=NAME,ignore=-100,smoothing=0, bce:target=NAME, mse:target=NAME, l1:target=NAME", Takes::Value,
       checked(&D::loss, checkLoss),
       {Need::Training}},
      {"--trainable", "PATTERNS", "globs of parameters to train, separated by '|'; @FILE for its lines", Takes::Value, patterns(&D::trainable),
       {Need::Training}, "", {}, true},
      {"--freeze", "PATTERNS", "globs of parameters to leave as they are", Takes::Value, patterns(&D::freeze), {Need::Training}, "", {}, true},
      {"--optimizer", "O", "sgd, momentum, nesterov, adam, adamw (default), adagrad, rmsprop, lamb, lion; with :lr=1e-3,weight_decay=0.01,no_decay=PATTERNS,...", Takes::Value,
       checked(&D::optimizer, checkOptimizer),
       {Need::Training}},
      {"--lr-schedule", "S", "constant (default), linear:warmup=W,total=T,min=M, cosine:..., inverse-sqrt:warmup=W", Takes::Value,
       checked(&D::lrSchedule, [](StringRef value) { return describeSchedule(value).takeError(); }), {Need::Training}},
      {"--clip-norm", "X", "bound of the global gradient norm", Takes::Value, real(&D::clipNorm), {Need::Training}},
      {"--clip-value", "X", "bound of each gradient element", Takes::Value, real(&D::clipValue), {Need::Training}},
      {"--loss-scale", "X", "where the loss scale of --precision=f16 begins (default 65536); it halves, to no less than 2^-24, when a step overflows, which is skipped, and doubles after 2000 that do not",
       Takes::Value, real(&D::lossScale), {Need::Training}},
      {"--microbatches", "M", "the batch runs in M parts", Takes::Value, number(&D::microbatches, 1),
       {Need::Training, Need::Choice}, "they are for training (--train); inference takes its batch in one piece (--dim batch=N makes it smaller)", {"1"}},
      {"--ranks", "N", "plan for N host ranks (default 1)", Takes::Value, number(&D::ranks, 1), {Need::Choice}},
      {"--machine", "SPEC", "plan for a machine: a preset with a node count (dgx-h100:16, a100-80:1x4) or a JSON file", Takes::Value,
       checked(&D::machine, [](StringRef value) { return Machine::get(value).takeError(); })},
      {"--plan", "P", "auto (default), data-parallel, ddp, zero1, zero2, zero3, tensor, expert, pipeline, model-parallel, or a plan file", Takes::Value,
       checked(&D::plan, checkPlanName),
       {Need::Choice}, "", {"auto"}},
      {"--mesh", "data=2,tensor=2", "sizes of mesh axes: data, expert (experts of a layer), context (parts of the sequence), tensor, pipeline; with more --ranks than that, the others are chosen", Takes::Value,
       [](D &o, StringRef v) -> Error {
         if (Error error = readNumbers(v, o.mesh))
           return error;
         return checkMesh(o.mesh);
       }, {Need::Choice}, "", {}, true},
      {"--zero", "0..3", "what is cut over data: 1 optimizer state, 2 gradients too, 3 parameters too", Takes::Value,
       [](D &options, StringRef value) -> Error {
         if (value.getAsInteger(10, options.zero) || options.zero < 0 || options.zero > 3)
           return fail("'" + value + "' is none of 0, 1, 2, 3");
         return Error::success();
       }, {Need::Training, Need::Choice}, "it cuts the optimizer's state, gradients and parameters of training (--train)", {"0"}},
      {"--pipeline-schedule", "S", "order of microbatches in a pipeline: gpipe, 1f1b, interleaved:V (V parts of the model on each rank), zb-h1, zb-h2 (gradients of weights apart), zb-v (both)", Takes::Value,
       checked(&D::schedule, checkScheduleName),
       {Need::Choice}},
      {"--sequence-parallel", "off", "with tensor ranks: what lies between their products is cut along the sequence; off: never (default: with --machine, where it is faster; else never)", Takes::OptionalValue,
       [](D &options, StringRef value) -> Error {
         if (!value.empty() && value != "off")
           return fail("'" + value + "' is not 'off'");
         options.sequenceParallel = value.empty();
         options.noSequenceParallel = !value.empty();
         return Error::success();
       }, {Need::Choice}},
      {"--stages", "S", "of a pipeline that is simulated: balanced by cost (default), or even: as many layers in each", Takes::Value,
       [](D &options, StringRef value) -> Error {
         options.evenStages = value == "even";
         return value == "even" || value == "balanced" ? Error::success() : fail("'" + value + "' is none of balanced, even");
       }, {Need::Pricing}, "", {"balanced"}},
      {"--shard", "NAME=[data,_,tensor]", "asks for the cut of a parameter, an input or what a node makes: _ is whole, ? is free; may be repeated", Takes::Value,
       [](D &o, StringRef v) { return readShard(v, o); }, {Need::Choice}, "", {}, true},
      {"--ignore-annotations", "", "leaves out what the model's multi-device annotations ask of mesh, stages and shards", Takes::Nothing, on(&D::ignoreAnnotations)},
      {"--recompute", "R", "what is computed again for the backward pass and not kept: none (default), selective, full, or auto: the fastest that fits into memory",
       Takes::Value, choice(&D::recompute, {"none", "selective", "full", "auto"}),
       {Need::Training, Need::Choice}, "it is for the backward pass of training (--train)", {"none"}},
      {"--explain", "a.json,b.json", "why this plan: the candidates side by side; or what two plan files differ in, and nothing is compiled", Takes::OptionalValue,
       [](D &o, StringRef v) { return readExplain(v, o); }, {Need::Planning}, "", {}, true},
      {"--simulate", "", "price the plan and stop", Takes::Nothing, on(&D::simulate), {Need::Planning}},
      {"--fuse", "LIST", "what the simulated program has in one kernel: stream (elementwise ops and rows), attention, or none, as in eager frameworks (default stream,attention)", Takes::Value,
       choice(&D::fuse, {"stream,attention", "stream", "attention", "none"}), {Need::Prices}, "", {"stream,attention"}},
      {"--execution", "E", "how the simulated program is run: compiled (default), eager (PyTorch, op by op); with :key=number,... (Execution.h)", Takes::Value,
       checked(&D::execution, [](StringRef value) { return Execution::get(value).takeError(); }), {Need::Prices}, "", {"compiled"}},
      {"--json", "", "numbers for machines", Takes::Nothing, on(&D::json), {Need::Numbers}},
      {"--plan-out", "FILE", "writes the plan as JSON", Takes::Value, text(&D::planOut), {Need::Planning, Need::Choice}},
      {"--report", "FILE.html",
       "a page about the plan: where layers are, the step over time, memory, other plans (of a machine; without --machine of this host); or memory: what "
       "the plan's memory is of, stage by stage; or kernels: what each kernel of the device program does and moves; after both nothing is compiled further",
       Takes::Value, [](D &o, StringRef v) { return readReport(v, o); }, {Need::Planning, Need::Choice}, "", {}, true},
      {"--trace-out", "FILE.json", "the simulated step for Perfetto (ui.perfetto.dev) or chrome://tracing", Takes::Value, text(&D::traceOut),
       {Need::Planning, Need::Choice}},
      {"--keep-gradients", "", "gradients stay results of the step (for --dump-grads)", Takes::Nothing, on(&D::keepGradients), {Need::Training}},
      {"--verify", "FILE",
       "before the program is written, its plan runs on all ranks here, in f64, and is compared with one rank: losses, gradients, parameters and optimizer state, or outputs; "
       "on random inputs, or on those of FILE, as the program would take them (--data, --inputs); programs for GPUs are rehearsed",
       Takes::OptionalValue,
       [](D &options, StringRef value) -> Error {
         options.verify = true;
         options.verifyData = value.str();
         return value.empty() || sys::fs::exists(value) ? Error::success() : fail("there is no file '" + value + "'");
       }, {Need::Program}},
      {"--calibrate", "", "measures this computer anew, keeps and prints the numbers; no model is needed", Takes::Nothing, on(&D::calibrate)},
      {"--run", "...", "compile and run at once; what follows are the executable's flags", Takes::Nothing, on(&D::run), {Need::Program}},
      {"--progress", "WHEN", "whether it is told which stage is under way: auto (default: on a terminal), always, never", Takes::Value,
       choice(&D::progress, {"auto", "always", "never"})},
      {"-v", "", "tell what is done", Takes::Nothing, on(&D::verbose)},
      {"--timing", "", "seconds of each stage", Takes::Nothing, on(&D::timing)},
      {"--version", "", "", Takes::Nothing, on(&D::version)},
      {"--help", "", "", Takes::Nothing, on(&D::help)},
  };
  return flags;
}

const Flag *para::findFlag(StringRef name) {
  const Flag *flag = find_if(getFlags(), [&](const Flag &flag) { return flag.name == name; });
  return flag == getFlags().end() ? nullptr : flag;
}
