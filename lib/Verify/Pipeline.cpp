#include "para/Verify/Passes.h"

#include "mlir/Pass/PassManager.h"

void para::buildVerifyPipeline(mlir::OpPassManager &pm) {
  pm.addPass(createVerifyCommunicationPass());
}
