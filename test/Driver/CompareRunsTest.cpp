//===- CompareRunsTest.cpp - Which tensor differs first, and by how much ------===//
#include "CompareRuns.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace para;
using namespace para::runtime;

namespace {
constexpr double bound = 1e-11;

Array make(std::vector<double> values, std::vector<int64_t> shape, DType dtype = PARA_F64) {
  char *memory;
  Array array = Array::allocate(dtype, shape, memory);
  for (size_t i = 0; i < values.size(); ++i)
    storeScalar(dtype, memory + int64_t(i) * elementBytes(dtype), values[i]);
  return array;
}

/// Two layers on two stages of two ranks each: 'a' lies on the first, cut by its rows over `data`; 'b' on the second, whole. With Adam's states.
struct CompareRuns : testing::Test {
  CompareRuns() {
    manifest.mode = "train";
    manifest.mesh = {{"pipeline", 2}, {"data", 2}};
    manifest.stages.resize(2);
    manifest.parameters = {{"a", PARA_F64, {2, 2}, true}, {"b", PARA_F64, {2}, true}};
    for (auto [name, kind] : {std::pair("a", TensorKind::Parameter), {"a/m", TensorKind::State}, {"a", TensorKind::Gradient}})
      add(0, name, kind, {2, 2}, {1, 2}, {{"data"}, {}});
    for (auto [name, kind] : {std::pair("b", TensorKind::Parameter), {"b/m", TensorKind::State}, {"b", TensorKind::Gradient}})
      add(1, name, kind, {2}, {2}, {{}});
    serial.losses = {4, 2};
    serial.gradients = {{"a", make({1, 2, 3, 4}, {2, 2})}, {"b", make({1, 1}, {2})}};
    serial.state = {{"a", make({1, 1, 1, 10}, {2, 2})}, {"a/m", make({.1, .1, .1, .1}, {2, 2})}, {"b", make({5, 5}, {2})}, {"b/m", make({.2, .2}, {2})}};
    here = serial;
  }
  void add(size_t stage, const char *name, TensorKind kind, std::vector<int64_t> shape, std::vector<int64_t> local, std::vector<std::vector<std::string>> dims) {
    Tensor tensor{};
    tensor.name = name;
    tensor.kind = kind;
    tensor.dtype = PARA_F64;
    tensor.shape = shape;
    tensor.local = local;
    tensor.dims = dims;
    tensor.units = tensor.blocks = std::vector<int64_t>(shape.size(), 1);
    tensor.stacked = 1;
    tensor.primary = true;
    manifest.stages[stage].tensors.push_back(tensor);
  }
  RunComparison compare() {
    auto found = compareRuns(manifest, here, serial, bound);
    EXPECT_TRUE(bool(found)) << llvm::toString(found.takeError());
    return found ? *found : RunComparison();
  }
  std::string complain() {
    auto found = compareRuns(manifest, here, serial, bound);
    return found ? "" : llvm::toString(found.takeError());
  }
  Manifest manifest;
  RunResult here, serial;
};

TEST_F(CompareRuns, TheSameIsTheSame) {
  RunComparison found = compare();
  EXPECT_FALSE(found.first);
  EXPECT_EQ(found.worst.relative, 0);
  EXPECT_EQ(found.losses, 2);
  EXPECT_EQ(found.gradients, 2);
  EXPECT_EQ(found.parameters, 2);
  EXPECT_EQ(found.states, 2);
}

TEST_F(CompareRuns, DifferencesCountInPartsOfTheLargestElement) {
  here.state["a"] = make({1, 1 + 9e-11, 1, 10}, {2, 2});
  EXPECT_FALSE(compare().first);
  EXPECT_NEAR(compare().worst.relative, 9e-12, 1e-15);
  EXPECT_EQ(compare().worst.tensor, "the parameter 'a'");
  here.state["a"] = make({1, 1, 1 + 2e-10, 10}, {2, 2});
  auto found = compare();
  ASSERT_TRUE(found.first);
  EXPECT_EQ(found.first->element, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(found.first->holder, "rank 1");
  EXPECT_EQ(found.numDiffering, 1);
}

TEST_F(CompareRuns, TheFirstIsInTheOrderOfAStep) {
  here.losses[1] = 3;
  here.state["a/m"] = make({.1, .1, .1, .2}, {2, 2});
  EXPECT_EQ(compare().first->tensor, "the state 'a/m'");
  here.state["b"] = make({5, 6}, {2});
  EXPECT_EQ(compare().first->tensor, "the parameter 'b'");
  here.gradients["a"] = make({1, 2, 3, 5}, {2, 2});
  EXPECT_EQ(compare().first->tensor, "the gradient of 'a'");
  here.gradients["b"] = make({1, 2}, {2}); // the last layer's is made first
  EXPECT_EQ(compare().first->tensor, "the gradient of 'b'");
  EXPECT_EQ(compare().first->holder, "rank 2");
  here.losses[0] = 5;
  EXPECT_EQ(compare().first->tensor, "the loss of step 1");
  EXPECT_EQ(compare().numDiffering, 6);
}

TEST_F(CompareRuns, NoiseIsComparedInTheGradientAlone) {
  serial.gradients["a"] = make({1e-17, 2, 3, 4}, {2, 2});
  here.gradients["a"] = make({-3e-17, 2, 3, 4}, {2, 2});
  here.state["a"] = make({1.5, 1, 1, 10}, {2, 2});
  EXPECT_FALSE(compare().first);
  EXPECT_EQ(compare().noise, 1);
  here.gradients["a"] = make({1e-9, 2, 3, 4}, {2, 2}); // which is no noise beside the norm
  EXPECT_EQ(compare().first->tensor, "the gradient of 'a'");
}

TEST_F(CompareRuns, OfSmallGradientsAsMuchMayBeApartAsOfThem) {
  serial.gradients["a"] = here.gradients["a"] = make({1e-6, 2, 3, 4}, {2, 2}); // norm 5.6: 2e-4 of the largest element
  here.state["a"] = make({1.001, 1, 1, 10}, {2, 2});
  EXPECT_FALSE(compare().first);
  EXPECT_EQ(compare().noise, 0);
  here.state["a"] = make({1.01, 1, 1, 10}, {2, 2});
  ASSERT_TRUE(compare().first);
  EXPECT_EQ(compare().first->tensor, "the parameter 'a'");
  EXPECT_NEAR(compare().first->relative, 1e-3, 1e-9);
}

TEST_F(CompareRuns, WhatNeverHadAGradientStays) {
  serial.gradients["a"] = here.gradients["a"] = make({0, 2, 3, 4}, {2, 2});
  serial.state["a/m"] = here.state["a/m"] = make({0, .1, .1, .1}, {2, 2});
  here.state["a"] = make({1.5, 1, 1, 10}, {2, 2});
  EXPECT_EQ(compare().first->tensor, "the parameter 'a'");
}

TEST_F(CompareRuns, NoNumbersDiffer) {
  here.state["b"] = make({5, NAN}, {2});
  EXPECT_TRUE(std::isinf(compare().first->relative));
  serial.state["b"] = make({5, NAN}, {2});
  EXPECT_FALSE(compare().first);
  serial.state["b"] = here.state["b"] = make({5, INFINITY}, {2});
  EXPECT_FALSE(compare().first);
  serial.state["b/m"] = make({0, 0}, {2}); // of which everything is infinitely far
  EXPECT_TRUE(std::isinf(compare().first->relative));
}

TEST_F(CompareRuns, IntegersAreEqual) {
  add(0, "count", TensorKind::State, {1}, {1}, {{}});
  serial.state["count"] = make({1e12}, {1}, PARA_I64);
  here.state["count"] = make({1e12 + 1}, {1}, PARA_I64);
  EXPECT_EQ(compare().first->tensor, "the state 'count'");
}

TEST_F(CompareRuns, InferenceComparesOutputs) {
  manifest.mode = "infer";
  add(1, "y", TensorKind::Output, {2}, {1}, {{"data"}});
  serial.losses = here.losses = {};
  serial.gradients = here.gradients = {};
  serial.state = {{"a", make({1, 1, 1, 10}, {2, 2})}, {"y", make({1, 2}, {2})}};
  here.state = {{"a", make({1, 1, 1, 10}, {2, 2})}, {"y", make({1, 3}, {2})}};
  auto found = compare();
  EXPECT_EQ(found.outputs, 1);
  EXPECT_EQ(found.parameters, 0);
  EXPECT_EQ(found.first->tensor, "the output 'y'");
  EXPECT_EQ(found.first->holder, "rank 3");
  serial.state["y"] = here.state["y"] = make({1, NAN}, {2});
  EXPECT_EQ(complain(), "the output 'y' of the serial program has elements that are no numbers");
}

TEST_F(CompareRuns, WhatCannotBeCompared) {
  serial.losses[1] = here.losses[1] = NAN;
  EXPECT_EQ(complain(), "the loss of the serial program is no number");
  serial.losses[1] = here.losses[1] = 2;
  here.losses.pop_back();
  EXPECT_EQ(complain(), "the runs have 1 and 2 steps");
  here.losses = serial.losses;
  here.state.erase("b/m");
  EXPECT_EQ(complain(), "the serial program has the 'b/m', which the plan's lacks");
  here.state["b/m"] = make({.2, .2, .2}, {3});
  EXPECT_EQ(complain(), "the 'b/m' is f64[3], and f64[2] in the serial program");
}

TEST_F(CompareRuns, LossesOfMetrics) {
  RunResult run;
  EXPECT_FALSE(bool(run.readLosses("{\"step\":0,\"loss\":1.5}\n{\"step\":1,\"loss\":null}\n")));
  ASSERT_EQ(run.losses.size(), 2u);
  EXPECT_EQ(run.losses[0], 1.5);
  EXPECT_TRUE(std::isnan(run.losses[1]));
}
} // namespace
