//===- Tree.h - Splitting what prices leave open --------------------------------===//
//
// Branch and bound: the labels of one variable are split into those that use less and those that use more, each half is presolved and
// priced anew, and ends where its bound reaches the best cost. The half with the lowest bound comes first, as long as memory allows, so
// that the least of what is open is a bound of the whole.
//
// Example: Tree tree(problem, model, prices, bound); tree.run(work, clock, cost); tree.getBound(), tree.isDone(), tree.choice
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_SOLVE_TREE_H
#define PARA_LIB_SOLVE_TREE_H

#include "Clock.h"
#include "Dual.h"

#include <map>
#include <memory>

namespace para {

class Tree {
public:
  Tree(const Problem &problem, const Model &model, std::vector<double> prices, double bound);

  size_t visits = 3000;        ///< labels of exact search in each node
  std::vector<int32_t> choice; ///< strategies of the cheapest solution found; empty as long as there is none
  int64_t cost = kImpossible;  ///< its cost

  /// Looks at open nodes, for solutions cheaper than `best`, until about as many table entries as `work` have been looked at.
  void run(size_t work, const Clock &clock, int64_t best);
  /// Solutions that are not found yet, and cheaper than the best, cost at least this.
  double getBound() const { return open.empty() ? kNever : open.begin()->first.first; }
  bool isDone() const { return open.empty(); }

private:
  struct Node {
    Model model;
    std::vector<double> prices;
    size_t bytes = 0;
  };
  using Key = std::pair<double, size_t>; ///< bound, age

  size_t expand(const Node &node, double bound, const Clock &clock);
  void record(const Model &model, const Flat &flat, const Labels &labels);
  bool narrow(Node &node, const Flat &flat, Dual &dual);
  void split(const Node &node, const Flat &flat, Dual &dual);
  void push(Node node, double bound);

  const Problem &problem;
  std::map<Key, std::unique_ptr<Node>> open;
  size_t pushed = 0, bytes = 0;
};

} // namespace para

#endif
