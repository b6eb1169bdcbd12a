//===- KernelTable.h - The launches of a device program ------------*- C++ -*-===//
//
// A row for each kernel and each call of a library: how often a step launches it, on how many threads, what it computes and moves. Bytes
// of kernels are those of the loops and accesses that were emitted (LowerOptions::describe); those of calls are what must be moved.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_KERNELTABLE_H
#define PARA_LOWER_KERNELTABLE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace para {

/// What one buffer of a kernel costs a launch.
struct KernelBuffer {
  int64_t loaded = 0, stored = 0, least = 0; ///< bytes
  int64_t instruction = 0;                   ///< bytes that the narrowest access to a range takes at once; 0: there is none
  std::string narrow;                        ///< why that is less than 16; empty if nothing is
};

struct KernelRow {
  std::string name, family;
  int64_t stage = 0;
  std::vector<std::string> nodes; ///< of the model, in the first launch
  int64_t launches = 0;           ///< a step of a rank
  int64_t blocks = 0, threads = 0, sharedBytes = 0; ///< 0: on the host, or a library's
  double moved = 0, least = 0;    ///< bytes of a launch
  double flops = 0;
  double tensorFlops = 0; ///< of these, by a kernel's own use of tensor cores; a library's are not known here
  int64_t batch = 0, m = 0, n = 0, k = 0; ///< of a product, and of a convolution or of a kernel's products as one
  std::vector<KernelBuffer> buffers;
  bool isKernel() const { return !buffers.empty(); }
};

/// Of a program after the lower stage, with described kernels.
std::vector<KernelRow> tabulateKernels(mlir::ModuleOp program);

} // namespace para

#endif
