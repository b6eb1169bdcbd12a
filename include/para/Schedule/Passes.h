//===- Passes.h - The schedule stage: per-rank to per-stage programs -------===//
#ifndef PARA_SCHEDULE_PASSES_H
#define PARA_SCHEDULE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace para {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "para/Schedule/Passes.h.inc"

void buildSchedulePipeline(mlir::OpPassManager &pm, llvm::StringRef schedule);

} // namespace para

#endif
