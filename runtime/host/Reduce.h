//===- Reduce.h - Sums, maxima and minima of several buffers ----*- C++ -*-===//
#ifndef PARA_RUNTIME_HOST_REDUCE_H
#define PARA_RUNTIME_HOST_REDUCE_H

#include "para/Runtime/para_runtime.h"

namespace para::runtime {

/// out[i] = sources[0][i] (+) sources[1][i] (+) ... in that order, written to each of `outs`, which may be among the
/// sources. Halves are summed in f32 and rounded once. With `streams` the results bypass the caches, for buffers larger
/// than those. False if there is no code for the type.
bool reduceInto(int32_t dtype, int32_t reduction, const void *const *sources, int64_t numSources, void *const *outs,
                int64_t numOuts, int64_t begin, int64_t end, bool streams = false);

} // namespace para::runtime

#endif
