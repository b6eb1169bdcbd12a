// Stands in for libcuda.so.1 where there is no GPU: device memory is memory, streams are done at once, and kernels are those of a
// program for --target=rehearsal, in the library that PARA_STAND_IN_KERNELS names. Misuse that a GPU would punish ends the program.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <set>
#include <string>

namespace {
std::map<uintptr_t, size_t> memory;
std::set<void *> recorded;
std::map<void *, unsigned> sharedBytesOf; ///< of kernels that asked for more than is usual

[[noreturn]] void misuse(const std::string &what) {
  std::fprintf(stderr, "stand-in: %s\n", what.c_str());
  std::abort();
}

/// [address, address + bytes) lies in one allocation.
void within(unsigned long long address, size_t bytes, const char *what) {
  auto at = memory.upper_bound(address);
  if (at == memory.begin() || (--at, address + bytes > at->first + at->second))
    misuse(std::string(what) + ": outside of device memory");
}
int nothing() { return 0; }
} // namespace

extern "C" {
int cuInit(unsigned) { return nothing(); }
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuGetErrorString(int, const char **text) { return *text = "stand-in error", 0; }
int cuDeviceGetCount(int *count) {
  const char *text = std::getenv("PARA_STAND_IN_GPUS");
  return *count = text ? std::atoi(text) : 8, 0;
}
int cuDeviceGet(int *device, int number) { return *device = number, 0; }
int cuDeviceGetName(char *name, int bytes, int) { return std::snprintf(name, size_t(bytes), "stand-in"), 0; }
int cuDeviceGetAttribute(int *value, int attribute, int) {
  const char *text = std::getenv("PARA_STAND_IN_CAPABILITY");
  int capability = text ? std::atoi(text) : 90;
  return *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : 0, 0;
}
int cuDevicePrimaryCtxRetain(void **context, int) { return *context = &memory, 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return memory.empty() ? 0 : (misuse("device memory is not given back"), 1); }
int cuCtxSetCurrent(void *) { return 0; }
int cuMemGetInfo_v2(size_t *free, size_t *total) { return *free = *total = size_t(1) << 34, 0; }
int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
  void *made = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(made, 0xa5, bytes); // nothing may rely on zeros
  memory[*address = reinterpret_cast<uintptr_t>(made)] = bytes;
  return 0;
}
int cuMemFree_v2(unsigned long long address) {
  if (!memory.erase(address))
    misuse("frees what is not allocated");
  std::free(reinterpret_cast<void *>(address));
  return 0;
}
int cuMemAllocHost_v2(void **made, size_t bytes) { return *made = std::malloc(bytes), 0; }
int cuMemFreeHost(void *made) { return std::free(made), 0; }
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *) {
  within(to, bytes, "copy");
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *) {
  within(from, bytes, "copy");
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return 0;
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void *) {
  within(to, bytes, "copy");
  within(from, bytes, "copy");
  if (to < from + bytes && from < to + bytes)
    misuse("copies between overlapping buffers");
  std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
  return 0;
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void *) {
  within(to, bytes, "memset");
  std::memset(reinterpret_cast<void *>(to), value, bytes);
  return 0;
}
int cuMemsetD2D8Async(unsigned long long to, size_t pitch, unsigned char value, size_t width, size_t height, void *) {
  for (size_t i = 0; i < height; ++i)
    cuMemsetD8Async(to + i * pitch, value, width, nullptr);
  return 0;
}
int cuStreamCreate(void **stream, unsigned) { return *stream = new char, 0; }
int cuStreamDestroy_v2(void *stream) { return delete static_cast<char *>(stream), 0; }
int cuStreamQuery(void *) { return 0; }
int cuStreamSynchronize(void *) { return 0; }
int cuStreamWaitEvent(void *, void *event, unsigned) { return recorded.count(event) ? 0 : (misuse("waits for an event that was not recorded"), 1); }
int cuEventCreate(void **event, unsigned) { return *event = new char, 0; }
int cuEventDestroy_v2(void *event) { return recorded.erase(event), delete static_cast<char *>(event), 0; }
int cuEventRecord(void *event, void *) { return recorded.insert(event), 0; }
int cuEventElapsedTime(float *milliseconds, void *, void *) { return *milliseconds = 0, 0; }
int cuModuleLoadDataEx(void **module, const void *image, unsigned, int *, void **) {
  // PTX is text, machine code an ELF file.
  if (std::memcmp(image, "\177ELF", 4) != 0 && !std::strstr(static_cast<const char *>(image), ".target sm_"))
    misuse("loads what is neither PTX nor machine code");
  const char *path = std::getenv("PARA_STAND_IN_KERNELS");
  if (!path || !(*module = dlopen(path, RTLD_LAZY | RTLD_LOCAL)))
    misuse(std::string("PARA_STAND_IN_KERNELS: ") + (path ? dlerror() : "not set"));
  return 0;
}
int cuModuleUnload(void *) { return 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = dlsym(module, (std::string(name) + "_cpu").c_str());
  return *function ? 0 : 500;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  if (attribute != 8 || value <= 48 << 10 || value > 99 << 10) // the most that every GPU since sm_80 has
    misuse("sets what it need not or cannot have of a kernel");
  sharedBytesOf[function] = unsigned(value);
  return 0;
}
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned, unsigned sharedBytes, void *,
                   void **arguments, void **) {
  if (y != 1 || z != 1 || threads == 0 || threads > 1024 || sharedBytes > std::max(48u << 10, sharedBytesOf[function]))
    misuse("a launch beyond what a GPU takes");
  // The runtime's arguments follow one another in memory.
  reinterpret_cast<void (*)(int64_t, int64_t, const int64_t *)>(function)(0, x, static_cast<const int64_t *>(arguments[0]));
  return 0;
}
}
