//===- Spec.h - NAME:key=value,... and globs ---------------------*- C++ -*-===//
//
// What flags such as --optimizer and --loss are written in. Example: "sgd:lr=0.1,momentum=0.9" has the name "sgd" and the
// values {"lr", "0.1"}, {"momentum", "0.9"}. Patterns are globs separated by '|'; "@FILE" stands for the lines of a file.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_SUPPORT_SPEC_H
#define PARA_SUPPORT_SPEC_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/GlobPattern.h"

#include <map>
#include <string>

namespace para {

/// The parts of a list, between commas. An error where nothing stands before or behind a comma: something was left out.
llvm::Expected<llvm::SmallVector<llvm::StringRef>> splitList(llvm::StringRef text);

struct Spec {
  std::string name;
  std::map<std::string, std::string> values;

  static llvm::Expected<Spec> parse(llvm::StringRef text);
  /// The number under `key`, or `otherwise`; an error names the key and what stands there.
  llvm::Expected<double> getNumber(llvm::StringRef key, double otherwise) const;
  std::string getText(llvm::StringRef key, llvm::StringRef otherwise = "") const;
};

/// A set of globs.
class Patterns {
public:
  static llvm::Expected<Patterns> parse(llvm::StringRef text);
  bool match(llvm::StringRef name) const;
  bool empty() const { return globs.empty(); }
  /// The globs as they were given; one that is a plain name matches that name alone.
  llvm::ArrayRef<std::string> getTexts() const { return texts; }

private:
  llvm::SmallVector<llvm::GlobPattern> globs;
  std::vector<std::string> texts;
};

} // namespace para

#endif
