#include "para/Verify/Passes.h"

#include "mlir/Pass/PassManager.h"

void para::buildVerifyPipeline(mlir::OpPassManager &pm) {
  pm.addPass(createVerifyCommunicationPass());
  pm.addPass(createVerifyEquivalencePass()); // reads messages in an order that the first has shown to exist
}
