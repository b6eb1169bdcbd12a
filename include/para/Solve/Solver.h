//===- Solver.h - Cheapest strategies with a certificate ---------*- C++ -*-===//
//
// Anytime: the answer improves with the time given, and comes with a lower bound that holds for every solution. For the same seed, number
// of threads and amount of work the answer is the same.
//
// Example: Solution s = cantFail(solve(problem, {.seconds = 10})); s.cost, s.getGap()
//
//===----------------------------------------------------------------------===//
#ifndef PARA_SOLVE_SOLVER_H
#define PARA_SOLVE_SOLVER_H

#include "para/Solve/Problem.h"

#include <functional>

namespace para {

struct Solution {
  std::vector<int32_t> choice; ///< strategy of each node
  int64_t cost = 0;
  int64_t lowerBound = 0; ///< no solution costs less

  /// (cost - bound) / |cost|; 0 where the solution is proved to be the cheapest.
  double getGap() const { return cost == lowerBound ? 0.0 : double(cost - lowerBound) / std::max(1.0, std::abs(double(cost))); }
};

struct SolveOptions {
  double seconds = 60;
  unsigned threads = 1;
  uint64_t seed = 0;
  /// Called with each better solution, from the thread that called solve().
  std::function<void(const Solution &, double seconds)> progress;
  size_t rounds = 0; ///< of searches at most, so that the answer does not depend on the time; 0: any number
  double gap = 0; ///< stops when the solution's gap is no larger
};

/// The cheapest solution found in the time; stops early when the gap is zero. Fails if the problem does not pass check(), or if no solution
/// was found: with the reason if it is proved that there is none.
llvm::Expected<Solution> solve(const Problem &problem, const SolveOptions &options);

/// By enumeration with bounds: the oracle for small problems. Fails if there is no solution.
llvm::Expected<Solution> solveExhaustively(const Problem &problem);

} // namespace para

#endif
