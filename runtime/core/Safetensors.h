//===- Safetensors.h - Checkpoint files -------------------------*- C++ -*-===//
//
// Eight bytes of header length, a JSON header {name: {dtype, shape, data_offsets}}, then the data.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_SAFETENSORS_H
#define PARA_RUNTIME_CORE_SAFETENSORS_H

#include "Array.h"

#include <functional>

namespace para::runtime {

/// Checks the whole header against the file's size, so that a truncated file is refused here.
Status readSafetensors(const std::string &path, ArrayMap &arrays);

/// Writes tensors one after another, so that only one is in memory: `entries` says what comes, `fill(i)` gives the bytes
/// of entry i, valid until its next call.
struct SafetensorsEntry {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
};
Status writeSafetensors(const std::string &path, const std::vector<SafetensorsEntry> &entries,
                        const std::function<Status(size_t, const char *&)> &fill);

} // namespace para::runtime

#endif
