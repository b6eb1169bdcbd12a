//===- Npy.h - numpy's array format -----------------------------*- C++ -*-===//
#ifndef PARA_RUNTIME_CORE_NPY_H
#define PARA_RUNTIME_CORE_NPY_H

#include "Array.h"

namespace para::runtime {

/// Everything before the data of a row-major array. bf16 has no code there and is announced as f32.
std::string npyHeader(DType dtype, const std::vector<int64_t> &shape);

} // namespace para::runtime

#endif
