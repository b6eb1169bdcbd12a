//===- Passes.h - The lower stage ---------------------------------*- C++ -*-===//
//
// From one tensor function a pipeline stage to the device program: rt.segment ops and kernels as functions over vectors.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_PASSES_H
#define PARA_LOWER_PASSES_H

#include "para/Lower/Rt.h"

#include "mlir/Pass/Pass.h"

namespace para {

struct LowerOptions {
  std::string target = "host"; ///< host, cuda, or rehearsal (kernels as for cuda)
  bool describe = false;       ///< kernels carry facts for KernelTable.h
};

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "para/Lower/Passes.h.inc"

void buildLowerPipeline(mlir::OpPassManager &pm, const LowerOptions &options = {});
/// The pipeline as `para-lower-pipeline`; registerLowerPasses() is generated.
void registerLowerPipelines();

} // namespace para

#endif
