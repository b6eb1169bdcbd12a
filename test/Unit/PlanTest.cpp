//===- PlanTest.cpp - Plans as data, recipes and machines -----------------===//
#include "../../lib/Plan/Measure.h"
#include "para/Plan/Machine.h"
#include "para/Plan/Recipes.h"

#include "mlir/IR/MLIRContext.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <set>

using namespace para;

namespace {
std::string text(const Plan &plan) { return llvm::formatv("{0}", llvm::json::Value(plan.toJson())).str(); }
PlanRequest request(int64_t ranks, int64_t batch = 16) {
  PlanRequest request;
  request.ranks = ranks;
  request.batch = batch;
  return request;
}
std::string refusal(llvm::StringRef json) { return llvm::toString(Plan::fromJson(llvm::cantFail(llvm::json::parse(json))).takeError()); }
} // namespace

// A plan that is written and read is the same plan.
TEST(Plan, JsonRoundTrip) {
  Plan plan;
  plan.recipe = "by hand";
  plan.data = 2;
  plan.tensor = 3;
  plan.pipeline = 4;
  plan.zero = 2;
  plan.microbatches = 8;
  plan.schedule = "gpipe";
  plan.recompute = "selective";
  plan.sequenceParallel = true;
  plan.bucketBytes = 1 << 20;
  plan.stages = {{"/layer.0/MatMul", 0}, {"/layer.1/MatMul", 3}};
  Plan read = llvm::cantFail(Plan::fromJson(llvm::json::Value(plan.toJson())));
  EXPECT_EQ(text(read), text(plan));
  EXPECT_EQ(read.getNumRanks(), 24);
  EXPECT_EQ(read.zero, 2);
  EXPECT_EQ(read.microbatches, 8);
  EXPECT_EQ(read.schedule, "gpipe");
  EXPECT_EQ(read.recompute, "selective");
  EXPECT_TRUE(read.sequenceParallel);
  EXPECT_EQ(read.bucketBytes, 1 << 20);
  EXPECT_EQ(read.stages, plan.stages);
  for (llvm::StringRef name : getRecipeNames()) {
    Plan made = llvm::cantFail(makeRecipe(name, request(4)));
    EXPECT_EQ(text(llvm::cantFail(Plan::fromJson(llvm::json::Value(made.toJson())))), text(made)) << name.str();
  }
}

// Files that are no plans are refused with what is wrong.
TEST(Plan, BadFilesAreRefused) {
  EXPECT_NE(refusal("[]").find("JSON object"), std::string::npos);
  EXPECT_NE(refusal("{}").find("version 1"), std::string::npos);
  EXPECT_NE(refusal(R"({"version": 1, "zero": 4})").find("'zero'"), std::string::npos);
  EXPECT_NE(refusal(R"({"version": 1, "mesh": {"data": 0}})").find("'data'"), std::string::npos);
  EXPECT_NE(refusal(R"({"version": 1, "recompute": "some"})").find("'recompute' of the plan must be one of none, selective, full"), std::string::npos);
  EXPECT_NE(refusal(R"({"version": 1, "sequence_parallel": 1})").find("'sequence_parallel'"), std::string::npos);
  EXPECT_NE(refusal(R"({"version": 1, "sequence_parallel": true})").find("tensor > 1"), std::string::npos);
  EXPECT_NE(refusal(R"({"version": 1, "microbatches": "x"})").find("'microbatches'"), std::string::npos);
  EXPECT_NE(refusal(R"({"version": 1, "stages": {"/node": "x"}})").find("'/node'"), std::string::npos);
}

// A machine is measured for long enough: numbers that no computer has would mean that the work was dropped.
TEST(Machine, MeasuresWhatAComputerHas) {
  int calls = 0;
  double rate = measureRate(1, 0.002, [&] {
    ++calls;
    volatile double sum = 0;
    for (int i = 0; i < 10000; ++i)
      sum = sum + i;
  });
  EXPECT_GE(calls, 6) << "once to warm up, and in five rounds";
  EXPECT_GT(rate, 10);
  EXPECT_LT(rate, 1e6);
  EXPECT_GT(measureFlopsPerSecond(), 1e8);
  EXPECT_LT(measureFlopsPerSecond(), 1e13);
  EXPECT_GT(measureMemoryBytesPerSecond(), 1e8);
  EXPECT_LT(measureMemoryBytesPerSecond(), 1e13);
}

// What was measured is kept, and what cannot have been measured is not believed.
TEST(Machine, ImpossibleCachesAreMeasuredAgain) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("para-cache", folder));
  const char *before = getenv("XDG_CACHE_HOME");
  std::string kept = before ? before : "";
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  std::string file = (folder + "/para/host.json").str();
  auto write = [&](const llvm::json::Object &object) {
    std::error_code error;
    llvm::raw_fd_ostream(file, error) << llvm::json::Value(llvm::json::Object(object));
  };
  Machine first = Machine::getHost(1);
  auto read = llvm::json::parse(llvm::cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(file)))->getBuffer());
  ASSERT_TRUE(bool(read));
  llvm::json::Object good = *read->getAsObject();
  good["memory_bytes_per_second"] = 12345678900.0;
  write(good);
  EXPECT_EQ(Machine::getHost(1).memoryBytesPerSecond, 12345678900.0) << "a cache that is possible is taken";
  for (double bad : {6710886400000000.0, 0.0, -1.0, 1.0}) {
    llvm::json::Object impossible = good;
    impossible["memory_bytes_per_second"] = bad;
    write(impossible);
    double measured = Machine::getHost(1).memoryBytesPerSecond;
    EXPECT_GT(measured, 1e8) << bad;
    EXPECT_LT(measured, 1e13) << bad;
    EXPECT_NE(measured, 12345678900.0);
  }
  if (before)
    setenv("XDG_CACHE_HOME", kept.c_str(), 1);
  else
    unsetenv("XDG_CACHE_HOME");
  llvm::sys::fs::remove_directories(folder);
}

// A recipe gives all ranks to its axis.
TEST(Recipes, GiveRanksToOneAxis) {
  for (auto [name, axis, zero] : {std::tuple("ddp", &Plan::data, 0), {"zero1", &Plan::data, 1}, {"zero2", &Plan::data, 2}, {"zero3", &Plan::data, 3},
                                  {"tensor", &Plan::tensor, 0}, {"pipeline", &Plan::pipeline, 0}, {"model-parallel", &Plan::pipeline, 0}}) {
    Plan plan = llvm::cantFail(makeRecipe(name, request(4)));
    EXPECT_EQ(plan.*axis, 4) << name;
    EXPECT_EQ(plan.getNumRanks(), 4) << name;
    EXPECT_EQ(plan.zero, zero) << name;
  }
  EXPECT_NE(llvm::toString(makeRecipe("dpp", request(4)).takeError()).find("ddp"), std::string::npos);
}

// A pipeline gets microbatches enough to fill it, of equal size; naive model parallelism has one; what is given is kept.
TEST(Recipes, Microbatches) {
  Plan plan = llvm::cantFail(makeRecipe("pipeline", request(4, 24)));
  EXPECT_GE(plan.microbatches, 4);
  EXPECT_EQ(24 % plan.microbatches, 0);
  EXPECT_EQ(llvm::cantFail(makeRecipe("model-parallel", request(4, 24))).microbatches, 1);
  PlanRequest inseparable = request(4, 24);
  inseparable.separable = false;
  EXPECT_EQ(llvm::cantFail(makeRecipe("pipeline", inseparable)).microbatches, 1);
  inseparable.microbatches = 3;
  EXPECT_EQ(llvm::cantFail(makeRecipe("pipeline", inseparable)).microbatches, 3);
}

// A mesh by hand must have as many ranks as are asked for, and axes that exist.
TEST(Recipes, MeshByHand) {
  PlanRequest by = request(8);
  by.mesh = {{"data", 2}, {"tensor", 2}, {"pipeline", 2}};
  EXPECT_EQ(llvm::cantFail(makeMeshPlan(by)).getNumRanks(), 8);
  by.ranks = 4;
  EXPECT_NE(llvm::toString(makeMeshPlan(by).takeError()).find("8 ranks"), std::string::npos);
  by.mesh = {{"dta", 4}};
  EXPECT_NE(llvm::toString(makeMeshPlan(by).takeError()).find("'dta'"), std::string::npos);
}

// All candidates use all ranks, are different, and hold what the request fixes.
TEST(Recipes, Candidates) {
  for (int64_t ranks : {1, 2, 4, 6, 8}) {
    auto plans = getCandidates(request(ranks));
    std::set<std::string> seen;
    for (const Plan &plan : plans) {
      EXPECT_EQ(plan.getNumRanks(), ranks);
      EXPECT_TRUE(seen.insert(text(plan)).second) << text(plan);
    }
    EXPECT_GE(int64_t(plans.size()), ranks);
  }
  PlanRequest fixed = request(8);
  fixed.mesh = {{"tensor", 2}};
  fixed.zero = 1;
  for (const Plan &plan : getCandidates(fixed)) {
    EXPECT_EQ(plan.tensor, 2);
    EXPECT_EQ(plan.zero, plan.data > 1 ? 1 : 0);
  }
  EXPECT_FALSE(getCandidates(fixed).empty());
}

// A preset has the ranks that its count says; an unknown one is answered with those that exist; JSON is read as written.
TEST(Machine, Presets) {
  Machine machine = llvm::cantFail(Machine::get("a100-80:2x4"));
  EXPECT_EQ(machine.getNumRanks(), 8);
  EXPECT_GT(machine.memoryBytes, 70e9);
  EXPECT_NE(llvm::toString(Machine::get("z100:2").takeError()).find("a100-80"), std::string::npos);
  Machine read = llvm::cantFail(Machine::fromJson(llvm::json::Value(machine.toJson())));
  EXPECT_EQ(llvm::formatv("{0}", llvm::json::Value(read.toJson())).str(), llvm::formatv("{0}", llvm::json::Value(machine.toJson())).str());
}

// Plans from before these fields were there keep everything and cut no sequence.
TEST(Plan, OldFilesAreRead) {
  Plan plan = llvm::cantFail(Plan::fromJson(llvm::cantFail(llvm::json::parse(R"({"version": 1, "mesh": {"tensor": 2}})"))));
  EXPECT_EQ(plan.recompute, "none");
  EXPECT_FALSE(plan.sequenceParallel);
}

// What is asked of all plans is in each that may have it, and in its name; what is left open stands beside it.
TEST(Plan, RecomputationAndSequence) {
  PlanRequest asked = request(4);
  asked.recompute = "full";
  asked.sequenceParallel = true;
  EXPECT_EQ(llvm::cantFail(makeRecipe("ddp", asked)).recipe, "ddp + full recomputation");
  EXPECT_FALSE(llvm::cantFail(makeRecipe("ddp", asked)).sequenceParallel);
  EXPECT_EQ(llvm::cantFail(makeRecipe("tensor", asked)).recipe, "tensor + sequence + full recomputation");
  EXPECT_TRUE(llvm::cantFail(makeRecipe("tensor", asked)).sequenceParallel);
  for (const Plan &plan : getCandidates(asked)) {
    EXPECT_EQ(plan.recompute, "full");
    EXPECT_EQ(plan.sequenceParallel, plan.tensor > 1);
  }
  size_t candidates = getCandidates(request(4)).size();
  asked.recompute = "auto";
  EXPECT_EQ(getCandidates(asked).size(), 3 * candidates);
  Plan plan = llvm::cantFail(makeRecipe("ddp", asked));
  EXPECT_EQ(plan.recompute, "none");
  std::vector<Plan> open = getRecomputations(plan, asked);
  ASSERT_EQ(open.size(), 3u);
  EXPECT_EQ(open[2].recipe, "ddp + full recomputation");
  asked.train = false;
  EXPECT_EQ(getRecomputations(plan, asked).size(), 1u);
}
