//===- Branch.h - Exact search -----------------------------------------------===//
//
// Depth first over the variables in their order. The messages that come from later variables bound what those add, exactly where the model
// is a tree and the limit does not bind, so that branches end early.
//
// Example: bool whole = searchBranches(flat, prices, most, clock, bestCost, best);
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_SOLVE_BRANCH_H
#define PARA_LIB_SOLVE_BRANCH_H

#include "Clock.h"
#include "Flat.h"

namespace para {

/// Looks for labels within the limit that cost less than `bestCost`, and puts the cheapest into `best` and `bestCost`. Costs are integers.
/// Returns whether all were looked at (or excluded), within `most` visited labels: then there are none cheaper than `bestCost`.
bool searchBranches(const Flat &flat, llvm::ArrayRef<double> prices, size_t most, const Clock &clock, double &bestCost, Labels &best);

} // namespace para

#endif
