//===- Calls.cpp - Kernels, copies and events of the CUDA back end ------------===//
#include "Communicators.h"
#include "Context.h"
#include "Convolution.h"
#include "Matmul.h"
#include "StepGraphs.h"

#include "para/Runtime/Scatter.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace para::runtime;
using namespace para::runtime::cuda;
namespace scatter = para::scatter;

para_context::para_context() = default;
para_context::~para_context() = default;

void para_context::enter(const char *op) {
  if (op == currentOp)
    return;
  currentOp = op;
  if (control)
    strncpy(control->rank(rank).op, op, sizeof(control->rank(rank).op) - 1);
}

void para_context::tell(const char *op, const std::string &cause) {
  world->tellFailure(format("rank %lld: %s: ", (long long)rank, op) + cause);
}

para_status para_context::fail(const char *op, const std::string &cause, para_status status) {
  if (captureProblem) {
    if (captureProblem->empty())
      *captureProblem = std::string("of ") + op + ": " + cause;
    return status;
  }
  tell(op, cause);
  return status;
}

std::string para_context::driverError(const char *what, int result) const {
  const char *text = nullptr;
  if (driver.cuGetErrorString(result, &text) != success || !text)
    text = "an unknown error";
  return std::string("CUDA: ") + what + ": " + text;
}

para_status para_context::check(const char *op, const char *what, int result) {
  constexpr int outOfMemory = 2;
  if (result == success)
    return PARA_OK;
  return fail(op, driverError(what, result), result == outOfMemory ? PARA_OUT_OF_MEMORY : PARA_ERROR);
}

para_context::Address para_context::scratchFor(int32_t stream, int64_t bytes) {
  Scratch &mine = scratch[stream];
  if (mine.bytes >= bytes)
    return mine.address;
  if (captureProblem) { // It cannot be had in a capture, and the first run has taken what is needed: this one is another.
    *captureProblem = "its calls are not those of its first run";
    return 0;
  }
  if (mine.address) {
    // What is under way may use it still.
    driver.cuStreamSynchronize(streams[stream]);
    driver.cuMemFree(mine.address);
    ++scratchVersion;
    scratchBytes -= mine.bytes;
    mine = {};
  }
  if (driver.cuMemAlloc(&mine.address, size_t(bytes)) != success) {
    mine = {};
    return 0;
  }
  mine.bytes = bytes;
  scratchBytes += bytes;
  return mine.address;
}

/// Whether the stream is one of the three; every call asks first.
static bool isFine(para_context *ctx, int32_t stream, const char *op, para_status &status) {
  if (ctx->isStream(stream))
    return true;
  status = ctx->fail(op, "there is no stream " + std::to_string(stream));
  return false;
}

static Address addressOf(const void *pointer) { return Address(reinterpret_cast<uintptr_t>(pointer)); }

void *para_arena(para_context *ctx) { return reinterpret_cast<void *>(uintptr_t(ctx->arena)); }

int64_t para_coordinate(para_context *ctx, int32_t axis) {
  return axis >= 0 && size_t(axis) < ctx->coordinates.size() ? ctx->coordinates[size_t(axis)] : 0;
}

static para_status launch(para_context *ctx, int32_t stream, Handle function, int64_t blocks, int32_t threads, int32_t sharedBytes,
                          const int64_t *args, int32_t numArgs, const char *op) {
  if (blocks == 0)
    return PARA_OK;
  if (blocks > INT32_MAX)
    return ctx->fail(op, "a kernel of more than 2^31 blocks");
  std::vector<void *> list(static_cast<size_t>(numArgs));
  for (int32_t i = 0; i < numArgs; ++i)
    list[size_t(i)] = const_cast<int64_t *>(args + i);
  return ctx->check(op, "cuLaunchKernel",
                    ctx->driver.cuLaunchKernel(function, unsigned(blocks), 1, 1, unsigned(threads), 1, 1, unsigned(sharedBytes),
                                               ctx->streams[stream], list.data(), nullptr));
}

para_status para_launch(para_context *ctx, int32_t stream, const para_kernel *kernel, int64_t extent, const int64_t *args,
                        int32_t numArgs, const char *op) {
  OpScope scope(ctx, stream, op, "kernel");
  para_status status = PARA_OK;
  if (!isFine(ctx, stream, op, status))
    return status;
  Handle &function = ctx->functions[kernel];
  if (!function) {
    if (kernel->block <= 0)
      return ctx->fail(op, "the kernel has no GPU code");
    if (int result = ctx->driver.cuModuleGetFunction(&function, ctx->module, kernel->name))
      return ctx->check(op, kernel->name, result);
    constexpr int32_t usualBytes = 48 << 10, maxDynamicSharedBytes = 8; // the latter of CUfunction_attribute
    if (kernel->shared_bytes > usualBytes)
      if (int result = ctx->driver.cuFuncSetAttribute(function, maxDynamicSharedBytes, kernel->shared_bytes))
        return ctx->check(op, "cuFuncSetAttribute", result);
  }
  return launch(ctx, stream, function, extent, kernel->block, kernel->shared_bytes, args, numArgs, op);
}

para_status para_scatter_add(para_context *ctx, int32_t stream, int32_t dtype, int32_t indexDType, int64_t positions,
                             int64_t width, int64_t first, int64_t rows, const void *indices, const void *updates,
                             void *out, const char *op) {
  OpScope scope(ctx, stream, op, "scatter_add");
  para_status status = PARA_OK;
  if (!isFine(ctx, stream, op, status))
    return status;
  if (dtype < 0 || dtype > PARA_BOOL || indexDType < 0 || indexDType > PARA_BOOL)
    return ctx->fail(op, "scatter_add: unknown element type");
  if (positions == 0 || width == 0 || rows == 0)
    return PARA_OK;
  if (positions > INT32_MAX)
    return ctx->fail(op, "scatter_add: 2^31 positions or more");
  // The compiler puts kernels into the image for each pair of types that the program uses (lib/Lower/KernelScatter.cpp).
  static const char keys[PARA_BOOL + 2][PARA_BOOL + 1] = {};
  auto find = [&](Handle &function, const std::string &kind) -> para_status {
    std::string name = "para_scatter_" + kind + "_" + dtypeName(DType(indexDType));
    if (!function && ctx->driver.cuModuleGetFunction(&function, ctx->module, name.c_str()) != success)
      return ctx->fail(op, "scatter_add: this program has no kernel " + name);
    return PARA_OK;
  };
  Handle &order = ctx->functions[&keys[PARA_BOOL + 1][indexDType]], &add = ctx->functions[&keys[dtype][indexDType]];
  if ((status = find(order, "order")) || (status = find(add, dtypeName(DType(dtype)))))
    return status;
  Address work = ctx->scratchFor(stream, scatter::orderBytes(positions));
  if (!work)
    return ctx->fail(op, "scatter_add: no memory is left", PARA_OUT_OF_MEMORY);
  int64_t passes = scatter::passesOf(rows), from = int64_t(addressOf(indices));
  int64_t sort[] = {from, int64_t(work), positions, first, rows, passes};
  if ((status = launch(ctx, stream, order, 1, scatter::threads, scatter::orderSharedBytes, sort, 6, op)))
    return status;
  // Enough blocks to keep a large GPU busy; no part of the columns needs more than there can be runs.
  constexpr int64_t busyBlocks = 4096, fewestBlocks = 64;
  int64_t parts = (width + scatter::columns - 1) / scatter::columns;
  int64_t blocks = std::min({std::max(busyBlocks / parts, fewestBlocks), positions, rows});
  int64_t sorted = int64_t(work) + 4 * scatter::sortedAt(positions, rows);
  int64_t sums[] = {from, int64_t(addressOf(updates)), int64_t(addressOf(out)), int64_t(work), sorted, positions, width, first, rows, blocks};
  return launch(ctx, stream, add, blocks * parts, scatter::threads, scatter::addSharedBytes, sums, 10, op);
}

para_status para_copy(para_context *ctx, int32_t stream, void *to, const void *from, int64_t bytes, const char *op) {
  OpScope scope(ctx, stream, op, "copy", bytes);
  para_status status = PARA_OK;
  if (!isFine(ctx, stream, op, status))
    return status;
  Address target = addressOf(to), source = addressOf(from);
  if (bytes == 0 || target == source)
    return PARA_OK;
  Handle queue = ctx->streams[stream];
  if (target < source + Address(bytes) && source < target + Address(bytes)) {
    // Overlapping buffers are the compiler's right; the GPU's copies do not allow for them.
    Address between = ctx->scratchFor(stream, bytes);
    if (!between)
      return ctx->fail(op, "copy: no memory is left", PARA_OUT_OF_MEMORY);
    status = ctx->check(op, "cuMemcpyDtoDAsync", ctx->driver.cuMemcpyDtoDAsync(between, source, size_t(bytes), queue));
    source = between;
  }
  return status ? status : ctx->check(op, "cuMemcpyDtoDAsync", ctx->driver.cuMemcpyDtoDAsync(target, source, size_t(bytes), queue));
}

para_status para_zero(para_context *ctx, int32_t stream, void *to, int64_t bytes, const char *op) {
  OpScope scope(ctx, stream, op, "zero", bytes);
  para_status status = PARA_OK;
  if (bytes == 0 || !isFine(ctx, stream, op, status))
    return status;
  return ctx->check(op, "cuMemsetD8Async", ctx->driver.cuMemsetD8Async(addressOf(to), 0, size_t(bytes), ctx->streams[stream]));
}

para_status para_event_record(para_context *ctx, int32_t stream, int32_t event) {
  para_status status = PARA_OK;
  if (!isFine(ctx, stream, "event", status))
    return status;
  constexpr unsigned withoutTiming = 2;
  para_context::Event &made = ctx->events[event];
  if (!made.handle)
    if (int result = ctx->driver.cuEventCreate(&made.handle, withoutTiming))
      return ctx->check("event", "cuEventCreate", result);
  made.recordedIn = ctx->listRuns;
  return ctx->check("event", "cuEventRecord", ctx->driver.cuEventRecord(made.handle, ctx->streams[stream]));
}

para_status para_event_wait(para_context *ctx, int32_t stream, int32_t event) {
  para_status status = PARA_OK;
  if (!isFine(ctx, stream, "event", status))
    return status;
  auto found = ctx->events.find(event);
  if (found == ctx->events.end())
    return ctx->fail("event", "waits for event " + std::to_string(event) + ", which was never recorded");
  if (found->second.recordedIn != ctx->listRuns)
    return PARA_OK;
  return ctx->check("event", "cuStreamWaitEvent", ctx->driver.cuStreamWaitEvent(ctx->streams[stream], found->second.handle, 0));
}
