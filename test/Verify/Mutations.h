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

// What kinds are made of.
using Sites = std::vector<Site>;
using Random = std::mt19937;

template <typename T> const T &pick(const std::vector<T> &list, Random &random) { return list[random() % list.size()]; }
std::string describe(mlir::Operation *op);
/// Values of the operand's type that the op could have taken: made before it, not later a phase.
std::vector<mlir::Value> getRivals(ProgramView &view, mlir::Operation *op, unsigned index);

/// Sites at all live ops that `where` wants.
template <typename Where, typename Apply> Sites at(ProgramView &view, Where where, Apply apply) {
  Sites sites;
  for (mlir::Operation *op : view.ops)
    if (where(op))
      sites.push_back({[op, apply] { return apply(op) + " " + describe(op); }});
  return sites;
}

// Kinds that change what is computed again (RepeatMutations.cpp).
Sites otherRepeat(ProgramView &view, Random &random);
Sites changedRepeat(ProgramView &view, Random &random);
Sites otherOrigin(ProgramView &view, Random &random);

} // namespace para::test

#endif
