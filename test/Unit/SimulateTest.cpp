//===- SimulateTest.cpp - Schedules that run with costs, against formulas, publications and a second way ===//
#include "para/Simulate/Simulate.h"
#include "para/Simulate/Trace.h"

#include "llvm/Support/JSON.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>

#include <gtest/gtest.h>

using namespace para;

namespace {
PipelineCosts equalCosts(const Schedule &schedule, int64_t microbatches, double forward, double input, double weight, double transfer = 0) {
  StageCost cost;
  cost.forward = forward;
  cost.backwardInput = input;
  cost.backwardWeight = weight;
  cost.transfer = transfer;
  int64_t stages = int64_t(schedule.stages.size());
  return {stages, schedule.chunks, microbatches, std::vector<StageCost>(stages * schedule.chunks, cost)};
}
Schedule make(llvm::StringRef name, int64_t stages, int64_t microbatches) { return llvm::cantFail(makeSchedule(name, stages, microbatches)); }
Simulation run(llvm::StringRef name, int64_t stages, int64_t microbatches, double forward, double input, double weight, double transfer = 0) {
  Schedule schedule = make(name, stages, microbatches);
  return llvm::cantFail(simulate(schedule, equalCosts(schedule, microbatches, forward, input, weight, transfer)));
}
std::string refuse(const Schedule &schedule, const PipelineCosts &costs) {
  auto result = simulate(schedule, costs);
  return result ? "" : llvm::toString(result.takeError());
}
void expectIn(const std::string &text, llvm::StringRef part) { EXPECT_NE(text.find(part.str()), std::string::npos) << text; }
} // namespace

// With equal costs the bubbles are those of the literature, exactly: over the ideal time (p - 1) / m for GPipe and 1F1B, (p - 1) / (v m) with
// chunks.
TEST(Simulate, BubblesOfFormulas) {
  for (int64_t p : {1, 2, 4, 8})
    for (int64_t m : {p, 2 * p, 5 * p}) {
      for (llvm::StringRef name : {"gpipe", "1f1b"}) {
        Simulation s = run(name, p, m, 2, 3, 1);
        EXPECT_EQ(s.seconds, 6 * double(m + p - 1)) << name.str();
        for (double bubble : s.bubble)
          EXPECT_EQ(bubble, 6 * double(p - 1));
        EXPECT_EQ(s.getBubbleRate(s.seconds), double(p - 1) / double(m + p - 1));
      }
      for (int64_t v : {2, 4}) {
        Simulation s = run("interleaved:" + std::to_string(v), p, m, 2, 3, 1); // of a chunk
        EXPECT_EQ(s.seconds, 6 * double(v * m + p - 1)) << v;
      }
    }
}

// Microbatches that are no multiple of the stages cost no more bubble; fewer than stages are never slower than without chunks.
TEST(Simulate, UnevenGroupsOfChunks) {
  for (int64_t p = 2; p <= 6; ++p)
    for (int64_t v = 2; v <= 4; ++v)
      for (int64_t m = 1; m <= 20; ++m) {
        double seconds = run("interleaved:" + std::to_string(v), p, m, 2, 3, 1).seconds;
        if (m >= p)
          EXPECT_EQ(seconds, 6 * double(v * m + p - 1)) << p << " " << v << " " << m;
        else
          EXPECT_LE(seconds, 6 * double(v * (m + p - 1))) << p << " " << v << " " << m;
      }
}

// ZB-H1 leaves (p - 1) (T_F + T_B - T_W); ZB-H2 and ZB-V nothing with equal times, counted from each stage's begin to its end.
TEST(Simulate, ZeroBubbles) {
  for (int64_t p : {2, 4, 8}) {
    int64_t m = 3 * p;
    for (auto [f, b, w] : {std::tuple{1., 1., 1.}, {4., 5., 3.}, {3., 3., 1.}})
      EXPECT_EQ(run("zb-h1", p, m, f, b, w).seconds, double(m) * (f + b + w) + double(p - 1) * (f + b - w)) << p;
    for (llvm::StringRef name : {"zb-h2", "zb-v"}) {
      Simulation s = run(name, p, m, 1, 1, 1);
      EXPECT_EQ(s.getSpan(), 3 * double(m * (name == "zb-v" ? 2 : 1))) << name.str();
      EXPECT_EQ(s.getBubbleRate(s.getSpan()), 0);
      EXPECT_EQ(s.seconds, s.getSpan() + double(p - 1)); // stages begin one after the other
    }
    EXPECT_EQ(run("zb-h2", p, m, 4, 5, 3).getSpan(), double(m) * 12 + double(p - 1) * (4 + 5 - 2 * 3));
  }
}

namespace {
/// Qi et al. 2023 (arXiv 2401.10241), tables 5 and 9: milliseconds and bubble rates computed from them. Chunks are layers by stages.
struct Published {
  const char *model;
  int64_t stages, microbatches, chunks;
  double forward, input, weight, transfer;
  double oneForward, interleaved, h1, h2, v;
};
const Published kPublished[] = {
    {"1.5B", 8, 24, 3, 18.522, 18.086, 9.337, 0.601, 0.2431, 0.1055, 0.1585, 0.1083, -1},
    {"1.5B", 8, 32, 3, 18.513, 18.086, 9.331, 0.626, 0.1985, 0.0818, 0.1242, 0.0837, -1},
    {"1.5B", 8, 64, 3, 18.546, 18.097, 9.321, 0.762, 0.1240, 0.0443, 0.0674, 0.0444, -1},
    {"6.2B", 8, 24, 4, 29.718, 29.444, 19.927, 0.527, 0.2347, 0.0808, 0.1323, 0.0698, -1},
    {"6.2B", 8, 32, 4, 29.802, 29.428, 19.530, 0.577, 0.1898, 0.0628, 0.1045, 0.0559, -1},
    {"6.2B", 8, 64, 4, 29.935, 29.621, 19.388, 0.535, 0.1091, 0.0320, 0.0554, 0.0294, -1},
    {"14.6B", 16, 48, 3, 11.347, 11.248, 8.132, 0.377, 0.2552, 0.1104, 0.1397, 0.0672, -1},
    {"14.6B", 16, 64, 3, 11.307, 11.254, 8.101, 0.379, 0.2082, 0.0852, 0.1088, 0.0516, -1},
    {"14.6B", 16, 128, 3, 11.325, 11.308, 8.109, 0.378, 0.1251, 0.0445, 0.0576, 0.0266, -1},
    {"28.3B", 32, 96, 2, 10.419, 10.207, 7.715, 0.408, 0.2646, 0.1493, 0.1421, 0.0641, -1},
    {"28.3B", 32, 128, 2, 10.408, 10.204, 7.703, 0.408, 0.2168, 0.1164, 0.1106, 0.0490, -1},
    {"28.3B", 32, 256, 2, 10.402, 10.248, 7.698, 0.460, 0.1352, 0.0624, 0.0594, 0.0257, -1},
    // Table 8, with the milliseconds of half a stage from which the authors' script (efficiency.py of zero-bubble-pipeline-parallelism) has it.
    {"6.2B", 16, 48, 2, 2 * 14.407, 2 * 14.380, 2 * 9.676, 1.610, 0.2668, 0.1499, 0.1536, 0.0823, 0.0697},
    {"6.2B", 16, 64, 2, 2 * 14.412, 2 * 14.393, 2 * 9.688, 1.621, 0.2206, 0.1169, 0.1198, 0.0630, 0.0533},
    {"6.2B", 16, 128, 2, 2 * 14.316, 2 * 14.306, 2 * 9.639, 1.619, 0.1390, 0.0621, 0.0637, 0.0325, 0.0274},
    {"14.6B", 24, 72, 2, 2 * 6.763, 2 * 6.969, 2 * 5.251, 0.755, 0.2699, 0.1519, 0.1439, 0.0628, 0.0638},
    {"14.6B", 24, 96, 2, 2 * 6.783, 2 * 6.984, 2 * 5.259, 0.758, 0.2229, 0.1184, 0.1121, 0.0480, 0.0483},
    {"14.6B", 24, 192, 2, 2 * 6.785, 2 * 6.990, 2 * 5.260, 0.770, 0.1403, 0.0630, 0.0595, 0.0247, 0.0250},
    {"28.3B", 32, 96, 2, 2 * 9.458, 2 * 9.748, 2 * 7.288, 0.879, 0.2676, 0.1509, 0.1429, 0.0629, 0.0593},
    {"28.3B", 32, 128, 2, 2 * 9.469, 2 * 9.744, 2 * 7.306, 0.892, 0.2204, 0.1177, 0.1111, 0.0478, 0.0451},
    {"28.3B", 32, 256, 2, 2 * 9.447, 2 * 9.644, 2 * 7.193, 0.887, 0.1362, 0.0626, 0.0593, 0.0251, 0.0236},
};
} // namespace

// The published rates of 1F1B, ZB-H1 and ZB-H2 come out to all four digits. Those of the interleaved schedule are up to 0.005 higher: the
// published numbers let only the first microbatch of a group wait for the hop from the last stage to the next chunk on the first one. Of
// ZB-V a search found the published order; ours is the one for equal times.
TEST(Simulate, PublishedBubbleRates) {
  std::printf("%-6s %3s %4s | published and simulated: 1f1b, interleaved, zb-h1, zb-h2, zb-v\n", "model", "p", "m");
  for (const Published &row : kPublished) {
    auto rate = [&](const std::string &name, int64_t chunks, bool span) {
      double share = 1.0 / double(chunks);
      Simulation s = run(name, row.stages, row.microbatches, row.forward * share, row.input * share, row.weight * share, row.transfer);
      return s.getBubbleRate(span ? s.getSpan() : s.seconds);
    };
    double simulated[] = {rate("1f1b", 1, false), rate("interleaved:" + std::to_string(row.chunks), row.chunks, false), rate("zb-h1", 1, false), rate("zb-h2", 1, true),
                          rate("zb-v", 2, true)};
    double published[] = {row.oneForward, row.interleaved, row.h1, row.h2, row.v};
    std::printf("%-6s %3lld %4lld |", row.model, (long long)row.stages, (long long)row.microbatches);
    for (int i = 0; i < 5; ++i) {
      if (published[i] < 0)
        continue;
      std::printf("  %.4f %.4f", published[i], simulated[i]);
      EXPECT_NEAR(simulated[i], published[i], i == 1 ? 0.005 : i == 4 ? 0.002 : 0.00005001) << row.model << " " << row.stages << " " << row.microbatches << " column " << i;
      if (i == 1)
        EXPECT_GE(simulated[i], published[i]);
    }
    std::printf("\n");
  }
}

// Memory is what is fixed, what is in flight and what a pass takes besides; 1F1B holds min(p - i, m) microbatches.
TEST(Simulate, Memory) {
  for (int64_t m : {2, 4, 9}) {
    Schedule schedule = make("1f1b", 4, m);
    PipelineCosts costs = equalCosts(schedule, m, 1, 1, 1);
    for (StageCost &cost : costs.costs)
      cost.activationBytes = 10, cost.fixedBytes = 1000, cost.temporaryBytes = 3;
    Simulation s = llvm::cantFail(simulate(schedule, costs));
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(s.inFlight[i], std::min(4 - i, m));
      EXPECT_EQ(s.peakBytes[i], 1003 + 10 * std::min(4 - i, m));
    }
  }
  // Of ZB-H1 the i-th worker holds (p - i + 1) M_B + (i - 1) M_W, i from 1 on (Qi et al., table 2).
  Schedule schedule = make("zb-h1", 4, 12);
  PipelineCosts costs = equalCosts(schedule, 12, 1, 1, 1);
  for (StageCost &cost : costs.costs)
    cost.activationBytes = 10, cost.activationBytesHeld = 4;
  Simulation s = llvm::cantFail(simulate(schedule, costs));
  EXPECT_EQ(s.peakBytes, (std::vector<int64_t>{40, 34, 28, 22}));
  for (StageCost &cost : costs.costs)
    cost.activationBytesHeld.reset();
  EXPECT_EQ(llvm::cantFail(simulate(schedule, costs)).peakBytes, std::vector<int64_t>(4, 40));
  // Chunks add up what they hold, and take the larger of their temporary bytes.
  schedule = make("zb-v", 2, 4);
  costs = equalCosts(schedule, 4, 1, 1, 1);
  for (int64_t chunk : {0, 1})
    for (int64_t stage : {0, 1}) {
      costs.costs[2 * chunk + stage].fixedBytes = 100 * (chunk + 1);
      costs.costs[2 * chunk + stage].temporaryBytes = 7 * (chunk + 1);
      costs.costs[2 * chunk + stage].activationBytes = 1;
    }
  s = llvm::cantFail(simulate(schedule, costs));
  EXPECT_EQ(s.peakBytes, (std::vector<int64_t>{300 + 14 + 4, 300 + 14 + 4}));
  EXPECT_EQ(s.inFlight, (std::vector<int64_t>{4, 3, 1, 2})); // by chunk and stage, of which the model runs through 0 1 3 2
}

// Traffic of a pass is waited for, less what runs beside it; what runs beside costs only what is longer than the compute.
TEST(Simulate, TrafficOfPasses) {
  Schedule schedule = make("1f1b", 1, 2);
  PipelineCosts costs = equalCosts(schedule, 2, 4, 4, 4);
  costs.costs[0].forwardTraffic = 2;
  costs.costs[0].backwardTraffic = 6;
  Simulation s = llvm::cantFail(simulate(schedule, costs));
  EXPECT_EQ(s.seconds, 2 * (4 + 2 + 8 + 6));
  EXPECT_EQ(s.exposed[0], 16);
  costs.costs[0].trafficOverlap = 0.5;
  s = llvm::cantFail(simulate(schedule, costs));
  EXPECT_EQ(s.exposed[0], 8);
  EXPECT_EQ(s.seconds, 32);
  costs.costs[0].trafficOverlap = 1;
  EXPECT_EQ(llvm::cantFail(simulate(schedule, costs)).seconds, 24);
  costs.costs[0].forwardTraffic = 9;
  s = llvm::cantFail(simulate(schedule, costs));
  EXPECT_EQ(s.seconds, 2 * (9 + 8));
  EXPECT_EQ(s.exposed[0], 2 * 5);
  EXPECT_EQ(s.compute[0], 24);
  // Of a halved backward the traffic belongs to the gradients of activations.
  schedule = make("zb-h1", 1, 2);
  costs = equalCosts(schedule, 2, 4, 4, 4);
  costs.costs[0].backwardTraffic = 6;
  EXPECT_EQ(llvm::cantFail(simulate(schedule, costs)).seconds, 2 * (4 + 4 + 6 + 4));
}

// A message goes beside the sender's compute, or keeps it; it takes the costs of the earlier of the two stages in both directions.
TEST(Simulate, Transfers) {
  Schedule schedule = make("gpipe", 2, 3);
  PipelineCosts costs = equalCosts(schedule, 3, 4, 4, 0, 1);
  costs.costs[1].transfer = 100; // nobody is behind
  EXPECT_EQ(llvm::cantFail(simulate(schedule, costs)).seconds, 4 + 1 + 12 + 12 + 1 + 4);
  SimulationOptions blocking;
  blocking.blockingTransfers = true;
  Simulation s = llvm::cantFail(simulate(schedule, costs, blocking));
  EXPECT_EQ(s.seconds, 4 + 1 + 4 + 1 + 4 + 1 + 4 + 4 + 1 + 4 + 1 + 4 + 1 + 4);
  EXPECT_EQ(s.exposed, (std::vector<double>{3, 3}));
  // A link is one message at a time: slower than the compute it sets the pace.
  costs.costs[0].transfer = 10;
  EXPECT_EQ(llvm::cantFail(simulate(schedule, costs)).seconds, 4 + 30 + 4 + 4 + 30 + 4);
  // Neighbours on one stage, as at the turn of a V, send nothing.
  schedule = make("zb-v", 1, 2);
  EXPECT_EQ(llvm::cantFail(simulate(schedule, equalCosts(schedule, 2, 1, 1, 1, 50))).seconds, 12);
}

// The end of a step: reduction less what ran beside the last backward, the norm, the update, the gathering.
TEST(Simulate, EndOfStep) {
  Schedule schedule = make("1f1b", 1, 2);
  PipelineCosts costs = equalCosts(schedule, 2, 1, 2, 2);
  StageCost &cost = costs.costs[0];
  cost.gradientTraffic = 8;
  cost.updateTraffic = 1;
  cost.update = 3;
  cost.gatherTraffic = 2;
  auto seconds = [&](double overlap) {
    cost.gradientOverlap = overlap;
    return llvm::cantFail(simulate(schedule, costs)).seconds;
  };
  EXPECT_EQ(seconds(0), 10 + 8 + 1 + 3 + 2);
  EXPECT_EQ(seconds(0.25), 10 + 6 + 1 + 3 + 2);
  EXPECT_EQ(seconds(1), 10 - 4 + 8 + 1 + 3 + 2); // the last backward begins at 6
  cost.gradientTraffic = 2;
  EXPECT_EQ(seconds(1), 10 + 1 + 3 + 2);
  Simulation s = llvm::cantFail(simulate(schedule, costs));
  EXPECT_EQ(s.compute[0], 13);
  EXPECT_EQ(s.exposed[0], 3);
  EXPECT_EQ(s.bubble[0], 0);

  // A chunk that is done with its backwards is reduced beside the passes of the others. Stage 0 of two chunks ends chunk 1 early.
  schedule = make("interleaved:2", 2, 2);
  costs = equalCosts(schedule, 2, 1, 1, 1);
  double passes = llvm::cantFail(simulate(schedule, costs)).seconds;
  for (StageCost &each : costs.costs)
    each.gradientTraffic = 4;
  EXPECT_EQ(llvm::cantFail(simulate(schedule, costs)).seconds, passes + 8);
  for (StageCost &each : costs.costs)
    each.gradientOverlap = 1;
  EXPECT_EQ(llvm::cantFail(simulate(schedule, costs)).seconds, passes + 2); // chunk 0's, from its last backward of 2 seconds on

  // Where the norm is global all stages wait for the last one, which is the first.
  schedule = make("1f1b", 4, 4);
  costs = equalCosts(schedule, 4, 1, 1, 0);
  for (StageCost &each : costs.costs)
    each.update = 5;
  s = llvm::cantFail(simulate(schedule, costs));
  EXPECT_EQ(s.end[3], 11 + 5);
  SimulationOptions together;
  together.updatesWaitForAll = true;
  s = llvm::cantFail(simulate(schedule, costs, together));
  EXPECT_EQ(s.end, std::vector<double>(4, 14 + 5));
}

// Schedules under which stages wait for each other, and costs that are none, are refused by name.
TEST(Simulate, Refusals) {
  Schedule schedule = make("1f1b", 2, 2);
  PipelineCosts costs = equalCosts(schedule, 2, 1, 1, 1);
  Schedule circle = schedule;
  circle.stages[0] = {{Phase::Forward, 0}, {Phase::Backward, 0}, {Phase::Forward, 1}, {Phase::Backward, 1}};
  circle.stages[1] = {{Phase::Forward, 0}, {Phase::Forward, 1}, {Phase::Backward, 0}, {Phase::Backward, 1}};
  std::string text = refuse(circle, costs);
  expectIn(text, "wait for each other in a circle");
  expectIn(text, "forward of microbatch 1 on stage 0");
  expectIn(text, "backward of microbatch 0 on stage 1");
  Schedule missing = schedule;
  missing.stages[1].pop_back();
  expectIn(refuse(missing, costs), "backward of microbatch 1 on stage 1 is missing");
  Schedule other = schedule;
  other.stages[0].push_back({Phase::Update, 0});
  expectIn(refuse(other, costs), "has the phase update");
  auto broken = [&](std::function<void(PipelineCosts &)> change) {
    PipelineCosts copy = costs;
    change(copy);
    return refuse(schedule, copy);
  };
  EXPECT_EQ(broken([](auto &) {}), "");
  expectIn(broken([](auto &c) { c.costs[1].forward = -1; }), "chunk 0 of stage 1: 'forward' is not a number of seconds");
  expectIn(broken([](auto &c) { c.costs[0].update = NAN; }), "'update' is not a number of seconds");
  expectIn(broken([](auto &c) { c.costs[0].transfer = INFINITY; }), "'transfer'");
  expectIn(broken([](auto &c) { c.costs[0].gradientOverlap = 1.5; }), "'gradientOverlap' is not a share from 0 to 1");
  expectIn(broken([](auto &c) { c.costs[0].trafficOverlap = NAN; }), "'trafficOverlap'");
  expectIn(broken([](auto &c) { c.costs[0].fixedBytes = -1; }), "'fixedBytes' is not a number of bytes");
  expectIn(broken([](auto &c) { c.costs[0].activationBytesHeld = 1; }), "'activationBytesHeld' is not a part");
  expectIn(broken([](auto &c) { c.costs.pop_back(); }), "there are costs of 1 virtual stages; there are 2");
  expectIn(broken([](auto &c) { c.stages = 3; }), "the schedule has 2 stages of 1 chunks, the costs are for 3 of 1");
}

namespace {
/// Any order in which all that an action needs is there before.
Schedule makeRandom(std::mt19937 &random, int64_t stages, int64_t chunks, int64_t microbatches) {
  Schedule schedule;
  schedule.stages.resize(stages);
  schedule.chunks = chunks;
  schedule.folded = random() % 2;
  int64_t count = stages * chunks;
  std::map<std::tuple<int64_t, int64_t, int>, bool> done; // virtual stage, microbatch, forward, activations, weights
  std::vector<std::pair<int64_t, Action>> todo;
  for (int64_t v = 0; v < count; ++v)
    for (int64_t m = 0; m < microbatches; ++m) {
      int64_t chunk = schedule.getPlace(v).second;
      todo.push_back({v, {Phase::Forward, m, chunk}});
      bool split = random() % 2;
      todo.push_back({v, {Phase::Backward, m, chunk, split ? BackwardPart::Input : BackwardPart::Whole}});
      if (split)
        todo.push_back({v, {Phase::Backward, m, chunk, BackwardPart::Weight}});
    }
  while (!todo.empty()) {
    size_t i = random() % todo.size();
    auto [v, action] = todo[i];
    int64_t m = action.microbatch;
    bool ready = action.phase == Phase::Forward ? v == 0 || done[{v - 1, m, 0}]
                 : action.part == BackwardPart::Weight ? done[{v, m, 1}]
                                                       : done[{v, m, 0}] && (v == count - 1 || done[{v + 1, m, 1}]);
    if (!ready)
      continue;
    done[{v, m, action.phase == Phase::Forward ? 0 : action.part == BackwardPart::Weight ? 2 : 1}] = true;
    schedule.stages[schedule.getPlace(v).first].push_back(action);
    todo.erase(todo.begin() + int64_t(i));
  }
  return schedule;
}

/// The same by hand, round and round over the stages; links without a queue.
double simulateByHand(const Schedule &schedule, const PipelineCosts &costs) {
  std::map<std::tuple<int64_t, Phase, int64_t>, double> there;
  std::vector<double> free(costs.stages, 0);
  std::vector<size_t> next(costs.stages, 0);
  int64_t count = schedule.getNumVirtualStages();
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t s = 0; s < costs.stages; ++s)
      while (next[s] < schedule.stages[s].size()) {
        const Action &action = schedule.stages[s][next[s]];
        const StageCost &cost = costs.get(s, action.chunk);
        int64_t v = schedule.getVirtualStage(s, action.chunk), from = action.phase == Phase::Forward ? v - 1 : v + 1;
        double start = free[s];
        if (action.part != BackwardPart::Weight && from >= 0 && from < count) {
          auto it = there.find({from, action.phase, action.microbatch});
          if (it == there.end())
            break;
          auto [sender, chunk] = schedule.getPlace(std::min(from, v));
          bool moves = schedule.getPlace(from).first != s;
          start = std::max(start, it->second + (moves ? costs.get(sender, chunk).transfer : 0));
        }
        double seconds = action.phase == Phase::Forward               ? cost.forward + cost.forwardTraffic
                         : action.part == BackwardPart::Whole ? cost.backwardInput + cost.backwardWeight + cost.backwardTraffic
                         : action.part == BackwardPart::Input ? cost.backwardInput + cost.backwardTraffic
                                                              : cost.backwardWeight;
        free[s] = start + seconds;
        if (action.part != BackwardPart::Weight)
          there[{v, action.phase, action.microbatch}] = free[s];
        ++next[s];
        moved = true;
      }
  }
  return *std::max_element(free.begin(), free.end());
}
} // namespace

// Random schedules take as long as a second way of running them says, never less than the busiest stage or the longest chain of passes, and
// the parts of each stage's step sum up.
TEST(Simulate, RandomSchedules) {
  std::mt19937 random(7);
  auto pick = [&](int64_t most) { return int64_t(random() % uint64_t(most)); };
  for (int round = 0; round < 300; ++round) {
    int64_t stages = 1 + pick(5), chunks = 1 + pick(3), microbatches = 1 + pick(6);
    Schedule schedule = makeRandom(random, stages, chunks, microbatches);
    PipelineCosts costs = equalCosts(schedule, microbatches, 0, 0, 0);
    bool links = round % 2; // with links one message follows the other
    for (StageCost &cost : costs.costs) {
      cost.forward = double(pick(9));
      cost.backwardInput = double(pick(9));
      cost.backwardWeight = double(pick(9));
      cost.forwardTraffic = double(pick(3));
      cost.backwardTraffic = double(pick(3));
      cost.transfer = links ? double(pick(4)) : 0;
      cost.activationBytes = pick(100);
    }
    SimulationOptions options;
    options.keepTimeline = true;
    Simulation s = llvm::cantFail(simulate(schedule, costs, options));
    double hand = simulateByHand(schedule, costs), chain = 0, busiest = 0;
    if (links)
      EXPECT_GE(s.seconds, hand);
    else
      EXPECT_EQ(s.seconds, hand);
    for (const StageCost &cost : costs.costs)
      chain += cost.forward + cost.forwardTraffic + cost.backwardInput + cost.backwardTraffic;
    for (int64_t stage = 0; stage < stages; ++stage) {
      double busy = 0;
      for (const Action &action : schedule.stages[stage]) {
        const StageCost &cost = costs.get(stage, action.chunk);
        busy += action.phase == Phase::Forward               ? cost.forward
                : action.part == BackwardPart::Whole ? cost.backwardInput + cost.backwardWeight
                : action.part == BackwardPart::Input ? cost.backwardInput
                                                     : cost.backwardWeight;
      }
      EXPECT_EQ(s.compute[stage], busy);
      EXPECT_EQ(s.compute[stage] + s.exposed[stage] + s.bubble[stage], s.seconds);
      busiest = std::max(busiest, s.compute[stage] + s.exposed[stage]);
    }
    EXPECT_GE(s.seconds, busiest);
    EXPECT_GE(s.seconds, chain);
    // No resource does two things at once, and memory ends where it began.
    for (size_t i = 1; i < s.timeline.size(); ++i)
      if (s.timeline[i].stage == s.timeline[i - 1].stage && s.timeline[i].resource == s.timeline[i - 1].resource)
        EXPECT_GE(s.timeline[i].begin, s.timeline[i - 1].begin + s.timeline[i - 1].seconds);
    for (size_t i = 0; i < s.memory.size(); ++i)
      if (i + 1 == s.memory.size() || s.memory[i + 1].stage != s.memory[i].stage)
        EXPECT_EQ(s.memory[i].bytes, 0);
    Simulation again = llvm::cantFail(simulate(schedule, costs, options));
    EXPECT_EQ(again.seconds, s.seconds);
    EXPECT_EQ(again.bubble, s.bubble);
  }
}

// The trace is what Chrome's format asks for: every event has name, ph and pid; complete events ts, dur and tid; names are escaped.
TEST(Simulate, Trace) {
  Schedule schedule = make("zb-v", 2, 3);
  PipelineCosts costs = equalCosts(schedule, 3, 0.001, 0.001, 0.001, 0.0005);
  for (StageCost &cost : costs.costs)
    cost.activationBytes = 5, cost.gradientTraffic = 0.002, cost.update = 0.001, cost.forwardTraffic = 0.0001;
  SimulationOptions options;
  options.keepTimeline = true;
  Simulation s = llvm::cantFail(simulate(schedule, costs, options));
  std::string text;
  llvm::raw_string_ostream os(text);
  writeTrace(os, s, {"a \"quoted\"\\\n name \xff"});
  auto parsed = llvm::json::parse(text);
  ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError()) << text;
  const llvm::json::Array *events = parsed->getAsObject()->getArray("traceEvents");
  ASSERT_TRUE(events);
  std::map<std::string, int> phases, names;
  for (const llvm::json::Value &value : *events) {
    const llvm::json::Object &event = *value.getAsObject();
    std::string phase = event.getString("ph")->str(), name = event.getString("name")->str();
    ++phases[phase];
    ++names[name];
    EXPECT_TRUE(event.getInteger("pid"));
    if (phase == "X") {
      EXPECT_TRUE(event.getNumber("ts") && event.getNumber("dur") && event.getInteger("tid") && event.getString("cat")) << text;
      EXPECT_LE(*event.getNumber("ts") + *event.getNumber("dur"), s.seconds * 1e6 + 0.01);
    } else if (phase == "C") {
      EXPECT_TRUE(event.getNumber("ts") && event.getObject("args")->getInteger("bytes"));
    } else if (name == "process_name" && *event.getInteger("pid") == 0) {
      EXPECT_EQ(event.getObject("args")->getString("name")->str(), "a \"quoted\"\\\n name \xef\xbf\xbd");
    } else if (name == "process_name") {
      EXPECT_EQ(event.getObject("args")->getString("name")->str(), "stage 1");
    }
  }
  EXPECT_EQ(phases["X"], int64_t(s.timeline.size()));
  EXPECT_EQ(phases["C"], int64_t(s.memory.size()));
  EXPECT_EQ(names["process_name"], 2);
  EXPECT_GE(names["thread_name"], 6);
  for (const char *name : {"F0", "F2 (1)", "B1", "W1 (1)", "send 0", "traffic 0", "reduce", "reduce (1)", "update"})
    EXPECT_GE(names[name], 1) << name;
  EXPECT_EQ(names["F0"], 2);
}

// The step of 100 000 devices (64 stages of 1 600 replicas), 4 chunks and 512 microbatches, takes seconds.
TEST(Simulate, ManyDevices) {
  auto begin = std::chrono::steady_clock::now();
  Schedule schedule = make("interleaved:4", 64, 512);
  PipelineCosts costs = equalCosts(schedule, 512, 1, 1, 1, 0.01);
  for (StageCost &cost : costs.costs)
    cost.forwardTraffic = cost.backwardTraffic = 0.1, cost.trafficOverlap = 0.5, cost.gradientTraffic = 10, cost.gradientOverlap = 0.9, cost.update = 1;
  Simulation s = llvm::cantFail(simulate(schedule, costs));
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("64 stages, 4 chunks, 512 microbatches: %.2f s, the step %.1f s\n", seconds, s.seconds);
  EXPECT_GE(s.seconds, 4 * 512 * 3.0);
  EXPECT_LT(seconds, 30);
}
