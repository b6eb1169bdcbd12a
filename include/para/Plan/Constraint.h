//===- Constraint.h - What a user asks of one value ---------------*- C++ -*-===//
//
// `NAME=[data,_,tensor]`: which axes cut each dimension of a parameter, an input or what a node makes. `_` is whole, `?` is free, several axes
// of one dimension are joined by `+`.
//
// Example: parseConstraint("[?,tensor]") leaves rows as the plan has them and cuts columns over `tensor`.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PLAN_CONSTRAINT_H
#define PARA_PLAN_CONSTRAINT_H

#include "para/IR/Sharding.h"

#include "llvm/Support/Error.h"

#include <optional>

namespace para {

struct Constraint {
  std::vector<std::optional<std::vector<std::string>>> dims; ///< axes of each dimension; none where it is free
  /// `sharding` as the constraint has it: what is free stays, and loses axes that another dimension is to have.
  Sharding apply(Sharding sharding, mlir::MLIRContext *ctx) const;
};

/// Fails with what is wrong about the text: an axis that is none, one that cuts two dimensions.
llvm::Expected<Constraint> parseConstraint(llvm::StringRef text);

} // namespace para

#endif
