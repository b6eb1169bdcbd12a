//===- Verify.h - A plan on all its ranks against one rank ---------*- C++ -*-===//
//
// Beside the program that is asked for, its plan is compiled in f64 (for GPUs: to be rehearsed), and so is the model for one rank of the host,
// with as many microbatches. Both run here, from the same weights, on the same inputs, and what they leave is compared (CompareRuns.h).
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_DRIVER_VERIFY_H
#define PARA_LIB_DRIVER_VERIFY_H

#include "para/Driver/Compile.h"

namespace para {

/// Whether the plan can be verified here, said before it is compiled; the exit status, of which the cause was told. `planned` is the
/// annotated program. Where one rank was asked for, so that there is nothing to compare, a note says so and `options.verify` is off.
int admitVerification(mlir::ModuleOp planned, const Plan &plan, DriverOptions &options);

/// Verifies the plan of a program with these flags and prints a line about it; the exit status: 1, with the first tensor that differs, where the plan
/// computes something else. `hooks` see the plan's program in f64 as they see that of the flags. Leaves no files or processes behind.
int verifyPlan(const Plan &plan, const DriverOptions &options, llvm::StringRef program, const CompileHooks &hooks);

} // namespace para

#endif
