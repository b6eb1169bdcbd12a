#include "para/Plan/Machine.h"
#include "para/Support/Spec.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace para;

namespace {
llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

struct Field {
  const char *key;
  double Machine::*field;
};
const Field kFields[] = {{"memory_bytes", &Machine::memoryBytes},
                         {"flops_per_second", &Machine::flopsPerSecond},
                         {"memory_bytes_per_second", &Machine::memoryBytesPerSecond},
                         {"link_bytes_per_second", &Machine::linkBytesPerSecond},
                         {"link_seconds", &Machine::linkSeconds},
                         {"network_bytes_per_second", &Machine::networkBytesPerSecond},
                         {"network_seconds", &Machine::networkSeconds},
                         {"launch_seconds", &Machine::launchSeconds}};

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Multiply-adds of one core over registers, the best of three; the sum is used so that nothing is dropped.
double measureFlopsPerSecond() {
  double best = 0, sink = 0;
  for (int round = 0; round < 3; ++round) {
    constexpr int lanes = 64, steps = 200000;
    float x[lanes], y = 1.000001f, z = 1e-7f;
    std::fill(x, x + lanes, 1.0f);
    auto start = std::chrono::steady_clock::now();
    for (int step = 0; step < steps; ++step)
      for (float &value : x)
        value = value * y + z;
    best = std::max(best, 2.0 * lanes * steps / secondsSince(start));
    for (float value : x)
      sink += value;
  }
  return sink > 0 ? best : 1;
}

/// Bytes a second of a copy that does not fit in the caches, read and written.
double measureMemoryBytesPerSecond() {
  std::vector<char> from(size_t(64) << 20, 1), to(from.size());
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    auto start = std::chrono::steady_clock::now();
    std::copy(from.begin(), from.end(), to.begin());
    best = std::max(best, 2.0 * double(from.size()) / secondsSince(start));
  }
  return to.back() == 1 ? best : 1;
}

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
  if (machine.ranksPerNode < 1 || machine.nodes < 1)
    return fail("'ranks_per_node' and 'nodes' of the machine must be 1 or more");
  for (const Field &field : kFields) {
    auto number = object->getNumber(field.key);
    if (!number || !(*number >= 0))
      return fail(llvm::Twine("the machine needs a number '") + field.key + "'");
    machine.*field.field = *number;
  }
  if (machine.flopsPerSecond <= 0 || machine.memoryBytesPerSecond <= 0 || machine.memoryBytes <= 0)
    return fail("flops, memory and memory bandwidth of the machine must be positive");
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
        llvm::consumeError(read.takeError()); // a broken cache is measured again
    }
  }
  if (!known) {
    machine.name = "host";
    machine.flopsPerSecond = measureFlopsPerSecond();
    machine.memoryBytesPerSecond = measureMemoryBytesPerSecond();
    machine.memoryBytes = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
    machine.linkBytesPerSecond = machine.memoryBytesPerSecond / 4; // a copy in and a copy out, each read and written
    machine.linkSeconds = 3e-6;
    machine.networkBytesPerSecond = machine.linkBytesPerSecond;
    machine.networkSeconds = machine.linkSeconds;
    machine.launchSeconds = 1e-7;
    llvm::SmallString<128> folder(llvm::sys::path::parent_path(path));
    std::error_code error;
    if (!path.empty() && !llvm::sys::fs::create_directories(folder)) {
      llvm::raw_fd_ostream file(path, error);
      if (!error)
        file << llvm::json::Value(machine.toJson()) << "\n";
    }
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
    return json ? fromJson(*json) : json.takeError();
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
    bad |= !devices.empty() && (devices.getAsInteger(10, preset.machine.ranksPerNode) || preset.machine.ranksPerNode < 1);
    constexpr int64_t most = 1 << 20;
    if (!bad && (preset.machine.nodes > most || preset.machine.ranksPerNode > most / preset.machine.nodes))
      return fail("'" + spec + "' has more than " + llvm::Twine(most) + " devices");
    if (bad)
      return fail("'" + spec + "' is not PRESET:NODES or PRESET:NODESxDEVICES");
    return preset.machine;
  }
  return fail("no machine is called '" + name + "'; there are " + names + ", or the name of a JSON file");
}
