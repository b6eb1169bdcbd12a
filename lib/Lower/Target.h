//===- Target.h - What kernels depend on of the machine -----------*- C++ -*-===//
#ifndef PARA_LOWER_TARGET_H
#define PARA_LOWER_TARGET_H

#include <cstdint>

namespace para {

/// Everything of the lower stage that differs between targets.
struct KernelTarget {
  int64_t vectorBytes = 64;       ///< one register of lanes, or what a GPU's thread moves at once
  int64_t mostScratchBytes = 1 << 16; ///< a row kept between the passes of a kernel
  int64_t grainWork = 1 << 15;    ///< element operations that make a part worth a thread

  bool dealsNeighbours = false;   ///< one wide load and a permutation are faster than a gather

  bool hasBlocks = false;         ///< kernels are functions of a thread in a block

  /// The processor that this runs on.
  static KernelTarget host();
  static KernelTarget gpu();
};

} // namespace para

#endif
