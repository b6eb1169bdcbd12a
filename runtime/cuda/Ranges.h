//===- Ranges.h - The model's names in NVIDIA's profilers -------*- C++ -*-===//
//
// NVTX: a range around the calls that enqueue an operation, under the node's name. A profiler that wants them names its library by
// NVTX_INJECTION64_PATH, as it does for programs with NVTX's headers; it is asked for its functions when the program starts. Without one ranges are
// nothing but a comparison.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CUDA_RANGES_H
#define PARA_RUNTIME_CUDA_RANGES_H

#include "core/Status.h"

namespace para::runtime::cuda {

class Ranges {
public:
  /// Loads the profiler's library if there is one; `thread` is how the calling one is called. Fails where the library cannot be used.
  Status load(const std::string &thread);
  void push(const char *name) const {
    if (pushRange)
      pushRange(name);
  }
  void pop() const {
    if (popRange)
      popRange();
  }

private:
  int (*pushRange)(const char *) = nullptr;
  int (*popRange)() = nullptr;
};

} // namespace para::runtime::cuda

#endif
