//===- Price.h - What a partitioned program costs ----------------*- C++ -*-===//
//
// Prices the programs of the stages as they will run: time of the kernels that their ops become (Segments.h; on the host those that the lower
// stage forms, Lower/Kernels.h), of collectives by the ring formulas (Thakur et al. 2005; on the host by what is copied in shared memory), of
// the pipeline by running its schedule, with stages that share cores; memory by liveness; bytes as the runtime counts them.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PLAN_PRICE_H
#define PARA_PLAN_PRICE_H

#include "para/Cost/Machine.h"

#include "mlir/IR/BuiltinOps.h"

namespace para {

struct Price {
  double secondsPerStep = 0;
  double computeSeconds = 0;  ///< of the busiest stage
  double exposedSeconds = 0;  ///< communication of the busiest stage
  double bubbleSeconds = 0;   ///< the rest
  std::vector<int64_t> peakBytes;  ///< by stage
  std::vector<int64_t> stateBytes; ///< of parameters, buffers and optimizer state, by stage
  int64_t bytesSent = 0;           ///< by the rank that sends most
  double flops = 0;                ///< of all ranks
};

/// The module after the schedule stage.
Price priceProgram(mlir::ModuleOp module, const Machine &machine);

} // namespace para

#endif
