//===- RandomProblem.h - Small problems for tests -----------------------------===//
//
// Example: Problem p = makeRandomProblem(17);
//
//===----------------------------------------------------------------------===//
#ifndef PARA_TEST_SOLVE_RANDOMPROBLEM_H
#define PARA_TEST_SOLVE_RANDOMPROBLEM_H

#include "para/Solve/Problem.h"

#include <random>

/// Two to eight nodes of one to four strategies; some costs impossible, edges of both directions and several between two nodes, the limit
/// from hopeless to idle.
inline para::Problem makeRandomProblem(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto draw = [&](int64_t least, int64_t most) { return least + int64_t(random() % uint64_t(most - least + 1)); };
  bool equal = draw(0, 3) == 0; // edges that want their ends equal, at any cost
  auto drawCost = [&] { return draw(0, 11) == 0 ? para::kImpossible : draw(0, 40); };
  para::Problem problem;
  int64_t sum = 0;
  for (int64_t nodes = draw(2, 8); nodes-- > 0;) {
    para::Problem::Node node;
    node.begin = draw(0, 10);
    node.end = node.begin + draw(0, 6);
    int64_t most = 0;
    for (int64_t strategies = draw(1, 4); strategies-- > 0;) {
      node.costs.push_back(drawCost());
      node.usages.push_back(draw(0, 30));
      most = std::max(most, node.usages.back());
    }
    sum += most;
    problem.nodes.push_back(std::move(node));
  }
  int64_t count = int64_t(problem.nodes.size());
  for (int64_t edges = draw(0, 2 * count); edges-- > 0;) {
    para::Problem::Edge edge;
    edge.from = int32_t(draw(0, count - 1));
    edge.to = int32_t((edge.from + draw(1, count - 1)) % count);
    size_t rows = problem.nodes[edge.from].costs.size(), columns = problem.nodes[edge.to].costs.size();
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j)
        edge.costs.push_back(equal && rows == columns ? (i == j ? 0 : para::kImpossible) : drawCost());
    problem.edges.push_back(std::move(edge));
  }
  problem.usageLimit = draw(sum / 8, sum);
  return problem;
}

/// Nodes that live together: what costs less uses more. No strategy is needless, and prices alone do not solve it.
inline para::Problem makeTightProblem(uint64_t seed, int32_t count) {
  std::mt19937_64 random(seed);
  auto draw = [&](int64_t least, int64_t most) { return least + int64_t(random() % uint64_t(most - least + 1)); };
  para::Problem problem;
  for (int32_t i = 0; i < count; ++i) {
    para::Problem::Node node{i % 3, 4 + i % 4, {}, {}};
    for (int64_t strategy = 0; strategy < 4; ++strategy) {
      node.costs.push_back(300 * strategy + draw(0, 200));
      node.usages.push_back(300 * (3 - strategy) + draw(0, 200));
    }
    problem.nodes.push_back(std::move(node));
  }
  for (int32_t i = 0; i < count; ++i) {
    para::Problem::Edge edge{i, (i + 1 + int32_t(draw(0, 1))) % count, {}};
    for (int pair = 0; pair < 16; ++pair)
      edge.costs.push_back(draw(0, 300));
    problem.edges.push_back(std::move(edge));
  }
  problem.usageLimit = 500 * count;
  return problem;
}

#endif
