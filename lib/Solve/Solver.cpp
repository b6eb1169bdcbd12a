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

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <thread>

using namespace llvm;
using namespace para;

namespace {
Error fail(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

class Solving {
public:
  Solving(const Problem &problem, const SolveOptions &options, const Clock &clock, const Model &model)
      : problem(problem), options(options), clock(clock), model(model), flat(model), dual(flat), random(options.seed) {}

  Expected<Solution> run() {
    for (double used : flat.base)
      if (used > flat.limit)
        return fail("there is no solution: the strategies that use the least use " + Twine(int64_t(used)) + " together at some time, the limit is " + Twine(problem.usageLimit));
    if (!flat.size()) {
      improve({}, flat.baseCost);
      raiseBound(flat.baseCost);
      return finish();
    }
    for (unsigned i = 0; i < std::max(2u, options.threads); ++i)
      searches.push_back(std::make_unique<Search>(flat, options.seed * 1000003 + i));
    periods.resize(searches.size());
    if (branch(200000) && !found)
      return fail("there is no solution: every choice is impossible or over the usage limit");
    for (size_t round = 0; !isDone(); ++round) {
      runRound();
      gather();
      if (round == 50 || round == 500)
        branch(2000000);
    }
    if (!found)
      return fail("no solution was found in the time; there may be none");
    return finish();
  }

private:
  static constexpr size_t kStepWork = 5000000;

  bool isDone() const { return clock.isOver() || (found && solution.lowerBound >= solution.cost); }

  /// Whether the search was exhaustive.
  bool branch(size_t most) {
    Messages messages(flat);
    Labels labels;
    double cost = found ? double(solution.cost) : kNever;
    bool whole = searchBranches(flat, messages, dual.bestPrices, most, clock, cost, labels);
    if (!labels.empty())
      improve(labels, cost);
    if (whole && found)
      raiseBound(double(solution.cost));
    return whole;
  }

  void runRound() {
    size_t count = searches.size(), workers = std::min<size_t>(options.threads, count);
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
    if (role == 0 && !dual.isStuck())
      return dual.run(steps * kStepWork, clock);
    Search &search = *searches[role];
    if (!search.hasStarted())
      return;
    for (size_t i = 0; i < steps; ++i) {
      Period &period = periods[role];
      search.run(kStepWork, period.heat * std::pow(0.01, double(period.step) / double(period.length)), clock);
      ++period.step;
    }
  }

  /// Takes what the roles have found, and starts what begins anew.
  void gather() {
    if (!dual.best.empty())
      improve(dual.best, dual.bestCost);
    raiseBound(dual.bound);
    for (auto &search : searches)
      if (!search->best.empty())
        improve(search->best, search->bestCost);
    for (size_t role = 0; role < searches.size(); ++role)
      if (periods[role].step >= periods[role].length || !searches[role]->hasStarted())
        restart(role);
  }

  void restart(size_t role) {
    Period &period = periods[role];
    Labels from = found ? best : dual.last;
    if (from.empty())
      return;
    // Mostly on from the best; at times from where the prices lead by themselves.
    if (period.number % 4 == 3 && !dual.last.empty())
      from = dual.last;
    static constexpr double heats[] = {1e-4, 1e-3, 2e-5, 1e-4, 3e-3};
    period.heat = heats[period.number % 5];
    period.length = 40 << (random() % 3);
    period.step = 0;
    ++period.number;
    searches[role]->setPrices(dual.bestPrices);
    searches[role]->start(from);
  }

  void improve(const Labels &labels, double cost) {
    if (found && cost >= double(solution.cost))
      return;
    Solution next;
    next.choice = model.expand(flat.getModelLabels(labels));
    next.cost = problem.getCost(next.choice);
    if (errorToBool(problem.verify(next.choice)) || (found && next.cost >= solution.cost))
      return; // sums beyond 2^53 may have been rounded
    next.lowerBound = std::min(next.cost, solution.lowerBound);
    solution = std::move(next);
    best = labels;
    found = true;
    if (options.progress)
      options.progress(solution, clock.getElapsed());
  }

  void raiseBound(double bound) {
    if (bound > -kNever / 2)
      bestBound = std::max(bestBound, std::ceil(bound - 1e-6));
    solution.lowerBound = int64_t(std::min(std::max(bestBound, 0.0), kNever));
    if (found)
      solution.lowerBound = std::min(solution.lowerBound, solution.cost);
  }

  Expected<Solution> finish() { return solution; }

  struct Period {
    size_t step = 0, length = 0, number = 0;
    double heat = 0;
  };

  const Problem &problem;
  const SolveOptions &options;
  const Clock &clock;
  const Model &model;
  Flat flat;
  Dual dual;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Search>> searches;
  std::vector<Period> periods;
  Labels best;
  Solution solution;
  double bestBound = 0; // costs are not negative
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
  return Solving(problem, options, clock, *model).run();
}
