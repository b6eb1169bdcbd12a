// The parts by themselves: what presolve leaves is the same problem, and what is called a bound is one.
#include "RandomProblem.h"

#include "Branch.h"
#include "Dual.h"
#include "Search.h"
#include "Tree.h"
#include "para/Solve/Solver.h"

#include <gtest/gtest.h>

using namespace para;

namespace {
/// Calls visit(labels) for all labels of a flat model.
void forAll(const Flat &flat, llvm::function_ref<void(const Labels &)> visit) {
  Labels labels(flat.size(), 0);
  while (true) {
    visit(labels);
    int32_t v = 0;
    while (v < flat.size() && ++labels[v] == flat.getSize(v))
      labels[v++] = 0;
    if (v == flat.size())
      return;
  }
}

/// Every tenth problem is one that neither presolve nor prices solve.
Problem makeProblem(uint64_t seed) { return seed % 10 == 9 ? makeTightProblem(seed, 5 + int32_t(seed / 10 % 2)) : makeRandomProblem(seed); }

/// Calls visit(seed, problem, model) for the problems of the first seeds that presolve does not refuse.
void forReduced(uint64_t seeds, llvm::function_ref<void(uint64_t, const Problem &, const Model &)> visit) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Problem problem = makeProblem(seed);
    if (llvm::Expected<Model> model = reduce(problem))
      visit(seed, problem, *model);
    else
      llvm::consumeError(model.takeError());
  }
}

/// The least cost of a problem, `none` where it has no solution.
double getLeastCost(const Problem &problem, double none) {
  llvm::Expected<Solution> truth = solveExhaustively(problem);
  double cost = truth ? double(truth->cost) : none;
  llvm::consumeError(truth.takeError());
  return cost;
}

bool isWithin(const Flat &flat, const Labels &labels) {
  for (double used : flat.getUsage(labels))
    if (used > flat.limit)
      return false;
  return true;
}

TEST(Presolve, KeepsCostsLimitsAndACheapestSolution) {
  int seen = 0;
  forReduced(300, [&](uint64_t seed, const Problem &problem, const Model &model) {
    Flat flat(model);
    double least = kNever;
    auto check = [&](const Labels &labels) {
      double cost = flat.getCost(labels);
      if (cost >= kNever / 2)
        return;
      std::vector<int32_t> choice = model.expand(flat.getModelLabels(labels));
      ASSERT_EQ(double(problem.getCost(choice)), cost) << seed;
      ASSERT_EQ(problem.getPeak(choice) <= problem.usageLimit, isWithin(flat, labels)) << seed;
      if (isWithin(flat, labels))
        least = std::min(least, cost);
    };
    if (flat.size())
      forAll(flat, check);
    else
      check({});
    EXPECT_EQ(getLeastCost(problem, kNever), least) << seed;
    ++seen;
  });
  EXPECT_GT(seen, 150);
}

TEST(Dual, BoundsHoldAtAnyPricesAndForEachLabel) {
  Clock clock(60);
  int bound = 0;
  forReduced(2000, [&](uint64_t seed, const Problem &, const Model &model) {
    Flat flat(model);
    if (!flat.size())
      return;
    std::mt19937_64 random(seed);
    std::vector<double> prices(flat.base.size());
    for (double &price : prices)
      price = double(random() % 1000) / 300;
    Dual dual(flat, prices);
    for (int steps = 0; steps < 30; ++steps)
      dual.run(1, clock);
    std::vector<double> labelBounds = dual.getLabelBounds();
    forAll(flat, [&](const Labels &labels) {
      double cost = flat.getCost(labels);
      if (cost >= kNever / 2 || !isWithin(flat, labels))
        return;
      EXPECT_LE(dual.bound, cost) << seed;
      for (int32_t v = 0; v < flat.size(); ++v)
        EXPECT_LE(labelBounds[flat.firstLabel[v] + labels[v]], cost) << seed;
      ++bound;
    });
  });
  EXPECT_GT(bound, 100);
}

TEST(Branch, SmallModelsAreSearchedWhole) {
  Clock clock(60);
  int searched = 0;
  forReduced(300, [&](uint64_t seed, const Problem &problem, const Model &model) {
    Flat flat(model);
    Labels labels;
    double cost = kNever;
    EXPECT_TRUE(searchBranches(flat, std::vector<double>(flat.base.size(), 0), 1000000, clock, cost, labels));
    if (!flat.size())
      return;
    EXPECT_EQ(getLeastCost(problem, kNever), cost) << seed;
    ++searched;
  });
  EXPECT_GT(searched, 20);
}

TEST(Search, WhatIsTakenIsWithinTheLimitAtTheCostThatItSays) {
  Clock clock(60);
  int solvable = 0, found = 0;
  forReduced(1000, [&](uint64_t seed, const Problem &problem, const Model &model) {
    Flat flat(model);
    double least = getLeastCost(problem, kNever);
    if (!flat.size() || least >= kNever)
      return;
    ++solvable;
    Search search(flat, seed);
    search.setPrices(std::vector<double>(flat.base.size(), 0.5));
    search.start(Labels(flat.size(), 0));
    search.run(20000, 0.01, clock);
    if (search.best.empty())
      return;
    ++found;
    EXPECT_TRUE(isWithin(flat, search.best)) << seed;
    EXPECT_EQ(flat.getCost(search.best), search.bestCost) << seed;
    EXPECT_GE(search.bestCost, least) << seed;
  });
  EXPECT_GT(solvable, 100);
  EXPECT_EQ(found, solvable);
}

TEST(Tree, EndsWithACheapestSolutionAndNeverClaimsMore) {
  Clock clock(120);
  int split = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Problem problem = makeTightProblem(seed, 5 + int32_t(seed % 4));
    llvm::Expected<Model> model = reduce(problem);
    llvm::Expected<Solution> truth = solveExhaustively(problem);
    if (!model) {
      llvm::consumeError(model.takeError());
      llvm::consumeError(truth.takeError());
      continue;
    }
    Tree tree(problem, *model, std::vector<double>(model->baseUsage.size(), 0), 0);
    tree.visits = 0; // nothing but splitting
    int steps = 0;
    for (; !tree.isDone() && steps < 2000; ++steps) {
      if (truth && tree.cost > truth->cost)
        EXPECT_LE(tree.getBound(), double(truth->cost)) << seed;
      tree.run(1, clock, tree.cost);
    }
    EXPECT_TRUE(tree.isDone()) << seed;
    split += steps > 3;
    EXPECT_EQ(tree.cost, truth ? truth->cost : kImpossible) << seed;
    if (truth) {
      EXPECT_EQ(problem.getCost(tree.choice), truth->cost) << seed;
      EXPECT_EQ(llvm::toString(problem.verify(tree.choice)), "") << seed;
    }
    llvm::consumeError(truth.takeError());
  }
  EXPECT_GT(split, 20); // the others end at the root
}
} // namespace
