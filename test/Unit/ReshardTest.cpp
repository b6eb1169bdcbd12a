//===- ReshardTest.cpp - The cheapest way from one sharding to another ----===//
#include "Meshes.h"
#include "para/Partition/Reshard.h"

#include <gtest/gtest.h>

#include <map>

using namespace para;

namespace {
int64_t bytesOf(Meshes &m, mlir::RankedTensorType global, const Sharding &sharding) {
  return sharding.getLocalType(global, m.mesh).getNumElements() * 4;
}

/// A move by its definition: the sharding behind it and what one rank sends; null where it cannot be made.
struct Edge {
  Sharding to;
  int64_t bytes;
};
std::vector<Edge> movesFrom(Meshes &m, mlir::RankedTensorType global, const Sharding &from, llvm::ArrayRef<llvm::StringRef> axes) {
  std::vector<Edge> edges;
  int64_t before = bytesOf(m, global, from);
  for (llvm::StringRef axis : axes) {
    int64_t n = m.mesh.getSize(axis);
    Sharding whole = from;
    whole.removePartial(axis);
    if (from.isPartial(axis))
      edges.push_back({whole, 2 * (n - 1) * before / n});
    for (size_t dim = 0; dim < from.dims.size(); ++dim) {
      Sharding cut = whole;
      cut.dims[dim].axes.push_back(m.axis(axis));
      if (from.isPartial(axis))
        edges.push_back({cut, (n - 1) * bytesOf(m, global, cut)}); // reduce-scatter
      else if (!from.isCut(axis))
        edges.push_back({cut, 0}); // slice
      if (from.dims[dim].axes.empty() || from.dims[dim].axes.back() != m.axis(axis))
        continue;
      Sharding gathered = from;
      gathered.dims[dim].axes.pop_back();
      edges.push_back({gathered, (n - 1) * before});
      for (size_t other = 0; other < from.dims.size(); ++other)
        if (other != dim) {
          Sharding moved = gathered;
          moved.dims[other].axes.push_back(m.axis(axis));
          edges.push_back({moved, (n - 1) * before / n});
        }
    }
  }
  return edges;
}

std::string nameOf(const Sharding &sharding) {
  std::string text;
  for (const DimSharding &dim : sharding.dims) {
    for (Axis axis : dim.axes)
      text += axis.getValue();
    text += ",";
  }
  for (Axis axis : sharding.partial)
    text += "+" + axis.getValue().str();
  return text;
}

/// All shardings of a rank that use the axes in any way.
std::vector<Sharding> allShardings(Meshes &m, int64_t rank, llvm::ArrayRef<llvm::StringRef> axes) {
  std::map<std::string, Sharding> found;
  std::function<void(Sharding, size_t)> add = [&](Sharding sharding, size_t next) {
    found[nameOf(sharding)] = sharding;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (sharding.isCut(axes[i]) || sharding.isPartial(axes[i]))
        continue;
      for (int64_t dim = 0; dim < rank; ++dim) {
        Sharding cut = sharding;
        cut.dims[dim].axes.push_back(m.axis(axes[i]));
        add(cut, next + 1);
      }
      Sharding partial = sharding;
      partial.addPartial(m.axis(axes[i]));
      add(partial, next + 1);
    }
  };
  add(Sharding::replicated(rank), 0);
  std::vector<Sharding> list;
  for (auto &[name, sharding] : found)
    list.push_back(sharding);
  return list;
}

/// Least bytes from `from` to every sharding, by relaxing until nothing changes.
std::map<std::string, int64_t> bruteForce(Meshes &m, mlir::RankedTensorType global, const Sharding &from, llvm::ArrayRef<llvm::StringRef> axes) {
  std::map<std::string, std::pair<int64_t, Sharding>> best{{nameOf(from), {0, from}}};
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[name, entry] : std::map(best))
      for (const Edge &edge : movesFrom(m, global, entry.second, axes)) {
        auto [it, added] = best.insert({nameOf(edge.to), {entry.first + edge.bytes, edge.to}});
        if (!added && entry.first + edge.bytes < it->second.first)
          it->second.first = entry.first + edge.bytes, added = true;
        changed |= added;
      }
  }
  std::map<std::string, int64_t> result;
  for (auto &[name, entry] : best)
    result[name] = entry.first;
  return result;
}

/// Checks each move of a path by its definition, and that the path ends where it should.
void checkPath(Meshes &m, mlir::RankedTensorType global, const Sharding &from, const Sharding &to, const ReshardPath &path, llvm::ArrayRef<llvm::StringRef> axes) {
  Sharding here = from;
  int64_t bytes = 0;
  for (const ReshardMove &move : path.moves) {
    bool made = false;
    for (const Edge &edge : movesFrom(m, global, here, axes))
      if (edge.to == move.result && !made) {
        bytes += edge.bytes;
        made = true;
      }
    ASSERT_TRUE(made) << nameOf(from) << " to " << nameOf(to) << ": no move from " << nameOf(here) << " to " << nameOf(move.result);
    here = move.result;
  }
  EXPECT_EQ(nameOf(here), nameOf(to));
  EXPECT_EQ(bytes, path.bytes);
}
} // namespace

// Partial to cut is one reduce-scatter, partial to whole one all-reduce, from dimension to dimension one all-to-all.
TEST(Reshard, KnownMoves) {
  Meshes m({{"data", 4}});
  auto type = m.tensor({16, 8});
  Sharding whole = m.sharding({{}, {}}), partial = m.sharding({{}, {}}, {"data"}), rows = m.sharding({m.cut({"data"}), {}}), columns = m.sharding({{}, m.cut({"data"})});
  for (auto [from, to, kind, bytes] : {std::tuple(partial, rows, ReshardMove::ReduceScatter, 3 * 128), {partial, whole, ReshardMove::AllReduce, 2 * 3 * 512 / 4},
                                       {rows, columns, ReshardMove::AllToAll, 3 * 128 / 4}, {rows, whole, ReshardMove::AllGather, 3 * 128},
                                       {whole, columns, ReshardMove::Slice, 0}}) {
    auto path = findReshardPath(type, from, to, m.mesh);
    ASSERT_TRUE(path);
    ASSERT_EQ(path->moves.size(), 1u) << nameOf(from) << " to " << nameOf(to);
    EXPECT_EQ(path->moves[0].kind, kind);
    EXPECT_EQ(path->bytes, bytes);
    EXPECT_EQ(path->moves[0].result, to);
  }
  EXPECT_TRUE(findReshardPath(type, rows, rows, m.mesh)->moves.empty());
}

// What is whole or cut cannot become a partial sum.
TEST(Reshard, NothingBecomesPartial) {
  Meshes m({{"data", 2}, {"tensor", 2}});
  EXPECT_FALSE(findReshardPath(m.tensor({4}), m.sharding({{}}), m.sharding({{}}, {"data"}), m.mesh));
  EXPECT_FALSE(findReshardPath(m.tensor({4}), m.sharding({{}}, {"tensor"}), m.sharding({{}}, {"data"}), m.mesh));
  EXPECT_TRUE(findReshardPath(m.tensor({4}), m.sharding({{}}, {"data", "tensor"}), m.sharding({{}}, {"data"}), m.mesh));
}

// Over one axis the search sends exactly as few bytes as the best of all ways, whether the pieces are equal or not.
TEST(Reshard, OneAxisAgainstBruteForce) {
  for (int64_t n : {2, 3, 4})
    for (auto shape : {std::vector<int64_t>{12, 24}, {24, 12}, {5, 7}}) {
      Meshes m({{"a", n}});
      auto type = m.tensor(shape);
      auto all = allShardings(m, 2, {"a"});
      ASSERT_EQ(all.size(), 4u);
      for (const Sharding &from : all) {
        auto best = bruteForce(m, type, from, {"a"});
        for (const Sharding &to : all) {
          auto path = findReshardPath(type, from, to, m.mesh);
          ASSERT_EQ(bool(path), best.count(nameOf(to)) > 0) << nameOf(from) << " to " << nameOf(to);
          if (!path)
            continue;
          EXPECT_EQ(path->bytes, best[nameOf(to)]) << nameOf(from) << " to " << nameOf(to) << " over " << n;
          checkPath(m, type, from, to, *path, {"a"});
        }
      }
    }
}

// Over two axes every path is sound, there is one wherever there can be one, and it sends what the best of all ways does
// that use the axes which the two shardings name.
TEST(Reshard, TwoAxesAgainstBruteForce) {
  for (auto [a, b] : {std::pair(2, 2), {2, 3}, {4, 2}}) {
    Meshes m({{"a", a}, {"b", b}});
    auto type = m.tensor({24, 48});
    auto all = allShardings(m, 2, {"a", "b"});
    for (const Sharding &from : all) {
      for (const Sharding &to : all) {
        llvm::SmallVector<llvm::StringRef> named;
        for (llvm::StringRef axis : {"a", "b"})
          if (from.isCut(axis) || from.isPartial(axis) || to.isCut(axis) || to.isPartial(axis))
            named.push_back(axis);
        auto best = bruteForce(m, type, from, named);
        auto path = findReshardPath(type, from, to, m.mesh);
        ASSERT_EQ(bool(path), best.count(nameOf(to)) > 0) << nameOf(from) << " to " << nameOf(to);
        if (!path)
          continue;
        checkPath(m, type, from, to, *path, {"a", "b"});
        EXPECT_EQ(path->bytes, best[nameOf(to)]) << nameOf(from) << " to " << nameOf(to) << " over " << a << " x " << b;
      }
    }
  }
}

// A larger tensor never costs less.
TEST(Reshard, CostIsMonotone) {
  Meshes m({{"a", 2}, {"b", 3}});
  auto all = allShardings(m, 2, {"a", "b"});
  for (const Sharding &from : all)
    for (const Sharding &to : all) {
      int64_t last = 0;
      for (int64_t size : {1, 2, 3, 6, 7, 12, 13, 24}) {
        auto path = findReshardPath(m.tensor({size, 12}), from, to, m.mesh);
        if (!path)
          break;
        EXPECT_GE(path->bytes, last) << nameOf(from) << " to " << nameOf(to) << " at " << size;
        last = path->bytes;
      }
    }
}

// The same question has the same answer, move by move.
TEST(Reshard, IsDeterministic) {
  for (int round = 0; round < 2; ++round) {
    Meshes m({{"a", 2}, {"b", 2}});
    auto path = findReshardPath(m.tensor({8, 8}), m.sharding({m.cut({"a"}), m.cut({"b"})}), m.sharding({m.cut({"b"}), m.cut({"a"})}), m.mesh);
    ASSERT_TRUE(path);
    std::string text;
    for (const ReshardMove &move : path->moves)
      text += nameOf(move.result) + " ";
    static std::string first = text;
    EXPECT_EQ(text, first);
  }
}
