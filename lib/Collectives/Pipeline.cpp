#include "para/Collectives/Passes.h"

#include "mlir/Pass/PassManager.h"

void para::buildCollectivesPipeline(mlir::OpPassManager &pm, const CollectivesOptions &options) {
  if (options.buckets)
    pm.addPass(createBucketCollectivesPass());
}
