#include "Kernels.h"

#include <algorithm>

// The order of additions is the same in all versions, so the results are too: nothing is fused or reordered.
#if defined(__x86_64__) && defined(__linux__)
#define PARA_VERSIONS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PARA_VERSIONS
#endif
#pragma clang fp contract(off)

PARA_VERSIONS void para::minPlus(const double *matrix, const double *add, size_t rows, size_t stride, double *out) {
  size_t k = 0;
  for (; k + 16 <= stride; k += 16) {
    double least[16];
    for (size_t i = 0; i < 16; ++i)
      least[i] = matrix[k + i] + add[0];
    for (size_t l = 1; l < rows; ++l)
      for (size_t i = 0; i < 16; ++i) {
        double sum = matrix[l * stride + k + i] + add[l];
        least[i] = sum < least[i] ? sum : least[i];
      }
    for (size_t i = 0; i < 16; ++i)
      out[k + i] = least[i];
  }
  for (; k + 4 <= stride; k += 4) {
    double least[4];
    for (size_t i = 0; i < 4; ++i)
      least[i] = matrix[k + i] + add[0];
    for (size_t l = 1; l < rows; ++l)
      for (size_t i = 0; i < 4; ++i) {
        double sum = matrix[l * stride + k + i] + add[l];
        least[i] = sum < least[i] ? sum : least[i];
      }
    for (size_t i = 0; i < 4; ++i)
      out[k + i] = least[i];
  }
}

PARA_VERSIONS void para::addScaled(double *out, const double *in, double factor, size_t size) {
  for (size_t k = 0; k < size; ++k)
    out[k] += factor * in[k];
}

PARA_VERSIONS void para::addTo(double *out, const double *in, size_t size) {
  for (size_t k = 0; k < size; ++k)
    out[k] += in[k];
}

PARA_VERSIONS double para::getLeast(const double *values, size_t size) {
  double least[4] = {values[0], values[1], values[2], values[3]};
  for (size_t k = 4; k < size; k += 4)
    for (size_t i = 0; i < 4; ++i)
      least[i] = values[k + i] < least[i] ? values[k + i] : least[i];
  return std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
}
