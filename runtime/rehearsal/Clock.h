//===- Clock.h - What comes before what -------------------------*- C++ -*-===//
//
// Vector clocks (Mattern 1989; Fidge 1988): for each stream the number of the last task that is certainly done before. A task's clock is
// known when it is enqueued, since a wait is for what was recorded before: it does not depend on the order in which tasks run.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_REHEARSAL_CLOCK_H
#define PARA_RUNTIME_REHEARSAL_CLOCK_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace para::runtime::rehearsal {

class Clock {
public:
  uint32_t operator[](size_t stream) const { return stream < at.size() ? at[stream] : 0; }
  void set(size_t stream, uint32_t position) {
    if (stream >= at.size())
      at.resize(stream + 1);
    at[stream] = position;
  }
  void join(const Clock &other) {
    if (other.at.size() > at.size())
      at.resize(other.at.size());
    for (size_t i = 0; i < other.at.size(); ++i)
      at[i] = std::max(at[i], other.at[i]);
  }

private:
  std::vector<uint32_t> at;
};

/// A task that touches memory, by number from 1; 0 is nobody.
using TaskId = uint32_t;
struct TaskName {
  const char *op, *what, *detail; ///< "layer.0.mlp", "kernel", "kernel_7_block" or null
  uint32_t stream, position;
};

} // namespace para::runtime::rehearsal

#endif
