//===- WeightReorder.h - Weights out of blocks of 16 by 16 ------*- C++ -*-===//
#ifndef PARA_RUNTIME_HOST_WEIGHTREORDER_H
#define PARA_RUNTIME_HOST_WEIGHTREORDER_H

#include <dnnl.hpp>

#include <cstdint>
#include <optional>

namespace para::runtime {

/// From oneDNN's layout of weight gradients, blocks of 16 input by 16 output channels with outputs innermost, to row-major
/// [K, C, window]: by transposing tiles in registers.
class WeightReorder {
public:
  /// None where `blocked` is another layout, the element type is not f32, or channels do not fill the blocks.
  static std::optional<WeightReorder> find(const dnnl::memory::desc &blocked);
  void run(int64_t threads, const float *blocked, float *plain) const;

private:
  int64_t outputs = 0, inputs = 0, window = 1;
  int64_t outputStride = 0, inputStride = 0; ///< from block to block, in elements
};

} // namespace para::runtime

#endif
