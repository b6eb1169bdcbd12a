//===- Shard.cpp - Which part of a global tensor a rank holds -----------------===//
#include "Shard.h"

#include <algorithm>

namespace para::runtime {

bool Box::empty() const {
  return std::any_of(size.begin(), size.end(), [](int64_t extent) { return extent == 0; });
}

int64_t Box::elements() const {
  int64_t total = 1;
  for (int64_t extent : size)
    total *= extent;
  return total;
}

static int64_t axisSize(const Manifest &manifest, const std::string &axis) {
  int index = manifest.axisIndex(axis);
  return index >= 0 ? manifest.mesh[index].size : manifest.microbatches;
}

int64_t paddedSize(const Manifest &manifest, const Tensor &tensor, size_t d) {
  if (tensor.dims[d].empty())
    return tensor.shape[d];
  int64_t units = tensor.shape[d] / tensor.blocks[d] / tensor.units[d];
  for (const std::string &axis : tensor.dims[d]) {
    int64_t parts = axisSize(manifest, axis);
    units = (units + parts - 1) / parts;
  }
  return units * tensor.units[d] * tensor.blocks[d];
}

std::vector<Box> shardBoxes(const Manifest &manifest, const Tensor &tensor, const std::vector<int64_t> &coordinates,
                            int64_t microbatch) {
  std::vector<Box> boxes(1);
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    int64_t unit = tensor.units[d], blocks = tensor.blocks[d], extent = tensor.shape[d] / blocks;
    int64_t begin = 0, end = extent / unit, padded = end;
    for (const std::string &axis : tensor.dims[d]) {
      int index = manifest.axisIndex(axis);
      int64_t parts = axisSize(manifest, axis), at = index >= 0 ? coordinates[index] : microbatch;
      padded = (padded + parts - 1) / parts;
      begin = std::min(begin + at * padded, end);
      end = std::min(begin + padded, end);
    }
    std::vector<Box> next;
    for (const Box &box : boxes)
      for (int64_t block = 0; block < blocks; ++block) {
        next.push_back(box);
        next.back().begin.push_back(block * extent + begin * unit);
        next.back().size.push_back((end - begin) * unit);
        next.back().local.push_back(block * padded * unit);
      }
    boxes = std::move(next);
  }
  return boxes;
}

bool isFirstReplica(const Manifest &manifest, const Tensor &tensor, int64_t rank) {
  std::vector<int64_t> coordinates = manifest.coordinates(rank);
  for (size_t i = 0; i < manifest.mesh.size(); ++i) {
    if (coordinates[i] == 0 || manifest.mesh[i].name == "pipeline")
      continue;
    bool cuts = false;
    for (const auto &axes : tensor.dims)
      cuts |= std::find(axes.begin(), axes.end(), manifest.mesh[i].name) != axes.end();
    if (!cuts)
      return false;
  }
  return true;
}

void copyBox(const void *from, const std::vector<int64_t> &fromShape, const std::vector<int64_t> &fromBegin, void *to,
             const std::vector<int64_t> &toShape, const std::vector<int64_t> &toBegin,
             const std::vector<int64_t> &size, int64_t bytesPerElement) {
  size_t rank = size.size();
  for (int64_t extent : size)
    if (extent == 0)
      return;
  // Trailing dimensions that both sides hold whole make one run.
  int64_t run = bytesPerElement;
  size_t outer = rank;
  while (outer > 0) {
    --outer;
    run *= size[outer];
    if (size[outer] != fromShape[outer] || size[outer] != toShape[outer])
      break;
  }
  std::vector<int64_t> fromStride(rank), toStride(rank);
  int64_t fromBytes = bytesPerElement, toBytes = bytesPerElement;
  for (size_t d = rank; d-- > 0;) {
    fromStride[d] = fromBytes;
    toStride[d] = toBytes;
    fromBytes *= fromShape[d];
    toBytes *= toShape[d];
  }
  const char *in = static_cast<const char *>(from);
  char *out = static_cast<char *>(to);
  for (size_t d = 0; d < rank; ++d) {
    in += fromBegin[d] * fromStride[d];
    out += toBegin[d] * toStride[d];
  }
  std::vector<int64_t> index(outer, 0);
  while (true) {
    int64_t inOffset = 0, outOffset = 0;
    for (size_t d = 0; d < outer; ++d) {
      inOffset += index[d] * fromStride[d];
      outOffset += index[d] * toStride[d];
    }
    std::memcpy(out + outOffset, in + inOffset, size_t(run));
    size_t d = outer;
    while (d > 0 && ++index[d - 1] == size[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

} // namespace para::runtime
