//===- Kernels.h - What kernels a stage's program becomes ---------*- C++ -*-===//
//
// In numbers, for whoever prices a program before it is lowered: the kernels are formed as for the target, without memory and code.
//
// Example: a GELU over [256, 1024] floats is one kernel of 2 MiB and about 60 operations an element.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_KERNELS_H
#define PARA_LOWER_KERNELS_H

#include "para/IR/Phases.h"

#include "llvm/ADT/StringMap.h"

namespace para {

/// A kernel, or a call of the runtime that computes or moves.
struct FormedKernel {
  enum Kind { Fused, Product, Convolution, Scatter, Collective, Message } kind = Fused;
  ChunkPhase phase;
  mlir::Location location;
  double bytes = 0;                       ///< read and written, each place once
  double work = 0;                        ///< of a fused kernel: operations, a multiplication being one
  double summedBytes = 0;                 ///< of these, a sum that a product adds to
  double flops = 0;                       ///< of products and convolutions
  int64_t width = 4;                      ///< bytes of an element of what a product or convolution multiplies
  int64_t batch = 1, m = 0, n = 0, k = 0; ///< of a product

  explicit FormedKernel(mlir::Location location) : location(location) {}
};

/// By function.
using FormedKernels = llvm::StringMap<std::vector<FormedKernel>>;

/// The kernels of the stages of `module`, which is after the schedule stage.
mlir::FailureOr<FormedKernels> formKernels(mlir::ModuleOp module);

} // namespace para

#endif
