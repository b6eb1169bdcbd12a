#include "para/Partition/Passes.h"

#include "mlir/Pass/PassManager.h"

void para::buildPartitionPipeline(mlir::OpPassManager &pm) {
  pm.addPass(createSeparateMicrobatchesPass());
  pm.addPass(createRegroupSumsPass());
  pm.addPass(createPartitionPass());
  pm.addPass(createVerifyPartitionPass());
}
