//===- Target.h - What kernels depend on of the machine -----------*- C++ -*-===//
#ifndef PARA_LOWER_TARGET_H
#define PARA_LOWER_TARGET_H

#include <cstdint>

namespace para {

/// Everything of the lower stage that differs between targets.
struct KernelTarget {
  int64_t vectorBytes = 64;       ///< one register of lanes
  int64_t mostScratchBytes = 1 << 16; ///< a row kept between the passes of a kernel
  int64_t grainWork = 1 << 15;    ///< element operations that make a part worth a thread

  /// The processor that this runs on.
  static KernelTarget host();
};

} // namespace para

#endif
