//===- IndexCheckTest.cpp - Inputs that are indices ----------------------------===//
#include "TestSupport.h"

#include "core/Data.h"
#include "core/IndexCheck.h"

using namespace para::runtime;

namespace {
/// labels[5, 4] whose columns from 1 on are in [0, 10), -100 or -7; the rank holds rows 2 and 3 and columns 0 to 3, padded to [3, 5].
struct IndexCheck : testing::Test {
  IndexCheck() {
    tensor.name = "labels";
    tensor.dtype = PARA_I32;
    tensor.shape = {5, 4};
    tensor.local = {3, 5};
    tensor.indexRanges = {{0, 10, {-100, -7}, {0, 1}, {5, 3}, "loss"}};
    box = {{2, 0}, {2, 4}, {0, 0}};
  }
  std::string found() {
    BadIndex bad;
    if (!findBadIndex(tensor, box, local.data(), bad))
      return "none";
    return shapeText(bad.at) + " is " + std::to_string(bad.value);
  }
  Tensor tensor{};
  Box box;
  std::vector<int32_t> local = std::vector<int32_t>(15, 0);
};
} // namespace

TEST_F(IndexCheck, TakesWhatIsLegal) {
  local[1] = 9;
  local[2] = -100;
  local[3] = -7;
  EXPECT_EQ(found(), "none");
}

TEST_F(IndexCheck, FindsTheFirst) {
  local[8] = -1;
  EXPECT_EQ(found(), "[3, 3] is -1");
  local[6] = 10;
  EXPECT_EQ(found(), "[3, 1] is 10");
  local[3] = -101;
  EXPECT_EQ(found(), "[2, 3] is -101");
  local[2] = -100;
  local[3] = INT32_MIN;
  EXPECT_EQ(found(), "[2, 3] is -2147483648");
}

TEST_F(IndexCheck, LooksAtThePartOnly) {
  local[0] = local[5] = 77;   // column 0 is no label
  local[4] = local[10] = 77;  // padding
  EXPECT_EQ(found(), "none");
  box = {{4, 0}, {1, 1}, {0, 0}};
  local.assign(15, 77);
  EXPECT_EQ(found(), "none") << "nothing of the box is in the part";
}

TEST_F(IndexCheck, KnowsScalarsAndWideRanges) {
  tensor.shape = tensor.local = {};
  tensor.indexRanges = {{-3, 3, {}, {}, {}, "pick"}};
  box = {};
  local[0] = 3;
  EXPECT_EQ(found(), "[] is 3");
  tensor.indexRanges = {{INT64_MIN, INT64_MAX, {}, {}, {}, "all"}, {-3, 4, {}, {}, {}, "pick"}};
  EXPECT_EQ(found(), "none");
}

TEST_F(IndexCheck, NamesTheSampleOfTheFile) {
  TemporaryFolder folder;
  Manifest manifest;
  manifest.batch = 2;
  manifest.inputs = {{"labels", PARA_I32, {2, 3}, false}};
  ASSERT_OK(writeNpz(folder / "x.npz", {{"labels", makeArray<int32_t>(PARA_I32, {3, 3}, {0, 1, 2, 3, 4, 5, 6, 10, 8})}}));
  tensor.shape = tensor.local = {2, 3};
  tensor.indexRanges = {{0, 10, {-100}, {0, 0}, {2, 3}, "loss"}, {-11, 11, {}, {0, 0}, {2, 3}, "embed"}};
  box = {{0, 0}, {2, 3}, {0, 0}};
  Dataset data;
  ASSERT_OK(data.open(folder / "x.npz", manifest, false));
  data.fill(tensor, box, 0, local.data());
  EXPECT_OK(data.checkIndices(tensor, box, 0, local.data()));
  data.fill(tensor, box, 4, local.data()); // samples 1 and 2 of the second time round
  std::string message = data.checkIndices(tensor, box, 4, local.data()).message();
  EXPECT_TRUE(has(message, "x.npz': input 'labels', sample 2, element [1]: 10 is no index for node 'loss', which takes 0 to 9 or -100"));
}
