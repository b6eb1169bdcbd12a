#include "Edit.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace para;

void Editor::renew() {
  members.assign(model.variables.size(), {});
  followers.assign(model.variables.size(), {});
  for (auto [i, place] : enumerate(model.places))
    members[place.variable].push_back(int32_t(i));
  for (auto [i, gone] : enumerate(model.eliminated))
    for (int32_t neighbour : {gone.a, gone.b})
      if (neighbour >= 0)
        followers[neighbour].push_back(int32_t(i));
}

void Editor::addEdge(int32_t a, int32_t b, std::vector<double> cost) {
  auto [it, fresh] = model.variables[a].edges.try_emplace(b, int32_t(model.edges.size()));
  if (fresh) {
    model.variables[b].edges[a] = it->second;
    model.edges.push_back({a, b, std::move(cost)});
    return;
  }
  Model::Edge &edge = model.edges[it->second];
  size_t rows = model.variables[a].size(), columns = model.variables[b].size();
  bool same = edge.a == a;
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) {
      double &entry = edge.cost[same ? i * columns + j : j * rows + i];
      entry = addCosts(entry, cost[i * columns + j]);
    }
}

void Editor::removeEdge(int32_t e) {
  Model::Edge &edge = model.edges[e];
  model.variables[edge.a].edges.erase(edge.b);
  model.variables[edge.b].edges.erase(edge.a);
  edge.cost = {};
}

void Editor::shrink(ArrayRef<BitVector> alive) {
  for (Model::Edge &edge : model.edges) {
    if (edge.cost.empty() || (alive[edge.a].all() && alive[edge.b].all()))
      continue;
    std::vector<double> kept;
    for (unsigned i : alive[edge.a].set_bits())
      for (unsigned j : alive[edge.b].set_bits())
        kept.push_back(edge.cost[i * alive[edge.b].size() + j]);
    edge.cost = std::move(kept);
  }
  for (auto [v, variable] : enumerate(model.variables)) {
    if (alive[v].all())
      continue;
    Labels map;
    for (unsigned l : alive[v].set_bits())
      map.push_back(l);
    relabel(v, map);
  }
}

void Editor::relabel(int32_t v, ArrayRef<int32_t> map) {
  auto select = [&](auto &values) {
    std::remove_reference_t<decltype(values)> kept;
    for (int32_t l : map)
      kept.push_back(values[l]);
    values = std::move(kept);
  };
  select(model.variables[v].cost);
  for (Model::Item &item : model.variables[v].items)
    select(item.usage);
  for (int32_t member : members[v])
    select(model.places[member].strategy);
  for (int32_t follower : followers[v])
    model.eliminated[follower].relabel(v, map);
}

void Editor::foldSingles() {
  for (auto [v, variable] : enumerate(model.variables)) {
    if (variable.size() != 1)
      continue;
    for (auto [neighbour, e] : llvm::to_vector(variable.edges)) {
      const Model::Edge &edge = model.edges[e];
      for (size_t l = 0; l < model.variables[neighbour].size(); ++l)
        model.variables[neighbour].cost[l] = addCosts(model.variables[neighbour].cost[l], edge.cost[l]);
      removeEdge(e);
    }
    model.baseCost += variable.cost[0];
    for (const Model::Item &item : variable.items)
      for (int32_t t = item.begin; t < item.end; ++t)
        model.baseUsage[t] += item.usage[0];
    variable.items.clear();
    variable.cost.clear();
  }
}
