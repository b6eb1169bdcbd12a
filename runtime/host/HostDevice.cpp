//===- HostDevice.cpp - Arena, kernels and copies -----------------------------===//
#include "Communicators.h"
#include "Context.h"
#include "Convolution.h"
#include "Matmul.h"
#include "Messages.h"
#include "Placement.h"
#include "Threads.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace para::runtime;

para_context::para_context() = default;
para_context::~para_context() {
  if (scratch)
    munmap(scratch, size_t(scratchBytes));
}

char *para_context::scratchFor(int64_t bytes, const char *op) {
  if (bytes <= scratchBytes)
    return scratch;
  void *address = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    fail(op, "there is no memory for " + std::to_string(bytes) + " bytes of scratch");
    return nullptr;
  }
  if (scratch)
    munmap(scratch, size_t(scratchBytes));
  madvise(address, size_t(bytes), MADV_HUGEPAGE);
  scratch = static_cast<char *>(address);
  scratchBytes = bytes;
  return scratch;
}

para_status para_context::fail(const char *op, const std::string &cause, para_status status) {
  tellFailure(control, rank, format("rank %lld: %s: ", (long long)rank, op) + cause);
  return status;
}

namespace para::runtime {

void flushDenormals(int64_t threads) {
#if defined(__x86_64__)
  parallelFor(threads, threads, 1, [](int64_t, int64_t) { _mm_setcsr(_mm_getcsr() | 0x8040); });
#else
  (void)threads;
#endif
}

void reportSlowPeer(para_context *ctx, int64_t waitedFor, const char *op, double seconds) {
  if (waitedFor < 0 || !ctx->control)
    return;
  std::fprintf(stderr, "para: rank %lld has waited %.0f s in '%s' for rank %lld, which is %s\n", (long long)ctx->rank,
               seconds, op, (long long)waitedFor, whereIs(*ctx->control, waitedFor).c_str());
}

namespace {
class HostDevice : public Device {
public:
  ~HostDevice() override;
  Status create(const DeviceOptions &options);
  para_context *context() override { return &state; }
  Status write(int64_t offset, const void *from, int64_t bytes) override {
    std::memcpy(state.arena + offset, from, size_t(bytes));
    return Status::success();
  }
  Status read(int64_t offset, void *to, int64_t bytes) override {
    std::memcpy(to, state.arena + offset, size_t(bytes));
    return Status::success();
  }
  char *hostArena() override { return state.arena; }
  Status finishStep() override {
    return state.messages->waitForAll("the end of the step") == PARA_OK ? Status::success() : Status::error("");
  }
  int64_t bytesSent() const override { return state.bytesSent; }
  int64_t arenaBytes() const override { return state.arenaBytes; }
  int64_t scratchBytes() const override { return state.scratchBytes; }

private:
  Status checkMemory();
  Status allocateArena();
  Status mapPeers();
  para_context state;
  int64_t mappedBytes = 0;
};

int64_t roundUp(int64_t bytes) {
  constexpr int64_t hugePage = 2 << 20;
  return std::max<int64_t>((bytes + hugePage - 1) / hugePage * hugePage, hugePage);
}
} // namespace

/// What the kernel says could be had without swapping; -1 if it does not say.
static int64_t availableBytes() {
  std::FILE *file = std::fopen("/proc/meminfo", "re");
  long long kilobytes = -1;
  char line[256];
  while (file && std::fgets(line, sizeof(line), file))
    if (std::sscanf(line, "MemAvailable: %lld kB", &kilobytes) == 1)
      break;
  if (file)
    std::fclose(file);
  return kilobytes < 0 ? -1 : int64_t(kilobytes) * 1024;
}

/// A job that cannot fit ends here with a sentence and not later by the kernel's hand.
Status HostDevice::checkMemory() {
  int64_t available = availableBytes(), ranks = state.world->ranksOnHost();
  if (available < 0 || state.arenaBytes <= available / ranks)
    return Status::success();
  return Status::error(format("%lld rank%s of %lld bytes each do not fit into this host: %lld bytes are free",
                              (long long)ranks, ranks == 1 ? "" : "s", (long long)state.arenaBytes,
                              (long long)available));
}

/// Ranks of one host keep their arenas in memory files, so that a collective reads and writes peers' buffers in place.
Status HostDevice::allocateArena() {
  mappedBytes = roundUp(state.arenaBytes);
  bool isShared = state.control && state.control->ranks() > 1;
  int descriptor = -1;
  void *address = MAP_FAILED;
  // Huge pages for shared memory exist only where the administrator has set some aside.
  for (unsigned flags : {unsigned(MFD_HUGETLB), 0u}) {
    if (!isShared || address != MAP_FAILED)
      break;
    if (descriptor >= 0)
      close(descriptor);
    descriptor = memfd_create("para-arena", MFD_CLOEXEC | flags);
    if (descriptor >= 0 && ftruncate(descriptor, mappedBytes) == 0)
      address = mmap(nullptr, size_t(mappedBytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  if (!isShared)
    address = mmap(nullptr, size_t(mappedBytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return Status::error(format("rank %lld cannot have its %lld bytes of memory: %s", (long long)state.rank,
                                (long long)state.arenaBytes, std::strerror(errno)));
  madvise(address, size_t(mappedBytes), MADV_HUGEPAGE);
  state.arena = static_cast<char *>(address);
  // The first touch decides where pages live: by the threads that will use them.
  parallelFor(state.threads, state.arenaBytes, 1 << 21,
              [&](int64_t begin, int64_t end) { std::memset(state.arena + begin, 0, size_t(end - begin)); });
  if (isShared) {
    RankBlock &mine = state.control->rank(state.rank);
    mine.arenaBytes = mappedBytes;
    mine.arenaDescriptor.store(descriptor, std::memory_order_release);
  }
  return Status::success();
}

Status HostDevice::mapPeers() {
  state.peerArenas.assign(size_t(state.world->size()), nullptr);
  state.peerArenas[size_t(state.rank)] = state.arena;
  if (!state.control)
    return Status::success();
  for (int64_t peer = 0; peer < state.world->size(); ++peer) {
    if (peer == state.rank)
      continue;
    RankBlock &theirs = state.control->rank(peer);
    std::string path = format("/proc/%d/fd/%d", theirs.pid.load(), theirs.arenaDescriptor.load());
    int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
      return Status::error(format("cannot open the memory of rank %lld: %s", (long long)peer, std::strerror(errno)));
    int64_t bytes = theirs.arenaBytes;
    void *address = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (address == MAP_FAILED)
      return Status::error(format("cannot map the memory of rank %lld: %s", (long long)peer, std::strerror(errno)));
    madvise(address, size_t(bytes), MADV_HUGEPAGE);
    state.peerArenas[size_t(peer)] = static_cast<char *>(address);
  }
  return Status::success();
}

Status HostDevice::create(const DeviceOptions &options) {
  state.manifest = options.manifest;
  state.world = options.world;
  state.trace = options.trace;
  state.control = options.world->control();
  state.rank = options.world->rank();
  state.threads = options.threads;
  state.coresAreScarce = options.world->coresAreScarce(options.threads);
  state.coordinates = options.manifest->coordinates(state.rank);
  state.arenaBytes = options.manifest->stages[size_t(options.manifest->stageOf(state.rank))].arenaBytes;
  if (state.coresAreScarce && state.control && state.world->sharesCores())
    bindToCores(state.rank, state.world->size(), state.threads);
  omp_set_dynamic(0);
  omp_set_num_threads(int(state.threads));
  flushDenormals(state.threads);
  // Before anyone takes memory, so that all see the same.
  PARA_TRY(state.world->agree(checkMemory()));
  PARA_TRY(state.world->agree(allocateArena()));
  PARA_TRY(state.world->agree(mapPeers()));
  state.matmuls = std::make_unique<MatmulCache>();
  state.convolutions = std::make_unique<ConvolutionCache>();
  state.communicators = std::make_unique<Communicators>();
  state.messages = createMessages(&state);
  return state.communicators->create(&state);
}

HostDevice::~HostDevice() {
  for (int64_t peer = 0; peer < int64_t(state.peerArenas.size()); ++peer)
    if (state.peerArenas[size_t(peer)] && peer != state.rank)
      munmap(state.peerArenas[size_t(peer)], size_t(state.control->rank(peer).arenaBytes.load()));
  if (state.arena)
    munmap(state.arena, size_t(mappedBytes));
}

Status createDevice(const DeviceOptions &options, std::unique_ptr<Device> &device) {
  auto host = std::make_unique<HostDevice>();
  PARA_TRY(host->create(options));
  device = std::move(host);
  return Status::success();
}

} // namespace para::runtime

void *para_arena(para_context *ctx) { return ctx->arena; }

int64_t para_coordinate(para_context *ctx, int32_t axis) {
  return axis >= 0 && size_t(axis) < ctx->coordinates.size() ? ctx->coordinates[size_t(axis)] : 0;
}

para_status para_launch(para_context *ctx, int32_t stream, const para_kernel *kernel, int64_t extent,
                        const int64_t *args, int32_t, const char *op) {
  OpScope scope(ctx, stream, op, "kernel");
  if (!kernel->function)
    return ctx->fail(op, "the kernel has no host code");
  parallelFor(ctx->threads, extent, std::max<int64_t>(kernel->grain, 1),
              [&](int64_t begin, int64_t end) { kernel->function(begin, end, args); });
  return PARA_OK;
}

para_status para_copy(para_context *ctx, int32_t stream, void *to, const void *from, int64_t bytes, const char *op) {
  OpScope scope(ctx, stream, op, "copy", bytes);
  // Buffers at overlapping offsets are the compiler's right: one piece then, in memmove's care.
  bool overlaps = static_cast<char *>(to) < static_cast<const char *>(from) + bytes &&
                  static_cast<const char *>(from) < static_cast<char *>(to) + bytes;
  parallelFor(overlaps ? 1 : ctx->threads, bytes, 1 << 18, [&](int64_t begin, int64_t end) {
    std::memmove(static_cast<char *>(to) + begin, static_cast<const char *>(from) + begin, size_t(end - begin));
  });
  return PARA_OK;
}

para_status para_zero(para_context *ctx, int32_t stream, void *to, int64_t bytes, const char *op) {
  OpScope scope(ctx, stream, op, "zero", bytes);
  parallelFor(ctx->threads, bytes, 1 << 18, [&](int64_t begin, int64_t end) {
    std::memset(static_cast<char *>(to) + begin, 0, size_t(end - begin));
  });
  return PARA_OK;
}

// Calls return when their work is done: there is nothing to wait for.
para_status para_event_record(para_context *, int32_t, int32_t) { return PARA_OK; }
para_status para_event_wait(para_context *, int32_t, int32_t) { return PARA_OK; }
