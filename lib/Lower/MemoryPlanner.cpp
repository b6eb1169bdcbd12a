//===- MemoryPlanner.cpp - Static offsets by lifetimes --------------------===//
#include "MemoryPlanner.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace para;

int64_t para::planMemory(std::vector<PlannedBuffer> &buffers) {
  std::vector<int> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return buffers[a].bytes > buffers[b].bytes; });
  int64_t total = 0;
  std::vector<int> placed; // by offset
  for (int i : order) {
    PlannedBuffer &buffer = buffers[i];
    int64_t need = alignBytes(std::max<int64_t>(buffer.bytes, 1)), end = 0, best = -1, bestGap = INT64_MAX;
    for (int j : placed) {
      const PlannedBuffer &other = buffers[j];
      if (other.last < buffer.first || buffer.last < other.first)
        continue;
      int64_t gap = other.offset - end;
      if (gap >= need && gap < bestGap) {
        bestGap = gap;
        best = end;
      }
      end = std::max(end, other.offset + alignBytes(std::max<int64_t>(other.bytes, 1)));
    }
    buffer.offset = best >= 0 ? best : end;
    total = std::max(total, buffer.offset + need);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i, [&](int a, int b) { return buffers[a].offset < buffers[b].offset; }), i);
  }
  return total;
}

std::string para::verifyMemory(const std::vector<LiveRange> &ranges, int64_t arenaBytes) {
  // Ends before begins at one time would forget a buffer too early: times are inclusive, so begins come first.
  struct Event {
    int64_t time;
    bool ends;
    int range;
  };
  std::vector<Event> events;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const LiveRange &r = ranges[i];
    if (r.begin < 0 || r.end > arenaBytes)
      return "bytes [" + std::to_string(r.begin) + ", " + std::to_string(r.end) + ") lie outside of the arena of " + std::to_string(arenaBytes);
    if (r.begin == r.end)
      continue;
    events.push_back({r.first, false, static_cast<int>(i)});
    events.push_back({r.last, true, static_cast<int>(i)});
  }
  std::stable_sort(events.begin(), events.end(), [](const Event &a, const Event &b) { return a.time != b.time ? a.time < b.time : a.ends < b.ends; });
  std::multimap<int64_t, int> alive; // by first byte
  for (const Event &event : events) {
    const LiveRange &r = ranges[event.range];
    if (event.ends) {
      auto [from, to] = alive.equal_range(r.begin);
      for (auto it = from; it != to; ++it)
        if (it->second == event.range) {
          alive.erase(it);
          break;
        }
      continue;
    }
    auto conflict = [&](int other) {
      const LiveRange &o = ranges[other];
      return o.buffer != r.buffer && o.begin < r.end && r.begin < o.end;
    };
    auto it = alive.lower_bound(r.begin);
    int found = -1;
    for (auto next = it; next != alive.end() && next->first < r.end; ++next)
      if (conflict(next->second))
        found = next->second;
    // Ranges alive are disjoint except for those of one buffer, so looking back ends at the first that reaches no further.
    for (auto back = it; back != alive.begin() && found < 0;) {
      --back;
      if (conflict(back->second))
        found = back->second;
      else if (ranges[back->second].end <= r.begin && ranges[back->second].buffer != r.buffer)
        break;
    }
    if (found >= 0)
      return "buffers " + std::to_string(ranges[found].buffer) + " and " + std::to_string(r.buffer) + " share bytes from " +
             std::to_string(std::max(r.begin, ranges[found].begin)) + " on at time " + std::to_string(event.time);
    alive.emplace(r.begin, event.range);
  }
  return "";
}
