#include "para/Plan/DeviceMesh.h"

#include "llvm/ADT/STLExtras.h"

using namespace para;

std::optional<GridAxes> para::explainShards(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> grid, llvm::ArrayRef<int32_t> shardOf) {
  if (shardOf.empty() || shardOf.front() != 0)
    return std::nullopt;
  // One step along an axis changes the coordinate of the one dimension that the axis cuts, by as many shards as the axes inside of it make.
  struct Step {
    unsigned axis;
    int64_t shards;
  };
  std::vector<llvm::SmallVector<Step>> steps(grid.size());
  int64_t stride = 1;
  for (unsigned axis = sizes.size(); axis-- > 0; stride *= sizes[axis]) {
    if (sizes[axis] == 1)
      continue;
    int64_t shard = shardOf[stride];
    int cut = -1;
    for (unsigned dim = grid.size(); dim-- > 0; shard /= grid[dim])
      if (shard % grid[dim]) {
        if (cut >= 0)
          return std::nullopt;
        cut = int(dim);
        steps[dim].push_back({axis, shard % grid[dim]});
      }
  }
  GridAxes axes(grid.size());
  for (unsigned dim = 0; dim < grid.size(); ++dim) {
    llvm::sort(steps[dim], [](const Step &a, const Step &b) { return a.shards > b.shards; });
    int64_t inside = 1;
    for (const Step &step : llvm::reverse(steps[dim])) {
      if (step.shards != inside)
        return std::nullopt;
      inside *= sizes[step.axis];
      axes[dim].insert(axes[dim].begin(), step.axis);
    }
    if (inside != grid[dim])
      return std::nullopt;
  }
  for (int64_t rank = 0; rank < int64_t(shardOf.size()); ++rank) {
    llvm::SmallVector<int64_t> place(sizes.size());
    int64_t rest = rank, shard = 0;
    for (unsigned axis = sizes.size(); axis-- > 0; rest /= sizes[axis])
      place[axis] = rest % sizes[axis];
    for (unsigned dim = 0; dim < grid.size(); ++dim) {
      int64_t coordinate = 0;
      for (unsigned axis : axes[dim])
        coordinate = coordinate * sizes[axis] + place[axis];
      shard = shard * grid[dim] + coordinate;
    }
    if (shard != shardOf[rank])
      return std::nullopt;
  }
  return axes;
}

std::vector<llvm::SmallVector<int64_t>> para::getMeshes(int64_t ranks, unsigned axes) {
  if (axes == 0)
    return ranks == 1 ? std::vector<llvm::SmallVector<int64_t>>(1) : std::vector<llvm::SmallVector<int64_t>>();
  std::vector<llvm::SmallVector<int64_t>> meshes;
  for (int64_t first = ranks; first >= 1; --first)
    if (ranks % first == 0)
      for (llvm::SmallVector<int64_t> &rest : getMeshes(ranks / first, axes - 1)) {
        rest.insert(rest.begin(), first);
        meshes.push_back(std::move(rest));
      }
  return meshes;
}
