#include "para/Partition/Passes.h"

#include "mlir/Pass/PassManager.h"

void para::buildPartitionPipeline(mlir::OpPassManager &pm) {
  pm.addPass(createSeparateMicrobatchesPass());
  pm.addPass(createRegroupSumsPass());
  pm.addPass(createRecomputePass()); // last before the parts are made: what is kept and in which phase is settled
  pm.addPass(createPartitionPass());
  pm.addPass(createVerifyPartitionPass());
}
