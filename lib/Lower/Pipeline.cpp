//===- Pipeline.cpp - The lower stage --------------------------------------===//
#include "para/Lower/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace para;

void para::buildLowerPipeline(OpPassManager &pm, const LowerOptions &options) {
  // Before calls are formed: products that scores stand between are no calls.
  if (options.target != "host")
    pm.addPass(createFormTilesPass());
  // Calls first: they decide which values must be in memory and which transposes vanish into strides.
  pm.addPass(createFormCallsPass({options.target}));
  // Before kernels are formed: sums that stand apart are kernels of their own.
  pm.addPass(createPlaceSumsPass());
  // Before kernels are formed: the rows of the first part of a reduction may be those of others that read the same.
  pm.addPass(createSplitReductionsPass({options.target}));
  pm.addPass(createFormKernelsPass({options.target}));
  pm.addPass(createOrderUpdatesPass({options.target}));
  pm.addPass(createAssignMemoryPass({options.target}));
  pm.addPass(createLowerToRtPass({options.target}));
  pm.addPass(createEmitKernelsPass({options.target, options.describe}));
  // After the kernels: one function is expanded in the one place where it stands.
  pm.addPass(createExpandMathPass());
}

void para::registerLowerPipelines() {
  struct Options : PassPipelineOptions<Options> {
    Option<std::string> target{*this, "target", llvm::cl::desc("host, cuda or rehearsal"), llvm::cl::init("host")};
    Option<bool> describe{*this, "describe", llvm::cl::desc("kernels carry facts"), llvm::cl::init(false)};
  };
  PassPipelineRegistration<Options>("para-lower-pipeline", "From stages over tensors to the device program",
                                    [](OpPassManager &pm, const Options &options) {
                                      LowerOptions lower;
                                      lower.target = options.target;
                                      lower.describe = options.describe;
                                      buildLowerPipeline(pm, lower);
                                    });
}
