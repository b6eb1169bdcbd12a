// Answers are the oracle's where the oracle can be asked, and never claim what is not so.
#include "RandomProblem.h"

#include "para/Solve/Solver.h"

#include <gtest/gtest.h>

using namespace para;

namespace {
std::string say(llvm::Error error) { return llvm::toString(std::move(error)); }

TEST(Solver, SmallProblemsAreSolvedAsByEnumeration) {
  int solvable = 0, refused = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Problem problem = makeRandomProblem(seed);
    llvm::Expected<Solution> truth = solveExhaustively(problem);
    llvm::Expected<Solution> found = solve(problem, {2.0, 1 + unsigned(seed % 2), seed, {}});
    if (!truth) {
      EXPECT_FALSE(bool(found)) << seed;
      llvm::consumeError(truth.takeError());
      EXPECT_EQ(say(found.takeError()).find("there is no solution"), 0u) << seed;
      ++refused;
      continue;
    }
    ASSERT_TRUE(bool(found)) << seed << ": " << say(found.takeError());
    EXPECT_EQ(found->cost, truth->cost) << seed;
    EXPECT_EQ(found->lowerBound, truth->cost) << seed;
    EXPECT_EQ(found->getGap(), 0) << seed;
    EXPECT_EQ(problem.getCost(found->choice), found->cost) << seed;
    EXPECT_EQ(say(problem.verify(found->choice)), "") << seed;
    ++solvable;
  }
  EXPECT_GT(solvable, 500);
  EXPECT_GT(refused, 100);
}

TEST(Solver, TightProblemsAreSolvedAsByEnumeration) {
  for (uint64_t seed = 100; seed < 140; ++seed) {
    Problem problem = makeTightProblem(seed, 8);
    Solution truth = llvm::cantFail(solveExhaustively(problem)), found = llvm::cantFail(solve(problem, {10.0, 2, seed, {}}));
    EXPECT_EQ(found.cost, truth.cost) << seed;
    EXPECT_EQ(found.lowerBound, truth.cost) << seed;
    EXPECT_EQ(say(problem.verify(found.choice)), "") << seed;
  }
}

TEST(Solver, AnswersDependOnNothingButSeedAndWork) {
  Problem problem = makeTightProblem(7, 120);
  std::vector<int64_t> costs[2];
  for (unsigned threads : {1, 2}) {
    auto record = [&](const Solution &solution, double) { costs[threads - 1].push_back(solution.cost); };
    llvm::Expected<Solution> found = solve(problem, {2.0, threads, 5, record});
    ASSERT_TRUE(bool(found)) << say(found.takeError());
    EXPECT_EQ(say(problem.verify(found->choice)), "");
  }
  // One may have come further, and the end of the time cuts a round.
  size_t common = std::min(costs[0].size(), costs[1].size());
  ASSERT_GT(common, 2u);
  for (size_t i = 0; i + 1 < common; ++i)
    EXPECT_EQ(costs[0][i], costs[1][i]) << i;
}

TEST(Solver, ProgressOnlyImproves) {
  Problem problem = makeTightProblem(3, 60);
  int64_t last = INT64_MAX;
  SolveOptions options{1.0, 2, 1, [&](const Solution &solution, double) {
                         EXPECT_LT(solution.cost, last);
                         EXPECT_LE(solution.lowerBound, solution.cost);
                         last = solution.cost;
                       }};
  llvm::Expected<Solution> found = solve(problem, options);
  ASSERT_TRUE(bool(found)) << say(found.takeError());
  EXPECT_EQ(found->cost, last);
}

TEST(Solver, NoNodesCostNothing) {
  llvm::Expected<Solution> found = solve({}, {});
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->cost, 0);
  EXPECT_EQ(found->getGap(), 0);
}

TEST(Solver, RefusalsHaveReasons) {
  Problem over;
  over.nodes = {{0, 2, {1, 5}, {8, 4}}, {1, 3, {1, 1}, {8, 4}}};
  over.usageLimit = 7;
  EXPECT_EQ(say(solve(over, {}).takeError()),
            "there is no solution: the strategies that use the least use 8 together at some time, the limit is 7");
  over.usageLimit = 8;
  EXPECT_EQ(llvm::cantFail(solve(over, {})).cost, 6);
  Problem apart;
  apart.nodes = {{0, 1, {1, 1}, {0, 0}}, {0, 1, {1, 1}, {0, 0}}};
  apart.edges = {{0, 1, {kImpossible, kImpossible, kImpossible, kImpossible}}};
  EXPECT_EQ(say(solve(apart, {}).takeError()), "there is no solution: some node has no strategy that is possible with its neighbours'");
  apart.edges[0].costs.pop_back();
  EXPECT_EQ(say(solve(apart, {}).takeError()), "edge 0 has 3 costs for 4 pairs of strategies");
  // Each within the limit alone; whoever agrees is over it.
  Problem both;
  both.nodes = {{0, 1, {1, 1, 1}, {5, 0, 3}}, {0, 1, {1, 1, 1}, {0, 5, 3}}};
  both.edges = {{0, 1, {0, 0, 0, 0, 0, 0, 0, 0, 0}}};
  both.edges[0].costs = {kImpossible, 0, 0, kImpossible, 0, kImpossible, kImpossible, kImpossible, 0};
  both.usageLimit = 4;
  EXPECT_EQ(say(solve(both, {}).takeError()), "there is no solution: every choice is impossible or over the usage limit");
}
} // namespace
