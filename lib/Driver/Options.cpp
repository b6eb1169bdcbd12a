#include "para/Driver/Options.h"
#include "Flags.h"
#include "para/Support/JsonFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Process.h"

using namespace llvm;
using namespace para;

namespace {
Error fail(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

/// The flag that was meant.
StringRef guess(StringRef name) {
  auto names = map_to_vector(getFlags(), [](const Flag &flag) { return flag.name.ltrim('-'); });
  StringRef meant = findNearest(name.ltrim('-'), names);
  return meant.empty() ? meant : find_if(getFlags(), [&](const Flag &flag) { return flag.name.ltrim('-') == meant; })->name;
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
    std::string before = options.isGiven(name) ? options.show(name) : "";
    std::string typed = argument.contains('=') || flag->takes != Takes::Value ? argument.str() : (argument + " " + value).str();
    options.given.push_back({name.str(), value.str(), typed});
    if (std::string now = options.show(name); !flag->isList && !before.empty() && before != now)
      options.notes.push_back(now + " is taken, and not " + before + ", which was given before");
    if (options.run) {
      options.runFlags.assign(arguments.begin() + i + 1, arguments.end());
      break;
    }
  }
  if (Error error = checkTogether(options))
    return std::move(error);
  append_range(options.notes, findIdleOutputs(options));
  return options;
}

bool DriverOptions::isGiven(StringRef flag) const {
  return any_of(given, [&](const GivenFlag &each) { return each.name == flag; });
}

std::string DriverOptions::show(StringRef flag) const {
  auto it = find_if(reverse(given), [&](const GivenFlag &each) { return each.name == flag; });
  return it == given.rend() ? flag.str() : it->typed;
}

bool DriverOptions::isWatched() const { return verbose || progress == "always" || (progress == "auto" && sys::Process::StandardErrIsDisplayed()); }

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
