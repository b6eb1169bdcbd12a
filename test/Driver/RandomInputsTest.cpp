//===- RandomInputsTest.cpp - Samples for a program that has none --------------===//
#include "RandomInputs.h"

#include "core/IndexCheck.h"
#include "core/Shard.h"

#include <gtest/gtest.h>

using namespace para;
using namespace para::runtime;

namespace {
struct RandomInputs : testing::Test {
  RandomInputs() {
    manifest.mode = "train";
    manifest.batch = 4;
    manifest.stages.resize(1);
  }
  Tensor &add(const char *name, DType type, std::vector<int64_t> shape) {
    manifest.inputs.push_back({name, type, shape});
    Tensor tensor{};
    tensor.name = name;
    tensor.kind = TensorKind::Input;
    tensor.dtype = type;
    tensor.shape = tensor.local = shape;
    manifest.stages[0].tensors.push_back(tensor);
    return manifest.stages[0].tensors.back();
  }
  std::vector<double> values(const char *name, int64_t seed = 1) {
    ArrayMap arrays = makeRandomInputs(manifest, seed);
    const Array &array = arrays.at(name);
    std::vector<double> result(size_t(array.elements()));
    convertElements(array.dtype, array.data, PARA_F64, result.data(), array.elements());
    return result;
  }
  Manifest manifest;
};

TEST_F(RandomInputs, FloatsAreProbabilities) {
  add("x", PARA_F64, {4, 8});
  add("y", PARA_F32, {4, 8});
  for (double value : values("x")) {
    EXPECT_GT(value, 0);
    EXPECT_LT(value, 1);
  }
  EXPECT_EQ(values("x"), values("x"));
  EXPECT_NE(values("x"), values("x", 2));
  EXPECT_NE(values("x"), values("y"));
}

TEST_F(RandomInputs, IndicesAreInTheirRanges) {
  // Columns from 1 on are classes, or ignored; all are also tokens of a smaller table.
  Tensor &labels = add("labels", PARA_I64, {16, 9});
  labels.indexRanges = {{0, 10, {-100}, {0, 1}, {16, 8}, "loss"}, {-7, 7, {-100}, {0, 0}, {16, 9}, "table"}};
  const std::vector<double> all = values("labels");
  std::vector<int64_t> exact(all.begin(), all.end());
  BadIndex bad;
  EXPECT_FALSE(findBadIndex(labels, {{0, 0}, {16, 9}, {0, 0}}, exact.data(), bad));
  int64_t ignored = 0;
  for (double value : all) {
    EXPECT_TRUE(value == -100 || (value >= 0 && value < 7)) << value;
    ignored += value == -100;
  }
  EXPECT_GT(ignored, 0);
  EXPECT_LT(ignored, 72);
  EXPECT_NE(all[0], -100);
}

TEST_F(RandomInputs, OthersAreMasks) {
  add("mask", PARA_I64, {4, 8});
  add("flags", PARA_BOOL, {64});
  auto mask = values("mask");
  for (size_t row = 0; row < 4; ++row) {
    size_t length = 0;
    while (length < 8 && mask[row * 8 + length] == 1)
      ++length;
    EXPECT_GE(length, 4u);
    EXPECT_LT(length, 8u);
    for (size_t i = length; i < 8; ++i)
      EXPECT_EQ(mask[row * 8 + i], 0);
  }
  double ones = 0;
  for (double value : values("flags"))
    ones += value;
  EXPECT_GT(ones, 10);
  EXPECT_LT(ones, 54);
}

TEST_F(RandomInputs, EmptyAndScalarInputs) {
  add("none", PARA_F64, {4, 0});
  add("one", PARA_F64, {});
  EXPECT_EQ(values("none").size(), 0u);
  EXPECT_EQ(values("one").size(), 1u);
}
} // namespace
