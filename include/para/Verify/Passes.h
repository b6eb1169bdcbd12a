//===- Passes.h - The proofs -------------------------------------*- C++ -*-===//
//
// Run on every compilation, after the schedule stage. What cannot be proved is refused.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_VERIFY_PASSES_H
#define PARA_VERIFY_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace para {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "para/Verify/Passes.h.inc"

void buildVerifyPipeline(mlir::OpPassManager &pm);

} // namespace para

#endif
