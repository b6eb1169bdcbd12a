//===- Mutations.h - Changes of a program that change its meaning ----------===//
#ifndef PARA_TEST_VERIFY_MUTATIONS_H
#define PARA_TEST_VERIFY_MUTATIONS_H

#include "ProgramView.h"

#include <functional>
#include <random>

namespace para::test {

/// One place at which a kind of mutation is possible; `apply` changes the program and says what it did.
struct Site {
  std::function<std::string()> apply;
};

struct MutationKind {
  llvm::StringRef name;
  /// All places of this kind in a program. Choices within a place are made with `random` when it is applied.
  std::vector<Site> (*find)(ProgramView &view, std::mt19937 &random);
};

llvm::ArrayRef<MutationKind> getMutationKinds();

} // namespace para::test

#endif
