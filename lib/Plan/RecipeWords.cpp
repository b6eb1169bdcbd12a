#include "para/Plan/Recipes.h"
#include "para/Schedule/Schedule.h"
#include "para/Support/JsonFile.h"

#include "llvm/ADT/StringExtras.h"

using namespace para;
using llvm::StringRef;

namespace {
llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

/// A word of a plan's name, and what it says: a number of the plan that is under `key` of the file.
struct Word {
  StringRef name, key;
  bool holds;
};

std::vector<Word> listWords(const Plan &plan) {
  static constexpr llvm::StringLiteral levels[] = {"ddp", "zero1", "zero2", "zero3"};
  std::vector<Word> words = {{"serial", "mesh", plan.getNumRanks() == 1}, {"searched", "mesh", true}, {"file", "mesh", true},
                             {"data-parallel", "mesh", plan.getReplicas() > 1}, {"pipeline", "mesh", plan.pipeline > 1}, {"model-parallel", "mesh", plan.pipeline > 1},
                             {"tensor", "mesh", plan.tensor > 1}, {"expert", "mesh", plan.expert > 1}, {"context", "mesh", plan.context > 1},
                             {"sequence", "sequence_parallel", plan.sequenceParallel}};
  for (auto [level, name] : llvm::enumerate(levels)) {
    words.push_back({name, "zero", plan.zero == int(level)});
    words.push_back({name, "mesh", plan.getReplicas() > 1});
  }
  for (StringRef name : getRecomputeNames())
    words.push_back({name, "recompute", plan.recompute == name});
  return words;
}
} // namespace

llvm::Error para::checkRecipeWords(StringRef name, const Plan &plan, llvm::function_ref<bool(StringRef key)> has) {
  std::vector<Word> words = listWords(plan);
  llvm::SmallVector<StringRef> parts, said;
  name.split(parts, " + ");
  for (auto [index, part] : llvm::enumerate(parts)) {
    if (index == 0)
      part.split(said, " x ");
    else
      said.push_back(part.ends_with(" recomputation") ? part.drop_back(StringRef(" recomputation").size()) : part);
  }
  for (StringRef word : said) {
    bool isSchedule = !llvm::errorToBool(checkScheduleName(word)), isKnown = isSchedule;
    StringRef missing = !isSchedule ? "" : !has("schedule") && plan.schedule != word ? "schedule" : !has("mesh") ? "mesh" : "";
    for (const Word &known : words)
      if (known.name == word) {
        isKnown = true;
        if (!known.holds && !has(known.key))
          missing = known.key;
      }
    if (!isKnown) {
      llvm::SmallVector<StringRef> names(getRecipeNames());
      StringRef meant = findNearest(word, names);
      return fail("'recipe' of the plan: '" + word + "' is none of " + llvm::join(names, ", ") + (meant.empty() ? "" : "; did you mean '" + meant.str() + "'?") +
                  "; it is a name alone, and may be left out");
    }
    if (!missing.empty())
      return fail("'recipe' of the plan says '" + word + "', and '" + missing + "' is left out: a recipe is a name alone, and what it stands for must be there");
  }
  return llvm::Error::success();
}
