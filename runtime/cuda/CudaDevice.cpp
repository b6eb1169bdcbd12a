//===- CudaDevice.cpp - One rank's GPU: arena, streams, code ------------------===//
#include "Communicators.h"
#include "Context.h"
#include "Convolution.h"
#include "Matmul.h"
#include "StepGraphs.h"
#include "core/Affinity.h"
#include "core/Environment.h"
#include "rehearsal/Rehearsal.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace para::runtime;
using namespace para::runtime::cuda;

namespace para::runtime {

namespace {
enum { AttributeCapabilityMajor = 75, AttributeCapabilityMinor = 76 };
enum { StreamNonBlocking = 1 };
constexpr int64_t stagingBytes = 16 << 20;

/// What a rehearsal asks.
class RehearsedRank : public rehearsal::Rank {
public:
  explicit RehearsedRank(para_context &ctx) : ctx(ctx) {}
  const char *op() const override { return ctx.currentOp ? ctx.currentOp : "the start"; }
  void report(const char *op, const std::string &cause) override { ctx.fail(op, cause); }
  bool othersFailed() const override { return ctx.world->failedRank() >= 0; }
  Address arena() const override { return ctx.arena; }
  int32_t sequence() const override { return ctx.sequence; }
  int64_t rank() const override { return ctx.rank; }
  int64_t ranksOnHost() const override { return ctx.world->ranksOnHost(); }

private:
  para_context &ctx;
};

class CudaDevice : public Device {
public:
  ~CudaDevice() override;
  Status create(const DeviceOptions &options);
  para_context *context() override { return &state; }
  Status write(int64_t offset, const void *from, int64_t bytes) override;
  Status read(int64_t offset, void *to, int64_t bytes) override;
  Status finishStep() override;
  Status run(const void *list, const std::function<para_status()> &enqueue) override;
  int64_t graphNodes() const override { return state.graphs->nodes(); }
  std::vector<std::string> notes() const override;
  int64_t bytesSent() const override { return state.bytesSent; }
  int64_t arenaBytes() const override { return state.arenaBytes; }
  int64_t scratchBytes() const override { return state.scratchBytes; }

private:
  Status open();
  void bindToDevice();
  Status loadCode(const para_program &program);
  Status allocate();
  Status fine(const char *what, int result) {
    return result == success ? Status::success() : Status::error(state.driverError(what, result));
  }
  para_context state;
  RehearsedRank rehearsed{state};
  void *staging = nullptr; ///< pinned
  std::string place;       ///< "is bound to ...", for --verbose
};

/// This rank's number on its host, as launchers tell it; else by its rank, for hosts with equally many.
int64_t localRank(const World &world, bool &isTold) {
  for (const char *name : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "PMI_LOCAL_RANK"}) {
    int64_t value;
    const char *text = std::getenv(name);
    isTold = text && parseInteger(text, value) && value >= 0;
    if (isTold)
      return value;
  }
  return world.rank() % std::max<int64_t>(1, world.ranksOnHost());
}

} // namespace

/// This rank's host memory and the threads of libraries are to be next to the GPU, unless a launcher has bound it.
void CudaDevice::bindToDevice() {
  const char *root = "/sys";
  char busId[32] = {};
  if (!isOn(Setting::Bind) || state.driver.cuDeviceGetPCIBusId(busId, sizeof(busId), state.device) != success)
    return;
  Neighborhood neighborhood = findNeighborhood(root, busId);
  if (neighborhood.node < 0)
    place = "is not bound: the system does not tell of which NUMA node its GPU is, or has but one";
  else if (isBound(root))
    place = "stays on the cores to which it was bound";
  else if (!bindTo(neighborhood, place))
    place = format("is not bound: it may not run on the cores of NUMA node %d", neighborhood.node);
}

Status CudaDevice::open() {
  Driver &driver = state.driver;
  PARA_TRY(loadDriver(driver));
  int count = 0;
  PARA_TRY(fine("cuInit", driver.cuInit(0)));
  PARA_TRY(fine("cuDeviceGetCount", driver.cuDeviceGetCount(&count)));
  if (count == 0)
    return Status::error("the NVIDIA driver is there, but it shows no GPU (CUDA_VISIBLE_DEVICES may hide them)");
  bool isTold = false;
  int64_t local = localRank(*state.world, isTold);
  if (local >= count && count == 1 && isTold)
    local = 0; // Launchers may show each rank only its own.
  if (local >= count)
    return Status::error(format("rank %lld needs a GPU of its own: this machine shows %d", (long long)state.rank, count));
  PARA_TRY(fine("cuDeviceGet", driver.cuDeviceGet(&state.device, int(local))));
  bindToDevice();
  PARA_TRY(fine("cuDevicePrimaryCtxRetain", driver.cuDevicePrimaryCtxRetain(&state.primary, state.device)));
  PARA_TRY(fine("cuCtxSetCurrent", driver.cuCtxSetCurrent(state.primary)));
  for (Handle &stream : state.streams)
    PARA_TRY(fine("cuStreamCreate", driver.cuStreamCreate(&stream, StreamNonBlocking)));
  return Status::success();
}

Status CudaDevice::loadCode(const para_program &program) {
  int major = 0, minor = 0;
  PARA_TRY(fine("cuDeviceGetAttribute", state.driver.cuDeviceGetAttribute(&major, AttributeCapabilityMajor, state.device)));
  PARA_TRY(fine("cuDeviceGetAttribute", state.driver.cuDeviceGetAttribute(&minor, AttributeCapabilityMinor, state.device)));
  ImagePart part;
  if (program.image || !rehearsal::isOn()) // A program for rehearsals alone has none.
    PARA_TRY(chooseImage(program.image, program.image_bytes, uint32_t(major * 10 + minor), part));
  enum { ErrorLog = 5, ErrorLogBytes = 6 };
  char log[4096] = {};
  int options[] = {ErrorLog, ErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  int result = state.driver.cuModuleLoadDataEx(&state.module, part.data, 2, options, values);
  if (result != success)
    return Status::error(state.driverError("cuModuleLoadDataEx", result) + (*log ? std::string(": ") + log : ""));
  return Status::success();
}

Status CudaDevice::allocate() {
  size_t free = 0, total = 0;
  PARA_TRY(fine("cuMemGetInfo", state.driver.cuMemGetInfo(&free, &total)));
  int result = state.communicators->allocateArena();
  if (result != success)
    return Status::error(format("rank %lld cannot have its %lld bytes of GPU memory: %zu of %zu are free (%s)", (long long)state.rank,
                                (long long)state.arenaBytes, free, total, state.driverError("cuMemAlloc", result).c_str()));
  PARA_TRY(fine("cuMemsetD8Async", state.driver.cuMemsetD8Async(state.arena, 0, size_t(state.arenaBytes), state.streams[0])));
  PARA_TRY(fine("cuStreamSynchronize", state.driver.cuStreamSynchronize(state.streams[0])));
  return fine("cuMemAllocHost", state.driver.cuMemAllocHost(&staging, size_t(stagingBytes)));
}

Status CudaDevice::create(const DeviceOptions &options) {
  state.manifest = options.manifest;
  state.world = options.world;
  state.control = options.world->control();
  state.rank = options.world->rank();
  state.coordinates = options.manifest->coordinates(state.rank);
  state.arenaBytes = options.manifest->stages[size_t(options.manifest->stageOf(state.rank))].arenaBytes;
  PARA_TRY(state.world->agree(checkEnvironment()));
  if (state.manifest->target == "rehearsal" || isOn(Setting::Rehearse))
    rehearsal::start(&rehearsed, options.program);
  PARA_TRY(state.world->agree(state.ranges.load("rank " + std::to_string(state.rank))));
  PARA_TRY(state.world->agree(open()));
  PARA_TRY(state.world->agree(loadCode(*options.program)));
  state.communicators = std::make_unique<Communicators>(&state);
  PARA_TRY(state.communicators->load());
  PARA_TRY(state.world->agree(allocate()));
  if (options.trace)
    state.timeline = std::make_unique<Timeline>(&state, options.trace);
  state.graphs = std::make_unique<StepGraphs>(&state);
  if (options.trace)
    state.graphs->forbid("--trace asks when each operation runs");
  else if (!isOn(Setting::CudaGraphs))
    state.graphs->forbid(std::string(nameOf(Setting::CudaGraphs)) + "=0");
  if (state.world->size() > 1) {
    state.watch = std::make_unique<Watch>(&state);
    PARA_TRY(state.world->agree(state.watch->start()));
  }
  PARA_TRY(state.communicators->create());
  if (state.watch)
    state.watch->enter(Watch::Phase::Works);
  return Status::success();
}

CudaDevice::~CudaDevice() {
  if (!state.primary)
    return;
  Driver &driver = state.driver;
  driver.cuCtxSetCurrent(state.primary);
  if (state.watch)
    state.watch->stop();
  state.graphs.reset();
  state.matmuls.reset();
  state.convolutions.reset();
  state.timeline.reset();
  state.communicators.reset(); // and the arena with them
  state.watch.reset();
  for (auto &[number, event] : state.events)
    driver.cuEventDestroy(event.handle);
  for (auto &scratch : state.scratch)
    if (scratch.address)
      driver.cuMemFree(scratch.address);
  if (staging)
    driver.cuMemFreeHost(staging);
  if (state.module)
    driver.cuModuleUnload(state.module);
  for (Handle stream : state.streams)
    if (stream)
      driver.cuStreamDestroy(stream);
  driver.cuDevicePrimaryCtxRelease(state.device);
}

// Between steps nothing else runs: one half of the pinned memory after the other is not worth its code.
Status CudaDevice::write(int64_t offset, const void *from, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += stagingBytes) {
    size_t piece = size_t(std::min(stagingBytes, bytes - at));
    std::memcpy(staging, static_cast<const char *>(from) + at, piece);
    PARA_TRY(fine("cuMemcpyHtoDAsync", state.driver.cuMemcpyHtoDAsync(state.arena + Address(offset + at), staging, piece, state.streams[2])));
    PARA_TRY(fine("cuStreamSynchronize", state.driver.cuStreamSynchronize(state.streams[2])));
  }
  return Status::success();
}

Status CudaDevice::read(int64_t offset, void *to, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += stagingBytes) {
    size_t piece = size_t(std::min(stagingBytes, bytes - at));
    PARA_TRY(fine("cuMemcpyDtoHAsync", state.driver.cuMemcpyDtoHAsync(staging, state.arena + Address(offset + at), piece, state.streams[2])));
    PARA_TRY(fine("cuStreamSynchronize", state.driver.cuStreamSynchronize(state.streams[2])));
    std::memcpy(static_cast<char *>(to) + at, staging, piece);
  }
  return Status::success();
}

Status CudaDevice::run(const void *list, const std::function<para_status()> &enqueue) {
  return state.graphs->enqueue(list, enqueue) == PARA_OK ? finishStep() : Status::error("");
}

std::vector<std::string> CudaDevice::notes() const {
  std::vector<std::string> said;
  if (!place.empty())
    said.push_back(place);
  if (std::string text = state.communicators->registrationText(); !text.empty())
    said.push_back(text);
  if (int64_t nodes = state.graphs->nodes())
    said.push_back(format("runs its step as a CUDA graph of %lld nodes", (long long)nodes));
  else
    said.push_back("runs its step call by call: " + (state.graphs->why().empty() ? "it was run once, and graphs begin with the second run" : state.graphs->why()));
  return said;
}

Status CudaDevice::finishStep() {
  const char *op = state.currentOp ? state.currentOp : "the step";
  std::vector<Handle> all(std::begin(state.streams), std::end(state.streams));
  state.communicators->addStreams(all);
  if (state.watch)
    state.watch->enter(Watch::Phase::Waits);
  double began = nowSeconds();
  for (Handle stream : all)
    while (true) {
      int result = state.driver.cuStreamQuery(stream);
      if (result == success)
        break;
      if (result != notReady) // The GPU does not tell which operation it was: the last one that was started bounds it.
        return state.check((std::string("at or before ") + op).c_str(), "the GPU", result), Status::error("");
      double seconds = nowSeconds() - began;
      if (seconds < 0.002)
        continue;
      if ((state.watch && state.watch->hasFailed()) || state.world->failedRank() >= 0)
        return Status::error("");
      usleep(seconds < 0.1 ? 50 : 1000);
    }
  if (state.watch)
    state.watch->endList();
  if (state.timeline)
    state.timeline->collect();
  return Status::success();
}

Status createDevice(const DeviceOptions &options, std::unique_ptr<Device> &device) {
  auto made = std::make_unique<CudaDevice>();
  PARA_TRY(made->create(options));
  device = std::move(made);
  return Status::success();
}

} // namespace para::runtime
