#include "Measure.h"
#include "para/Cost/Machine.h"
#include "para/Support/Output.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <unistd.h>

using namespace para;

/// Of what the cache holds; one of another version is measured again.
static constexpr int64_t kVersion = 5;

/// Of what plain sums of arrays reach in the cache, what fused kernels do with their strides, masks and reductions; by
/// test/Execution/predict.py.
static constexpr double kFusedFraction = 0.5;

/// Of the memory's rate, what copies reach from what another core has written last; likewise.
static constexpr double kCopyFraction = 0.75;

/// Of the last cache that a core has, as the system knows it; what the C library tells of virtual machines is often many times that.
static double getCacheBytes() {
  for (int index = 9; index >= 2; --index) {
    auto file = llvm::MemoryBuffer::getFileAsStream(llvm::formatv("/sys/devices/system/cpu/cpu0/cache/index{0}/size", index).str());
    double kilobytes;
    if (file && !(*file)->getBuffer().trim().rtrim('K').getAsDouble(kilobytes) && kilobytes > 0)
      return kilobytes * 1024;
  }
  return 8e6;
}

/// The numbers of this computer with one rank on one core, in the short form of a machine. A clock that stands still must not decide a
/// plan.
static llvm::json::Object measureHost() {
  double flops = std::clamp(measureFlopsPerSecond(), 1e7, 1e17), memory = std::clamp(measureMemoryBytesPerSecond(), 1e7, 1e14);
  double cache = std::clamp(measureCacheBytesPerSecond(getCacheBytes() / 16), 1e7, 1e13);
  double link = kCopyFraction * memory / 2; // each byte is read and written
  return llvm::json::Object{{"version", kVersion},
                            {"name", "host"},
                            {"memory_bytes", double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE))},
                            {"flops_per_second", flops},
                            {"memory_bytes_per_second", memory},
                            {"cache_bytes_per_second", cache},
                            {"link_bytes_per_second", link},
                            {"link_seconds", 3e-6},
                            {"network_bytes_per_second", link},
                            {"network_seconds", 3e-6},
                            {"launch_seconds", 1e-7}};
}

/// None if they are broken, or impossible.
static std::optional<Machine> readHost(const llvm::json::Value &numbers) {
  if (!numbers.getAsObject())
    return std::nullopt;
  llvm::json::Object object = *numbers.getAsObject();
  for (llvm::StringRef own : {"version", "cache_bytes_per_second"}) // which other machines do not have
    object.erase(own);
  auto machine = Machine::fromJson(std::move(object));
  if (!machine) {
    llvm::consumeError(machine.takeError());
    return std::nullopt;
  }
  Device &device = machine->classes.front().device;
  device.kind = "processor";
  device.constants = findDeviceKind("processor")->constants;
  double cache = numbers.getAsObject()->getNumber("cache_bytes_per_second").value_or(0);
  if (cache > 0)
    device.constants.cacheBytesPerSecond = cache * kFusedFraction;
  return *machine;
}

static llvm::SmallString<128> getCachePath() {
  llvm::SmallString<128> path;
  if (llvm::sys::path::cache_directory(path))
    llvm::sys::path::append(path, "para", "host.json");
  else
    path.clear();
  return path;
}

Machine Machine::calibrateHost() {
  if (llvm::SmallString<128> path = getCachePath(); !path.empty())
    llvm::sys::fs::remove(path);
  return getHost(std::max(1u, std::thread::hardware_concurrency()));
}

Machine Machine::getHost(int64_t ranks) {
  llvm::SmallString<128> path = getCachePath();
  std::optional<Machine> known;
  if (!path.empty()) {
    if (auto file = llvm::MemoryBuffer::getFile(path)) {
      auto json = llvm::json::parse((*file)->getBuffer());
      const llvm::json::Object *object = json ? json->getAsObject() : nullptr;
      if (!json)
        llvm::consumeError(json.takeError());
      if (object && object->getInteger("version") == kVersion)
        known = readHost(*json); // a broken one is measured again
    }
  }
  if (!known) {
    llvm::json::Value measured = measureHost();
    known = readHost(measured);
    llvm::StringRef folder = llvm::sys::path::parent_path(path);
    if (!path.empty() && !llvm::sys::fs::create_directories(folder))
      llvm::consumeError(writeOutput(path, llvm::formatv("{0}\n", measured).str())); // it is measured again where it cannot be kept
  }
  // Cores are shared out as threads; ranks beyond the cores take turns.
  double cores = std::max(1u, std::thread::hardware_concurrency()), threads = std::max(1.0, std::floor(cores / double(ranks)));
  DeviceClass &devices = known->classes.front();
  devices.count = devices.levels.front().ranks = ranks;
  devices.levels.resize(1);
  for (double &flops : devices.device.flops)
    flops *= threads;
  devices.device.vectorFlops *= threads;
  devices.device.memoryBytesPerSecond *= threads;
  devices.device.memoryBytes /= double(ranks);
  devices.device.l2Bytes = getCacheBytes() / std::min(cores, double(ranks));
  if (double(ranks) > cores)
    known->sharedCores = cores;
  return *known;
}
