#include "para/Support/Spec.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace llvm;
using namespace para;

static Error fail(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

Expected<SmallVector<StringRef>> para::splitList(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (auto [index, part] : enumerate(parts))
    if (part.trim().empty())
      return fail("'" + text + "' has " + (index ? "a comma with nothing behind it" : parts.size() > 1 ? "a comma with nothing before it" : "nothing in it"));
  return parts;
}

Expected<Spec> Spec::parse(StringRef text) {
  Spec spec;
  auto [name, rest] = text.split(':');
  spec.name = name.str();
  if (!text.contains(':'))
    return spec;
  if (rest.empty())
    return fail("'" + text + "' has a colon with nothing behind it");
  auto parts = splitList(rest);
  if (!parts)
    return parts.takeError();
  for (StringRef part : *parts) {
    auto [key, value] = part.split('=');
    if (key.empty() || !part.contains('='))
      return fail("'" + part + "' in '" + text + "' is not of the form key=value");
    if (!spec.values.insert({key.str(), value.str()}).second)
      return fail("'" + key + "' is given twice in '" + text + "'");
  }
  return spec;
}

Expected<double> Spec::getNumber(StringRef key, double otherwise) const {
  auto it = values.find(key.str());
  if (it == values.end())
    return otherwise;
  double number;
  if (StringRef(it->second).getAsDouble(number) || !std::isfinite(number))
    return fail("'" + it->second + "' is not a number (" + name + ":" + key + ")");
  return number;
}

std::string Spec::getText(StringRef key, StringRef otherwise) const {
  auto it = values.find(key.str());
  return it == values.end() ? otherwise.str() : it->second;
}

Expected<Patterns> Patterns::parse(StringRef text) {
  Patterns patterns;
  SmallVector<StringRef> parts;
  text.split(parts, '|', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    if (!part.consume_front("@")) {
      patterns.texts.push_back(part.str());
      continue;
    }
    auto file = MemoryBuffer::getFile(part);
    if (!file)
      return fail("cannot read the patterns of '" + part + "': " + file.getError().message());
    SmallVector<StringRef> lines;
    (*file)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
    for (StringRef line : lines)
      if (!line.trim().empty())
        patterns.texts.push_back(line.trim().str());
  }
  for (const std::string &glob : patterns.texts) {
    auto compiled = GlobPattern::create(glob);
    if (!compiled)
      return compiled.takeError();
    patterns.globs.push_back(std::move(*compiled));
  }
  return std::move(patterns);
}

bool Patterns::match(StringRef name) const {
  return any_of(globs, [&](const GlobPattern &glob) { return glob.match(name); });
}
