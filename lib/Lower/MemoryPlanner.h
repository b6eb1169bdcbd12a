//===- MemoryPlanner.h - Static offsets by lifetimes ---------------*- C++ -*-===//
//
// Packs intervals: buffers with sizes and lifetimes into one range of bytes so that buffers alive at the same time do not
// overlap. Largest first, each into the smallest gap that takes it.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_MEMORYPLANNER_H
#define PARA_LOWER_MEMORYPLANNER_H

#include <cstdint>
#include <string>
#include <vector>

namespace para {

constexpr int64_t arenaAlignment = 64;
inline int64_t alignBytes(int64_t bytes) { return (bytes + arenaAlignment - 1) / arenaAlignment * arenaAlignment; }

/// Values that are reduced together lie at multiples of so many bytes, the widest access of a GPU, with at most so many between them.
constexpr int64_t messageAlignment = 16, mostBetween = 16;

struct PlannedBuffer {
  int64_t bytes = 0;
  int64_t first = 0, last = 0; ///< alive at these times and between
  int64_t offset = -1;
};

/// Fills in the offsets; returns the bytes of the range.
int64_t planMemory(std::vector<PlannedBuffer> &buffers);

/// A buffer of one microbatch at absolute times and bytes, for the check.
struct LiveRange {
  int64_t begin, end;  ///< bytes [begin, end)
  int64_t first, last; ///< times, inclusive
  int buffer;          ///< equal for ranges that are one buffer
};

/// Looks for two different buffers which are alive at one time and share bytes; empty if there are none. Sweeps over time, and so
/// has nothing in common with the planner.
std::string verifyMemory(const std::vector<LiveRange> &ranges, int64_t arenaBytes);

} // namespace para

#endif
