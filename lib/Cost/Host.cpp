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
static constexpr int64_t kVersion = 3;

/// The numbers of this computer with one rank on one core, in the short form of a machine. A clock that stands still must not decide a
/// plan.
static llvm::json::Object measureHost() {
  double flops = std::clamp(measureFlopsPerSecond(), 1e7, 1e17), memory = std::clamp(measureMemoryBytesPerSecond(), 1e7, 1e14);
  double link = memory / 4; // a copy in and a copy out, each read and written
  return llvm::json::Object{{"version", kVersion},
                            {"name", "host"},
                            {"memory_bytes", double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE))},
                            {"flops_per_second", flops},
                            {"memory_bytes_per_second", memory},
                            {"link_bytes_per_second", link},
                            {"link_seconds", 3e-6},
                            {"network_bytes_per_second", link},
                            {"network_seconds", 3e-6},
                            {"launch_seconds", 1e-7}};
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
      if (object && object->getInteger("version") == kVersion) {
        auto read = fromJson(*json);
        if (read)
          known = *read;
        else
          llvm::consumeError(read.takeError()); // a broken cache, or one of impossible numbers, is measured again
      }
    }
  }
  if (!known) {
    llvm::json::Value measured = measureHost();
    known = llvm::cantFail(fromJson(measured));
    llvm::StringRef folder = llvm::sys::path::parent_path(path);
    if (!path.empty() && !llvm::sys::fs::create_directories(folder))
      llvm::consumeError(writeOutput(path, llvm::formatv("{0}\n", measured).str())); // it is measured again where it cannot be kept
  }
  // Cores are shared out as threads; ranks beyond the cores take turns.
  double cores = std::max(1u, std::thread::hardware_concurrency()), threads = std::max(1.0, std::floor(cores / double(ranks)));
  DeviceClass &devices = known->classes.front();
  devices.count = devices.levels.front().ranks = ranks;
  devices.levels.resize(1);
  devices.device.kind = "processor";
  devices.device.constants = findDeviceKind("processor")->constants;
  for (double &flops : devices.device.flops)
    flops *= threads;
  devices.device.vectorFlops *= threads;
  devices.device.memoryBytesPerSecond *= threads;
  devices.device.memoryBytes /= double(ranks);
  long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  devices.device.l2Bytes = (cache > 0 ? double(cache) : 8e6) / std::min(cores, double(ranks));
  if (double(ranks) > cores)
    known->sharedCores = cores;
  return *known;
}
