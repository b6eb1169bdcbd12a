#include "para/Simulate/Trace.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <set>

using namespace para;

namespace {
constexpr const char *kResourceNames[kNumSimulatedResources] = {"compute", "collectives", "gradients", "send", "send back"};

struct KindNames {
  const char *name, *category;
};
/// Short names, which boxes show; by SimulatedKind.
constexpr KindNames kKinds[] = {
    {"F", "compute"},           {"B", "compute"},          {"B", "compute"},      {"W", "compute"},        {"traffic", "communication"},
    {"send", "communication"}, {"reduce", "communication"}, {"norm", "communication"}, {"update", "compute"}, {"gather", "communication"},
};

std::string nameOf(const SimulatedEvent &event) {
  std::string name = kKinds[int(event.kind)].name;
  if (event.microbatch < 0)
    return event.chunk ? name + " (" + std::to_string(event.chunk) + ")" : name;
  if (name.size() > 1)
    name += ' ';
  name += std::to_string(event.microbatch);
  return event.chunk ? name + " (" + std::to_string(event.chunk) + ")" : name;
}

/// Microseconds with a thousandth, as the format has them.
void writeTime(llvm::json::OStream &json, llvm::StringRef key, double seconds) {
  json.attributeBegin(key);
  json.rawValue(llvm::formatv("{0:F3}", seconds * 1e6).str());
  json.attributeEnd();
}
} // namespace

void para::writeTrace(llvm::raw_ostream &os, const Simulation &simulation, llvm::ArrayRef<std::string> stageNames) {
  llvm::json::OStream json(os);
  auto writeEvent = [&](llvm::StringRef name, llvm::StringRef phase, int64_t stage, llvm::function_ref<void()> rest) {
    os << "\n";
    json.object([&] {
      json.attribute("name", name);
      json.attribute("ph", phase);
      json.attribute("pid", stage);
      rest();
    });
  };
  json.objectBegin();
  json.attribute("displayTimeUnit", "ms");
  json.attributeBegin("traceEvents");
  json.arrayBegin();
  for (size_t stage = 0; stage < simulation.begin.size(); ++stage) {
    std::string name = stage < stageNames.size() ? llvm::json::fixUTF8(stageNames[stage]) : "stage " + std::to_string(stage);
    writeEvent("process_name", "M", stage, [&] { json.attributeObject("args", [&] { json.attribute("name", name); }); });
    writeEvent("process_sort_index", "M", stage, [&] { json.attributeObject("args", [&] { json.attribute("sort_index", int64_t(stage)); }); });
  }
  std::set<std::pair<int64_t, int>> threads;
  for (const SimulatedEvent &event : simulation.timeline)
    threads.insert({event.stage, int(event.resource)});
  for (auto [stage, resource] : threads)
    writeEvent("thread_name", "M", stage, [&, r = resource] {
      json.attribute("tid", r);
      json.attributeObject("args", [&] { json.attribute("name", kResourceNames[r]); });
    });
  for (const SimulatedEvent &event : simulation.timeline)
    writeEvent(nameOf(event), "X", event.stage, [&] {
      json.attribute("cat", kKinds[int(event.kind)].category);
      json.attribute("tid", int64_t(event.resource));
      writeTime(json, "ts", event.begin);
      writeTime(json, "dur", event.seconds);
      json.attributeObject("args", [&] {
        json.attribute("chunk", event.chunk);
        if (event.microbatch >= 0)
          json.attribute("microbatch", event.microbatch);
      });
    });
  for (const SimulatedMemory &point : simulation.memory)
    writeEvent("memory", "C", point.stage, [&] {
      writeTime(json, "ts", point.seconds);
      json.attributeObject("args", [&] { json.attribute("bytes", point.bytes); });
    });
  json.arrayEnd();
  json.attributeEnd();
  json.objectEnd();
  os << "\n";
}
