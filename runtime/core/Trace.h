//===- Trace.h - When each operation ran ------------------------*- C++ -*-===//
//
// Chrome's trace format, which Perfetto reads: one process per rank, one track per stream and one for the steps, times in microseconds of rank
// 0's clock.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_TRACE_H
#define PARA_RUNTIME_CORE_TRACE_H

#include "World.h"

namespace para::runtime {

class Trace {
public:
  /// `name` and `category` must outlive the trace (compiled code's constants do).
  void record(const char *name, const char *category, int32_t stream, double begin, double end, int64_t bytes) {
    if (events.size() < maxEvents)
      events.push_back({name, category, stream, begin, end, bytes});
  }
  /// Rows beside those of the three streams.
  static constexpr int32_t stepsRow = 3;
  int32_t addRow(std::string name) {
    rows.push_back(std::move(name));
    return int32_t(rows.size() - 1);
  }
  /// Collective: rank 0 writes what all ranks recorded.
  Status write(World &world, const std::string &path);
  /// Collective: finds this rank's clock offset to rank 0.
  Status alignClocks(World &world);

private:
  struct Event {
    const char *name, *category;
    int32_t stream;
    double begin, end;
    int64_t bytes;
  };
  static constexpr size_t maxEvents = 1000000;
  std::vector<Event> events;
  std::vector<std::string> rows = {"compute", "communication", "copies", "steps"};
  double offset = 0;
};

} // namespace para::runtime

#endif
