#include "para/Collectives/Passes.h"

#include "mlir/Pass/PassManager.h"

void para::buildCollectivesPipeline(mlir::OpPassManager &pm, const CollectivesOptions &options) {
  pm.addPass(createNarrowCollectivesPass()); // messages of one type fill a bucket
  if (options.bucketBytes > 0)
    pm.addPass(createBucketCollectivesPass({options.bucketBytes}));
}
