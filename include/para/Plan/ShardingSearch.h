//===- ShardingSearch.h - One sharding for every value ------------*- C++ -*-===//
//
// The inner problem: how each op of a program is cut over all axes of a mesh at once. Strategies of an op are the cuts of its factors
// (Structure.h), those of an argument its shardings; what an op does on a rank is a node's cost, and the cheapest way from what is made to
// what is wanted (Reshard.h) is that of an edge. Solve.h finds the cheapest choice, or one and how far from the cheapest it is at most.
//
// Example: on data=2, tensor=2 a dot of [8, 64] and [64, 64] has 25 strategies: none, m, n, k or passing partial sums on, for each axis.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PLAN_SHARDINGSEARCH_H
#define PARA_PLAN_SHARDINGSEARCH_H

#include "para/Cost/Machine.h"
#include "para/Partition/Projection.h"
#include "para/Partition/Reshard.h"
#include "para/Plan/Plan.h"
#include "para/Solve/Solver.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>

namespace para {

/// Seconds of what a rank does.
struct ShardingCosts {
  /// An op that does `flops` and moves `bytes` on a rank.
  std::function<double(double flops, double bytes)> compute;
  /// A move over an axis of `size` ranks that makes `bytes` of a rank's buffer (of the larger side) travel.
  std::function<double(ReshardMove::Kind kind, Axis axis, double bytes)> move;
};

/// The problem and what its numbers mean. Costs are in picoseconds.
struct ShardingProblem {
  struct Node {
    mlir::Operation *op = nullptr; ///< or else an argument
    mlir::BlockArgument argument;
    std::vector<OpSplit> splits;      ///< strategies of an op
    std::vector<Sharding> shardings;  ///< of an argument
  };
  Problem problem;
  std::vector<Node> nodes; ///< in the order of problem.nodes
};

/// The problem of @main over the axes of `mesh` that have more than one rank (the microbatch apart). Fails at an op without structure.
mlir::FailureOr<ShardingProblem> buildShardingProblem(mlir::func::FuncOp main, MeshAttr mesh, const ShardingCosts &costs, int64_t memoryBytes);

/// Writes a solution onto @main, as applyPlan() writes a recipe.
void annotateShardings(mlir::func::FuncOp main, MeshAttr mesh, const ShardingProblem &problem, llvm::ArrayRef<int32_t> choice);

/// The plan on the mesh of `plan` whose values are cut as the search finds cheapest on `machine`: shards of all arguments and of what nodes
/// make. `gap` is how far from the cheapest it is at most. None if the search finds nothing in the time, or cuts nothing.
std::optional<Plan> searchShardings(mlir::func::FuncOp main, const Plan &plan, const Machine &machine, double seconds, double &gap);

} // namespace para

#endif
