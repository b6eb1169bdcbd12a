//===- TensorStore.cpp - Global tensors and their shards ----------------------===//
#include "TensorStore.h"

#include <algorithm>

namespace para::runtime {

TensorStore::TensorStore(const Manifest &manifest, World &world, Device &device)
    : manifest(manifest), world(world), device(device),
      myStage(&manifest.stages[size_t(manifest.stageOf(world.rank()))]),
      coordinates(manifest.coordinates(world.rank())) {}

Status TensorStore::fillBlocks(const Tensor &tensor, const std::function<void(const Box &, char *)> &fill) {
  int64_t bytes = tensor.localBytes();
  char *arena = device.hostArena();
  for (int64_t block = 0; block < tensor.stacked; ++block) {
    int64_t offset = tensor.offset + block * bytes;
    if (!arena)
      buffer.resize(size_t(bytes));
    char *local = arena ? arena + offset : buffer.data();
    std::memset(local, 0, size_t(bytes));
    for (const Box &box : shardBoxes(manifest, tensor, coordinates, block))
      if (!box.empty())
        fill(box, local);
    if (!arena)
      PARA_TRY(device.write(offset, local, bytes));
  }
  return Status::success();
}

Status TensorStore::scatter(const Tensor &tensor, const Array &global) {
  int64_t step = elementBytes(tensor.dtype), fileStep = elementBytes(global.dtype);
  std::vector<int64_t> zero(tensor.shape.size(), 0);
  std::vector<char> part, converted;
  return fillBlocks(tensor, [&](const Box &box, char *local) {
    if (global.dtype == tensor.dtype)
      return copyBox(global.data, tensor.shape, box.begin, local, tensor.local, box.local, box.size, step);
    part.resize(size_t(box.elements() * fileStep));
    converted.resize(size_t(box.elements() * step));
    copyBox(global.data, tensor.shape, box.begin, part.data(), box.size, zero, box.size, fileStep);
    convertElements(global.dtype, part.data(), tensor.dtype, converted.data(), box.elements());
    copyBox(converted.data(), box.size, zero, local, tensor.local, box.local, box.size, step);
  });
}

Status TensorStore::fillConstant(const Tensor &tensor, double value) {
  std::vector<char> whole;
  int64_t step = elementBytes(tensor.dtype);
  std::vector<int64_t> zero(tensor.shape.size(), 0);
  return fillBlocks(tensor, [&](const Box &box, char *local) {
    if (value == 0)
      return;
    whole.resize(size_t(box.elements() * step));
    for (int64_t i = 0, n = box.elements(); i < n; ++i)
      storeScalar(tensor.dtype, whole.data() + i * step, value);
    copyBox(whole.data(), box.size, zero, local, tensor.local, box.local, box.size, step);
  });
}

std::vector<TensorStore::Global> TensorStore::globals(const std::function<bool(const Tensor &)> &wanted) const {
  std::map<std::string, Global> byName;
  for (size_t i = 0; i < manifest.stages.size(); ++i)
    for (const Tensor &tensor : manifest.stages[i].tensors) {
      if (!wanted(tensor))
        continue;
      auto [at, isNew] = byName.try_emplace(tensor.name, Global{&tensor, int64_t(i)});
      if (!isNew && tensor.primary && !at->second.tensor->primary)
        at->second = {&tensor, int64_t(i)};
    }
  std::vector<Global> result;
  for (auto &[name, global] : byName)
    result.push_back(global);
  return result;
}

Status TensorStore::gather(const Global &global, Array &array) {
  const Tensor &tensor = *global.tensor;
  char *memory = nullptr;
  if (world.rank() == 0)
    array = Array::allocate(tensor.dtype, tensor.shape, memory);
  int64_t bytes = tensor.stacked * tensor.localBytes(), step = elementBytes(tensor.dtype);
  for (int64_t owner = 0; owner < world.size(); ++owner) {
    bool isMine = owner == world.rank();
    if ((!isMine && world.rank() != 0) || manifest.stageOf(owner) != global.stage ||
        !isFirstReplica(manifest, tensor, owner))
      continue;
    buffer.resize(size_t(bytes));
    if (isMine)
      PARA_TRY(device.read(tensor.offset, buffer.data(), bytes));
    if (isMine && owner != 0)
      PARA_TRY(world.send(0, buffer.data(), bytes));
    if (!isMine)
      PARA_TRY(world.receive(owner, buffer.data(), bytes));
    if (world.rank() != 0)
      continue;
    std::vector<int64_t> at = manifest.coordinates(owner);
    for (int64_t block = 0; block < tensor.stacked; ++block)
      for (const Box &box : shardBoxes(manifest, tensor, at, block))
        copyBox(buffer.data() + block * tensor.localBytes(), tensor.local, box.local, memory, tensor.shape, box.begin,
                box.size, step);
  }
  return Status::success();
}

Status TensorStore::dump(const std::string &path, const std::function<bool(const Tensor &)> &wanted) {
  ArrayMap arrays;
  for (const Global &global : globals(wanted)) {
    Array array;
    PARA_TRY(gather(global, array));
    if (world.rank() == 0)
      arrays[global.tensor->name] = array;
  }
  Status status = world.rank() == 0 ? writeNpz(path, arrays) : Status::success();
  return world.agree(status);
}

Status TensorStore::readScalar(const Tensor &tensor, double &value) {
  char bytes[8];
  PARA_TRY(device.read(tensor.offset, bytes, elementBytes(tensor.dtype)));
  value = loadScalar(tensor.dtype, bytes);
  return Status::success();
}

Status TensorStore::writeScalar(const Tensor &tensor, double value) {
  char bytes[8];
  storeScalar(tensor.dtype, bytes, value);
  return device.write(tensor.offset, bytes, elementBytes(tensor.dtype));
}

} // namespace para::runtime
