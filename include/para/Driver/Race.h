//===- Race.h - Planning a model without compiling it -------------*- C++ -*-===//
#ifndef PARA_DRIVER_RACE_H
#define PARA_DRIVER_RACE_H

#include "para/Autodiff/Passes.h"
#include "para/Driver/Options.h"
#include "para/Plan/Search.h"

namespace para {

/// Whether plans are raced over the folded model: for a machine that is not this host, and for what is shown of such plans only.
bool isRaced(const DriverOptions &options);

/// Folds a copy of the imported model, derives its step and races plans, or prices the one that flags or a plan file fix. Writes what
/// --simulate and --explain show; what --report and --trace-out want goes into `files`, by path, and what is to be said of flags into `notes`. Fails
/// where no plan fits, or where what is asked makes no sense (`isWrongUsage`).
llvm::Expected<Plan> racePlans(mlir::ModuleOp imported, const AutodiffOptions &autodiff, const DriverOptions &options, llvm::raw_ostream &os,
                               std::map<std::string, std::string> &files, std::vector<std::string> &notes, bool &isWrongUsage);

} // namespace para

#endif
