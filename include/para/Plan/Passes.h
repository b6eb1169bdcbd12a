//===- Passes.h - The plan stage as passes -----------------------*- C++ -*-===//
#ifndef PARA_PLAN_PASSES_H
#define PARA_PLAN_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace para {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "para/Plan/Passes.h.inc"
} // namespace para

#endif
