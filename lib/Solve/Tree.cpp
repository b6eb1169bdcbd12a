#include "Tree.h"

#include "Branch.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace para;

static constexpr size_t kMostBytes = size_t(1) << 30;

Tree::Tree(const Problem &problem, const Model &model, std::vector<double> prices, double bound) : problem(problem) {
  push({model, std::move(prices)}, bound);
}

void Tree::push(Node node, double bound) {
  node.bytes = node.model.getBytes() + node.prices.size() * sizeof(double);
  bytes += node.bytes;
  open.emplace(Key(bound, pushed++), std::make_unique<Node>(std::move(node)));
}

void Tree::run(size_t work, const Clock &clock, int64_t best) {
  cost = std::min(cost, best);
  for (size_t done = 0; done < work && !open.empty() && !clock.isOver();) {
    auto first = open.begin();
    double bound = first->first.first;
    if (std::ceil(bound - 1e-6) >= double(cost)) { // and so have all others
      open.clear();
      bytes = 0;
      return;
    }
    if (bytes > kMostBytes) // the newest first: what is open grows no more than the tree is deep
      first = std::max_element(open.begin(), open.end(), [](const auto &a, const auto &b) { return a.first.second < b.first.second; });
    bound = first->first.first;
    std::unique_ptr<Node> node = std::move(first->second);
    open.erase(first);
    bytes -= node->bytes;
    size_t before = open.size();
    done += expand(*node, bound, clock);
    if (clock.isOver() && open.size() == before) // perhaps not looked at to its end
      push(std::move(*node), bound);
  }
}

void Tree::record(const Model &model, const Flat &flat, const Labels &labels) {
  std::vector<int32_t> next = model.expand(flat.getModelLabels(labels));
  if (int64_t sum = problem.getCost(next); sum < cost && !errorToBool(problem.verify(next))) {
    cost = sum;
    choice = std::move(next);
  }
}

/// Drops what no solution cheaper than the best takes. False if nothing is left.
bool Tree::narrow(Node &node, const Flat &flat, Dual &dual) {
  double most = double(cost) - 1;
  Model &model = node.model;
  std::vector<std::pair<int32_t, size_t>> pairs;
  std::vector<double> bounds = dual.getLabelBounds([&](int32_t e, int32_t i, int32_t j, double bound) {
    if (bound > most)
      pairs.push_back({flat.edges[e].name, size_t(i) * model.variables[model.edges[flat.edges[e].name].b].size() + j});
  });
  std::vector<BitVector> alive;
  for (const Model::Variable &variable : model.variables)
    alive.emplace_back(variable.size(), true);
  for (int32_t v = 0; v < flat.size(); ++v) {
    for (int32_t l = 0; l < flat.getSize(v); ++l)
      if (bounds[flat.firstLabel[v] + l] > most)
        alive[flat.names[v]].reset(l);
    if (alive[flat.names[v]].none())
      return false;
  }
  for (auto [e, entry] : pairs)
    model.edges[e].cost[entry] = kNever;
  node.prices = dual.bestPrices;
  return restrictWith(model, alive, node.prices);
}

size_t Tree::expand(const Node &node, double bound, const Clock &clock) {
  Flat flat(node.model);
  if (any_of(flat.base, [&](double used) { return used > flat.limit; }))
    return 1000;
  if (!flat.size()) {
    record(node.model, flat, {});
    return 1000;
  }
  Dual dual(flat, node.prices);
  size_t work = dual.getStepWork() * 40;
  dual.run(work, clock);
  if (!dual.best.empty())
    record(node.model, flat, dual.best);
  bound = std::max(bound, dual.bound);
  if (std::ceil(bound - 1e-6) >= double(cost))
    return work;
  Node next{node.model, {}};
  if (!narrow(next, flat, dual))
    return work;
  Flat rest(next.model);
  if (any_of(rest.base, [&](double used) { return used > rest.limit; }))
    return work;
  Labels labels;
  double found = double(cost);
  bool whole = searchBranches(rest, next.prices, visits, clock, found, labels);
  if (found < double(cost))
    record(next.model, rest, labels);
  if (whole)
    return work;
  Dual again(rest, next.prices);
  again.run(again.getStepWork() * 10, clock);
  bound = std::max(bound, again.bound);
  if (clock.isOver())
    return work;
  next.prices = again.bestPrices;
  if (std::ceil(bound - 1e-6) < double(cost))
    split(next, rest, again);
  return work + again.getStepWork() * 10;
}

void Tree::split(const Node &node, const Flat &flat, Dual &dual) {
  std::vector<double> bounds = dual.getLabelBounds(), priced;
  priceLabels(flat, node.prices, priced);
  double reach = 0.05 * std::max(1.0, double(cost) - dual.bound) + dual.bound;
  // The variable whose nearly best labels differ most in what their usage costs: prices alone cannot decide it.
  int32_t chosen = -1;
  double most = -1, middle = 0;
  size_t labelsMost = 0;
  int32_t widest = -1;
  for (int32_t v = 0; v < flat.size(); ++v) {
    if (size_t(flat.getSize(v)) > labelsMost) {
      labelsMost = flat.getSize(v);
      widest = v;
    }
    size_t first = flat.firstLabel[v];
    double low = kNever, high = -kNever;
    for (int32_t l = 0; l < flat.getSize(v); ++l)
      if (bounds[first + l] <= reach) {
        double price = priced[first + l] - flat.costs[first + l];
        low = std::min(low, price);
        high = std::max(high, price);
      }
    if (high - low > most) {
      most = high - low;
      middle = (low + high) / 2;
      chosen = v;
    }
  }
  bool byUsage = most > 0;
  if (!byUsage)
    chosen = widest;
  std::vector<BitVector> low, high;
  for (const Model::Variable &variable : node.model.variables) {
    low.emplace_back(variable.size(), true);
    high.emplace_back(variable.size(), true);
  }
  size_t first = flat.firstLabel[chosen];
  for (int32_t l = 0; l < flat.getSize(chosen); ++l) {
    bool isLow = byUsage ? priced[first + l] - flat.costs[first + l] <= middle : l < flat.getSize(chosen) / 2;
    (isLow ? high : low)[flat.names[chosen]].reset(l);
  }
  for (const std::vector<BitVector> &alive : {low, high}) {
    Node half = node;
    if (restrictWith(half.model, alive, half.prices))
      push(std::move(half), dual.bound);
  }
}
