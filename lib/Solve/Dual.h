//===- Dual.h - Prices of usage --------------------------------------------===//
//
// Each time has a price of a unit of usage; what the usage limit allows is paid back. Whatever the prices, no solution costs less than the
// cheapest labels with prices paid: prices climb to where that bound is best, by steps along averaged subgradients (B. Polyak) toward a
// level above the best bound, which falls when steps fail (J.-L. Goffin, K. C. Kiwiel, "Convergence of a simple subgradient level method",
// 1999). Labels that come up on the way and are within the limit are solutions.
//
// Example: Dual dual(flat); dual.run(work); dual.bound, dual.best, dual.bestPrices
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_SOLVE_DUAL_H
#define PARA_LIB_SOLVE_DUAL_H

#include "Clock.h"
#include "Messages.h"

namespace para {

class Dual {
public:
  /// Climbs from `prices`, by time.
  Dual(const Flat &flat, std::vector<double> prices);

  double bound = -kNever; ///< no solution costs less; rounding is allowed for
  std::vector<double> bestPrices;
  Labels best; ///< the cheapest labels within the limit that came up; empty as long as there are none
  double bestCost = kNever;
  Labels last; ///< the labels of the last step

  /// Takes steps until about as many table entries as `work` have been looked at.
  void run(size_t work, const Clock &clock);
  /// What one step takes, in table entries.
  size_t getStepWork() const;
  /// No step has raised the bound by a millionth for long.
  bool isStuck() const { return stuck > 400; }
  /// By label, what a solution that takes it costs at least, at the best prices; then calls visit(edge, label of a, label of b, bound) for
  /// each pair of labels of an edge.
  std::vector<double> getLabelBounds(llvm::function_ref<void(int32_t, int32_t, int32_t, double)> visit = nullptr);

private:
  void step();
  double evaluate();
  double getBack(double bound, double &slack) const;

  const Flat &flat;
  Messages messages;
  std::vector<double> prices, direction, usage;
  double level = 0, mark = -kNever;
  int failures = 0, stuck = 0;
  bool started = false;
};

} // namespace para

#endif
