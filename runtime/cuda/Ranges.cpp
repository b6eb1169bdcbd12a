//===- Ranges.cpp - The model's names in NVIDIA's profilers -------------------===//
#include "Ranges.h"

#include <cstdlib>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace para::runtime::cuda {

namespace {
// What NVTX 3 (nvtxDetail/nvtxTypes.h) and a profiler's library agree upon. The library is given a function that gives tables by number; one of them
// gives, for a module of NVTX's, an array with the addresses of function pointers, which the library sets where it wants to be called.
using Function = void (*)();
enum { TableCallbacks = 1, TableVersion = 3, ModuleCore = 1 };
enum { CoreRangePush = 9, CoreRangePop = 11, CoreNameThread = 14, CoreSize = 16 };
Function core[CoreSize];
Function *coreTable[CoreSize + 1];

struct Callbacks {
  size_t bytes;
  int (*getModule)(int module, Function ***table, unsigned *size);
};
struct Version {
  size_t bytes;
  uint32_t version, reserved;
  void (*setInjectionVersion)(uint32_t);
};

int getModule(int module, Function ***table, unsigned *size) {
  if (module != ModuleCore)
    return 0;
  for (int i = 1; i < CoreSize; ++i)
    coreTable[i] = &core[i];
  if (size)
    *size = CoreSize;
  if (table)
    *table = coreTable;
  return 1;
}

const void *getTable(uint32_t number) {
  static const Callbacks callbacks = {sizeof(Callbacks), getModule};
  static const Version version = {sizeof(Version), 3, 0, [](uint32_t) {}};
  return number == TableCallbacks ? static_cast<const void *>(&callbacks) : number == TableVersion ? &version : nullptr;
}
} // namespace

Status Ranges::load(const std::string &thread) {
  const char *path = std::getenv("NVTX_INJECTION64_PATH");
  if (!path || !*path)
    return Status::success();
  void *library = dlopen(path, RTLD_LAZY);
  if (!library)
    return Status::error(std::string("NVTX_INJECTION64_PATH: ") + dlerror());
  using Initialize = int (*)(const void *(*)(uint32_t));
  auto initialize = reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtx2"));
  if (!initialize || !initialize(getTable))
    return Status::error(std::string("NVTX_INJECTION64_PATH=") + path + ": this library " + (initialize ? "does not start" : "is none of NVTX's"));
  pushRange = reinterpret_cast<int (*)(const char *)>(core[CoreRangePush]);
  popRange = reinterpret_cast<int (*)()>(core[CoreRangePop]);
  if (!pushRange || !popRange)
    pushRange = nullptr, popRange = nullptr;
  if (auto nameThread = reinterpret_cast<void (*)(uint32_t, const char *)>(core[CoreNameThread]))
    nameThread(uint32_t(syscall(SYS_gettid)), thread.c_str());
  return Status::success();
}

} // namespace para::runtime::cuda
