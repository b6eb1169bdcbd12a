//===- Constraint.h - What a user asks of one value ---------------*- C++ -*-===//
//
// `NAME=[data,_,tensor]`: which axes cut each dimension of a parameter, an input or what a node makes. `_` is whole, `?` is free, several axes
// of one dimension are joined by `+`. `3*tensor*64` cuts each of 3 equal blocks by itself, in units of 64.
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
  struct Cut {
    std::vector<std::string> axes;
    int64_t unit = 1, blocks = 1;
    bool operator==(const Cut &other) const { return axes == other.axes && unit == other.unit && blocks == other.blocks; }
    bool operator!=(const Cut &other) const { return !(*this == other); }
  };
  std::vector<std::optional<Cut>> dims; ///< how each dimension is cut; none where it is free
  bool operator==(const Constraint &other) const { return dims == other.dims; }
  bool operator!=(const Constraint &other) const { return dims != other.dims; }
  /// Whether a value of the type can be cut so: as many dimensions, of whole blocks and units. The error is a sentence about the value.
  llvm::Error check(mlir::RankedTensorType type) const;
  /// `sharding` as the constraint has it: what is free stays, and loses axes that another dimension is to have.
  Sharding apply(Sharding sharding, mlir::MLIRContext *ctx) const;
};

/// Fails with what is wrong about the text: an axis that is none, one that cuts two dimensions.
llvm::Expected<Constraint> parseConstraint(llvm::StringRef text);
/// The constraint that asks for `sharding` as it is, microbatches and partial sums apart.
std::string toText(const Sharding &sharding);

} // namespace para

#endif
