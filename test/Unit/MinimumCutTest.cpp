//===- MinimumCutTest.cpp - Cheapest sets between two ends, repetitions ---===//
#include "../../lib/Plan/Parts.h"
#include "../../lib/Plan/MinimumCut.h"

#include <gtest/gtest.h>

#include <random>

using namespace para;

namespace {
struct Graph {
  std::vector<int64_t> prices;
  std::vector<std::pair<int, int>> edges; // from the smaller to the larger
  std::vector<int> begins, ends;

  std::vector<int> cut() const {
    MinimumCut cut;
    for (int64_t price : prices)
      cut.addNode(price);
    for (auto [from, to] : edges)
      cut.addEdge(from, to);
    for (int node : begins)
      cut.addBegin(node);
    for (int node : ends)
      cut.addEnd(node);
    return cut.run();
  }
  int64_t price(const std::vector<int> &nodes) const {
    int64_t sum = 0;
    for (int node : nodes)
      sum += prices[node];
    return sum;
  }
  /// Whether no way around `nodes` leads from a begin to an end.
  bool separates(const std::vector<int> &nodes) const {
    std::vector<bool> taken(prices.size(), false), reached(prices.size(), false);
    for (int node : nodes)
      taken[node] = true;
    for (int node : begins)
      reached[node] = !taken[node];
    for (int node = 0; node < int(prices.size()); ++node)
      for (auto [from, to] : edges)
        if (from == node && reached[from] && !taken[to])
          reached[to] = true;
    for (int node : ends)
      if (reached[node])
        return false;
    return true;
  }
};
} // namespace

// One way: the cheapest node on it, and of equals the one nearest to the end.
TEST(MinimumCut, Chain) {
  EXPECT_EQ((Graph{{3, 1, 2}, {{0, 1}, {1, 2}}, {0}, {2}}.cut()), std::vector<int>{1});
  EXPECT_EQ((Graph{{2, 2, 2}, {{0, 1}, {1, 2}}, {0}, {2}}.cut()), std::vector<int>{2});
  EXPECT_EQ((Graph{{1, 5}, {{0, 1}}, {}, {1}}.cut()), std::vector<int>{});
}

// What cannot be taken is passed over.
TEST(MinimumCut, NodesWithoutAPrice) { EXPECT_EQ((Graph{{4, -1, 9}, {{0, 1}, {1, 2}}, {0}, {2}}.cut()), std::vector<int>{0}); }

// On random graphs the set separates and no subset that separates is cheaper.
TEST(MinimumCut, AgainstAllSubsets) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    Graph graph;
    int n = 2 + int(random() % 9);
    for (int node = 0; node < n; ++node)
      graph.prices.push_back(1 + int64_t(random() % 9));
    for (int from = 0; from < n; ++from)
      for (int to = from + 1; to < n; ++to)
        if (random() % 3 == 0)
          graph.edges.push_back({from, to});
    for (int node = 0; node < n; ++node) {
      if (random() % 4 == 0)
        graph.begins.push_back(node);
      if (random() % 4 == 0)
        graph.ends.push_back(node);
    }
    std::vector<int> found = graph.cut();
    ASSERT_TRUE(graph.separates(found)) << trial;
    for (int subset = 0; subset < 1 << n; ++subset) {
      std::vector<int> nodes;
      for (int node = 0; node < n; ++node)
        if (subset >> node & 1)
          nodes.push_back(node);
      if (graph.separates(nodes))
        ASSERT_LE(graph.price(found), graph.price(nodes)) << trial;
    }
  }
}

// Parts with something before and after them; what repeats within a layer is less.
TEST(Parts, Repetition) {
  Repetition found = findRepetition({9, 1, 2, 2, 3, 1, 2, 2, 3, 1, 2, 2, 3, 8});
  EXPECT_EQ(found.begin, 1);
  EXPECT_EQ(found.period, 4);
  EXPECT_EQ(found.length, 12);
  EXPECT_EQ(findRepetition({1, 2, 3, 4}).period, 0);
  EXPECT_EQ(findRepetition({}).period, 0);
}
