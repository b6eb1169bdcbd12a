#include "para/Plan/Machine.h"
#include "Measure.h"
#include "para/Support/Output.h"
#include "para/Support/JsonFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <thread>
#include <unistd.h>
#include <vector>

using namespace para;

namespace {
llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

/// A number of a machine, and between what a computer of any make has it. Rates are of one core at least and of a rack at most.
struct Field {
  const char *key;
  double Machine::*field;
  double least, most;
};
const Field kFields[] = {{"memory_bytes", &Machine::memoryBytes, 1e6, 1e15},
                         {"flops_per_second", &Machine::flopsPerSecond, 1e7, 1e17},
                         {"memory_bytes_per_second", &Machine::memoryBytesPerSecond, 1e7, 1e14},
                         {"link_bytes_per_second", &Machine::linkBytesPerSecond, 1e5, 1e14},
                         {"link_seconds", &Machine::linkSeconds, 0, 1},
                         {"network_bytes_per_second", &Machine::networkBytesPerSecond, 1e3, 1e14},
                         {"network_seconds", &Machine::networkSeconds, 0, 10},
                         {"launch_seconds", &Machine::launchSeconds, 0, 1}};

// Published peaks (NVIDIA's datasheets) times what large products and streams sustain on them (about 0.7 and 0.85 in public
// benchmarks of A100 and H100); NVLink at the ring bandwidth that NCCL's tests report; one 200 or 400 Gb/s adapter a GPU.
struct Preset {
  llvm::StringRef name;
  int64_t devices;
  Machine machine;
};
std::vector<Preset> getPresets() {
  auto make = [](double memory, double flops, double stream, double link, double network) {
    Machine machine;
    machine.memoryBytes = memory;
    machine.flopsPerSecond = flops;
    machine.memoryBytesPerSecond = stream;
    machine.linkBytesPerSecond = link;
    machine.linkSeconds = 8e-6;
    machine.networkBytesPerSecond = network;
    machine.networkSeconds = 15e-6;
    machine.launchSeconds = 4e-6;
    return machine;
  };
  Machine a40 = make(40e9, 312e12 * 0.7, 1555e9 * 0.85, 227e9, 23e9), a80 = make(80e9, 312e12 * 0.7, 2039e9 * 0.85, 227e9, 23e9);
  Machine h100 = make(80e9, 989e12 * 0.65, 3350e9 * 0.85, 370e9, 46e9);
  return {{"a100-40", 8, a40}, {"a100-80", 8, a80}, {"dgx-a100", 8, a80}, {"h100", 8, h100}, {"dgx-h100", 8, h100}};
}
} // namespace

int64_t Machine::getBucketBytes() const {
  constexpr double messagesInAStart = 64, most = 25 << 20; // 25 MiB: the default of PyTorch DDP
  double bytes = nodes > 1 ? networkSeconds * networkBytesPerSecond : linkSeconds * linkBytesPerSecond;
  return int64_t(std::clamp(messagesInAStart * bytes, 64.0 * 1024, most));
}

llvm::json::Object Machine::toJson() const {
  llvm::json::Object object{{"name", name}, {"ranks_per_node", ranksPerNode}, {"nodes", nodes}};
  for (const Field &field : kFields)
    object[field.key] = this->*field.field;
  return object;
}

llvm::Expected<Machine> Machine::fromJson(const llvm::json::Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return fail("a machine is a JSON object");
  Machine machine;
  machine.name = object->getString("name").value_or("machine").str();
  machine.ranksPerNode = object->getInteger("ranks_per_node").value_or(1);
  machine.nodes = object->getInteger("nodes").value_or(1);
  if (machine.ranksPerNode < 1 || machine.nodes < 1 || machine.nodes > kMostRanks || machine.ranksPerNode > kMostRanks / machine.nodes)
    return fail("'ranks_per_node' and 'nodes' of the machine must be 1 or more, and " + llvm::Twine(kMostRanks) + " devices together at most");
  for (const Field &field : kFields) {
    auto number = object->getNumber(field.key);
    if (!number)
      return fail(llvm::Twine("the machine needs a number '") + field.key + "'");
    if (!(*number >= field.least && *number <= field.most))
      return fail(llvm::formatv("'{0}' of the machine is {1:E}, which no machine has: from {2:E} to {3:E} is possible", field.key, *number, field.least, field.most).str());
    machine.*field.field = *number;
  }
  return machine;
}

/// The numbers of this computer with one rank on one core.
static Machine measureHost() {
  Machine machine;
  machine.name = "host";
  machine.flopsPerSecond = measureFlopsPerSecond();
  machine.memoryBytesPerSecond = measureMemoryBytesPerSecond();
  machine.memoryBytes = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
  machine.linkBytesPerSecond = machine.memoryBytesPerSecond / 4; // a copy in and a copy out, each read and written
  machine.linkSeconds = 3e-6;
  machine.networkBytesPerSecond = machine.linkBytesPerSecond;
  machine.networkSeconds = machine.linkSeconds;
  machine.launchSeconds = 1e-7;
  return machine;
}

Machine Machine::getHost(int64_t ranks) {
  llvm::SmallString<128> path;
  Machine machine;
  bool known = false;
  if (llvm::sys::path::cache_directory(path)) {
    llvm::sys::path::append(path, "para", "host.json");
    if (auto file = llvm::MemoryBuffer::getFile(path)) {
      auto json = llvm::json::parse((*file)->getBuffer());
      auto read = json ? fromJson(*json) : llvm::Expected<Machine>(json.takeError());
      known = bool(read);
      if (read)
        machine = *read;
      else
        llvm::consumeError(read.takeError()); // a broken cache, or one of impossible numbers, is measured again
    }
  }
  if (!known) {
    machine = measureHost();
    for (const Field &field : kFields) // a clock that stands still must not decide a plan
      machine.*field.field = std::clamp(machine.*field.field, field.least, field.most);
    llvm::StringRef folder = llvm::sys::path::parent_path(path);
    if (!path.empty() && !llvm::sys::fs::create_directories(folder))
      llvm::consumeError(writeOutput(path, llvm::formatv("{0}\n", llvm::json::Value(machine.toJson())).str())); // it is measured again where it cannot be kept
  }
  // Cores are shared out; ranks beyond the cores take turns.
  double cores = std::max(1u, std::thread::hardware_concurrency());
  machine.ranksPerNode = ranks;
  machine.flopsPerSecond *= cores / double(ranks);
  machine.memoryBytes /= double(ranks);
  if (double(ranks) > cores)
    machine.memoryBytesPerSecond *= cores / double(ranks);
  return machine;
}

llvm::Expected<Machine> Machine::get(llvm::StringRef spec) {
  if (spec.ends_with(".json")) {
    auto json = readJsonFile("machine", spec);
    if (!json)
      return json.takeError();
    auto machine = fromJson(*json);
    if (!machine)
      return fail("'" + spec + "': " + llvm::toString(machine.takeError()));
    return machine;
  }
  auto [name, count] = spec.split(':');
  std::string names;
  for (Preset &preset : getPresets()) {
    names += (names.empty() ? "" : ", ") + preset.name.str();
    if (preset.name != name)
      continue;
    auto [nodes, devices] = count.split('x');
    preset.machine.name = spec.str();
    preset.machine.ranksPerNode = preset.devices;
    bool bad = !count.empty() && (nodes.getAsInteger(10, preset.machine.nodes) || preset.machine.nodes < 1);
    bad |= count.contains('x') && (devices.getAsInteger(10, preset.machine.ranksPerNode) || preset.machine.ranksPerNode < 1);
    if (!bad && (preset.machine.nodes > kMostRanks || preset.machine.ranksPerNode > kMostRanks / preset.machine.nodes))
      return fail("'" + spec + "' has more than " + llvm::Twine(kMostRanks) + " devices");
    if (bad)
      return fail("'" + spec + "' is not PRESET:NODES or PRESET:NODESxDEVICES");
    return preset.machine;
  }
  return fail("no machine is called '" + name + "'; there are " + names + ", or the name of a JSON file");
}
