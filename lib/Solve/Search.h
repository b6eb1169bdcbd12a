//===- Search.h - Better and better labels ----------------------------------===//
//
// From one solution to the next: the variables of a random forest are relabelled together by dynamic programming, the others fixed. Usage
// is priced there, at a random share of the dual's prices, so that what comes out is near the limit; where it is over, the prices of those
// times are raised and the forest is relabelled again. What is within the limit and better, or a little worse, is taken. Small forests are
// enumerated: what no prices lead to is found too.
//
// Example: Search search(flat, seed); search.setPrices(prices); search.start(labels); search.run(work); search.best
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_SOLVE_SEARCH_H
#define PARA_LIB_SOLVE_SEARCH_H

#include "Clock.h"
#include "Flat.h"

#include <random>

namespace para {

class Search {
public:
  Search(const Flat &flat, uint64_t seed);

  double exactShare = 0.3; ///< of the forests that are enumerated
  Labels best;             ///< the cheapest labels within the limit; empty as long as there are none
  double bestCost = kNever;

  void setPrices(llvm::ArrayRef<double> prices);
  /// Goes on from these labels, which may be over the limit.
  void start(const Labels &labels);
  bool hasStarted() const { return !current.empty(); }
  double getCurrentCost() const { return cost; }
  /// Relabels forests until about as many table entries as `work` have been looked at. `heat` is the share of the cost that a step may
  /// lose.
  void run(size_t work, double heat, const Clock &clock);

private:
  struct Tree {
    int32_t variable, parent; ///< the parent's place in the forest, or -1
    const Flat::Link *link;   ///< from the variable to its parent
  };
  /// What is left to try for one variable of the forest.
  struct Level {
    std::vector<std::pair<double, int32_t>> choices; ///< how much dearer than the best, label
    size_t tried = 0;
    double spent = 0; ///< by those before
    bool placed = false;
  };
  double draw() { return double(random() >> 11) * 0x1p-53; }
  void growForest(size_t most);
  void fixOutside();
  void relabel(double share, double noise);
  const double *getChoices(const Tree &tree);
  double getChange() const;
  double placeUsage();
  bool accept(double heat);
  void raisePrices();
  void take();
  void enumerate(double share, double allowed);
  bool put(int32_t v, int32_t label, double sign);

  const Flat &flat;
  std::mt19937_64 random;
  Labels current, next; ///< `next` differs only in the forest
  std::vector<double> usage, difference;
  double cost = 0, excess = 0, change = 0;
  std::vector<double> prices, extra, before; ///< by time
  double typicalPrice = 0;
  std::vector<double> priced; ///< by label, at the full prices, without the cost
  bool hasExtra = false, isOver = false;
  std::vector<Tree> forest;
  std::vector<std::pair<int32_t, std::pair<int32_t, const Flat::Link *>>> open;
  std::vector<int32_t> place; ///< of each variable in the forest, or -1
  std::vector<double> fixed, table, scratch;
  std::vector<Level> levels;
  size_t work = 0;
};

} // namespace para

#endif
