//===- PlanFlags.h - Flags beside a plan ---------------------------*- C++ -*-===//
#ifndef PARA_LIB_DRIVER_PLANFLAGS_H
#define PARA_LIB_DRIVER_PLANFLAGS_H

#include "para/Driver/Options.h"
#include "para/Plan/Plan.h"

namespace para {

/// Gives a recipe's or a file's plan what the flags and the model's annotations ask of values and stages. An error where the plan has other.
llvm::Error addAsked(Plan &plan, const DriverOptions &options);

/// What flags say beside a recipe or a plan file (`--plan`) must be what it has: an error names the flag and both.
llvm::Error checkAgainstFlags(const Plan &plan, const DriverOptions &options);

} // namespace para

#endif
