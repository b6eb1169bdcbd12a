//===- Array.h - Named arrays in files --------------------------*- C++ -*-===//
//
// What .npz, .npy, TensorProto and safetensors files give: a type, a shape and row-major bytes, which lie in a mapped file
// where the format allows it.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_ARRAY_H
#define PARA_RUNTIME_CORE_ARRAY_H

#include "DType.h"
#include "Status.h"

#include <map>
#include <memory>

namespace para::runtime {

/// A whole file, mapped read-only; unmapped with its last user.
class MappedFile {
public:
  static Status open(const std::string &path, std::shared_ptr<MappedFile> &file);
  ~MappedFile();
  const char *data() const { return address; }
  size_t size() const { return bytes; }

private:
  const char *address = nullptr;
  size_t bytes = 0;
};

struct Array {
  DType dtype = PARA_F32;
  std::vector<int64_t> shape;
  const char *data = nullptr;
  std::shared_ptr<const void> owner; ///< keeps `data` alive

  int64_t elements() const;
  int64_t bytes() const { return elements() * elementBytes(dtype); }
  /// "f32[2, 3]".
  std::string typeText() const;
  /// An array with memory of its own, zeroed; `data` may be written through the returned pointer.
  static Array allocate(DType dtype, std::vector<int64_t> shape, char *&memory);
};

using ArrayMap = std::map<std::string, Array>;

/// Whether the product of `shape` times `bytesPerElement` is representable and not negative.
bool checkedBytes(const std::vector<int64_t> &shape, int64_t bytesPerElement, int64_t &bytes);

/// Why the elements of `array` cannot become elements of `to`; empty if they can. Floats become floats, integers and bools integers that hold
/// each of them. `rounds` tells whether digits of floats are lost.
std::string conversionProblem(const Array &array, DType to, bool &rounds);

/// One .npy image in memory. Column-major data is turned into row-major.
Status readNpy(const char *bytes, size_t size, const std::shared_ptr<const void> &owner, const std::string &what,
               Array &array);
Status readNpz(const std::string &path, ArrayMap &arrays);
/// bf16 is written as f32, which numpy knows.
Status writeNpz(const std::string &path, const ArrayMap &arrays);

/// An ONNX TensorProto (`input_0.pb`); `name` is the one inside of the file, maybe empty.
Status readTensorProto(const std::string &path, Array &array, std::string &name);

/// Arrays by input name from an .npz, an .npy (one input), or a folder of `NAME.npy` or `input_N.pb`, where N counts
/// `inputOrder`.
Status readArrays(const std::string &path, const std::vector<std::string> &inputOrder, ArrayMap &arrays);

/// Writes all bytes or reports. The file is written beside its name and renamed, so that it is there whole or as it was; devices and pipes
/// are written as they are.
Status writeFile(const std::string &path, const std::vector<std::pair<const void *, size_t>> &parts);
/// Whether writeFile could begin now: a run learns before it starts that its results would have no place. Leaves all as it was.
Status checkWritable(const std::string &path);

} // namespace para::runtime

#endif
