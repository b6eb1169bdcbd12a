//===- Passes.h - Passes over imported programs ------------------*- C++ -*-===//
#ifndef PARA_IMPORT_PASSES_H
#define PARA_IMPORT_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace para {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "para/Import/Passes.h.inc"

} // namespace para

#endif
