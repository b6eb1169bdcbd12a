//===- PlanFlags.h - Flags beside a plan ---------------------------*- C++ -*-===//
#ifndef PARA_LIB_DRIVER_PLANFLAGS_H
#define PARA_LIB_DRIVER_PLANFLAGS_H

#include "para/Cost/Machine.h"
#include "para/Driver/Options.h"
#include "para/Plan/Recipes.h"

#include <optional>

namespace para {

inline bool isPlanFile(const DriverOptions &options) { return llvm::StringRef(options.plan).ends_with(".json"); }
/// A plan file with its name in every error.
llvm::Expected<Plan> readPlan(llvm::StringRef path);

/// Ranks that flags, the plan file or the model's annotations ask for; 0 where none does. An error where two ask for different numbers.
llvm::Expected<int64_t> getAskedRanks(const DriverOptions &options);

/// What flags ask of all plans for so many ranks of the machine, and for that batch.
PlanRequest makeRequest(const DriverOptions &options, const Machine &machine, int64_t ranks, int64_t batch);

/// A plan of a file, a recipe or a whole mesh with what the flags and the model's annotations ask of values and stages. An error where the plan
/// has other than any flag asks for, where a flag does nothing under it, and where microbatches would be empty. Of flags that do nothing because
/// a size of 1 was given, as when sizes are swept, `notes` tell.
llvm::Expected<Plan> settlePlan(Plan plan, const DriverOptions &options, int64_t batch, std::vector<std::string> &notes);

/// What does nothing under a plan that was chosen among several, as sentences.
std::vector<std::string> findIdleFlags(const Plan &plan, const DriverOptions &options);

/// No microbatch of the flags, or else of the plan, may be empty. Ranks without samples may be, and wait.
llvm::Error checkBatch(const std::optional<Plan> &plan, const DriverOptions &options, int64_t batch);

} // namespace para

#endif
