#include "para/Partition/Reshard.h"

#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>

using namespace mlir;
using namespace para;

namespace {
/// A total order on shardings for the search's maps: numbers of the mesh's axes, and units and blocks where they are not 1.
void appendKey(std::string &key, const Sharding &sharding, MeshAttr mesh) {
  auto appendAxis = [&](Axis axis) {
    ArrayRef<Attribute> axes = mesh.getAxes().getValue();
    key += char('a' + (llvm::find(axes, Attribute(axis)) - axes.begin()));
  };
  auto appendNumber = [&](char kind, int64_t number) {
    if (number == 1)
      return;
    key += kind;
    key.append(reinterpret_cast<const char *>(&number), sizeof(number));
  };
  for (const DimSharding &dim : sharding.dims) {
    llvm::for_each(dim.axes, appendAxis);
    appendNumber('U', dim.unit);
    appendNumber('B', dim.blocks);
    key += ';';
  }
  llvm::for_each(sharding.partial, appendAxis);
}

class Search {
public:
  Search(RankedTensorType global, const Sharding &to, MeshAttr mesh) : global(global), to(to), mesh(mesh) {}

  std::optional<ReshardPath> run(const Sharding &from) {
    appendKey(goal, to, mesh);
    push({0, 0}, from, "", {});
    while (!queue.empty()) {
      auto [cost, key] = *queue.begin();
      queue.erase(queue.begin());
      Node node = nodes[key];
      if (key == goal)
        return collect(key);
      expand(node, key);
    }
    return std::nullopt;
  }

private:
  using Cost = std::pair<int64_t, int64_t>; // bytes, moves
  struct Node {
    Cost cost;
    Sharding sharding;
    std::string parent;
    std::optional<ReshardMove> move;
  };

  int64_t getBytes(const Sharding &sharding) const {
    int64_t bytes = llvm::divideCeil(global.getElementTypeBitWidth(), 8u);
    for (auto [dim, size] : llvm::zip_equal(sharding.dims, global.getShape()))
      bytes *= dim.getLocalSize(size, mesh);
    return bytes;
  }

  void push(Cost cost, const Sharding &sharding, const std::string &parent, std::optional<ReshardMove> move) {
    if (known && *known < cost) // what leads there already is no dearer
      return;
    std::string key;
    appendKey(key, sharding, mesh);
    if (key == goal && (!known || cost < *known))
      known = cost;
    auto it = nodes.find(key);
    if (it != nodes.end() && it->second.cost <= cost)
      return;
    if (it != nodes.end())
      queue.erase({it->second.cost, key});
    nodes[key] = {cost, sharding, parent, std::move(move)};
    queue.insert({cost, key});
  }

  void step(const Node &node, const std::string &key, ReshardMove::Kind kind, Axis axis, int64_t from, int64_t target, Sharding next) {
    int64_t n = mesh.getSize(axis), bytes = 0;
    int64_t before = getBytes(node.sharding), after = getBytes(next);
    switch (kind) {
    case ReshardMove::Slice:
      break;
    case ReshardMove::AllGather:
      bytes = (n - 1) * before;
      break;
    case ReshardMove::ReduceScatter:
      bytes = (n - 1) * after;
      break;
    case ReshardMove::AllReduce:
      bytes = 2 * (n - 1) * before / n;
      break;
    case ReshardMove::AllToAll: // of several blocks it is a gather and a slice
      bytes = node.sharding.dims[from].blocks == 1 && next.dims[target].blocks == 1 ? (n - 1) * before / n : (n - 1) * before;
      break;
    }
    push({node.cost.first + bytes, node.cost.second + 1}, next, key, ReshardMove{kind, axis, from, target, next});
  }

  /// Gives `axis` to dimension `dim` as its last cut, in the target's unit and blocks if it is the first.
  void cut(Sharding &sharding, Axis axis, int64_t dim) const {
    DimSharding &own = sharding.dims[dim];
    if (own.axes.empty() && !to.dims[dim].axes.empty()) {
      own.unit = to.dims[dim].unit;
      own.blocks = to.dims[dim].blocks;
    }
    own.axes.push_back(axis);
  }

  static Axis uncut(Sharding &sharding, int64_t dim) {
    DimSharding &own = sharding.dims[dim];
    Axis axis = own.axes.pop_back_val();
    if (own.axes.empty())
      own.unit = own.blocks = 1;
    return axis;
  }

  void expand(const Node &node, const std::string &key) {
    int64_t rank = node.sharding.dims.size();
    // A cut that the target has elsewhere, or in another order, may still lead there with fewer bytes; an axis that cuts nothing of the
    // target never does.
    for (const DimSharding &goal : to.dims)
      for (Axis axis : goal.axes) {
        if (node.sharding.isCut(axis) || node.sharding.isPartial(axis))
          continue;
        for (int64_t dim = 0; dim < rank; ++dim) {
          Sharding next = node.sharding;
          cut(next, axis, dim);
          step(node, key, ReshardMove::Slice, axis, -1, dim, next);
        }
      }
    for (Axis axis : node.sharding.partial) {
      if (to.isPartial(axis))
        continue;
      Sharding reduced = node.sharding;
      reduced.removePartial(axis);
      step(node, key, ReshardMove::AllReduce, axis, -1, -1, reduced);
      for (int64_t dim = 0; dim < rank; ++dim) {
        Sharding next = reduced;
        cut(next, axis, dim);
        step(node, key, ReshardMove::ReduceScatter, axis, -1, dim, next);
      }
    }
    for (int64_t dim = 0; dim < rank; ++dim) {
      if (node.sharding.dims[dim].axes.empty())
        continue;
      Sharding gathered = node.sharding;
      Axis axis = uncut(gathered, dim);
      step(node, key, ReshardMove::AllGather, axis, dim, -1, gathered);
      for (int64_t other = 0; other < rank; ++other) {
        if (other == dim || axis.getValue() == kMicrobatch) // time cannot be exchanged
          continue;
        Sharding next = gathered;
        cut(next, axis, other);
        step(node, key, ReshardMove::AllToAll, axis, dim, other, next);
      }
    }
  }

  ReshardPath collect(std::string key) {
    ReshardPath path;
    path.bytes = nodes[key].cost.first;
    for (; nodes[key].move; key = nodes[key].parent)
      path.moves.insert(path.moves.begin(), *nodes[key].move);
    return path;
  }

  RankedTensorType global;
  Sharding to;
  MeshAttr mesh;
  std::string goal;
  std::optional<Cost> known; ///< of a way to the goal
  std::map<std::string, Node> nodes;
  std::set<std::pair<Cost, std::string>> queue;
};
} // namespace

std::optional<ReshardPath> para::findReshardPath(RankedTensorType global, const Sharding &from, const Sharding &to, MeshAttr mesh) {
  Sharding start = from.getCanonical(global, mesh), goal = to.getCanonical(global, mesh);
  for (Axis axis : goal.partial)
    if (!start.isPartial(axis))
      return std::nullopt;
  if (start == goal)
    return ReshardPath();
  return Search(global, goal, mesh).run(start);
}

const std::optional<ReshardPath> &ReshardFinder::find(RankedTensorType global, const Sharding &from, const Sharding &to) {
  std::string key(1, char(global.getRank()));
  key.append(reinterpret_cast<const char *>(global.getShape().data()), global.getShape().size() * sizeof(int64_t));
  key += char(global.getElementTypeBitWidth());
  appendKey(key, from, mesh);
  key += from.reduction == ReductionKind::Sum ? '>' : char(int(from.reduction));
  appendKey(key, to, mesh);
  auto [it, isNew] = found.try_emplace(key);
  if (isNew)
    it->second = findReshardPath(global, from, to, mesh);
  return it->second;
}
