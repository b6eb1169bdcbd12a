//===- Reduce.cpp - Presolve ----------------------------------------------===//
#include "Edit.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace llvm;
using namespace para;

namespace {
/// A variable for each node. The usage is largest at the last start before an end: other times need not be looked at.
Model build(const Problem &problem) {
  std::vector<std::pair<int64_t, bool>> events; // time, starts; what ends goes first
  for (const Problem::Node &node : problem.nodes)
    if (node.begin < node.end) {
      events.push_back({node.begin, true});
      events.push_back({node.end, false});
    }
  llvm::sort(events);
  std::vector<int64_t> times;
  for (size_t i = 0; i < events.size(); ++i)
    if (events[i].second && (i + 1 == events.size() || !events[i + 1].second))
      times.push_back(events[i].first);
  auto timeFrom = [&](int64_t t) { return int32_t(llvm::lower_bound(times, t) - times.begin()); };
  Model model;
  model.limit = problem.usageLimit;
  model.baseUsage.assign(times.size(), 0);
  model.times.resize(times.size());
  std::iota(model.times.begin(), model.times.end(), 0);
  model.variables.resize(problem.nodes.size());
  for (auto [i, node] : enumerate(problem.nodes)) {
    Model::Variable &variable = model.variables[i];
    variable.cost.assign(node.costs.begin(), node.costs.end());
    for (double &cost : variable.cost)
      cost = std::min(cost, kNever);
    Model::Item item{timeFrom(node.begin), timeFrom(node.end), node.usages};
    if (item.begin < item.end && llvm::any_of(item.usage, [](int64_t usage) { return usage > 0; }))
      variable.items.push_back(std::move(item));
    Labels strategies(node.costs.size());
    std::iota(strategies.begin(), strategies.end(), 0);
    model.places.push_back({int32_t(i), strategies});
  }
  return model;
}

class Reducer : public Editor {
public:
  explicit Reducer(Model &model) : Editor(model) {}

  void addEdges(const Problem &problem) {
    for (const Problem::Edge &edge : problem.edges) {
      std::vector<double> cost(edge.costs.begin(), edge.costs.end());
      for (double &entry : cost)
        entry = std::min(entry, kNever);
      addEdge(edge.from, edge.to, std::move(cost));
    }
  }

  /// False if a variable has no label left.
  bool run() {
    // Merging two edges into one can make pairs impossible, which can drop labels, which can make edges determine an end.
    do {
      if (!dropUnsupported())
        return false;
      foldSingles();
    } while (merge());
    return true;
  }

private:
  /// Drops labels that are impossible, or with every label of some neighbour. False if a variable has none left.
  bool dropUnsupported() {
    std::vector<BitVector> alive;
    for (const Model::Variable &variable : model.variables) {
      alive.emplace_back(variable.size(), true);
      for (size_t l = 0; l < variable.size(); ++l)
        if (variable.cost[l] >= kNever)
          alive.back().reset(l);
    }
    std::vector<int32_t> work;
    BitVector queued(model.edges.size());
    for (size_t e = 0; e < model.edges.size(); ++e)
      if (!model.edges[e].cost.empty()) {
        work.push_back(int32_t(e));
        queued.set(e);
      }
    while (!work.empty()) {
      int32_t e = work.back();
      work.pop_back();
      queued.reset(e);
      const Model::Edge &edge = model.edges[e];
      size_t columns = alive[edge.b].size();
      BitVector rowSeen(alive[edge.a].size()), columnSeen(columns);
      for (unsigned i : alive[edge.a].set_bits())
        for (unsigned j : alive[edge.b].set_bits())
          if (edge.cost[i * columns + j] < kNever) {
            rowSeen.set(i);
            columnSeen.set(j);
          }
      for (auto [end, seen] : {std::pair(edge.a, &rowSeen), std::pair(edge.b, &columnSeen)})
        if (*seen != alive[end]) {
          alive[end] &= *seen;
          if (alive[end].none())
            return false;
          for (auto [neighbour, other] : model.variables[end].edges)
            if (!queued.test(other)) {
              queued.set(other);
              work.push_back(other);
            }
        }
    }
    for (size_t v = 0; v < alive.size(); ++v)
      if (model.variables[v].size() && alive[v].none())
        return false;
    shrink(alive);
    return true;
  }

  /// Merges along edges of which one end's label determines the other's. Returns whether there was one.
  bool merge() {
    bool any = false;
    std::vector<int32_t> work;
    for (size_t e = 0; e < model.edges.size(); ++e)
      work.push_back(int32_t(e));
    while (!work.empty()) {
      int32_t e = work.back();
      work.pop_back();
      Model::Edge &edge = model.edges[e];
      if (edge.cost.empty())
        continue;
      Labels ofB = determined(e, edge.a), ofA = determined(e, edge.b); // by label of a, of b
      bool intoA = !ofB.empty() && (ofA.empty() || model.variables[edge.a].edges.size() >= model.variables[edge.b].edges.size());
      if (ofB.empty() && ofA.empty())
        continue;
      int32_t keeper = intoA ? edge.a : edge.b;
      absorb(keeper, intoA ? edge.b : edge.a, e, intoA ? ofB : ofA);
      for (auto [neighbour, other] : model.variables[keeper].edges)
        if (touched.count(other))
          work.push_back(other);
      touched.clear();
      any = true;
    }
    return any;
  }

  /// The only label of the other end that is possible with each label of `from`; empty if there are several for some.
  Labels determined(int32_t e, int32_t from) {
    const Model::Edge &edge = model.edges[e];
    int32_t other = edge.a == from ? edge.b : edge.a;
    Labels labels;
    for (size_t i = 0; i < model.variables[from].size(); ++i) {
      int32_t found = -1;
      for (size_t j = 0; j < model.variables[other].size(); ++j)
        if (model.at(edge, from, i, j) < kNever) {
          if (found >= 0)
            return {};
          found = int32_t(j);
        }
      if (found < 0)
        return {}; // dropped in the next round
      labels.push_back(found);
    }
    return labels;
  }

  /// `gone` takes label map[l] where `keeper` takes l.
  void absorb(int32_t keeper, int32_t gone, int32_t e, const Labels &map) {
    Model::Variable &into = model.variables[keeper], &from = model.variables[gone];
    for (size_t l = 0; l < map.size(); ++l)
      into.cost[l] = addCosts(into.cost[l], model.at(model.edges[e], keeper, l, map[l]));
    removeEdge(e);
    relabel(gone, map);
    for (size_t l = 0; l < map.size(); ++l)
      into.cost[l] = addCosts(into.cost[l], from.cost[l]);
    llvm::move(from.items, std::back_inserter(into.items));
    for (int32_t member : members[gone])
      model.places[member].variable = keeper;
    llvm::append_range(members[keeper], members[gone]);
    members[gone] = {};
    for (int32_t follower : followers[gone]) {
      model.eliminated[follower].redirect(gone, keeper);
      if (!llvm::is_contained(followers[keeper], follower))
        followers[keeper].push_back(follower);
    }
    followers[gone] = {};
    for (auto [neighbour, other] : llvm::to_vector(from.edges)) {
      size_t columns = model.variables[neighbour].size();
      std::vector<double> cost;
      const Model::Edge &edge = model.edges[other];
      for (int32_t label : map)
        for (size_t j = 0; j < columns; ++j)
          cost.push_back(edge.a == gone ? edge.cost[label * columns + j] : edge.cost[j * (edge.cost.size() / columns) + label]);
      removeEdge(other);
      addEdge(keeper, neighbour, std::move(cost));
      touched.insert(into.edges[neighbour]);
    }
    from.items.clear();
    from.cost.clear();
  }

  DenseSet<int32_t> touched;
};

/// Alternates what follows from costs and what follows from the limit. False if nothing is left.
bool reduceByBoth(Reducer &reducer, Model &model) {
  do {
    if (!reducer.run())
      return false;
    simplify(model);
    reducer.renew();
  } while (reducer.dropOverLimit());
  return true;
}
} // namespace

Expected<Model> para::reduce(const Problem &problem) {
  auto fail = [](const Twine &message) { return createStringError(inconvertibleErrorCode(), "there is no solution: " + message); };
  Model model = build(problem);
  Reducer reducer(model);
  reducer.addEdges(problem);
  if (!reducer.run())
    return fail("some node has no strategy that is possible with its neighbours'");
  simplify(model);
  for (int64_t used : model.baseUsage)
    if (used > model.limit)
      return fail("the strategies that use the least use " + Twine(used) + " together at some time, the limit is " +
                  Twine(problem.usageLimit));
  reducer.renew();
  if (reducer.dropOverLimit() && !reduceByBoth(reducer, model))
    return fail("every choice is impossible or over the usage limit");
  return model;
}

bool para::restrict(Model &model, ArrayRef<BitVector> alive) {
  Reducer reducer(model);
  reducer.shrink(alive);
  reducer.foldSingles();
  return reduceByBoth(reducer, model);
}

bool para::restrictWith(Model &model, ArrayRef<BitVector> alive, std::vector<double> &prices) {
  Labels times = model.times;
  if (!restrict(model, alive))
    return false;
  std::vector<double> next;
  for (int32_t time : model.times)
    next.push_back(prices[llvm::lower_bound(times, time) - times.begin()]);
  prices = std::move(next);
  return true;
}
