//===- Flags.cpp - The executable's command line ------------------------------===//
#include "Flags.h"

#include <algorithm>

namespace para::runtime {

namespace {
enum class Mode { Any, Train, Infer };
enum class Value { Switch, OptionalText, Text, Count, Seed };
struct Spec {
  const char *name;
  Mode mode;
  Value value;
  void *target;
};
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
    if (size_t edits = distance(name, candidate); edits < least) {
      least = edits;
      best = candidate;
    }
  };
  for (const Spec &spec : specs)
    consider(spec.name);
  for (auto &[hyper, value] : manifest.hyper)
    consider(hyper);
  return usage("unknown flag --" + name + (best.empty() ? "; --help lists them" : "; did you mean --" + best + "?"));
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
    return usage("--shuffle " + flags.shuffle + ": a seed or none");
  if (flags.saveEvery > 0 && flags.save.empty())
    return usage("--save-every needs --save DIR");
  if (flags.validateEvery > 0 && flags.validate.empty())
    return usage("--validate-every needs --validate FILE");
  for (const std::string &kind : split(flags.init, ',')) {
    double deviation;
    bool isNormal = kind.rfind("normal:", 0) == 0 && parseDouble(kind.substr(7), deviation) && deviation >= 0;
    if (!isNormal && kind != "file" && kind != "kaiming" && kind != "xavier" && kind != "zeros")
      return usage("--init=" + kind + ": one of file, normal:DEVIATION, kaiming, xavier, zeros");
  }
  return Status::success();
}

Status parseFlags(int argc, char **argv, const Manifest &manifest, Flags &flags) {
  const std::vector<Spec> specs = {
      {"help", Mode::Any, Value::Switch, &flags.help},
      {"info", Mode::Any, Value::OptionalText, &flags.info},
      {"json", Mode::Any, Value::Switch, &flags.json},
      {"verify-memory", Mode::Any, Value::Switch, &flags.verifyMemory},
      {"verbose", Mode::Any, Value::Switch, &flags.verbose},
      {"inputs", Mode::Any, Value::Text, &flags.inputs},
      {"outputs", Mode::Infer, Value::Text, &flags.outputs},
      {"data", Mode::Train, Value::Text, &flags.data},
      {"validate", Mode::Train, Value::Text, &flags.validate},
      {"validate-every", Mode::Train, Value::Count, &flags.validateEvery},
      {"save", Mode::Train, Value::Text, &flags.save},
      {"save-every", Mode::Train, Value::Count, &flags.saveEvery},
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
      {"ranks", Mode::Any, Value::Count, &flags.ranks},
      {"threads", Mode::Any, Value::Count, &flags.threads},
      {"repeat", Mode::Any, Value::Count, &flags.repeat},
      {"warmup", Mode::Any, Value::Count, &flags.warmup},
      {"batch", Mode::Any, Value::Count, &flags.batch},
      {"steps", Mode::Train, Value::Count, &flags.steps},
      {"epochs", Mode::Train, Value::Count, &flags.epochs}};
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
    bool takesValue = isHyper || (spec->value != Value::Switch && spec->value != Value::OptionalText);
    if (takesValue && !hasValue) {
      if (i + 1 >= argc)
        return usage("--" + name + " needs a value");
      value = argv[++i];
    }
    if (isHyper) {
      double number;
      if (!parseDouble(value, number))
        return usage("--" + name + " " + value + ": not a number");
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
    case Value::Seed: {
      int64_t number;
      if (!parseInteger(value, number) || (spec->value == Value::Count && number < 0))
        return usage("--" + name + " " + value + ": not a " + (spec->value == Value::Seed ? "number" : "count"));
      *static_cast<int64_t *>(spec->target) = number;
      break;
    }
    }
  }
  if (flags.help || !flags.info.empty())
    return flags.info.empty() || flags.info == "text" || flags.info == "json"
               ? Status::success()
               : usage("--info=" + flags.info + ": the only other form is json");
  return check(manifest, flags);
}

} // namespace para::runtime
