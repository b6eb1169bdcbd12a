#include "para/Support/JsonFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <optional>
#include <set>

using namespace llvm;
using namespace para;

static Error fail(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

/// The first name that an object of the text, which is JSON, gives two values; of those the parser would take one.
static std::optional<std::string> findTwice(StringRef text) {
  std::vector<std::set<std::string>> objects;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{')
      objects.emplace_back();
    else if (text[i] == '}')
      objects.pop_back();
    if (text[i] != '"')
      continue;
    size_t begin = i++;
    for (; text[i] != '"'; ++i)
      i += text[i] == '\\';
    if (!text.substr(i + 1).ltrim().starts_with(":"))
      continue; // no name
    std::string name = cantFail(json::parse(text.slice(begin, i + 1))).getAsString()->str();
    if (!objects.back().insert(name).second)
      return name;
  }
  return std::nullopt;
}

Expected<json::Value> para::readJsonFile(StringRef what, StringRef path) {
  auto file = MemoryBuffer::getFile(path);
  if (!file)
    return fail("cannot read the " + what + " '" + path + "': " + file.getError().message());
  constexpr int deepest = 64;
  int depth = 0;
  bool quoted = false;
  StringRef text = (*file)->getBuffer();
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '[' || c == '{'))
      ++depth;
    else if (!quoted && (c == ']' || c == '}'))
      --depth;
    if (depth > deepest)
      return fail("the " + what + " '" + path + "' nests more than " + Twine(deepest) + " levels deep");
  }
  auto value = json::parse(text);
  if (!value)
    return fail("the " + what + " '" + path + "' is not JSON: " + toString(value.takeError()));
  if (std::optional<std::string> name = findTwice(text))
    return fail("the " + what + " '" + path + "' has '" + *name + "' twice in one object: leave one of them out");
  return std::move(*value);
}

Error para::checkKeys(const json::Object &object, StringRef owner, ArrayRef<StringRef> keys) {
  StringRef unknown;
  for (const auto &[key, value] : object)
    if (StringRef name = key; !is_contained(keys, name) && (unknown.empty() || name < unknown))
      unknown = name;
  if (unknown.empty())
    return Error::success();
  StringRef meant = findNearest(unknown, keys);
  return fail(owner + " has no '" + unknown + "'; " + (meant.empty() ? "there are " + join(keys, ", ") : "did you mean '" + meant.str() + "'?"));
}

StringRef para::findNearest(StringRef typed, ArrayRef<StringRef> names) {
  StringRef best;
  unsigned least = 4;
  for (StringRef name : names)
    if (unsigned distance = typed.edit_distance(name); distance < least && 2 * distance <= std::min(typed.size(), name.size())) {
      least = distance;
      best = name;
    }
  return best;
}
