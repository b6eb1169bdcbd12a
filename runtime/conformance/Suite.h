//===- Suite.h - One set of checks for all back ends ------------*- C++ -*-===//
//
// Checks drive a device as the runtime does: they write the arena, run lists of calls of the ABI, each list three times (a back end may keep what it
// was), and read the arena again. What is computed is known exactly.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CONFORMANCE_SUITE_H
#define PARA_RUNTIME_CONFORMANCE_SUITE_H

#include "core/DType.h"
#include "core/Device.h"

#include <functional>

namespace para::conformance {
using namespace para::runtime;

/// One call, or several that belong together, with what it is given and what it leaves.
struct Case {
  struct Bytes {
    int64_t offset;
    std::vector<char> data;
  };
  std::string what;
  std::vector<Bytes> before, after;
  std::function<para_status()> call;
};

class Suite {
public:
  Suite(const Manifest &manifest, World &world, Device &device, bool isGpu) : manifest(manifest), world(world), device(device), isGpu(isGpu) {}
  para_context *context() { return device.context(); }
  char *at(int64_t offset) { return static_cast<char *>(para_arena(context())) + offset; }
  /// Room in the arena, 256 bytes aligned and `shift` more; what was had before goes with the next run.
  int64_t room(int64_t bytes, int64_t shift = 0);
  void add(Case added) { cases.push_back(std::move(added)); }
  /// Runs all cases as one list, three times, each time on fresh data.
  Status run();
  /// Extents are elements on the host and blocks of `threads` on a GPU.
  int64_t extent(int64_t elements, int64_t threads) const { return isGpu ? (elements + threads - 1) / threads : elements; }
  const Manifest &manifest;
  World &world;
  Device &device;
  const bool isGpu;

private:
  std::vector<Case> cases;
  int64_t used = 0;
  intptr_t lists = 0;
};

/// `count` elements of a type, of doubles that it holds exactly.
std::vector<char> elements(int32_t dtype, int64_t count, const std::function<double(int64_t)> &value);

struct Check {
  const char *name;
  Status (*run)(Suite &suite);
};
Status checkBuffers(Suite &suite);
Status checkLists(Suite &suite);
Status checkStreams(Suite &suite);
Status checkKernels(Suite &suite);
Status checkProducts(Suite &suite);
Status checkCollectives(Suite &suite);
Status checkMessages(Suite &suite);
/// Runs what must fail with a sentence; PARA_CONFORMANCE_FAULT says which.
Status checkErrors(Suite &suite);

/// y[i] += factor * x[i], on i32; block 128. Arguments: x, y, elements, factor.
extern const para_kernel scaleAdd;
extern const para_thread_kernel threadKernels[1];
/// The kernels' image for a GPU.
std::string makeImage();

} // namespace para::conformance

#endif
