//===- Solver.cpp - Presolve, prices and searches together -----------------===//
//
// Work goes in rounds. In a round one role climbs with the prices and the others search, each with what was known before the round, so that
// answers do not depend on who is faster. Between rounds what they found is exchanged, in the order of the roles.
//
//===----------------------------------------------------------------------===//
#include "para/Solve/Solver.h"

#include "Branch.h"
#include "Dual.h"
#include "Search.h"
#include "Tree.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <thread>

using namespace llvm;
using namespace para;

namespace {
Error fail(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

/// A model and those who work on it.
struct Stage {
  Stage(const Model &model, std::vector<double> prices, size_t searchers, uint64_t seed)
      : flat(model), dual(flat, std::move(prices)), periods(searchers) {
    for (size_t i = 0; i < searchers; ++i)
      searches.push_back(std::make_unique<Search>(flat, seed + i));
  }

  struct Period {
    size_t step = 0, length = 0, number = 0;
    double heat = 0;
  };
  Flat flat;
  Dual dual;
  std::vector<std::unique_ptr<Search>> searches;
  std::vector<Period> periods;
};

class Solving {
public:
  Solving(const Problem &problem, const SolveOptions &options, const Clock &clock, Model model)
      : problem(problem), options(options), clock(clock), model(std::move(model)), random(options.seed) {}

  Expected<Solution> run() {
    for (int64_t used : model.baseUsage)
      if (used > model.limit)
        return fail("there is no solution: every choice is impossible or over the usage limit");
    enter(std::vector<double>(model.baseUsage.size(), 0));
    if (branch(100000) && !found)
      return fail("there is no solution: every choice is impossible or over the usage limit");
    for (size_t round = 1; !isDone() && (options.rounds == 0 || round <= options.rounds); ++round) {
      runRound();
      gather();
      if (round % 16 == 0 && found)
        narrow();
      if (round == 32)
        branch(1000000);
    }
    if (!found)
      return fail("no solution was found in the time; there may be none");
    return solution;
  }

private:
  static constexpr size_t kStepWork = 5000000;
  static constexpr int32_t kFewVariables = 1000;
  static constexpr size_t kMostCellsOfTree = 2000000; ///< its open nodes each have a model

  bool isDone() const { return clock.isOver() || (found && (solution.lowerBound >= solution.cost || solution.getGap() <= options.gap)); }

  void enter(std::vector<double> prices) {
    stage = std::make_unique<Stage>(model, std::move(prices), std::max(2u, options.threads), random());
    if (found)
      placeBest();
  }

  /// Labels that no cheaper solution takes go.
  void narrow() {
    // It cannot be interrupted: near the end it could last beyond it.
    double start = clock.getElapsed();
    if (clock.getLeft() < std::max({0.5, 4 * narrowSeconds, 0.05 * options.seconds}))
      return;
    const Flat &flat = stage->flat;
    std::vector<std::pair<int32_t, size_t>> pairs; // edge, entry
    std::vector<double> bounds = stage->dual.getLabelBounds([&](int32_t e, int32_t i, int32_t j, double bound) {
      const Model::Edge &edge = model.edges[flat.edges[e].name];
      if (size_t entry = size_t(i) * model.variables[edge.b].size() + j; bound > double(solution.cost) && edge.cost[entry] < kNever)
        pairs.push_back({flat.edges[e].name, entry});
    });
    std::vector<BitVector> alive;
    for (const Model::Variable &variable : model.variables)
      alive.emplace_back(variable.size(), true);
    size_t gone = 0, all = 0;
    for (int32_t v = 0; v < flat.size(); ++v)
      for (int32_t l = 0; l < flat.getSize(v); ++l, ++all)
        if (bounds[flat.firstLabel[v] + l] > double(solution.cost)) {
          alive[flat.names[v]].reset(l);
          ++gone;
        }
    for (int32_t name : flat.names)
      if (alive[name].none())
        return raiseBound(double(solution.cost));
    if ((gone * 20 < all && pairs.size() * 40 < flat.cells.size()) || gone + pairs.size() == 0)
      return;
    for (auto [e, entry] : pairs)
      model.edges[e].cost[entry] = kNever;
    std::vector<double> prices = stage->dual.bestPrices;
    if (!restrictWith(model, alive, prices))
      return raiseBound(double(solution.cost));
    enter(std::move(prices));
    narrowSeconds = std::max(narrowSeconds, clock.getElapsed() - start);
    if (stage->flat.size() < kFewVariables)
      branch(100000 << std::min(6, ++narrowed));
  }

  /// Whether the search was exhaustive.
  bool branch(size_t most) {
    if (stage->flat.size() >= kFewVariables) // there is little hope, and each label takes long
      most /= 50;
    Labels labels;
    double cost = found ? double(solution.cost) : kNever;
    bool whole = searchBranches(stage->flat, stage->dual.bestPrices, most, clock, cost, labels);
    if (cost < (found ? double(solution.cost) : kNever))
      improve(labels, cost);
    if (whole && found)
      raiseBound(double(solution.cost));
    return whole;
  }

  void runRound() {
    size_t count = stage->searches.size(), workers = std::min<size_t>(options.threads, count);
    auto work = [&](size_t worker) {
      for (size_t role = worker; role < count; role += workers)
        runRole(role);
    };
    std::vector<std::thread> others;
    for (size_t worker = 1; worker < workers; ++worker)
      others.emplace_back(work, worker);
    work(0);
    for (std::thread &other : others)
      other.join();
  }

  void runRole(size_t role) {
    size_t steps = 8;
    if (role == 0 && !stage->dual.isStuck())
      return stage->dual.run(steps * kStepWork, clock);
    if (role == 0 && tree)
      return tree->run(steps * kStepWork, clock, solution.cost);
    Search &search = *stage->searches[role];
    if (!search.hasStarted())
      return;
    for (size_t i = 0; i < steps; ++i) {
      Stage::Period &period = stage->periods[role];
      search.run(kStepWork, period.heat * std::pow(0.01, double(period.step) / double(period.length)), clock);
      ++period.step;
    }
  }

  /// Takes what the roles have found, and starts what begins anew.
  void gather() {
    if (!stage->dual.best.empty())
      improve(stage->dual.best, stage->dual.bestCost);
    raiseBound(stage->dual.bound);
    gatherTree();
    for (auto &search : stage->searches)
      if (!search->best.empty())
        improve(search->best, search->bestCost);
    for (size_t role = 0; role < stage->searches.size(); ++role)
      if (stage->periods[role].step >= stage->periods[role].length || !stage->searches[role]->hasStarted())
        restart(role);
      else if (!stage->dual.isStuck())
        stage->searches[role]->setPrices(stage->dual.bestPrices);
  }

  /// When prices lead no further, what they leave open is split.
  void gatherTree() {
    if (!tree && found && stage->dual.isStuck() && stage->flat.cells.size() < kMostCellsOfTree)
      tree = std::make_unique<Tree>(problem, model, stage->dual.bestPrices, stage->dual.bound);
    if (!tree)
      return;
    if (!tree->choice.empty() && tree->cost < solution.cost)
      improve(tree->choice);
    raiseBound(std::min(tree->getBound(), double(solution.cost)));
  }

  void restart(size_t role) {
    Stage::Period &period = stage->periods[role];
    Labels from = best.empty() ? stage->dual.last : best;
    if (from.empty())
      return;
    // Mostly on from the best; at times from where the prices lead by themselves: there may be many as cheap.
    bool small = stage->flat.cells.size() < 1000000;
    bool isNew =
        !best.empty() && !stage->dual.last.empty() && (small ? period.number % 2 == 1 : period.number % 3 < 2 && !stage->dual.isStuck());
    if (isNew)
      from = small ? decodeNear() : stage->dual.last;
    if (small) {
      static constexpr double heats[] = {1e-4, 1e-3, 2e-5, 1e-2, 1e-4, 0.1, 3e-3};
      period.heat = heats[period.number % 7];
      period.length = 40 << (random() % 3);
    } else { // a large model needs long to come down from new labels, and is not to lose what it has
      period.heat = isNew ? 3e-4 : 1e-4;
      period.length = isNew ? 240 : 120;
    }
    period.step = 0;
    ++period.number;
    stage->searches[role]->setPrices(stage->dual.bestPrices);
    stage->searches[role]->start(from);
  }

  /// Labels by messages, with costs that are a little off.
  Labels decodeNear() {
    const Flat &flat = stage->flat;
    Messages messages(flat);
    messages.setPrices(stage->dual.bestPrices);
    auto draw = [&] { return double(random() >> 11) * 0x1p-53; };
    double most = std::abs(double(solution.cost)) / flat.size() * std::pow(10, -5 * draw());
    std::vector<double> more(flat.costs.size());
    for (double &entry : more)
      entry = most * draw();
    messages.perturb(more);
    for (int pass = 0; pass < 12; ++pass)
      messages.pass();
    Labels labels;
    messages.decode(labels);
    return labels;
  }

  void improve(const Labels &labels, double cost) {
    if (found && cost >= double(solution.cost))
      return;
    if (improve(model.expand(stage->flat.getModelLabels(labels))))
      best = labels;
  }

  /// Whether the choice is a better solution.
  bool improve(std::vector<int32_t> choice) {
    Solution next;
    next.choice = std::move(choice);
    next.cost = problem.getCost(next.choice);
    if (errorToBool(problem.verify(next.choice)) || (found && next.cost >= solution.cost))
      return false; // sums beyond 2^53 may have been rounded
    solution = std::move(next);
    placeBest();
    found = true;
    raiseBound(bestBound);
    if (options.progress)
      options.progress(solution, clock.getElapsed());
    return true;
  }

  /// The solution's labels in the stage; none if they are no longer there.
  void placeBest() {
    best = {};
    if (Labels labels = model.getLabels(solution.choice); !labels.empty())
      for (int32_t name : stage->flat.names)
        best.push_back(labels[name]);
  }

  void raiseBound(double bound) {
    bestBound = std::max(bestBound, std::ceil(bound - 1e-6));
    solution.lowerBound = int64_t(std::min(bestBound, kNever));
    if (found) // what has been left out is no cheaper
      solution.lowerBound = std::min(solution.lowerBound, solution.cost);
  }

  const Problem &problem;
  const SolveOptions &options;
  const Clock &clock;
  Model model;
  std::mt19937_64 random;
  std::unique_ptr<Stage> stage;
  std::unique_ptr<Tree> tree;
  Labels best; ///< the solution's, in the stage; empty if it is not there
  Solution solution;
  double bestBound = 0;       // costs are not negative
  double narrowSeconds = 0.5; ///< that it took at most
  int narrowed = 0;
  bool found = false;
};
} // namespace

Expected<Solution> para::solve(const Problem &problem, const SolveOptions &options) {
  Clock clock(options.seconds);
  if (Error error = problem.check())
    return std::move(error);
  Expected<Model> model = reduce(problem);
  if (!model)
    return model.takeError();
  return Solving(problem, options, clock, std::move(*model)).run();
}
