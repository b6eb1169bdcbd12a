//===- Flags.cpp - The executable's command line ------------------------------===//
#include "Flags.h"

#include "Hyper.h"
#include "Launcher.h"

#include <algorithm>
#include <limits>

namespace para::runtime {

namespace {
enum class Mode { Any, Train, Infer };
enum class Value { Switch, OptionalText, Text, Count, Seed };
struct Spec {
  const char *name;
  Mode mode;
  Value value;
  void *target;
  int64_t least = 0, most = 0; ///< of a count
};

/// Steps and positions in the data are products of such numbers with a batch, and must not overflow.
constexpr int64_t mostSteps = 1000000000000;
/// More threads than this, where there are fewer cores, are a typing error that the system would answer with an abort.
constexpr int64_t usualThreads = 256;
constexpr double mostDeviation = 1e6;
} // namespace

/// Edits between two names, for "did you mean".
static size_t distance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t next = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = row[j];
      row[j] = next;
    }
  }
  return row[b.size()];
}

static Status usage(const std::string &message) { return Status::error(message, 2); }

static Status unknownFlag(const std::string &name, const std::vector<Spec> &specs, const Manifest &manifest) {
  std::string best;
  size_t least = 3;
  auto consider = [&](const std::string &candidate) {
    size_t edits = distance(name, candidate);
    if (edits < least && 2 * edits <= std::min(name.size(), candidate.size())) {
      least = edits;
      best = candidate;
    }
  };
  for (const Spec &spec : specs)
    consider(spec.name);
  for (auto &[hyper, value] : manifest.hyper)
    if (!isDerivedNumber(hyper))
      consider(hyper);
  return usage("unknown flag --" + name + (best.empty() ? "; --help lists them" : "; did you mean --" + best + "?"));
}

/// The same ranges as for --optimizer when compiling.
static Status checkNumber(const std::string &flag, const std::string &number, const std::string &text, double &value) {
  bool isPart = number.rfind("beta", 0) == 0, isUpToOne = number == "alpha" || number == "momentum";
  std::string given = "--" + flag + " " + text + ": ";
  if (!parseDouble(text, value))
    return usage(given + "not a number");
  if (isPart && !(value >= 0 && value < 1))
    return usage(given + "from 0 on and less than 1 is possible");
  if (isUpToOne && !(value >= 0 && value <= 1))
    return usage(given + "from 0 to 1 is possible");
  if (!(value >= 0 && value <= std::numeric_limits<float>::max()))
    return usage(given + "a number from 0 on that 32 bits can hold is possible");
  return Status::success();
}

static Status checkCount(const Spec &spec, const std::string &text, int64_t &value) {
  if (parseInteger(text, value) && value >= spec.least && value <= spec.most)
    return Status::success();
  return usage(format("--%s %s: a whole number from %lld to %lld is possible", spec.name, text.c_str(),
                      (long long)spec.least, (long long)spec.most));
}

static Status check(const Manifest &manifest, Flags &flags) {
  int64_t ranks = manifest.ranks();
  if (flags.ranks >= 0 && flags.ranks != ranks) {
    std::string mesh;
    for (const MeshAxis &axis : manifest.mesh)
      mesh += (mesh.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
    return usage(format("--ranks %lld: this program is compiled for %lld rank%s (mesh %s); compile with --ranks %lld",
                        (long long)flags.ranks, (long long)ranks, ranks == 1 ? "" : "s", mesh.c_str(),
                        (long long)flags.ranks));
  }
  if (flags.batch >= 0 && flags.batch != manifest.batch)
    return usage(format("--batch %lld: this program is compiled for a batch of %lld; compile with --dim batch=%lld",
                        (long long)flags.batch, (long long)manifest.batch, (long long)flags.batch));
  if (flags.steps >= 0 && flags.epochs >= 0)
    return usage("--steps and --epochs say the same thing twice: give one");
  if (flags.progress != "auto" && flags.progress != "always" && flags.progress != "never")
    return usage("--progress=" + flags.progress + ": one of auto, always, never");
  if (flags.transport != "auto" && flags.transport != "mpi")
    return usage("--transport=" + flags.transport + ": one of auto, mpi");
  if (!flags.info.empty() && flags.info != "text" && flags.info != "json")
    return usage("--info=" + flags.info + ": the only other form is json");
  if (flags.shuffle != "none" && !parseInteger(flags.shuffle, flags.shuffleSeed))
    return usage("--shuffle " + flags.shuffle + ": none, or a seed (a whole number of 64 bits)");
  if (flags.saveEvery > 0 && flags.save.empty())
    return usage("--save-every needs --save DIR");
  if (flags.validateEvery > 0 && flags.validate.empty())
    return usage("--validate-every needs --validate FILE");
  for (const std::string &kind : split(flags.init, ',')) {
    double deviation;
    bool isNormal = kind.rfind("normal:", 0) == 0;
    if (isNormal && !(parseDouble(kind.substr(7), deviation) && deviation >= 0 && deviation <= mostDeviation))
      return usage(format("--init=%s: a deviation from 0 to %g is possible", kind.c_str(), mostDeviation));
    if (!isNormal && kind != "file" && kind != "kaiming" && kind != "xavier" && kind != "zeros")
      return usage("--init=" + kind + ": one of file, normal:DEVIATION, kaiming, xavier, zeros");
  }
  return Status::success();
}

Status parseFlags(int argc, char **argv, const Manifest &manifest, Flags &flags) {
  const int64_t mostThreads = std::max<int64_t>(usualThreads, availableCores());
  const std::vector<Spec> specs = {
      {"help", Mode::Any, Value::Switch, &flags.help},
      {"info", Mode::Any, Value::OptionalText, &flags.info},
      {"json", Mode::Any, Value::Switch, &flags.json},
      {"verbose", Mode::Any, Value::Switch, &flags.verbose},
      {"inputs", Mode::Any, Value::Text, &flags.inputs},
      {"outputs", Mode::Infer, Value::Text, &flags.outputs},
      {"data", Mode::Train, Value::Text, &flags.data},
      {"validate", Mode::Train, Value::Text, &flags.validate},
      {"validate-every", Mode::Train, Value::Count, &flags.validateEvery, 1, mostSteps},
      {"save", Mode::Train, Value::Text, &flags.save},
      {"save-every", Mode::Train, Value::Count, &flags.saveEvery, 1, mostSteps},
      {"load", Mode::Any, Value::Text, &flags.load},
      {"metrics", Mode::Train, Value::Text, &flags.metrics},
      {"trace", Mode::Any, Value::Text, &flags.trace},
      {"dump-state", Mode::Any, Value::Text, &flags.dumpState},
      {"dump-grads", Mode::Train, Value::Text, &flags.dumpGrads},
      {"init", Mode::Any, Value::Text, &flags.init},
      {"seed", Mode::Any, Value::Seed, &flags.seed},
      {"shuffle", Mode::Train, Value::Text, &flags.shuffle},
      {"progress", Mode::Any, Value::Text, &flags.progress},
      {"transport", Mode::Any, Value::Text, &flags.transport},
      {"ranks", Mode::Any, Value::Count, &flags.ranks, 1, 1 << 20},
      {"threads", Mode::Any, Value::Count, &flags.threads, 1, mostThreads},
      {"repeat", Mode::Any, Value::Count, &flags.repeat, 1, mostSteps},
      {"warmup", Mode::Any, Value::Count, &flags.warmup, 0, mostSteps},
      {"batch", Mode::Any, Value::Count, &flags.batch, 1, mostSteps},
      {"steps", Mode::Train, Value::Count, &flags.steps, 0, mostSteps},
      {"epochs", Mode::Train, Value::Count, &flags.epochs, 0, mostSteps}};
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "-h")
      argument = "--help";
    if (argument == "-v")
      argument = "--verbose";
    if (argument.rfind("--", 0) != 0)
      return usage("unexpected argument '" + argument + "'; --help lists the flags");
    size_t equals = argument.find('=');
    bool hasValue = equals != std::string::npos;
    std::string name = argument.substr(2, hasValue ? equals - 2 : std::string::npos);
    std::string value = hasValue ? argument.substr(equals + 1) : "";
    auto spec = std::find_if(specs.begin(), specs.end(), [&](const Spec &entry) { return name == entry.name; });
    std::string hyper = name;
    std::replace(hyper.begin(), hyper.end(), '-', '_');
    bool isHyper = spec == specs.end() && std::any_of(manifest.hyper.begin(), manifest.hyper.end(),
                                                      [&](auto &entry) { return entry.first == hyper; });
    if (spec == specs.end() && !isHyper)
      return unknownFlag(name, specs, manifest);
    if (isHyper && isDerivedNumber(hyper))
      return usage("--" + name + ": this number follows from the betas and the step; --help lists those that can be set");
    bool takesValue = isHyper || (spec->value != Value::Switch && spec->value != Value::OptionalText);
    if (takesValue && !hasValue) {
      if (i + 1 >= argc)
        return usage("--" + name + " needs a value");
      value = argv[++i];
    }
    if (isHyper) {
      double number;
      PARA_TRY(checkNumber(name, hyper, value, number));
      flags.hyper.emplace_back(hyper, number);
      continue;
    }
    if (spec->mode == Mode::Train && !manifest.isTraining())
      return usage("--" + name + " belongs to training; this program is compiled without --train");
    if (spec->mode == Mode::Infer && manifest.isTraining())
      return usage("--" + name + " belongs to inference; this program is compiled with --train");
    switch (spec->value) {
    case Value::Switch:
      if (hasValue)
        return usage("--" + name + " takes no value");
      *static_cast<bool *>(spec->target) = true;
      break;
    case Value::OptionalText:
      *static_cast<std::string *>(spec->target) = hasValue ? value : "text";
      break;
    case Value::Text:
      if (value.empty())
        return usage("--" + name + " needs a value");
      *static_cast<std::string *>(spec->target) = value;
      break;
    case Value::Count:
      PARA_TRY(checkCount(*spec, value, *static_cast<int64_t *>(spec->target)));
      break;
    case Value::Seed:
      if (!parseInteger(value, *static_cast<int64_t *>(spec->target)))
        return usage("--" + name + " " + value + ": not a whole number of 64 bits");
      break;
    }
  }
  if (flags.help || !flags.info.empty())
    return flags.info.empty() || flags.info == "text" || flags.info == "json"
               ? Status::success()
               : usage("--info=" + flags.info + ": the only other form is json");
  return check(manifest, flags);
}

} // namespace para::runtime
