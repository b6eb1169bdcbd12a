//===- Driver.cpp - The driver's table, served by the processor ---------------===//
#include "Blocks.h"
#include "Communicator.h"
#include "Graph.h"
#include "Rehearsal.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace para::runtime::rehearsal {

namespace {
using cuda::Address;
using cuda::Handle;
enum { Success = 0, InvalidValue = 1, OutOfMemory = 2, InvalidImage = 200, NotFound = 500, NotReady = 600 };

std::map<uintptr_t, size_t> pinned; ///< begin -> bytes
std::map<Handle, std::unique_ptr<Graph>> graphs;
std::map<Handle, std::unique_ptr<Executable>> executables;
std::string loadedImage;
constexpr unsigned usualSharedBytes = 48 << 10;
constexpr int mostSharedBytes = 99 << 10; ///< of a block on every GPU since sm_80, if its kernel asks
std::map<Handle, unsigned> sharedBytesOf; ///< of kernels that asked

const char *op() { return rankOf().op(); }

/// Whether [address, address + bytes) is pinned; what begins in pinned memory and goes beyond it is an error.
bool isPinned(const void *address, size_t bytes, const char *what) {
  auto at = pinned.upper_bound(reinterpret_cast<uintptr_t>(address));
  if (at == pinned.begin())
    return false;
  size_t offset = reinterpret_cast<uintptr_t>(address) - (--at)->first;
  if (offset >= at->second)
    return false;
  if (bytes > at->second - offset)
    fail(op(), text("%s: %zu bytes from byte %zu of %zu in pinned memory", what, bytes, offset, at->second));
  return true;
}

int init(unsigned) { return Success; }
int driverVersion(int *version) { return *version = 13000, Success; }
int errorString(int result, const char **said) {
  *said = result == InvalidValue ? "an invalid argument (rehearsed)" : result == OutOfMemory ? "out of memory (rehearsed)"
          : result == NotFound ? "no such kernel (rehearsed)" : result == InvalidImage ? "no such code (rehearsed)" : "an error (rehearsed)";
  return Success;
}
int deviceCount(int *count) { return *count = int(rankOf().ranksOnHost()), Success; }
int deviceGet(int *device, int number) { return *device = number, number >= 0 && number < rankOf().ranksOnHost() ? Success : InvalidValue; }
int deviceName(char *name, int bytes, int) { return std::snprintf(name, size_t(bytes), "a rehearsed GPU"), Success; }
/// None that a system has: the processor that stands in is next to all of it.
int devicePlace(char *id, int bytes, int device) { return std::snprintf(id, size_t(bytes), "ffff:%02x:00.0", device & 0xff) < bytes ? Success : InvalidValue; }
int deviceAttribute(int *value, int attribute, int) {
  constexpr int major = 75, minor = 76;
  // Later than all: the newest PTX of a program is taken.
  *value = attribute == major ? 99 : 0;
  return attribute == major || attribute == minor ? Success : InvalidValue;
}
int contextRetain(Handle *context, int) { return *context = &machine(), Success; }
int contextRelease(int) {
  machine().finishAll();
  if (std::string leak = memory().findLeak(); !leak.empty())
    fail("the end", leak);
  if (!pinned.empty())
    fail("the end", text("%zu bytes of pinned memory are not given back", pinned.begin()->second));
  if (!graphs.empty() || !executables.empty())
    fail("the end", text("%zu graphs are not destroyed", graphs.size() + executables.size()));
  return Success;
}
int setCurrent(Handle context) { return context == &machine() ? Success : InvalidValue; }

/// Of a captured stream there is nothing to wait for.
Stream *waitable(Handle handle, const char *call) {
  Stream *stream = machine().streamOf(handle, call);
  if (stream->capture)
    fail(op(), text("%s: stream %u is captured", call, stream->number));
  return stream;
}

int memoryInfo(size_t *free, size_t *total) {
  *total = memory().total();
  *free = *total - memory().used();
  return Success;
}
int allocate(Address *address, size_t bytes) {
  forbidInCapture("cuMemAlloc");
  *address = bytes ? memory().allocate(bytes, op()) : 0;
  return *address ? Success : bytes ? OutOfMemory : InvalidValue;
}
int release(Address address) {
  forbidInCapture("cuMemFree");
  if (isNccls(uintptr_t(address)))
    fail(op(), "cuMemFree: this memory is ncclMemAlloc's, and ncclMemFree gives it back");
  checkFree(uintptr_t(address), 1);
  // Legal only where the host knows that all uses are over; what is still enqueued finds the memory gone.
  memory().free(uintptr_t(address), op(), machine().host());
  return Success;
}
int allocateHost(void **made, size_t bytes) {
  forbidInCapture("cuMemAllocHost");
  *made = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!*made)
    return OutOfMemory;
  pinned[reinterpret_cast<uintptr_t>(*made)] = bytes;
  return Success;
}
int releaseHost(void *made) {
  forbidInCapture("cuMemFreeHost");
  if (!pinned.erase(reinterpret_cast<uintptr_t>(made)))
    fail(op(), "frees pinned memory that is not allocated");
  std::free(made);
  return Success;
}

int copyToDevice(Address to, const void *from, size_t bytes, Handle handle) {
  Stream *stream = machine().streamOf(handle, "cuMemcpyHtoDAsync");
  // What is not pinned is read before the call returns. What is pinned is read when the copy runs, and must be the same still.
  bool mayChange = isPinned(from, bytes, "cuMemcpyHtoDAsync");
  if (!mayChange)
    forbidInCapture("cuMemcpyHtoDAsync from memory that is not pinned");
  machine().enqueue(stream, "copy from the host", nullptr, std::function<std::function<Step()>()>([=] {
                      auto bytesNow = std::make_shared<std::string>(static_cast<const char *>(from), bytes);
                      return [=] {
                        if (mayChange && std::memcmp(bytesNow->data(), from, bytes) != 0)
                          fail(memory().running->op, "the host changes pinned memory before " + describe(*memory().running) + " has read it");
                        std::memcpy(memory().write(uintptr_t(to), bytes), bytesNow->data(), bytes);
                        return Step::Done;
                      };
                    }));
  return Success;
}
/// A word comes in one piece, as by a device: threads of the host may look at it meanwhile.
void putOnHost(void *to, const char *from, size_t bytes) {
  uint32_t word;
  if (bytes != sizeof(word) || reinterpret_cast<uintptr_t>(to) % sizeof(word))
    return bytes ? void(std::memcpy(to, from, bytes)) : void();
  std::memcpy(&word, from, sizeof(word));
  __atomic_store_n(static_cast<uint32_t *>(to), word, __ATOMIC_RELAXED);
}
int copyToHost(void *to, Address from, size_t bytes, Handle handle) {
  Stream *stream = machine().streamOf(handle, "cuMemcpyDtoHAsync");
  bool isAsynchronous = isPinned(to, bytes, "cuMemcpyDtoHAsync");
  if (!isAsynchronous)
    forbidInCapture("cuMemcpyDtoHAsync to memory that is not pinned");
  machine().enqueue(stream, "copy to the host", nullptr, std::function<std::function<Step()>()>([=] {
                      if (isAsynchronous) // Whoever reads it too early shall notice.
                        putOnHost(to, std::string(bytes, '\xff').data(), bytes);
                      return [=] {
                        putOnHost(to, memory().read(uintptr_t(from), bytes), bytes);
                        return Step::Done;
                      };
                    }));
  if (!isAsynchronous)
    machine().finish(stream);
  return Success;
}
int copyOnDevice(Address to, Address from, size_t bytes, Handle handle) {
  if (to < from + bytes && from < to + bytes)
    fail(op(), "cuMemcpyDtoDAsync: from and to overlap");
  machine().enqueue(machine().streamOf(handle, "cuMemcpyDtoDAsync"), "copy", nullptr, std::function<void()>([=] {
                      const char *source = memory().read(uintptr_t(from), bytes);
                      std::memcpy(memory().write(uintptr_t(to), bytes), source, bytes);
                    }));
  return Success;
}
int fillRows(Address to, size_t pitch, unsigned char value, size_t width, size_t height, Handle handle) {
  if (pitch < width && height > 1)
    return InvalidValue;
  machine().enqueue(machine().streamOf(handle, "cuMemsetD8Async"), "memset", nullptr, std::function<void()>([=] {
                      for (size_t row = 0; row < height && width; ++row)
                        std::memset(memory().write(uintptr_t(to + row * pitch), width), value, width);
                    }));
  return Success;
}
int fillBytes(Address to, unsigned char value, size_t bytes, Handle handle) { return fillRows(to, bytes, value, bytes, 1, handle); }

int streamCreate(Handle *stream, unsigned flags) {
  constexpr unsigned nonBlocking = 1;
  if (flags != nonBlocking)
    return InvalidValue; // One that the default stream holds up is not rehearsed.
  *stream = machine().createStream();
  return Success;
}
int streamDestroy(Handle stream) { return machine().destroyStream(machine().streamOf(stream, "cuStreamDestroy")), Success; }
int streamQuery(Handle stream) { return machine().ask(waitable(stream, "cuStreamQuery")) ? Success : NotReady; }
int streamSynchronize(Handle stream) { return machine().finish(waitable(stream, "cuStreamSynchronize")), Success; }
int streamWait(Handle stream, Handle event, unsigned flags) {
  machine().wait(machine().streamOf(stream, "cuStreamWaitEvent"), machine().eventOf(event, "cuStreamWaitEvent"));
  return flags ? InvalidValue : Success;
}
int eventCreate(Handle *event, unsigned flags) {
  constexpr unsigned withoutTiming = 2;
  *event = machine().createEvent(!(flags & withoutTiming));
  return Success;
}
int eventDestroy(Handle event) { return machine().destroyEvent(machine().eventOf(event, "cuEventDestroy")), Success; }
int eventRecord(Handle event, Handle stream) {
  machine().record(machine().streamOf(stream, "cuEventRecord"), machine().eventOf(event, "cuEventRecord"));
  return Success;
}
int eventElapsed(float *milliseconds, Handle begin, Handle end) {
  Event *first = machine().eventOf(begin, "cuEventElapsedTime"), *second = machine().eventOf(end, "cuEventElapsedTime");
  if (first->isCaptured || second->isCaptured || !first->last || !second->last || !first->hasTime || !second->hasTime)
    return InvalidValue;
  if (!first->last->isDone || !second->last->isDone)
    return NotReady;
  *milliseconds = float((second->last->seconds - first->last->seconds) * 1e3);
  return Success;
}

int beginCapture(Handle stream, int mode) {
  enum { Global = 0, ThreadLocal = 1, Relaxed = 2 };
  if (mode < Global || mode > Relaxed)
    return InvalidValue;
  return rehearsal::beginCapture(machine().streamOf(stream, "cuStreamBeginCapture"), mode != Relaxed), Success;
}
int endCapture(Handle stream, Handle *made) {
  std::unique_ptr<Graph> graph = rehearsal::endCapture(machine().streamOf(stream, "cuStreamEndCapture"));
  *made = graph.get();
  graphs[*made] = std::move(graph);
  return Success;
}
int graphNodes(Handle graph, Handle *list, size_t *count) {
  auto at = graphs.find(graph);
  if (at == graphs.end() || list) // Only their number is rehearsed.
    return InvalidValue;
  return *count = at->second->nodes.size(), Success;
}
int graphInstantiate(Handle *made, Handle graph, unsigned long long flags) {
  auto at = graphs.find(graph);
  if (at == graphs.end() || flags)
    return InvalidValue;
  std::unique_ptr<Executable> executable = instantiate(*at->second);
  *made = executable.get();
  executables[*made] = std::move(executable);
  return Success;
}
int graphLaunch(Handle handle, Handle stream) {
  auto at = executables.find(handle);
  if (at == executables.end())
    return InvalidValue;
  return launch(*at->second, machine().streamOf(stream, "cuGraphLaunch")), Success;
}
int graphDestroy(Handle graph) { return graphs.erase(graph) ? Success : InvalidValue; }
int executableDestroy(Handle handle) {
  auto at = executables.find(handle);
  if (at == executables.end())
    return InvalidValue;
  rehearsal::destroy(std::move(at->second));
  executables.erase(at);
  return Success;
}

int moduleLoad(Handle *module, const void *image, unsigned, int *, void **) {
  forbidInCapture("cuModuleLoadDataEx");
  const char *code = static_cast<const char *>(image);
  // A program for a rehearsal alone has no code for GPUs; other programs' is looked at for its kernels' names.
  loadedImage = code && std::memcmp(code, "\177ELF", 4) != 0 ? code : "";
  if (!loadedImage.empty() && loadedImage.find(".target sm_") == std::string::npos)
    return InvalidImage;
  *module = &loadedImage;
  return Success;
}
int moduleUnload(Handle module) { return module == &loadedImage ? Success : InvalidValue; }
int moduleFunction(Handle *function, Handle module, const char *name) {
  if (module != &loadedImage)
    return InvalidValue;
  if (!loadedImage.empty() && loadedImage.find(std::string(".entry ") + name + "(") == std::string::npos)
    return NotFound;
  const para_program &program = programOf();
  for (uint32_t i = 0; i < program.num_thread_kernels; ++i)
    if (std::strcmp(program.thread_kernels[i].name, name) == 0)
      return *function = const_cast<para_thread_kernel *>(&program.thread_kernels[i]), Success;
  return NotFound;
}

/// Of a kernel only that it takes more shared memory than is usual, up to what every GPU since sm_80 has.
int setFunction(Handle function, int attribute, int value) {
  constexpr int maxDynamicSharedBytes = 8;
  if (attribute != maxDynamicSharedBytes || value < 0 || value > mostSharedBytes)
    return InvalidValue;
  sharedBytesOf[function] = unsigned(value);
  return Success;
}

int launch(Handle function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threadsY, unsigned threadsZ, unsigned sharedBytes,
           Handle stream, void **arguments, void **) {
  auto *kernel = static_cast<const para_thread_kernel *>(function);
  if (y != 1 || z != 1 || threadsY != 1 || threadsZ != 1)
    fail(op(), "cuLaunchKernel: blocks and threads in more than one dimension are not rehearsed");
  auto asked = sharedBytesOf.find(function);
  if (x == 0 || x > INT32_MAX || threads == 0 || threads > 1024 || sharedBytes > (asked == sharedBytesOf.end() ? usualSharedBytes : asked->second))
    fail(op(), text("cuLaunchKernel: %s: %u blocks of %u threads with %u bytes of shared memory are beyond what a GPU takes", kernel->name, x, threads, sharedBytes));
  if (int(threads) > kernel->most_threads)
    fail(op(), text("cuLaunchKernel: %s: blocks of %u threads, and its code is for %d", kernel->name, threads, kernel->most_threads));
  std::vector<int64_t> list(size_t(kernel->num_args));
  for (size_t i = 0; i < list.size(); ++i)
    std::memcpy(&list[i], arguments[i], 8);
  machine().enqueue(machine().streamOf(stream, "cuLaunchKernel"), "kernel", kernel->name, std::function<void()>([=] {
                      runBlocks(*kernel, x, int32_t(threads), int32_t(sharedBytes), list.data());
                    }));
  return Success;
}
} // namespace

void fill(cuda::Driver &driver) {
  driver.cuInit = init;
  driver.cuDriverGetVersion = driverVersion;
  driver.cuGetErrorString = errorString;
  driver.cuDeviceGetCount = deviceCount;
  driver.cuDeviceGet = deviceGet;
  driver.cuDeviceGetName = deviceName;
  driver.cuDeviceGetPCIBusId = devicePlace;
  driver.cuDeviceGetAttribute = deviceAttribute;
  driver.cuDevicePrimaryCtxRetain = contextRetain;
  driver.cuDevicePrimaryCtxRelease = contextRelease;
  driver.cuCtxSetCurrent = setCurrent;
  driver.cuMemGetInfo = memoryInfo;
  driver.cuMemAlloc = allocate;
  driver.cuMemFree = release;
  driver.cuMemAllocHost = allocateHost;
  driver.cuMemFreeHost = releaseHost;
  driver.cuMemcpyHtoDAsync = copyToDevice;
  driver.cuMemcpyDtoHAsync = copyToHost;
  driver.cuMemcpyDtoDAsync = copyOnDevice;
  driver.cuMemsetD8Async = fillBytes;
  driver.cuMemsetD2D8Async = fillRows;
  driver.cuStreamCreate = streamCreate;
  driver.cuStreamDestroy = streamDestroy;
  driver.cuStreamQuery = streamQuery;
  driver.cuStreamSynchronize = streamSynchronize;
  driver.cuStreamWaitEvent = streamWait;
  driver.cuEventCreate = eventCreate;
  driver.cuEventDestroy = eventDestroy;
  driver.cuEventRecord = eventRecord;
  driver.cuEventElapsedTime = eventElapsed;
  driver.cuStreamBeginCapture = beginCapture;
  driver.cuStreamEndCapture = endCapture;
  driver.cuGraphGetNodes = graphNodes;
  driver.cuGraphInstantiate = graphInstantiate;
  driver.cuGraphLaunch = graphLaunch;
  driver.cuGraphDestroy = graphDestroy;
  driver.cuGraphExecDestroy = executableDestroy;
  driver.cuModuleLoadDataEx = moduleLoad;
  driver.cuModuleUnload = moduleUnload;
  driver.cuModuleGetFunction = moduleFunction;
  driver.cuFuncSetAttribute = setFunction;
  driver.cuLaunchKernel = launch;
}

} // namespace para::runtime::rehearsal
