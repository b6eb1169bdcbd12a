#include "para/Autodiff/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void para::buildAutodiffPipeline(OpPassManager &pm, const AutodiffOptions &options) {
  // What is frozen is a weight all the same, and a loss that is attached is f32 of the declared outputs.
  pm.addPass(createSetPrecisionPass({options.ownTypes ? std::string() : options.precision.getValue(), options.train}));
  if (options.train) {
    pm.addPass(createSelectParametersPass({llvm::to_vector(options.trainable), llvm::to_vector(options.freeze)}));
    pm.addPass(createAttachLossPass({options.loss}));
    pm.addPass(createCanonicalizerPass()); // dead outputs go before they are differentiated
    pm.addPass(createDifferentiatePass({options.precision == "f16" ? double(options.lossScale) : 0}));
    pm.addPass(createWidenGradientsPass());
    pm.addPass(createApplyOptimizerPass({options.optimizer, options.clipNorm, options.clipValue, options.keepGradients}));
  } else if (!options.precision.empty()) { // without a flag a rounding is what the model asks for
    pm.addPass(createWidenGradientsPass({/*outputs=*/true}));
  }
  // Only now are composites formulas: what backward needs of a formula is then the same expression as forward's, and merged.
  pm.addPass(createDecomposePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createPlaceRoundingsPass()); // of what is one value now
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createTagPhasesPass());
  pm.addPass(createVerifyAutodiffPass());
}
