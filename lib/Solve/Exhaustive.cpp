//===- Exhaustive.cpp - The oracle ----------------------------------------===//
#include "para/Solve/Solver.h"

#include <algorithm>

using namespace llvm;
using namespace para;

namespace {
// Depth first in the order of the nodes; a branch ends where its cost, with the least that the nodes and edges left can add, is no better.
class Enumeration {
public:
  explicit Enumeration(const Problem &problem)
      : problem(problem), choice(problem.nodes.size(), 0), earlier(problem.nodes.size()), least(problem.nodes.size() + 1, 0) {
    for (const Problem::Edge &edge : problem.edges)
      earlier[std::max(edge.from, edge.to)].push_back(&edge);
    for (size_t i = problem.nodes.size(); i-- > 0;) {
      int64_t add = *std::min_element(problem.nodes[i].costs.begin(), problem.nodes[i].costs.end());
      for (const Problem::Edge *edge : earlier[i])
        add = std::min(kImpossible, add + *std::min_element(edge->costs.begin(), edge->costs.end()));
      least[i] = std::min(kImpossible, least[i + 1] + add);
    }
  }

  void run(size_t node, int64_t cost) {
    if (cost >= kImpossible || cost + least[node] >= best.cost)
      return;
    if (node == problem.nodes.size()) {
      if (problem.getPeak(choice) <= problem.usageLimit)
        best = {choice, cost, cost};
      return;
    }
    for (size_t strategy = 0; strategy < problem.nodes[node].costs.size(); ++strategy) {
      choice[node] = int32_t(strategy);
      int64_t sum = std::min(kImpossible, cost + problem.nodes[node].costs[strategy]);
      for (const Problem::Edge *edge : earlier[node])
        sum =
            std::min(kImpossible, sum + edge->costs[size_t(choice[edge->from]) * problem.nodes[edge->to].costs.size() + choice[edge->to]]);
      run(node + 1, sum);
    }
    choice[node] = 0;
  }

  Solution best{{}, kImpossible, kImpossible};

private:
  const Problem &problem;
  std::vector<int32_t> choice;
  std::vector<std::vector<const Problem::Edge *>> earlier; ///< edges to nodes before
  std::vector<int64_t> least;                              ///< that nodes from here on add
};
} // namespace

Expected<Solution> para::solveExhaustively(const Problem &problem) {
  if (Error error = problem.check())
    return std::move(error);
  Enumeration enumeration(problem);
  enumeration.run(0, 0);
  if (enumeration.best.cost >= kImpossible)
    return createStringError(inconvertibleErrorCode(), "there is no solution: every choice is impossible or over the usage limit");
  return enumeration.best;
}
