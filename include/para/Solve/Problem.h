//===- Problem.h - Which strategy for each node ------------------*- C++ -*-===//
//
// The inner problem of planning, apart from any IR: nodes have strategies, each with a cost and a usage (bytes) over the node's live
// interval; edges have a cost for each pair of strategies; at no time may the usage exceed one limit. The format of files is that of the
// contest on intra-operator parallelism (github.com/google/iopddl): JSON, intervals half open, costs in any one unit.
//
// Example: two nodes of two strategies that want to agree:
//   Problem p;
//   p.nodes = {{0, 2, {1, 5}, {8, 4}}, {1, 3, {1, 1}, {8, 4}}};
//   p.edges = {{0, 1, {0, 9, 9, 0}}};
//   p.usageLimit = 16; // both may take their first: cost 2
//
//===----------------------------------------------------------------------===//
#ifndef PARA_SOLVE_PROBLEM_H
#define PARA_SOLVE_PROBLEM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace para {

/// Costs from here on mean "impossible" (the contest writes 10^18); others may be at most 2^53.
constexpr int64_t kImpossible = int64_t(1000000000) * 1000000000;

struct Problem {
  struct Node {
    int64_t begin = 0, end = 0;         ///< lives at each time t with begin <= t < end
    std::vector<int64_t> costs, usages; ///< an entry each strategy
  };
  struct Edge {
    int32_t from = 0, to = 0;
    std::vector<int64_t> costs; ///< of strategies (i, j): at i * (strategies of `to`) + j
  };

  std::string name;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  int64_t usageLimit = INT64_MAX;

  /// Fails with the first thing that does not make sense: names node or edge.
  llvm::Error check() const;

  /// Sum over nodes and edges; kImpossible if any part is, or if the sum is that large.
  int64_t getCost(llvm::ArrayRef<int32_t> choice) const;
  /// The largest usage at any time.
  int64_t getPeak(llvm::ArrayRef<int32_t> choice) const;
  /// Fails where `choice` is no solution: a strategy that is not there, an impossible cost, a time over the limit.
  llvm::Error verify(llvm::ArrayRef<int32_t> choice) const;
};

/// Reads a problem from JSON, compressed by gzip or not. `subject` names it in messages.
llvm::Expected<Problem> parseProblem(llvm::StringRef subject, llvm::StringRef bytes);
llvm::Expected<Problem> readProblem(llvm::StringRef path);

} // namespace para

#endif
