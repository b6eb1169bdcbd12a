//===- Explain.h - A race of plans in words and numbers ----------*- C++ -*-===//
#ifndef PARA_PLAN_EXPLAIN_H
#define PARA_PLAN_EXPLAIN_H

#include "para/Plan/Search.h"

namespace para {

/// The fastest plans side by side, the best of each kind of mesh among them, what the first one's time and memory are made of.
void printRace(llvm::ArrayRef<RacedPlan> plans, const SearchOptions &options, llvm::raw_ostream &os);

/// What --simulate --json prints of a plan. Units: seconds, bytes of one rank.
llvm::json::Value toJson(const RacedPlan &raced, const SearchOptions &options);

} // namespace para

#endif
