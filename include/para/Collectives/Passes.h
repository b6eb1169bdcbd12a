//===- Passes.h - The collectives stage: fewer, larger messages -----------===//
//
// Speed only: what partitioning made is correct already.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_COLLECTIVES_PASSES_H
#define PARA_COLLECTIVES_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace para {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "para/Collectives/Passes.h.inc"

struct CollectivesOptions {
  int64_t bucketBytes = 25 << 20; ///< 0: no buckets
};

void buildCollectivesPipeline(mlir::OpPassManager &pm, const CollectivesOptions &options);

} // namespace para

#endif
