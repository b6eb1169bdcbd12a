//===- Projection.h - Between factors and dimensions -------------*- C++ -*-===//
//
// An op is cut by giving axes to its factors. The shardings of its operands and results follow, and the other way round a
// sharding of an operand says which factors it would cut.
//
// Example: dot with the contracted factor over `tensor`: both operands are cut there, the result is partial over `tensor`.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PARTITION_PROJECTION_H
#define PARA_PARTITION_PROJECTION_H

#include "para/IR/Sharding.h"
#include "para/Interfaces/Structure.h"

namespace para {

/// Axes that cut one factor, in units of that factor's elements, each of its equal blocks by itself.
struct FactorSplit {
  Axes axes;
  int64_t unit = 1, blocks = 1;
  bool operator==(const FactorSplit &other) const { return axes == other.axes && unit == other.unit && blocks == other.blocks; }
};

/// How one op is cut: axes for each factor, and the axes over which it works on partial sums since it is linear.
struct OpSplit {
  llvm::SmallVector<FactorSplit> factors;
  Axes partial;
  /// The operand that is partial where the op is linear in each alone; -1 where all Joint operands are.
  int partialOperand = -1;
  /// Axes over which a reduction counts only its own part: batch statistics of a microbatch.
  Axes local;

  /// Written on the op as `para.split` (a sharding of its factors), `para.partial_operand` and `para.local`.
  void annotate(mlir::Operation *op) const;
  static OpSplit get(mlir::Operation *op, const Structure &structure);
};

class Projection {
public:
  Projection(const Structure &structure, MeshAttr mesh) : structure(structure), mesh(mesh) {}

  /// The sharding an operand must have.
  Sharding getOperand(const OpSplit &split, unsigned number) const;
  /// The sharding a result comes out with.
  Sharding getResult(const OpSplit &split, unsigned number) const;

  /// The cut of a factor which `sharding` of a dimension made of `factors` means; null if it is no cut of a single factor.
  struct Lifted {
    int factor;
    FactorSplit split;
  };
  std::optional<Lifted> lift(const DimFactors &factors, const DimSharding &sharding) const;
  /// Likewise, of as many factors as it takes: all but the last are cut into single elements. Empty if there are no such cuts.
  llvm::SmallVector<Lifted> liftAll(const DimFactors &factors, const DimSharding &sharding) const;
  /// Whether the cuts of a dimension's factors together are a cut of the dimension: see liftAll().
  bool canBeCut(const DimFactors &factors, const OpSplit &split) const;

  /// The op cut along that factor only.
  OpSplit getSplit(const Lifted &lifted) const;

  /// Where such a cut comes out: the dimensions of results that have the factor, and how they are cut.
  struct Outcome {
    unsigned result, dim;
    DimSharding sharding;
  };
  llvm::SmallVector<Outcome> getOutcomes(const Lifted &lifted) const;

  /// The dimension's sharding when factors are cut as in `split`.
  DimSharding project(const DimFactors &factors, const OpSplit &split) const;

private:
  /// Whether each piece is one element.
  bool isSingled(int factor, const FactorSplit &split) const;

  const Structure &structure;
  MeshAttr mesh;
};

} // namespace para

#endif
