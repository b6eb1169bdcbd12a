//===- TensorStore.h - Global tensors and their shards ----------*- C++ -*-===//
//
// Moves tensors between their global view (files, users) and the parts that ranks hold. Names are global: a tensor that lives
// on several stages is read from the one that is its primary and written to all.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_TENSORSTORE_H
#define PARA_RUNTIME_CORE_TENSORSTORE_H

#include "Array.h"
#include "Device.h"
#include "Shard.h"

#include <functional>

namespace para::runtime {

class TensorStore {
public:
  TensorStore(const Manifest &manifest, World &world, Device &device);

  const Stage &stage() const { return *myStage; }
  /// Fills this rank's part of a tensor of its stage from the whole; converts the type.
  Status scatter(const Tensor &tensor, const Array &global);
  /// Fills every block of the tensor by `fill(box, local)`, which gets zeroed memory.
  Status fillBlocks(const Tensor &tensor, const std::function<void(const Box &, char *)> &fill);
  Status fillConstant(const Tensor &tensor, double value);

  /// A tensor once, with the stage that speaks for it.
  struct Global {
    const Tensor *tensor;
    int64_t stage;
  };
  /// All tensors of the given kinds, ordered by name; the same on all ranks.
  std::vector<Global> globals(const std::function<bool(const Tensor &)> &wanted) const;
  /// Collective. On rank 0 `array` becomes the whole tensor, in its own type.
  Status gather(const Global &global, Array &array);
  /// Collective: all wanted tensors into one .npz, written by rank 0.
  Status dump(const std::string &path, const std::function<bool(const Tensor &)> &wanted);

  /// The value of a scalar tensor of this stage.
  Status readScalar(const Tensor &tensor, double &value);
  Status writeScalar(const Tensor &tensor, double value);

private:
  const Manifest &manifest;
  World &world;
  Device &device;
  const Stage *myStage;
  std::vector<int64_t> coordinates;
  std::vector<char> buffer;
};

} // namespace para::runtime

#endif
