//===- Init.h - Weights to start from ---------------------------*- C++ -*-===//
#ifndef PARA_RUNTIME_CORE_INIT_H
#define PARA_RUNTIME_CORE_INIT_H

#include "Shard.h"

namespace para::runtime {

/// How to make one parameter.
struct Initializer {
  enum Kind { Zeros, Ones, Normal, Uniform } kind = Zeros;
  double scale = 0; ///< deviation, or half of the interval
};

/// normal:D, kaiming (deviation sqrt(2 / fan in)), xavier (uniform within sqrt(6 / (fan in + fan out))), zeros. Parameters
/// of rank 0 and 1 have no fans: they are zeros when their name says bias or beta, ones otherwise (the scales of norms),
/// except under `zeros`. Fans are torch's: the first dimension is out, the second in, the others are the window.
Initializer initializerFor(const std::string &kind, const Tensor &tensor);

/// Fills the valid box of a local row-major array. A value depends only on the seed, the tensor's name and the element's
/// global index, so that every plan starts from the same weights.
void initialize(const Initializer &initializer, const Tensor &tensor, const Box &box, int64_t seed, void *local);

/// Uniform bits from a key and a counter (splitmix64's finalizer, twice).
uint64_t counterBits(uint64_t key, uint64_t counter);
uint64_t hashText(const std::string &text, uint64_t seed);

} // namespace para::runtime

#endif
