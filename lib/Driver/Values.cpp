#include "Values.h"

#include "para/Autodiff/Optimizer.h"
#include "para/Emit/Emit.h"
#include "para/Plan/Recipes.h"
#include "para/Support/Spec.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cfloat>

using namespace llvm;
using namespace para;

namespace {
Error fail(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

/// Numbers that the runtime computes from others are no user's.
bool isDerived(StringRef number) { return number.starts_with("bias_correction"); }

/// What is wrong with a number of an optimizer; empty if nothing is. The ranges are those of PyTorch's optimizers.
std::string faultOf(StringRef name, double value) {
  if (name.starts_with("beta") && !(value >= 0 && value < 1))
    return "must be from 0 on and less than 1";
  if ((name == "alpha" || name == "momentum") && !(value >= 0 && value <= 1))
    return "must be from 0 to 1";
  return value >= 0 && value <= FLT_MAX ? "" : "must be 0 or more, and a number of 32 bits";
}

Error checkKeys(const Spec &spec, ArrayRef<StringRef> keys) {
  for (const auto &[key, value] : spec.values)
    if (!is_contained(keys, key))
      return fail("'" + spec.name + "' has no '" + key + "'; it has " + join(keys, ", "));
  return Error::success();
}
} // namespace

Error para::checkOptimizer(StringRef text) {
  auto spec = Spec::parse(text);
  if (!spec)
    return spec.takeError();
  const Optimizer *rule = findOptimizer(spec->name);
  if (!rule)
    return fail("no optimizer is called '" + spec->name + "'; there are " + join(getOptimizerNames(), ", "));
  SmallVector<StringRef> keys;
  for (const auto &[name, value] : rule->numbers)
    if (!isDerived(name))
      keys.push_back(name);
  keys.push_back("no_decay");
  if (Error error = checkKeys(*spec, keys))
    return error;
  for (StringRef name : ArrayRef(keys).drop_back()) {
    auto value = spec->getNumber(name, 0);
    if (!value)
      return value.takeError();
    if (std::string fault = faultOf(name, *value); !fault.empty())
      return fail("'" + name + "=" + spec->getText(name) + "' " + fault);
  }
  return checkPatterns(spec->getText("no_decay"));
}

Error para::checkLoss(StringRef text) {
  StringRef name = text.split(':').first;
  bool isCrossEntropy = name == "cross-entropy";
  if (!isCrossEntropy && !is_contained({"bce", "mse", "l1"}, name))
    return text.empty() ? fail("a name is missing") : Error::success();
  auto spec = Spec::parse(text);
  if (!spec)
    return spec.takeError();
  StringRef target = isCrossEntropy ? "labels" : "target";
  if (Error error = checkKeys(*spec, isCrossEntropy ? ArrayRef<StringRef>{"labels", "ignore", "smoothing"} : ArrayRef<StringRef>{"target"}))
    return error;
  if (spec->getText(target).empty())
    return fail("'" + name + "' needs the name of an input: " + name + ":" + target + "=NAME");
  auto ignore = spec->getNumber("ignore", -100), smoothing = spec->getNumber("smoothing", 0);
  if (!ignore || !smoothing)
    return joinErrors(ignore.takeError(), smoothing.takeError());
  if (*ignore != double(int64_t(*ignore)))
    return fail("'ignore=" + spec->getText("ignore") + "' is not a whole number");
  if (!(*smoothing >= 0 && *smoothing <= 1))
    return fail("'smoothing=" + spec->getText("smoothing") + "' must be from 0 to 1");
  return Error::success();
}

Expected<json::Object> para::describeSchedule(StringRef text) {
  auto spec = Spec::parse(text);
  if (!spec)
    return spec.takeError();
  json::Object object{{"kind", spec->name}};
  if (!is_contained({"constant", "linear", "cosine", "inverse-sqrt"}, spec->name))
    return fail("no learning-rate schedule is called '" + spec->name + "'; there are constant, linear, cosine, inverse-sqrt");
  bool needsTotal = spec->name == "linear" || spec->name == "cosine"; // others have no end
  if (Error error = checkKeys(*spec, needsTotal ? ArrayRef<StringRef>{"warmup", "total", "min"} : ArrayRef<StringRef>{"warmup"}))
    return std::move(error);
  for (const auto &[key, value] : spec->values) {
    auto number = spec->getNumber(key, 0);
    if (!number)
      return number.takeError();
    if (key == "min") {
      if (!(*number >= 0 && *number <= FLT_MAX))
        return fail("'min=" + value + "' must be 0 or more, and a number of 32 bits");
      object[key] = *number;
      continue;
    }
    constexpr double most = 1e12;
    if (!(*number >= 0 && *number <= most && *number == double(int64_t(*number))))
      return fail("'" + key + "=" + value + "' must be a number of steps, from 0 to 1e12");
    object[key] = int64_t(*number);
  }
  if (needsTotal && object.getInteger("total").value_or(0) <= object.getInteger("warmup").value_or(0))
    return fail("'" + spec->name + "' needs total=T larger than its warmup");
  if (spec->name == "inverse-sqrt" && object.getInteger("warmup").value_or(0) < 1)
    return fail("'inverse-sqrt' needs warmup=W of at least 1");
  return object;
}

Error para::checkPatterns(StringRef text) { return Patterns::parse(text).takeError(); }

Error para::checkPlanName(StringRef text) {
  return text == "auto" || text.ends_with(".json") ? Error::success() : makeRecipe(text, PlanRequest()).takeError();
}

Error para::checkMesh(const std::map<std::string, int64_t> &mesh) {
  return readMesh(mesh).takeError();
}

Expected<std::vector<std::string>> para::parseArch(StringRef text) {
  std::vector<std::string> arch;
  if (text.trim(", ").empty())
    return fail("no GPU is named: give sm_80 or a later one, as in --arch=sm_80,sm_90");
  auto parts = splitList(text);
  if (!parts)
    return parts.takeError();
  for (StringRef part : *parts) {
    if (Error error = checkArch(part))
      return std::move(error);
    if (!is_contained(arch, part))
      arch.push_back(part.str());
  }
  return arch;
}
