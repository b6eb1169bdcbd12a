//===- Execution.h - How a program is run on devices --------------*- C++ -*-===//
//
// What a step takes besides its kernels and messages: the host that starts them one by one, what of the communication it can hide, what an
// allocator keeps. One table of kinds (lib/Cost/Execution.cpp), fitted to published training runs by tools/fit; nothing here belongs to a
// model or to a paper.
//
// Example: Execution::get("eager:gradient_overlap=0") is PyTorch, op by op, that reduces gradients when all passes are over.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_COST_EXECUTION_H
#define PARA_COST_EXECUTION_H

#include "para/Cost/Constants.h"

#include "llvm/Support/Error.h"

#include <string>

namespace para {

struct Execution {
  std::string kind = "compiled";
  // Seconds of the host. Where it is slower than the device, a pass takes as long as the host does.
  double kernelSeconds = 0;   ///< to start a kernel of a pass forward
  double gradientSeconds = 0; ///< to start a kernel of a pass backward
  double messageSeconds = 0;  ///< to start a collective
  double passSeconds = 0;     ///< for each pass of a stage: its schedule, its messages to neighbours
  double blocksOnLaunches = 0; ///< 1: the host waits for each kernel (CUDA_LAUNCH_BLOCKING)
  // Communication.
  double gradientOverlap = 1; ///< of the reduction of gradients, what may run beside backward passes
  double gatherOverlap = 1;   ///< of the gathering of parameters for a layer (ZeRO-3), what may run beside the layer before
  double trafficOverlap = 0;  ///< of collectives within a layer, what runs beside its compute
  double exchangeOverlap = 0; ///< likewise of rows that are exchanged among experts
  double sendsOnce = 0;       ///< 1: of a row that several experts of a block of ranks want, one copy enters the block
  double joinSeconds = 0;     ///< of a collective within a layer, until the last of its ranks has come to it
  double slowdown = 1;        ///< of a collective between passes of other ranks, against one alone
  double contention = 0.31; ///< seconds of compute that are lost for each second of communication beside it, which takes multiprocessors and memory; fit-runs
  double blocksOnSends = 0;   ///< 1: a stage computes nothing while it sends
  // Kernels.
  double lossBytes = 0;     ///< moved for each element of what the loss is made of, forward and backward; 0: the loss is one kernel each way
  double lossKept = 0;      ///< of these bytes kept for the pass backward
  double lossTemporary = 0; ///< bytes there at most at once, besides
  double attention = 1;     ///< of the rate of the device's best fused attention
  double rescales = 0;      ///< 1: operands of 8 bits are scaled by their own greatest (not by that of steps before): a pass more over each, and no cast is fused
  double accumulates = 0;   ///< 1: gradients of a microbatch are made and then added to those before, by kernels of their own
  double regathers = 0;     ///< 1: of a value gathered for a product the part is kept, and gathered again for the pass backward
  double dropout = 0;      ///< 1: of attention scores and before residual sums; masks of a byte are kept
  double updatePasses = 0; ///< over gradients and parameters besides the optimizer's: unscaling, norms, copies; bytes for each parameter
  // Recomputation.
  double layersAgain = 1;   ///< of the layers, those which full recomputation computes again
  double streamsAgain = 0;  ///< 1: selective recomputation keeps the results of products and of attention alone; 0: all but attention scores
  double productsAgain = 0; ///< then, of a layer's products, those which are computed again, too
  double attentionAgain = 0; ///< then, whether attention is
  // Memory.
  double allocates = 0;    ///< 1: memory is taken and given back as passes run, so that chunks of a stage share it; 0: each chunk has its own
  double workspaceBytes = 0; ///< that libraries have taken on each device, besides what any of them does
  double heldBoundaries = 0; ///< of each chunk of a pipeline's stage, tensors of the size that it receives which the program still refers to when the step is over
  double heldBytes = 0;      ///< and bytes besides
  double contextBytes = 0; ///< of the vendor's libraries on each device, outside the allocator
  double fragmentation = 0; ///< of what is allocated, what the allocator loses

  static llvm::ArrayRef<llvm::StringRef> getKinds();
  static llvm::ArrayRef<Field<Execution>> getFields();
  /// KIND[:key=number,...]; the error lists kinds, or keys.
  static llvm::Expected<Execution> get(llvm::StringRef spec);
};

} // namespace para

#endif
