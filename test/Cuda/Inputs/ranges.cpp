// A profiler's library as NVTX 3 loads it: writes each range that it is told of into the file that PARA_TEST_RANGES names, with the process's number.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using Function = void (*)();
struct Callbacks {
  size_t bytes;
  int (*getModule)(int module, Function ***table, unsigned *size);
};
enum { TableCallbacks = 1, ModuleCore = 1, RangePush = 9, RangePop = 11, NameThread = 14 };

static std::FILE *file;
static int push(const char *name) { return std::fprintf(file, "push %s\n", name), 0; }
static int pop() { return std::fprintf(file, "pop\n"), 0; }
static void nameThread(uint32_t, const char *name) { std::fprintf(file, "thread %s\n", name); }

extern "C" int InitializeInjectionNvtx2(const void *(*getTable)(uint32_t)) {
  auto *callbacks = static_cast<const Callbacks *>(getTable(TableCallbacks));
  Function **table = nullptr;
  unsigned size = 0;
  if (!callbacks || callbacks->bytes < sizeof(Callbacks) || !callbacks->getModule(ModuleCore, &table, &size) || size <= NameThread)
    return 0;
  char path[4096];
  std::snprintf(path, sizeof(path), "%s.%d", std::getenv("PARA_TEST_RANGES"), int(getpid()));
  if (!(file = std::fopen(path, "we")))
    return 0;
  *table[RangePush] = reinterpret_cast<Function>(push);
  *table[RangePop] = reinterpret_cast<Function>(pop);
  *table[NameThread] = reinterpret_cast<Function>(nameThread);
  return 1;
}
