// Which axes of a mesh explain the shards of its ranks.
#include "para/Plan/Constraint.h"
#include "para/Plan/DeviceMesh.h"

#include "gtest/gtest.h"

using namespace para;

namespace {
using Axes = llvm::SmallVector<unsigned, 2>;

TEST(DeviceMesh, AxesByStride) {
  EXPECT_EQ(explainShards({2, 2}, {2}, {0, 0, 1, 1}), GridAxes({Axes{0}}));
  EXPECT_EQ(explainShards({2, 2}, {2}, {0, 1, 0, 1}), GridAxes({Axes{1}}));
  EXPECT_EQ(explainShards({2, 2}, {2}, {0, 1, 1, 0}), std::nullopt);
  EXPECT_EQ(explainShards({4, 1}, {2}, {0, 0, 1, 1}), std::nullopt);
  EXPECT_EQ(explainShards({4, 1}, {4}, {0, 1, 2, 3}), GridAxes({Axes{0}}));
}

TEST(DeviceMesh, TwoAxesOfOneDimension) {
  EXPECT_EQ(explainShards({2, 3}, {6}, {0, 1, 2, 3, 4, 5}), GridAxes({Axes{0, 1}}));
  EXPECT_EQ(explainShards({2, 3}, {6}, {0, 2, 4, 1, 3, 5}), GridAxes({Axes{1, 0}}));
  EXPECT_EQ(explainShards({2, 3}, {6}, {0, 2, 1, 3, 4, 5}), std::nullopt);
}

TEST(DeviceMesh, GridsAreNumberedRowMajor) {
  EXPECT_EQ(explainShards({2, 2}, {2, 2}, {0, 1, 2, 3}), GridAxes({Axes{0}, Axes{1}}));
  EXPECT_EQ(explainShards({2, 2}, {2, 2}, {0, 2, 1, 3}), GridAxes({Axes{1}, Axes{0}}));
  EXPECT_EQ(explainShards({2, 2}, {}, {0, 0, 0, 0}), GridAxes());
  EXPECT_EQ(explainShards({2, 2}, {2, 2}, {0, 3, 2, 1}), std::nullopt);
}

/// What a mesh does is explained by that mesh, for all cuts of two dimensions over three axes.
TEST(DeviceMesh, RoundTrip) {
  std::vector<int64_t> sizes = {2, 3, 2};
  for (unsigned code = 0; code < 27; ++code) { // each axis cuts dimension 0, 1, or none
    std::vector<int> dimOf = {int(code % 3), int(code / 3 % 3), int(code / 9)};
    GridAxes expected(2);
    std::vector<int64_t> grid = {1, 1};
    for (unsigned axis = 0; axis < 3; ++axis)
      if (dimOf[axis] < 2) {
        expected[dimOf[axis]].push_back(axis);
        grid[dimOf[axis]] *= sizes[axis];
      }
    std::vector<int32_t> shardOf;
    for (int64_t rank = 0; rank < 12; ++rank) {
      int64_t place[] = {rank / 6, rank / 2 % 3, rank % 2}, at[] = {0, 0};
      for (unsigned dim = 0; dim < 2; ++dim)
        for (unsigned axis : expected[dim])
          at[dim] = at[dim] * sizes[axis] + place[axis];
      shardOf.push_back(int32_t(at[0] * grid[1] + at[1]));
    }
    EXPECT_EQ(explainShards(sizes, grid, shardOf), expected) << code;
  }
}

TEST(DeviceMesh, AllMeshes) {
  EXPECT_EQ(getMeshes(6, 2).size(), 4u);
  EXPECT_EQ(getMeshes(6, 2).front(), (llvm::SmallVector<int64_t>{6, 1}));
  EXPECT_EQ(getMeshes(8, 3).size(), 10u);
  EXPECT_EQ(getMeshes(1, 2).size(), 1u);
}

TEST(Constraint, BlocksAndUnits) {
  auto constraint = parseConstraint("[3*tensor*64,_,data,?]");
  ASSERT_TRUE(bool(constraint)) << llvm::toString(constraint.takeError());
  EXPECT_EQ(*constraint->dims[0], (Constraint::Cut{{"tensor"}, 64, 3}));
  EXPECT_EQ(*constraint->dims[2], (Constraint::Cut{{"data"}, 1, 1}));
  EXPECT_FALSE(constraint->dims[3].has_value());
  for (llvm::StringRef text : {"[0*tensor]", "[3*]", "[tensor*0]", "[tensor*x]", "[2*tensor*3*4]", "[tensor*data]", "[99999999999999999999*tensor]"}) {
    auto wrong = parseConstraint(text);
    EXPECT_FALSE(bool(wrong)) << text.str();
    llvm::consumeError(wrong.takeError());
  }
  mlir::MLIRContext context;
  auto type = mlir::RankedTensorType::get({384}, mlir::Float32Type::get(&context));
  auto check = [&](llvm::StringRef text) { return llvm::toString(llvm::cantFail(parseConstraint(text)).check(type)); };
  EXPECT_EQ(check("[3*tensor*64]"), "");
  EXPECT_EQ(check("[5*tensor]"), "a dimension of 384 is not made of 5 blocks in units of 1: tensor<384xf32>");
  EXPECT_NE(check("[tensor*385]"), "");
  EXPECT_NE(check("[_,_]"), "");
}
} // namespace
