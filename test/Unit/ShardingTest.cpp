//===- ShardingTest.cpp - Sizes of shards ---------------------------------===//
#include "Meshes.h"

#include <gtest/gtest.h>

using namespace para;

// A dimension over n ranks is ceil(g / n) long on each of them.
TEST(Sharding, CutsAreRoundedUp) {
  Meshes m({{"data", 4}});
  for (auto [size, local, padded] : {std::tuple(8, 2, false), {7, 2, true}, {9, 3, true}, {4, 1, false}, {3, 1, true}, {1, 1, true}}) {
    EXPECT_EQ(m.cut({"data"}).getLocalSize(size, m.mesh), local) << size;
    EXPECT_EQ(m.cut({"data"}).hasPadding(size, m.mesh), padded) << size;
  }
}

// Two axes cut one after the other: the second cuts the padded piece of the first.
TEST(Sharding, AxesCutInOrder) {
  Meshes m({{"data", 3}, {"tensor", 2}});
  EXPECT_EQ(m.cut({"data", "tensor"}).getLocalSize(10, m.mesh), 2); // 10 -> 4 -> 2
  EXPECT_EQ(m.cut({"tensor", "data"}).getLocalSize(10, m.mesh), 2); // 10 -> 5 -> 2
  EXPECT_EQ(m.cut({"data", "tensor"}).getLocalSize(13, m.mesh), 3); // 13 -> 5 -> 3
  EXPECT_EQ(m.cut({"tensor", "data"}).getLocalSize(13, m.mesh), 3); // 13 -> 7 -> 3
  EXPECT_TRUE(m.cut({"data", "tensor"}).hasPadding(9, m.mesh));      // 3 -> 1.5
  EXPECT_FALSE(m.cut({"data", "tensor"}).hasPadding(12, m.mesh));
}

// Units stay together: 5 heads of 4 over 2 ranks are 3 heads a rank.
TEST(Sharding, UnitsStayTogether) {
  Meshes m({{"tensor", 2}});
  EXPECT_EQ(m.cut({"tensor"}, 4).getLocalSize(20, m.mesh), 12);
  EXPECT_TRUE(m.cut({"tensor"}, 4).hasPadding(20, m.mesh));
  EXPECT_EQ(m.cut({"tensor"}, 1).getLocalSize(20, m.mesh), 10);
  EXPECT_FALSE(m.cut({"tensor"}, 1).hasPadding(20, m.mesh));
}

// Blocks are cut each by itself: a fused [3, 5 heads, width 2] is 3 x 3 heads a rank.
TEST(Sharding, BlocksAreCutEach) {
  Meshes m({{"tensor", 2}});
  EXPECT_EQ(m.cut({"tensor"}, 2, 3).getLocalSize(30, m.mesh), 18);
  EXPECT_EQ(m.cut({"tensor"}, 2, 1).getLocalSize(30, m.mesh), 16);
  EXPECT_TRUE(m.cut({"tensor"}, 2, 3).hasPadding(30, m.mesh));
}

// An axis that the mesh does not have, or of size 1, cuts nothing.
TEST(Sharding, AxesOfSizeOneCutNothing) {
  Meshes m({{"data", 1}, {"tensor", 2}});
  EXPECT_EQ(m.cut({"data"}).getLocalSize(7, m.mesh), 7);
  EXPECT_EQ(m.cut({"other"}).getLocalSize(7, m.mesh), 7);
  EXPECT_EQ(m.cut({"data", "tensor"}, 3).getCanonical(12, m.mesh), m.cut({"tensor"}));
  EXPECT_EQ(m.cut({"data"}, 3).getCanonical(12, m.mesh), DimSharding());
}

// Where pieces are equal the unit is one; where they are not, it is kept.
TEST(Sharding, CanonicalKeepsUnitsThatMatter) {
  Meshes m({{"tensor", 2}});
  EXPECT_EQ(m.cut({"tensor"}, 4).getCanonical(16, m.mesh).unit, 1);
  EXPECT_EQ(m.cut({"tensor"}, 4).getCanonical(20, m.mesh).unit, 4);
}

// Every element is in one shard, and a shard's padding is less than a shard: for all sizes and axes up to a bound.
TEST(Sharding, PiecesCoverTheDimension) {
  for (int64_t a = 1; a <= 5; ++a)
    for (int64_t b = 1; b <= 4; ++b) {
      Meshes m({{"a", a}, {"b", b}});
      for (int64_t size = 1; size <= 40; ++size) {
        int64_t outer = m.cut({"a"}).getLocalSize(size, m.mesh), local = m.cut({"a", "b"}).getLocalSize(size, m.mesh);
        EXPECT_EQ(outer, (size + a - 1) / a);
        EXPECT_EQ(local, (outer + b - 1) / b);
        std::vector<int> owners(size, 0);
        for (int64_t i = 0; i < a; ++i)
          for (int64_t j = 0; j < b; ++j)
            for (int64_t k = 0; k < local; ++k)
              if (int64_t inner = j * local + k; inner < outer && i * outer + inner < size)
                ++owners[i * outer + inner];
        EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), size);
        EXPECT_EQ(m.cut({"a", "b"}).hasPadding(size, m.mesh), size != a * b * local);
      }
    }
}

// The attribute says what the value says, and partial axes are a set.
TEST(Sharding, AttributeRoundTrip) {
  Meshes m({{"data", 2}, {"tensor", 2}, {"pipeline", 2}});
  Sharding sharding = m.sharding({m.cut({"data", "tensor"}, 4, 3), {}}, {"tensor", "pipeline"});
  EXPECT_EQ(Sharding::get(sharding.getAttr(&m.context)), sharding);
  EXPECT_EQ(m.sharding({{}}, {"a", "b"}), m.sharding({{}}, {"b", "a", "b"}));
  EXPECT_NE(m.sharding({{}}, {"a"}), m.sharding({{}}, {"b"}));
  Sharding maximum = m.sharding({{}}, {"a"});
  maximum.reduction = ReductionKind::Max;
  EXPECT_NE(maximum, m.sharding({{}}, {"a"}));
  EXPECT_EQ(Sharding::get(maximum.getAttr(&m.context)), maximum);
  maximum.removePartial("a");
  EXPECT_EQ(maximum, m.sharding({{}})); // of what is whole nothing is left to be combined
}

// A local type follows from the dimensions.
TEST(Sharding, LocalType) {
  Meshes m({{"data", 4}, {"tensor", 2}});
  EXPECT_EQ(m.sharding({m.cut({"data"}), {}, m.cut({"tensor"}, 3)}, {}).getLocalType(m.tensor({7, 5, 9}), m.mesh), m.tensor({2, 5, 6}));
}

// Microbatches are coordinates in time and no ranks.
TEST(Sharding, RanksDoNotCountMicrobatches) {
  Meshes m({{"pipeline", 2}, {"data", 3}, {"microbatch", 5}});
  EXPECT_EQ(m.mesh.getNumRanks(), 6);
  EXPECT_EQ(m.mesh.getSize("microbatch"), 5);
  EXPECT_EQ(m.mesh.getSize("tensor"), 1);
}
