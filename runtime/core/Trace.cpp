//===- Trace.cpp - When each operation ran ------------------------------------===//
#include "Trace.h"

#include "Array.h"

namespace para::runtime {

Status Trace::alignClocks(World &world) {
  if (world.control() || world.size() == 1)
    return Status::success();
  // Half a round trip apart at worst; the shortest of several trips counts.
  for (int64_t rank = 1; rank < world.size(); ++rank) {
    double best = 1e9;
    for (int trip = 0; trip < 16; ++trip) {
      double sent = nowSeconds(), theirs = 0;
      if (world.rank() == 0) {
        PARA_TRY(world.send(rank, &sent, 8));
        PARA_TRY(world.receive(rank, &theirs, 8));
        double now = nowSeconds(), answer[2] = {now - sent, (sent + now) / 2};
        PARA_TRY(world.send(rank, answer, 16));
      } else if (world.rank() == rank) {
        PARA_TRY(world.receive(0, &theirs, 8));
        double mine = nowSeconds(), answer[2];
        PARA_TRY(world.send(0, &mine, 8));
        PARA_TRY(world.receive(0, answer, 16));
        if (answer[0] < best) {
          best = answer[0];
          offset = answer[1] - mine;
        }
      }
    }
  }
  return Status::success();
}

Status Trace::write(World &world, const std::string &path) {
  std::string text = format("{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%lld,\"args\":{\"name\":\"rank %lld\"}}",
                            (long long)world.rank(), (long long)world.rank());
  for (size_t i = 0; i < rows.size(); ++i)
    text += format(",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%lld,\"tid\":%zu,\"args\":{\"name\":%s}}", (long long)world.rank(), i,
                   jsonString(rows[i]).c_str());
  for (const Event &event : events) {
    text += format(",\n{\"name\":%s,\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%lld,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f",
                   jsonString(event.name).c_str(), event.category, (long long)world.rank(), event.stream,
                   (event.begin + offset) * 1e6, (event.end - event.begin) * 1e6);
    text += event.bytes > 0 ? format(",\"args\":{\"bytes\":%lld}}", (long long)event.bytes) : "}";
  }
  std::vector<std::string> all;
  PARA_TRY(world.gatherText(text, all));
  if (world.rank() != 0)
    return Status::success();
  std::string joined = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (size_t i = 0; i < all.size(); ++i)
    joined += (i ? ",\n" : "") + all[i];
  joined += "\n]}\n";
  return writeFile(path, {{joined.data(), joined.size()}});
}

} // namespace para::runtime
