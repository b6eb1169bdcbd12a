//===- PlanFlags.h - Flags beside a plan ---------------------------*- C++ -*-===//
#ifndef PARA_LIB_DRIVER_PLANFLAGS_H
#define PARA_LIB_DRIVER_PLANFLAGS_H

#include "para/Driver/Options.h"
#include "para/Plan/Plan.h"

#include <optional>

namespace para {

/// Gives a recipe's or a file's plan what the flags and the model's annotations ask of values and stages. An error where the plan has other.
llvm::Error addAsked(Plan &plan, const DriverOptions &options);

/// What flags say beside a recipe or a plan file (`--plan`) must be what it has: an error names the flag and both.
llvm::Error checkAgainstFlags(const Plan &plan, const DriverOptions &options);

/// No microbatch of the flags, or else of the plan, may be empty. Ranks without samples may be, and wait.
llvm::Error checkBatch(const std::optional<Plan> &plan, const DriverOptions &options, int64_t batch);

} // namespace para

#endif
