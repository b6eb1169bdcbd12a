//===- Model.h - A problem made smaller -----------------------------------===//
//
// Nodes whose strategies determine each other are one variable here; what no solution can take is gone. Every assignment of a model that
// is within the limit is a solution of the problem at the same cost, and some cheapest solution is left.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_SOLVE_MODEL_H
#define PARA_LIB_SOLVE_MODEL_H

#include "para/Solve/Problem.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

namespace para {

using Labels = std::vector<int32_t>;

/// Costs add up below 2^53 and are exact as doubles; what is impossible is `kNever`, and stays so in sums.
constexpr double kNever = 1e18;
inline double addCosts(double a, double b) { return a + b >= kNever / 2 ? kNever : a + b; }

struct Model {
  /// What a variable uses at the times [begin, end), by label.
  struct Item {
    int32_t begin, end;
    std::vector<int64_t> usage;
  };
  struct Variable {
    std::vector<double> cost; ///< by label; empty: the variable is gone
    std::vector<Item> items;
    llvm::DenseMap<int32_t, int32_t> edges; ///< neighbour -> edge
    size_t size() const { return cost.size(); }
  };
  struct Edge {
    int32_t a = -1, b = -1;
    std::vector<double> cost; ///< at i * size(b) + j; empty: the edge is gone
  };
  /// Where a node of the problem is: its strategy by label of its variable.
  struct Place {
    int32_t variable;
    std::vector<int32_t> strategy;
  };

  /// A variable that is gone: the best it can do is known by its neighbours' labels.
  struct Elimination {
    int32_t variable, a, b; ///< b, or both, may be -1
    int32_t rows, columns;  ///< labels of a, of b; 1 where there is none
    Labels label;           ///< at row * columns + column
    void relabel(int32_t neighbour, llvm::ArrayRef<int32_t> map);
    /// A neighbour becomes another variable, of as many labels.
    void redirect(int32_t neighbour, int32_t to);
  };

  std::vector<Variable> variables;
  std::vector<Edge> edges;
  std::vector<Place> places;
  std::vector<Elimination> eliminated;
  std::vector<int64_t> baseUsage; ///< by time: what is used whatever is chosen
  Labels times;                   ///< which of the times at first each is
  double baseCost = 0;
  int64_t limit = 0;

  /// About what it takes of memory.
  size_t getBytes() const;
  /// Strategies of the problem's nodes, given labels of the variables that are left.
  std::vector<int32_t> expand(Labels labels) const;
  /// Labels of the variables that are left, given strategies; empty where those are no longer here.
  Labels getLabels(llvm::ArrayRef<int32_t> choice) const;
  /// Cost of an edge seen from one of its ends.
  double at(const Edge &edge, int32_t from, int32_t mine, int32_t theirs) const {
    return edge.a == from ? edge.cost[size_t(mine) * variables[edge.b].size() + theirs]
                          : edge.cost[size_t(theirs) * variables[edge.b].size() + mine];
  }
};

/// Times are replaced by those at which the usage can be largest, labels that cannot be taken are dropped, variables that determine each
/// other are merged, those with one label left are folded into the rest. Fails where there is no solution.
llvm::Expected<Model> reduce(const Problem &problem);

/// Keeps, of each variable, the labels that are alive, and makes the model as small as that, and what has become impossible, allow. False
/// if nothing is left.
bool restrict(Model &model, llvm::ArrayRef<llvm::BitVector> alive);
/// The same; `prices`, by time, become those of the times that are left.
bool restrictWith(Model &model, llvm::ArrayRef<llvm::BitVector> alive, std::vector<double> &prices);

} // namespace para

#endif
