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

/// Passes after which positions are in the order of `rows` rows and of one more, where all lie that are not in the table.
constexpr int64_t passesOf(int64_t rows) {
  int64_t passes = 1;
  while (rows >> (digitBits * passes) > 0)
    ++passes;
  return passes;
}

/// Memory between the kernels, as numbers of 32 bits: how many rows have a run of positions (in four); positions sorted by the first pass, the third
/// and so on; by the others; where each run begins.
constexpr int64_t oddPassesAt = 4;
constexpr int64_t evenPassesAt(int64_t positions) { return oddPassesAt + positions; }
constexpr int64_t runsAt(int64_t positions) { return evenPassesAt(positions) + positions; }
constexpr int64_t orderBytes(int64_t positions) { return 4 * (runsAt(positions) + positions); }
/// Where positions are in the order of rows.
constexpr int64_t sortedAt(int64_t positions, int64_t rows) { return passesOf(rows) % 2 ? oddPassesAt : evenPassesAt(positions); }

} // namespace para::scatter

#endif
