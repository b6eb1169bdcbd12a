//===- Scatter.h - How a GPU's scatter is launched ------------------*- C++ -*-===//
//
// What the compiler's two kernels of a para_scatter_add (lib/Lower/KernelScatter.cpp) and the runtime that launches them agree on.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_SCATTER_H
#define PARA_RUNTIME_SCATTER_H

#include <cstdint>

namespace para::scatter {

constexpr int64_t threads = 512, warps = threads / 32;
/// A pass of the sort is over so many bits of the rows' numbers: a thread has one of the digits.
constexpr int64_t digitBits = 9, digits = int64_t(1) << digitBits;
static_assert(digits == threads, "a thread for each digit");
/// Columns of a table that a block adds up: four for each thread of a warp.
constexpr int64_t columnsPerThread = 4, columns = 32 * columnsPerThread;

/// Shared memory of the kernels: digits of a tile, where those of a kind begin, sums under way and counts by warp, in 32 bits; sums by warp.
constexpr int64_t orderSharedBytes = 4 * (threads + 2 * digits + warps * digits), addSharedBytes = 8 * warps * columns;

/// Memory between the kernels: the number of runs (16 bytes), positions sorted twice, where runs begin.
constexpr int64_t orderBytes(int64_t positions) { return 16 + 3 * 4 * positions; }
/// Passes after which positions are in the order of `rows` rows and of one more, where all lie that are not in the table.
constexpr int64_t passesOf(int64_t rows) {
  int64_t passes = 1;
  while (rows >> (digitBits * passes) > 0)
    ++passes;
  return passes;
}

} // namespace para::scatter

#endif
