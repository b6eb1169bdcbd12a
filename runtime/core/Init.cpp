//===- Init.cpp - Weights to start from ---------------------------------------===//
#include "Init.h"

#include <cmath>

namespace para::runtime {

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

uint64_t counterBits(uint64_t key, uint64_t counter) {
  return mix(mix(key + 0x9e3779b97f4a7c15ull * (counter + 1)) ^ key);
}

uint64_t hashText(const std::string &text, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325ull ^ mix(seed + 0x9e3779b97f4a7c15ull);
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3ull;
  return mix(hash);
}

Initializer initializerFor(const std::string &kind, const Tensor &tensor) {
  if (kind == "zeros")
    return {Initializer::Zeros, 0};
  if (tensor.shape.size() < 2) {
    bool isBias = tensor.name.find("bias") != std::string::npos || tensor.name.find("beta") != std::string::npos;
    return {isBias ? Initializer::Zeros : Initializer::Ones, 0};
  }
  double window = 1;
  for (size_t d = 2; d < tensor.shape.size(); ++d)
    window *= double(tensor.shape[d]);
  double fanIn = double(tensor.shape[1]) * window, fanOut = double(tensor.shape[0]) * window;
  if (kind == "kaiming")
    return {Initializer::Normal, std::sqrt(2 / fanIn)};
  if (kind == "xavier")
    return {Initializer::Uniform, std::sqrt(6 / (fanIn + fanOut))};
  double deviation = 0;
  parseDouble(kind.substr(kind.find(':') + 1), deviation);
  return {Initializer::Normal, deviation};
}

static double sample(const Initializer &initializer, uint64_t key, uint64_t index) {
  switch (initializer.kind) {
  case Initializer::Zeros: return 0;
  case Initializer::Ones: return 1;
  case Initializer::Normal: {
    uint64_t bits = counterBits(key, index);
    double u = (double(bits >> 32) + 0.5) * 0x1p-32, v = (double(bits & 0xffffffffu) + 0.5) * 0x1p-32;
    return initializer.scale * std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
  }
  case Initializer::Uniform:
    return initializer.scale * (2 * (double(counterBits(key, index) >> 11) + 0.5) * 0x1p-53 - 1);
  }
  return 0;
}

void initialize(const Initializer &initializer, const Tensor &tensor, const Box &box, int64_t seed, void *local) {
  if (box.empty())
    return;
  uint64_t key = hashText(tensor.name, uint64_t(seed));
  size_t rank = tensor.shape.size();
  int64_t step = elementBytes(tensor.dtype);
  std::vector<int64_t> index(rank, 0);
  while (true) {
    int64_t global = 0, at = 0;
    for (size_t d = 0; d < rank; ++d) {
      global = global * tensor.shape[d] + box.begin[d] + index[d];
      at = at * tensor.local[d] + box.local[d] + index[d];
    }
    storeScalar(tensor.dtype, static_cast<char *>(local) + at * step, sample(initializer, key, uint64_t(global)));
    size_t d = rank;
    while (d > 0 && ++index[d - 1] == box.size[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

} // namespace para::runtime
