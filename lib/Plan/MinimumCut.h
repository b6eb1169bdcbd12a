//===- MinimumCut.h - The cheapest set of nodes between two ends ---------===//
//
// Nodes have a price; a set of nodes is wanted that lies on every way from where the flow begins to where it ends and is of least price. Of
// several such sets it is the one nearest to the ends. Dinic's algorithm (1970) on the graph in which each node is an edge.
//
// Example: a -> b -> c with prices 3, 1, 2, begin at a, end at c: {b}.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_PLAN_MINIMUMCUT_H
#define PARA_LIB_PLAN_MINIMUMCUT_H

#include <cstdint>
#include <vector>

namespace para {

class MinimumCut {
public:
  /// Returns the node's number, from 0 on. A price below 0: this node cannot be taken.
  int addNode(int64_t price);
  void addEdge(int from, int to);
  void addBegin(int node);
  void addEnd(int node);

  /// The nodes of the set, in order. There must be such a set: some way without a price must not join begin and end.
  std::vector<int> run();

private:
  struct Edge {
    int to;
    int64_t rest;
  };
  int in(int node) const { return 2 + 2 * node; }
  int out(int node) const { return 3 + 2 * node; }
  void join(int from, int to, int64_t capacity);
  bool findLevels();
  int64_t push(int at, int64_t most);

  std::vector<int64_t> prices;
  std::vector<Edge> edges; ///< an edge and its reverse in turn
  std::vector<std::vector<int>> adjacent = std::vector<std::vector<int>>(2); ///< 0: begin, 1: end
  std::vector<int> levels;
  std::vector<size_t> next;
};

} // namespace para

#endif
