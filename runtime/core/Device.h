//===- Device.h - What core asks of a back end ------------------*- C++ -*-===//
//
// A back end defines para_context, the functions of para_runtime.h that compiled code calls, and the two factories below.
// Exactly one back end is linked into an executable.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_DEVICE_H
#define PARA_RUNTIME_CORE_DEVICE_H

#include "Manifest.h"
#include "Trace.h"
#include "World.h"
#include "para/Runtime/para_runtime.h"

#include <functional>

namespace para::runtime {

struct DeviceOptions {
  const Manifest *manifest = nullptr;
  const para_program *program = nullptr;
  World *world = nullptr;
  Trace *trace = nullptr; ///< null: nothing is recorded
  int64_t threads = 1;
};

/// One rank's device with its arena and communicators.
class Device {
public:
  virtual ~Device() = default;
  virtual para_context *context() = 0;
  /// Between host memory and the arena; `offset` in bytes.
  virtual Status write(int64_t offset, const void *from, int64_t bytes) = 0;
  virtual Status read(int64_t offset, void *to, int64_t bytes) = 0;
  /// The arena itself where the host can touch it, else null.
  virtual char *hostArena() { return nullptr; }
  /// Waits for everything the step started.
  virtual Status finishStep() = 0;
  /// Runs a list of actions and waits for what it started. `enqueue` makes its calls, the same each time for the same `list`, which a back end that
  /// keeps what they were may leave out.
  virtual Status run(const void *list, const std::function<para_status()> &enqueue) {
    (void)list;
    return enqueue() == PARA_OK ? finishStep() : Status::error("");
  }
  /// Nodes of the graph as which the list that was run last went to the device; 0 if it went there call by call.
  virtual int64_t graphNodes() const { return 0; }
  /// For --verbose, each behind "rank 3 ": how steps ran, where this rank is.
  virtual std::vector<std::string> notes() const { return {}; }
  /// Since the start, by collectives and sends of compiled code.
  virtual int64_t bytesSent() const = 0;
  virtual int64_t arenaBytes() const = 0;
  /// What libraries took beside the arena.
  virtual int64_t scratchBytes() const = 0;
};

/// Creates the arena and, in the manifest's order on all ranks, the communicators.
Status createDevice(const DeviceOptions &options, std::unique_ptr<Device> &device);

/// Joins the ranks that an MPI launcher started. With `sharesMemory` false ranks of one host talk as if they were on several.
Status joinMpi(int64_t ranks, int64_t communicators, bool sharesMemory, std::unique_ptr<World> &world);

} // namespace para::runtime

#endif
