//===- Passes.h - The partition stage: annotated to per-rank -----*- C++ -*-===//
#ifndef PARA_PARTITION_PASSES_H
#define PARA_PARTITION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace para {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "para/Partition/Passes.h.inc"

void buildPartitionPipeline(mlir::OpPassManager &pm);

} // namespace para

#endif
