//===- Passes.h - Passes over imported programs ------------------*- C++ -*-===//
//
// Example: after pm.addPass(createDeriveIndexRangesPass()) the argument `labels` of 96 classes has
// `para.index_ranges = [#para.index_range<0, 96, [-100], [0, 0], [16, 32], "loss">]`.
//
//===----------------------------------------------------------------------===//
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
