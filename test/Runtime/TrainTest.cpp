//===- TrainTest.cpp - Whole runs of programs written by hand ------------------===//
//
// The same regression under several plans against a reference computed here: losses, parameters, bytes, checkpoints.
//
//===----------------------------------------------------------------------===//
#include "TestSupport.h"

#include "core/Hyper.h"
#include "core/Safetensors.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace para::runtime;
using Json = nlohmann::json;

namespace {
constexpr int64_t batch = 10, features = 5, samples = 24;

struct Plan {
  const char *name;
  int64_t ranks, microbatches;
  std::string environment() const {
    return "PARA_TEST_PLAN=" + std::string(name) + " PARA_TEST_RANKS=" + std::to_string(ranks) +
           " PARA_TEST_MICROBATCHES=" + std::to_string(microbatches) + " ";
  }
};
const Plan plans[] = {{"replicated", 1, 1}, {"replicated", 2, 1}, {"replicated", 3, 2}, {"replicated", 4, 1},
                      {"sharded", 1, 1},    {"sharded", 2, 2},    {"sharded", 3, 1},    {"sharded", 4, 1},
                      {"pipeline", 2, 2},   {"pipeline", 4, 2}};

double xAt(int64_t sample, int64_t feature) { return std::sin(double(sample * 5 + feature)); }
double yAt(int64_t sample) { return std::cos(double(sample) * 0.7) + double(sample % 3); }

/// The run as one rank in plain C++.
struct Reference {
  double w[features] = {0.5, 0.25, 0, -0.25, -0.5}, m[features] = {}, b = 1.5, bm = 0;
  std::vector<double> losses, norms;
  double lossOf(int64_t first, double *grad, double &bGrad) const {
    double loss = 0;
    for (int64_t i = 0; i < batch; ++i) {
      int64_t s = (first + i) % samples;
      double error = b - yAt(s);
      for (int64_t f = 0; f < features; ++f)
        error += xAt(s, f) * w[f];
      loss += error * error / batch;
      bGrad += 2 * error / batch;
      for (int64_t f = 0; f < features; ++f)
        grad[f] += 2 * error / batch * xAt(s, f);
    }
    return loss;
  }
  explicit Reference(int64_t steps) {
    Schedule schedule{"cosine", 2, 20, 0.001};
    for (int64_t step = 0; step < steps; ++step) {
      double grad[features] = {}, bGrad = 0;
      losses.push_back(lossOf(step * batch, grad, bGrad));
      double lr = learningRate(schedule, 0.05, step), squares = bGrad * bGrad;
      for (int64_t f = 0; f < features; ++f) {
        squares += grad[f] * grad[f];
        m[f] = 0.9 * m[f] + grad[f];
        w[f] -= lr * m[f];
      }
      bm = 0.9 * bm + bGrad;
      b -= lr * bm;
      norms.push_back(std::sqrt(squares));
    }
  }
};

class Train : public testing::Test {
protected:
  void SetUp() override {
    std::vector<double> x, y;
    for (int64_t s = 0; s < samples; ++s) {
      for (int64_t f = 0; f < features; ++f)
        x.push_back(xAt(s, f));
      y.push_back(yAt(s));
    }
    ASSERT_OK(writeNpz(folder / "train.npz", {{"x", makeArray(PARA_F64, {samples, features}, x)},
                                              {"y", makeArray(PARA_F64, {samples}, y)}}));
  }
  Outcome train(const Plan &plan, const std::string &flags, const std::string &environment = "") {
    return runCommand(plan.environment() + environment + program("regression") + " --data " + (folder / "train.npz") +
                      " " + flags);
  }
  std::vector<Json> metrics(const std::string &path) {
    std::vector<Json> lines;
    std::istringstream text(readText(path));
    for (std::string line; std::getline(text, line);)
      lines.push_back(Json::parse(line));
    return lines;
  }
  TemporaryFolder folder;
};
} // namespace

TEST_F(Train, EveryPlanComputesTheSameRun) {
  Reference reference(12);
  for (const Plan &plan : plans) {
    SCOPED_TRACE(plan.environment());
    std::string log = folder / "log.jsonl", state = folder / "state.npz";
    Outcome outcome = train(plan, "--steps 12 --metrics " + log + " --dump-state " + state);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(has(outcome.out, "12 steps, loss "));
    std::vector<Json> lines = metrics(log);
    ASSERT_EQ(lines.size(), 12u);
    Json info = Json::parse(runCommand(plan.environment() + program("regression") + " --info=json").out);
    for (size_t s = 0; s < 12; ++s) {
      EXPECT_EQ(lines[s]["step"], s);
      EXPECT_NEAR(lines[s]["loss"].get<double>(), reference.losses[s], 1e-12);
      if (std::string(plan.name) != "pipeline")
        EXPECT_NEAR(lines[s]["grad_norm"].get<double>(), reference.norms[s], 1e-12);
      EXPECT_DOUBLE_EQ(lines[s]["lr"].get<double>(), learningRate({"cosine", 2, 20, 0.001}, 0.05, int64_t(s)));
      EXPECT_EQ(lines[s]["bytes_sent_per_rank"], info["plan"]["bytes_sent"]);
      EXPECT_EQ(lines[s]["bytes_sent"], info["plan"]["bytes_sent"][0]);
      EXPECT_EQ(lines[s]["peak_bytes"], info["peak_bytes"][0]);
      EXPECT_GT(lines[s]["seconds"].get<double>(), 0);
      EXPECT_NEAR(lines[s]["samples_per_second"].get<double>() * lines[s]["seconds"].get<double>(), 10, 1e-9);
      EXPECT_EQ(lines[s].size(), 9u);
    }
    ArrayMap arrays;
    ASSERT_OK(readNpz(state, arrays));
    for (int64_t f = 0; f < features; ++f) {
      EXPECT_NEAR(valuesOf<double>(arrays["w"])[size_t(f)], reference.w[f], 1e-12);
      EXPECT_NEAR(valuesOf<double>(arrays["w/m"])[size_t(f)], reference.m[f], 1e-12);
    }
    EXPECT_NEAR(valuesOf<double>(arrays["b"])[0], reference.b, 1e-12);
    EXPECT_NEAR(valuesOf<double>(arrays["loss"])[0], reference.losses[11], 1e-12);
  }
}

TEST_F(Train, DumpsTheFirstStepsGradients) {
  double grad[features] = {}, bGrad = 0;
  Reference(0).lossOf(0, grad, bGrad);
  for (const Plan &plan : {plans[0], plans[6], plans[9]}) {
    ASSERT_EQ(train(plan, "--steps 3 --dump-grads " + (folder / "g.npz")).status, 0);
    ArrayMap arrays;
    ASSERT_OK(readNpz(folder / "g.npz", arrays));
    for (int64_t f = 0; f < features; ++f)
      EXPECT_NEAR(valuesOf<double>(arrays["w"])[size_t(f)], grad[f], 1e-12) << plan.environment();
    EXPECT_NEAR(valuesOf<double>(arrays["b"])[0], bGrad, 1e-12);
  }
}

// Saved by one plan, continued by another: the run is the one that never stopped.
TEST_F(Train, CheckpointsMoveBetweenPlans) {
  Reference reference(14);
  for (auto [from, to] : {std::pair{7, 0}, {0, 7}, {3, 6}, {9, 5}, {6, 8}}) {
    SCOPED_TRACE(plans[from].environment() + "to " + plans[to].environment());
    std::string directory = folder / ("ckpt" + std::to_string(from)), log = folder / "log.jsonl";
    ASSERT_EQ(train(plans[from], "--steps 8 --save-every 3 --save " + directory).status, 0);
    for (const char *step : {"3", "6", "8"})
      EXPECT_EQ(access((directory + "/step-00000" + step + "/state.json").c_str(), R_OK), 0);
    unlink(log.c_str());
    Outcome outcome = train(plans[to], "--steps 14 --load " + directory + " --metrics " + log);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    std::vector<Json> lines = metrics(log);
    ASSERT_EQ(lines.size(), 6u);
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(lines[i]["step"], 8 + i);
      EXPECT_NEAR(lines[i]["loss"].get<double>(), reference.losses[8 + i], 1e-12);
    }
  }
}

TEST_F(Train, CheckpointsAreTheSameBytesUnderEveryPlan) {
  ASSERT_EQ(train(plans[0], "--steps 0 --init=normal:0.1 --seed 4 --save " + (folder / "a")).status, 0);
  ASSERT_EQ(train(plans[7], "--steps 0 --init=normal:0.1 --seed 4 --save " + (folder / "b")).status, 0);
  for (const char *file : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    std::string text = readText(folder / ("a/step-000000/" + std::string(file)));
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text, readText(folder / ("b/step-000000/" + std::string(file)))) << file;
  }
}

TEST_F(Train, LoadTakesTheNewestCompleteCheckpoint) {
  ASSERT_EQ(train(plans[1], "--steps 6 --save-every 2 --save " + (folder / "c")).status, 0);
  std::string newest = folder / "c/step-000006/model.safetensors", text = readText(newest);
  writeText(newest, text.substr(0, text.size() - 4));
  Outcome outcome = train(plans[1], "--steps 7 --json --metrics " + (folder / "log") + " --load " + (folder / "c"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(metrics(folder / "log")[0]["step"], 4);
  for (const char *step : {"2", "4"})
    writeText(folder / ("c/step-00000" + std::string(step) + "/state.json"), "{\"st");
  outcome = train(plans[1], "--steps 7 --load " + (folder / "c"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.err, "holds no complete checkpoint"));
  EXPECT_EQ(outcome.err.find("para: "), outcome.err.rfind("para: ")) << "one rank speaks";
}

// A disk that has room for one checkpoint: the second one is refused by name and cause, and the first is what it was.
TEST_F(Train, AFullDiskKeepsTheOlderCheckpoint) {
  std::string disk = folder / "disk", mount = "mkdir -p " + disk + " && unshare -rm sh -c 'mount -t tmpfs -o size=16k none " + disk + " && ";
  if (runCommand(mount + "true'").status != 0)
    GTEST_SKIP() << "no file system can be mounted here";
  for (const Plan &plan : {plans[0], plans[7]}) {
    Outcome outcome = runCommand(mount + plan.environment() + program("regression") + " --data " + (folder / "train.npz") +
                                 " --steps 6 --save-every 3 --save " + disk + "/c; echo status $?; ls -A " + disk + "/c; cp -r " + disk +
                                 "/c " + (folder / "kept") + "'");
    EXPECT_TRUE(has(outcome.err, "para: no checkpoint of step 6 was saved: cannot write '" + disk + "/c/.step-000006.partial/"));
    EXPECT_TRUE(has(outcome.err, "': No space left on device; what '" + disk + "/c' held before is as it was"));
    EXPECT_EQ(outcome.out, "status 1\nstep-000003\n");
    Outcome loaded = train(plan, "--steps 4 --metrics " + (folder / "log") + " --load " + (folder / "kept"));
    EXPECT_EQ(loaded.status, 0) << loaded.err;
    EXPECT_EQ(metrics(folder / "log")[0]["step"], 3);
    ASSERT_EQ(runCommand("rm -r " + (folder / "kept") + " " + (folder / "log")).status, 0);
  }
}

// A folder that takes no checkpoint is told before the first step rather than after the last.
TEST_F(Train, ACheckpointFolderIsTriedAtTheStart) {
  writeText(folder / "file", "");
  Outcome outcome = train(plans[1], "--steps 4 --metrics " + (folder / "log") + " --save " + (folder / "file"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.err, "para: --save " + (folder / "file") + ": nothing can be written there: Not a directory"));
  EXPECT_NE(access((folder / "log").c_str(), F_OK), 0);
}

TEST_F(Train, ValidatesWithoutTouchingTheRun) {
  ASSERT_EQ(train(plans[0], "--steps 6 --metrics " + (folder / "plain")).status, 0);
  std::vector<Json> plain = metrics(folder / "plain");
  Reference reference(2);
  double grad[features] = {}, bGrad = 0;
  double expected = (reference.lossOf(0, grad, bGrad) + reference.lossOf(10, grad, bGrad)) / 2;
  for (const Plan &plan : {plans[0], plans[7], plans[8]})
    for (const char *evaluate : {"PARA_TEST_EVALUATE=0 ", "PARA_TEST_EVALUATE=1 "}) {
      SCOPED_TRACE(plan.environment() + evaluate);
      Outcome outcome = train(plan, "--steps 6 --validate-every 2 --validate " + (folder / "train.npz") + " --metrics " +
                                        (folder / "log"), evaluate);
      ASSERT_EQ(outcome.status, 0) << outcome.err;
      std::vector<Json> lines = metrics(folder / "log");
      ASSERT_EQ(lines.size(), 6u);
      for (size_t s = 0; s < 6; ++s) {
        EXPECT_NEAR(lines[s]["loss"].get<double>(), plain[s]["loss"].get<double>(), 1e-12);
        EXPECT_EQ(lines[s].contains("validation_loss"), s % 2 == 1);
      }
      EXPECT_NEAR(lines[1]["validation_loss"].get<double>(), expected, 1e-12);
    }
}

TEST_F(Train, OverridesNumbersAndCountsEpochs) {
  Outcome outcome = train(plans[0], "--epochs 2 --lr 0.01 --json --metrics " + (folder / "log"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["steps"], 4); // 48 samples in batches of 10
  EXPECT_DOUBLE_EQ(metrics(folder / "log")[0]["lr"].get<double>(), 0.005);
}

TEST_F(Train, TracesAllRanksIntoOneFile) {
  ASSERT_EQ(train(plans[3], "--steps 2 --trace " + (folder / "t.json")).status, 0);
  Json trace = Json::parse(readText(folder / "t.json"));
  std::map<int, int> gradients;
  for (const Json &event : trace["traceEvents"])
    if (event["ph"] == "X" && event["cat"] == "all-reduce" && event["name"] == "w")
      ++gradients[event["pid"].get<int>()];
  EXPECT_EQ(gradients, (std::map<int, int>{{0, 2}, {1, 2}, {2, 2}, {3, 2}}));
}

TEST_F(Train, ShowsProgressOnlyWhenAsked) {
  EXPECT_EQ(train(plans[0], "--steps 3").err, "");
  EXPECT_TRUE(has(train(plans[1], "--steps 3 --progress=always").err, "step 3/3  loss "));
}

// The run goes on as it did, and one line on standard error says from which step on it is worth nothing, where and what helps.
TEST_F(Train, WarnsOnceOfALossThatIsNoNumber) {
  for (const Plan &plan : {plans[0], plans[3], plans[9]}) {
    SCOPED_TRACE(plan.environment());
    Outcome outcome = train(plan, "--steps 9 --lr 1e38 --metrics " + (folder / "log"));
    EXPECT_EQ(outcome.status, 0);
    std::vector<Json> lines = metrics(folder / "log");
    ASSERT_EQ(lines.size(), 9u);
    size_t first = 0;
    while (first < 9 && lines[first]["loss"].is_number())
      ++first;
    ASSERT_GT(first, 0u);
    ASSERT_LT(first, 9u);
    std::string holders = plan.ranks == 1 ? "rank 0" : plan.name == std::string("pipeline") ? "rank 2 and 1 other" : "rank 0 and 3 others";
    EXPECT_EQ(outcome.err.find("para: warning: the loss of step " + std::to_string(first + 1) + "/9 is "), 0u) << outcome.err;
    EXPECT_TRUE(has(outcome.err, "(" + holders + "); the run goes on"));
    EXPECT_TRUE(has(outcome.err, "--lr X"));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    // The last update, after a finite loss, shows in the held-out loss alone.
    outcome = train(plan, "--steps " + std::to_string(first) + " --lr 1e38 --progress=always --validate " + (folder / "train.npz"));
    EXPECT_EQ(outcome.status, 0);
    EXPECT_TRUE(has(outcome.err, "para: warning: the validation loss of step " + std::to_string(first) + "/" + std::to_string(first) + " is "));
    unlink((folder / "log").c_str());
  }
}

TEST_F(Train, RunsUnderOtherLaunchers) {
  Reference reference(3);
  std::string tail = program("regression") + " --steps 3 --json --data " + (folder / "train.npz");
  std::string two = plans[1].environment();
  for (const char *transport : {"auto", "mpi"})
    for (const Plan &plan : {plans[1], plans[7], plans[9]}) {
      std::string ranks = std::to_string(plan.ranks);
      Outcome mpi = runCommand(plan.environment() + "timeout 60 mpirun --oversubscribe --allow-run-as-root -n " + ranks +
                               " " + tail + " --transport=" + transport + " --save " + (folder / "c") + " --metrics " +
                               (folder / "log") + " --trace " + (folder / "trace"));
      ASSERT_EQ(mpi.status, 0) << mpi.err;
      EXPECT_NEAR(Json::parse(mpi.out)["loss"].get<double>(), reference.losses[2], 1e-12);
      Json info = Json::parse(runCommand(plan.environment() + program("regression") + " --info=json").out);
      int64_t sent = 0, expected = 0;
      for (size_t rank = 0; rank < size_t(plan.ranks); ++rank) {
        sent += metrics(folder / "log")[1]["bytes_sent_per_rank"][rank].get<int64_t>();
        expected += info["plan"]["bytes_sent"][rank].get<int64_t>();
      }
      EXPECT_EQ(sent, expected);
      EXPECT_FALSE(Json::parse(readText(folder / "trace"))["traceEvents"].empty());
    }
  std::string variables = "WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_PORT=" + std::to_string(20000 + getpid() % 20000) + " ";
  Outcome both = runCommand(two + "; export PARA_TEST_PLAN PARA_TEST_RANKS PARA_TEST_MICROBATCHES; " + variables +
                            "RANK=1 " + tail + " & " + variables + "RANK=0 " + tail + "; wait %1");
  ASSERT_EQ(both.status, 0) << both.err;
  EXPECT_NEAR(Json::parse(both.out)["loss"].get<double>(), reference.losses[2], 1e-12);
  Outcome refused = runCommand(two + "WORLD_SIZE=2 RANK=0 " + tail);
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(has(refused.err, "across hosts this program is started by mpirun or srun"));
  Outcome wrong = runCommand(two + "timeout 60 mpirun --oversubscribe --allow-run-as-root -n 3 " + tail);
  EXPECT_NE(wrong.status, 0);
  EXPECT_TRUE(has(wrong.err, "started 3 ranks but this program is compiled for 2"));
}

TEST(Infer, RunsTheSmallestProgram) {
  TemporaryFolder folder;
  std::string minimal = program("minimal");
  ASSERT_OK(writeNpz(folder / "x.npz", {{"x", makeArray<float>(PARA_F32, {2, 3}, {1, 2, 3, 4, 5, 6})}}));
  Outcome outcome = runCommand(minimal + " --inputs " + (folder / "x.npz") + " --outputs " + (folder / "y.npz"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  ArrayMap arrays;
  ASSERT_OK(readNpz(folder / "y.npz", arrays));
  EXPECT_EQ(valuesOf<float>(arrays["y"]), (std::vector<float>{1, 4, 9, 4, 10, 18}));
  outcome = runCommand(minimal + " --repeat 1000000000 --outputs /nowhere/y.npz");
  EXPECT_EQ(outcome.status, 1) << "refused before it starts";
  EXPECT_TRUE(has(outcome.err, "cannot write '/nowhere/y.npz'"));
  outcome = runCommand(minimal + " --repeat 20 --warmup 3 --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  Json timing = Json::parse(outcome.out);
  EXPECT_EQ(timing["runs"], 20);
  EXPECT_LE(timing["min_seconds"], timing["median_seconds"]);
  EXPECT_LE(timing["median_seconds"], timing["max_seconds"]);
  Json info = Json::parse(runCommand(minimal + " --info=json").out);
  EXPECT_EQ(info["inputs"], Json::parse("[{\"name\":\"x\",\"type\":\"f32\",\"shape\":[2,3]}]"));
  EXPECT_EQ(info["parameters"][0]["trainable"], true);
  EXPECT_EQ(info["arena_bytes"], Json::parse("[256]"));
  EXPECT_EQ(runCommand(minimal + " --help").status, 0);
}
