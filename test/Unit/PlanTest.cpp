//===- PlanTest.cpp - Plans as data, and recipes --------------------------===//
#include "para/Plan/Recipes.h"

#include "mlir/IR/MLIRContext.h"

#include "llvm/Support/FormatVariadic.h"

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
  plan.recipe = "zero2 x tensor x gpipe + sequence + selective recomputation";
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
  EXPECT_NE(refusal(R"({"version": 1, "microbatch": 2})").find("a plan has no 'microbatch'; did you mean 'microbatches'?"), std::string::npos);
  EXPECT_NE(refusal(R"({"version": 1, "optimizer": "adam"})").find("a plan has no 'optimizer'; there are version, recipe, mesh, "), std::string::npos);
}

// A recipe of a file is a name of known words, and nothing that they stand for is left out; what is there counts.
TEST(Plan, RecipesOfFiles) {
  for (llvm::StringRef name : {"serial", "searched", "file"})
    EXPECT_EQ(refusal((R"({"version": 1, "recipe": ")" + name + R"("})").str()), "") << name.str();
  EXPECT_EQ(refusal(R"({"version": 1, "recipe": "zero1 x 1f1b + full recomputation", "mesh": {"data": 2, "pipeline": 2}, "zero": 1, "recompute": "full"})"), "");
  EXPECT_EQ(refusal(R"({"version": 1, "recipe": "zero1", "mesh": {"data": 2}, "zero": 2})"), "");
  EXPECT_NE(refusal(R"({"version": 1, "recipe": "zero1", "mesh": {"data": 2}})").find("says 'zero1', and 'zero' is left out"), std::string::npos);
  EXPECT_NE(refusal(R"({"version": 1, "recipe": "gpipe", "mesh": {"pipeline": 2}})").find("says 'gpipe', and 'schedule' is left out"), std::string::npos);
  EXPECT_NE(refusal(R"({"version": 1, "recipe": "tensor + sequence", "mesh": {"tensor": 2}})").find("says 'sequence', and 'sequence_parallel' is left out"), std::string::npos);
  EXPECT_NE(refusal(R"({"version": 1, "recipe": "ddp + full recomputation", "mesh": {"data": 2}})").find("says 'full', and 'recompute' is left out"), std::string::npos);
  EXPECT_NE(refusal(R"({"version": 1, "recipe": "ddp"})").find("says 'ddp', and 'mesh' is left out"), std::string::npos);
  EXPECT_NE(refusal(R"({"version": 1, "recipe": "tensr", "mesh": {"tensor": 2}})").find("did you mean 'tensor'?"), std::string::npos);
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
  by.ranks = 1;
  EXPECT_NE(llvm::toString(makeMeshPlan(by).takeError()).find("8 ranks, --ranks says 1"), std::string::npos);
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

// Against all ways to write the ranks as a product of five sizes.
TEST(Recipes, MeshesAreThoseThatTheRequestAllows) {
  auto getSizes = [](llvm::StringRef, int64_t whole, const Plan &) { return getDivisors(whole); };
  auto countMeshes = [&](const PlanRequest &request, llvm::function_ref<bool(const Plan &)> isAllowed) {
    std::set<std::string> visited, expected;
    int64_t visits = 0;
    forEachMesh(request, request.ranks, /*idles=*/false, getSizes, [&](const Plan &mesh) {
      ++visits;
      visited.insert(mesh.getMeshText());
    });
    Plan mesh;
    for (mesh.tensor = 1; mesh.tensor <= request.ranks; ++mesh.tensor)
      for (mesh.pipeline = 1; mesh.pipeline <= request.ranks; ++mesh.pipeline)
        for (mesh.expert = 1; mesh.expert <= request.ranks; ++mesh.expert)
          for (mesh.context = 1; mesh.context <= request.ranks; ++mesh.context)
            for (mesh.data = 1; mesh.data <= request.ranks; ++mesh.data)
              if (mesh.getNumRanks() == request.ranks && mesh.getBatchRanks() <= request.batch && isAllowed(mesh))
                expected.insert(mesh.getMeshText());
    EXPECT_EQ(visited, expected);
    EXPECT_EQ(visits, int64_t(visited.size()));
    return visits;
  };
  PlanRequest open = request(12);
  open.batch = 16;
  EXPECT_EQ(countMeshes(open, [](const Plan &mesh) { return mesh.expert == 1 && mesh.context == 1; }), 18);
  open.experts = 4;
  EXPECT_GT(countMeshes(open, [](const Plan &mesh) { return 4 % mesh.expert == 0 && mesh.context == 1; }), 18);
  open.batch = 3; // experts share the samples with data: sequences are cut beside them, too
  EXPECT_GT(countMeshes(open, [](const Plan &mesh) { return 4 % mesh.expert == 0 && (mesh.context == 1 || mesh.getReplicas() > 3); }), 18);
  open.mesh = {{"context", 2}, {"expert", 3}};
  EXPECT_GT(countMeshes(open, [](const Plan &mesh) { return mesh.context == 2 && mesh.expert == 3; }), 0);
  open.mesh = {{"data", 3}};
  open.experts = 0;
  EXPECT_GT(countMeshes(open, [](const Plan &mesh) { return mesh.data == 3 && mesh.expert == 1 && (mesh.context == 1 || mesh.getReplicas() > 3); }), 0);
  open.mesh = {{"tensor", 5}};
  EXPECT_EQ(countMeshes(open, [](const Plan &mesh) { return mesh.tensor == 5; }), 0);
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
  ASSERT_FALSE(getCandidates(asked).empty());
  for (const Plan &plan : getCandidates(asked)) {
    EXPECT_EQ(plan.recompute, "full");
    EXPECT_TRUE(plan.sequenceParallel);
    EXPECT_GT(plan.tensor, 1);
  }
  size_t candidates = llvm::count_if(getCandidates(request(4)), [](const Plan &plan) { return plan.tensor > 1; });
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
