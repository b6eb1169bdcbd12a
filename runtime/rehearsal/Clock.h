//===- Clock.h - What comes before what -------------------------*- C++ -*-===//
//
// Vector clocks (Mattern 1989; Fidge 1988): for each stream of each rank the number of the last task that is certainly done before. They
// travel along streams, events, the host's waits, and with messages to other ranks and back: who has an answer knows that the question
// was read. None of it depends on the order in which tasks happen to run.
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
  /// Of a stream of this rank.
  uint32_t operator[](size_t stream) const { return stream < mine.size() ? mine[stream] : 0; }
  void set(size_t stream, uint32_t position) {
    if (stream >= mine.size())
      mine.resize(stream + 1);
    mine[stream] = position;
  }
  void join(const Clock &other) {
    join(mine, other.mine);
    if (other.others.size() > others.size())
      others.resize(other.others.size());
    for (size_t rank = 0; rank < other.others.size(); ++rank)
      join(others[rank], other.others[rank]);
  }
  /// As numbers: for each rank how many streams, and their positions.
  std::vector<uint32_t> pack(size_t rank, size_t ranks) const {
    std::vector<uint32_t> packed;
    for (size_t i = 0; i < ranks; ++i) {
      const std::vector<uint32_t> none, &of = i == rank ? mine : i < others.size() ? others[i] : none;
      packed.push_back(uint32_t(of.size()));
      packed.insert(packed.end(), of.begin(), of.end());
    }
    return packed;
  }
  void joinPacked(const uint32_t *packed, size_t rank, size_t ranks) {
    others.resize(std::max(others.size(), ranks));
    for (size_t i = 0; i < ranks; ++i) {
      std::vector<uint32_t> of(packed + 1, packed + 1 + *packed);
      packed += 1 + *packed;
      join(i == rank ? mine : others[i], of);
    }
  }

private:
  static void join(std::vector<uint32_t> &to, const std::vector<uint32_t> &from) {
    if (from.size() > to.size())
      to.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i)
      to[i] = std::max(to[i], from[i]);
  }
  std::vector<uint32_t> mine;
  std::vector<std::vector<uint32_t>> others; ///< by rank
};

/// A task that touches memory, by number from 1; 0 is nobody.
using TaskId = uint32_t;
struct TaskName {
  const char *op, *what, *detail; ///< "layer.0.mlp", "kernel", "kernel_7_block" or null
  uint32_t stream, position;
  uint32_t shown; ///< the stream that it was enqueued on; a graph's nodes run on others
};

} // namespace para::runtime::rehearsal

#endif
