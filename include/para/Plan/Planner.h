//===- Planner.h - Choosing a plan by its price ------------------*- C++ -*-===//
//
// Every candidate is partitioned for real, priced on a machine, and the fastest that fits and can be proved is taken.
//
// Example, four ranks of this host: searchPlan(module, getCandidates({.ranks = 4, .batch = 32}), request, machine, memory, &llvm::outs(), false);
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PLAN_PLANNER_H
#define PARA_PLAN_PLANNER_H

#include "para/Cost/Machine.h"
#include "para/Plan/Price.h"
#include "para/Plan/Recipes.h"

#include "mlir/IR/BuiltinOps.h"

#include <array>
#include <optional>

namespace para {

/// Whether microbatches mean the same as the whole batch: no statistics over the batch inside of the model.
bool isSeparable(mlir::ModuleOp module);

/// Tells in the model's names what an annotated program is cut by: parameters, states and inputs (layers that are alike in one line) and the
/// first and last node of each pipeline stage.
void describePlan(mlir::func::FuncOp main, llvm::raw_ostream &os);

/// Bytes that the program of each stage will allocate, from the module after the schedule stage (which it may change); empty if it
/// cannot be lowered.
using MemoryOracle = llvm::function_ref<std::vector<int64_t>(mlir::ModuleOp)>;

/// Prices `plans` by partitioning the program under each and counting time, memory and bytes of what comes out; returns the
/// fastest that fits, with the oracle's word on its memory. With `table`, writes the candidates side by side. An error lists the
/// causes why nothing fits.
llvm::Expected<Plan> searchPlan(mlir::ModuleOp module, llvm::ArrayRef<Plan> plans, const PlanRequest &request, const Machine &machine, MemoryOracle memory,
                                llvm::raw_ostream *table, bool json);

/// Predicted seconds of a step of the program under the plan; none where it cannot be partitioned, or does not fit.
std::optional<double> getSecondsPerStep(mlir::ModuleOp module, const Plan &plan, const Machine &machine);

/// A plan under the name that a user gave it.
struct NamedPlan {
  std::string name;
  Plan plan;
};

/// What a comparison shows of a plan.
struct ComparedPlan {
  std::string name;
  Plan plan;
  std::optional<Price> price; ///< bytes that are sent: 0 where they are not counted
  std::string fault;          ///< why it is out
  std::string machine;
  llvm::json::Object json;       ///< as --simulate --json has it
  std::vector<std::string> cuts; ///< how the program is cut, in the model's names
};

/// Writes two plans side by side. Fails where neither has a price.
llvm::Error printComparison(std::array<ComparedPlan, 2> plans, llvm::raw_ostream &os, bool json);

/// Prices two plans and writes them side by side: seconds, bytes of memory and of messages with their differences, the fields of the plans that
/// differ, and what only one of them cuts. `machine` tells what a number of ranks runs on. Fails where neither can be partitioned.
llvm::Error comparePlans(mlir::ModuleOp module, const NamedPlan &first, const NamedPlan &second, int64_t batch,
                         llvm::function_ref<Machine(int64_t ranks)> machine, MemoryOracle memory, llvm::raw_ostream &os, bool json);

} // namespace para

#endif
