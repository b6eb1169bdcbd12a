#include "para/Schedule/Passes.h"

#include "mlir/Pass/PassManager.h"

void para::buildSchedulePipeline(mlir::OpPassManager &pm, llvm::StringRef schedule) {
  pm.addPass(createSplitStagesPass());
  pm.addPass(createScheduleMicrobatchesPass({schedule.str()}));
}
