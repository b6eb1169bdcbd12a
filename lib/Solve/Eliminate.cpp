//===- Eliminate.cpp - Variables and labels that need no choice -------------===//
#include "Edit.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;
using namespace para;

size_t Editor::eliminate() {
  // The table between two neighbours may not be much larger than the two that it replaces.
  auto isSmall = [&](int32_t v) {
    size_t product = 1, sum = 0;
    for (auto [neighbour, e] : model.variables[v].edges) {
      product *= model.variables[neighbour].size();
      sum += model.variables[neighbour].size();
    }
    return model.variables[v].edges.size() < 2 ||
           (model.variables[v].edges.size() == 2 && product <= std::max<size_t>(400, 2 * sum * model.variables[v].size()));
  };
  size_t count = 0;
  std::vector<int32_t> work;
  for (size_t v = model.variables.size(); v-- > 0;)
    work.push_back(int32_t(v));
  while (!work.empty()) {
    int32_t v = work.back();
    work.pop_back();
    const Model::Variable &variable = model.variables[v];
    if (!variable.size() || !variable.items.empty() || !isSmall(v))
      continue;
    for (auto [neighbour, e] : variable.edges)
      work.push_back(neighbour);
    eliminate(v);
    ++count;
  }
  return count;
}

void Editor::eliminate(int32_t v) {
  Model::Elimination gone{v, -1, -1, 1, 1, {}};
  std::vector<std::pair<int32_t, int32_t>> edges(model.variables[v].edges.begin(), model.variables[v].edges.end());
  llvm::sort(edges);
  if (edges.size() > 0)
    gone.rows = int32_t(model.variables[gone.a = edges[0].first].size());
  if (edges.size() > 1)
    gone.columns = int32_t(model.variables[gone.b = edges[1].first].size());
  std::vector<double> &own = model.variables[v].cost;
  std::vector<double> least, sum;
  for (int32_t i = 0; i < gone.rows; ++i)
    for (int32_t j = 0; j < gone.columns; ++j) {
      sum = own;
      for (size_t l = 0; l < sum.size(); ++l) {
        if (gone.a >= 0)
          sum[l] = addCosts(sum[l], model.at(model.edges[edges[0].second], v, int32_t(l), i));
        if (gone.b >= 0)
          sum[l] = addCosts(sum[l], model.at(model.edges[edges[1].second], v, int32_t(l), j));
      }
      gone.label.push_back(int32_t(std::min_element(sum.begin(), sum.end()) - sum.begin()));
      least.push_back(std::min(kNever, sum[gone.label.back()]));
    }
  for (auto [neighbour, e] : edges)
    removeEdge(e);
  if (gone.b >= 0)
    addEdge(gone.a, gone.b, std::move(least));
  else if (gone.a >= 0)
    for (int32_t i = 0; i < gone.rows; ++i)
      model.variables[gone.a].cost[i] = addCosts(model.variables[gone.a].cost[i], least[i]);
  else
    model.baseCost += least[0];
  own.clear();
  for (int32_t neighbour : {gone.a, gone.b})
    if (neighbour >= 0)
      followers[neighbour].push_back(int32_t(model.eliminated.size()));
  model.eliminated.push_back(std::move(gone));
}

size_t Editor::dropSeparable() {
  size_t count = 0;
  for (size_t e = 0; e < model.edges.size(); ++e) {
    const Model::Edge &edge = model.edges[e];
    if (edge.cost.empty())
      continue;
    std::vector<double> &mine = model.variables[edge.a].cost, &theirs = model.variables[edge.b].cost;
    size_t rows = mine.size(), columns = theirs.size();
    bool separable = edge.cost[0] < kNever;
    for (size_t i = 0; separable && i < rows; ++i)
      for (size_t j = 0; separable && j < columns; ++j)
        separable =
            edge.cost[i * columns + j] < kNever && edge.cost[i * columns + j] - edge.cost[j] == edge.cost[i * columns] - edge.cost[0];
    if (!separable)
      continue;
    for (size_t i = 0; i < rows; ++i)
      mine[i] += edge.cost[i * columns];
    for (size_t j = 0; j < columns; ++j)
      theirs[j] += edge.cost[j] - edge.cost[0];
    removeEdge(int32_t(e));
    ++count;
  }
  return count;
}

void Editor::findDominated(int32_t v, BitVector &alive) const {
  const Model::Variable &variable = model.variables[v];
  size_t size = variable.size(), width = 1;
  for (auto [neighbour, e] : variable.edges)
    width += model.variables[neighbour].size();
  if (size * size * width > (size_t(1) << 27))
    return;
  std::vector<std::pair<int32_t, int32_t>> edges(variable.edges.begin(), variable.edges.end());
  llvm::sort(edges);
  // What more than `l` label `k` can cost.
  auto getMore = [&](int32_t k, int32_t l) {
    double sum = variable.cost[k] - variable.cost[l];
    for (auto [neighbour, e] : edges) {
      double most = -kNever;
      for (int32_t j = 0; j < int32_t(model.variables[neighbour].size()); ++j)
        if (double theirs = model.at(model.edges[e], v, l, j); theirs < kNever)
          most = std::max(most, model.at(model.edges[e], v, k, j) - theirs);
      sum += most;
    }
    return sum;
  };
  for (size_t l = 0; l < size; ++l)
    for (size_t k = 0; k < size && alive.test(l); ++k)
      if (k != l && alive.test(k) &&
          llvm::all_of(variable.items, [&](const Model::Item &item) { return item.usage[k] <= item.usage[l]; }) &&
          getMore(int32_t(k), int32_t(l)) <= 0)
        alive.reset(l);
}

size_t Editor::dropDominated() {
  std::vector<BitVector> alive;
  size_t count = 0;
  for (const Model::Variable &variable : model.variables)
    alive.emplace_back(variable.size(), true);
  // All labels of the neighbours were looked at: what holds for them holds for those that are left.
  for (size_t v = 0; v < alive.size(); ++v)
    if (model.variables[v].size() > 1) {
      findDominated(int32_t(v), alive[v]);
      count += alive[v].size() - alive[v].count();
    }
  shrink(alive);
  return count;
}

void para::simplify(Model &model) {
  Editor editor(model);
  for (bool any = true; any;) {
    editor.foldSingles();
    any = reduceTimes(model);
    any |= editor.dropSeparable() > 0;
    any |= editor.eliminate() > 0;
    any |= editor.dropDominated() > 0;
  }
  editor.foldSingles();
}
