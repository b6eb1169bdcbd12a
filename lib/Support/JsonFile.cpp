#include "para/Support/JsonFile.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace para;

static Error fail(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

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
  return std::move(*value);
}
