//===- Measure.h - How fast this computer is ----------------------*- C++ -*-===//
//
// Rates of one core. Each measurement runs for some milliseconds, has results that the compiler must make, and is the median of several, so
// that neither a busy moment nor a clock of coarse ticks decides.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_COST_MEASURE_H
#define PARA_LIB_COST_MEASURE_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace para {

/// Amount of work a second: the median of several rounds of `work`, each repeated until it takes `least` seconds. `work` does the amount
/// `perCall` each time it is called.
double measureRate(double perCall, double least, llvm::function_ref<void()> work);

/// Multiply-adds over registers, counted twice.
double measureFlopsPerSecond();
/// Bytes of a copy that does not fit in the caches, read and written.
double measureMemoryBytesPerSecond();
/// Bytes of sums of two arrays of `bytes` each into a third, which together fit in the last cache.
double measureCacheBytesPerSecond(double bytes);

} // namespace para

#endif
