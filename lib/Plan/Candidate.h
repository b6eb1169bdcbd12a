//===- Candidate.h - A plan with its price ------------------------*- C++ -*-===//
#ifndef PARA_LIB_PLAN_CANDIDATE_H
#define PARA_LIB_PLAN_CANDIDATE_H

#include "para/Plan/Planner.h"
#include "para/Plan/Price.h"
#include "para/Plan/Units.h"

#include <optional>

namespace para {

struct Candidate {
  Plan plan;
  std::optional<Price> price;
  std::string fault;  ///< why it is out
  bool lacksMemory = false;
  bool exact = false; ///< memory is the lowered program's, not counted over the graph
};

/// Partitions a copy of the program under the plan and prices what comes out; with an oracle, its memory is exact and it is
/// proved.
void price(mlir::ModuleOp module, Candidate &candidate, const Machine &machine, std::optional<MemoryOracle> memory = std::nullopt);

/// What --simulate --json prints of a plan with a price.
llvm::json::Value toJson(const Candidate &candidate, int64_t batch, const Machine &machine);

} // namespace para

#endif
