//===- Kernels.h - Inner loops ----------------------------------------------===//
//
// Compiled for several instruction sets; the program picks at its start. Sizes of what is written are multiples of four.
//
// Example: minPlus(matrix, add, rows, stride, out) is out[k] = min over rows l of matrix[l * stride + k] + add[l].
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_SOLVE_KERNELS_H
#define PARA_LIB_SOLVE_KERNELS_H

#include <cstddef>

namespace para {

/// out[k] = min over l < rows of matrix[l * stride + k] + add[l]; rows are at least 1.
void minPlus(const double *matrix, const double *add, size_t rows, size_t stride, double *out);
/// out[k] += factor * in[k].
void addScaled(double *out, const double *in, double factor, size_t size);
/// out[k] += in[k].
void addTo(double *out, const double *in, size_t size);
double getLeast(const double *values, size_t size);

} // namespace para

#endif
