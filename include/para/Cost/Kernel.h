//===- Kernel.h - Seconds of a kernel on a device -----------------*- C++ -*-===//
//
// A roofline whose roof depends on the shape: products fill tiles and waves of multiprocessors, start each tile's loop anew, and read what
// their tiles share from the second level cache; what streams is bound by memory; all of them start.
//
// Example: kernelSeconds(machine.getDevice(0), Kernel::product(CostType::BF16, 4096, 4096, 4096)).
//
//===----------------------------------------------------------------------===//
#ifndef PARA_COST_KERNEL_H
#define PARA_COST_KERNEL_H

#include "para/Cost/Machine.h"

namespace para {

struct Kernel {
  enum Kind { Product, Attention, Convolution, Streaming };
  Kind kind = Streaming;
  CostType type = CostType::F32;
  double flops = 0; ///< done: of masked attention, those that the mask leaves
  double bytes = 0; ///< that memory must at least read and write
  /// Product: `batch` results of m x n, reduced over k. Convolution: m is pixels of all images, n channels of the result, k what each sums.
  /// Attention: batch times heads, m queries, n keys, heads of width k. Where one is 0 the shape is not known, and is as good as can be.
  int64_t batch = 1, m = 0, n = 0, k = 0;

  static Kernel product(CostType type, int64_t m, int64_t n, int64_t k, int64_t batch = 1);
  static Kernel streaming(double bytes, double flops = 0);
};

/// From the end of the kernel before to the end of this one.
double kernelSeconds(const Device &device, const Kernel &kernel);
/// On the slowest of the machine's devices: all ranks do the same, and wait for it.
double kernelSeconds(const Machine &machine, const Kernel &kernel);

} // namespace para

#endif
