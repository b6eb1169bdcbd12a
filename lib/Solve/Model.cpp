#include "Model.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>

using namespace llvm;
using namespace para;

void Model::Elimination::relabel(int32_t neighbour, ArrayRef<int32_t> map) {
  int32_t size = int32_t(map.size()), nextRows = neighbour == a ? size : rows, nextColumns = neighbour == b ? size : columns;
  Labels next;
  for (int32_t i = 0; i < nextRows; ++i)
    for (int32_t j = 0; j < nextColumns; ++j)
      next.push_back(label[(neighbour == a ? map[i] : i) * columns + (neighbour == b ? map[j] : j)]);
  label = std::move(next);
  rows = nextRows;
  columns = nextColumns;
}

void Model::Elimination::redirect(int32_t neighbour, int32_t to) {
  if (a == neighbour)
    a = to;
  if (b == neighbour)
    b = to;
  if (a != b)
    return;
  Labels next;
  for (int32_t i = 0; i < rows; ++i)
    next.push_back(label[i * columns + i]);
  label = std::move(next);
  columns = 1;
  b = -1;
}

std::vector<int32_t> Model::expand(Labels labels) const {
  for (const Elimination &gone : reverse(eliminated)) {
    int32_t row = gone.a < 0 ? 0 : labels[gone.a], column = gone.b < 0 ? 0 : labels[gone.b];
    assert(row < gone.rows && column < gone.columns && "an elimination's table has a place for each label of its neighbours");
    labels[gone.variable] = gone.label[row * gone.columns + column];
  }
  std::vector<int32_t> choice;
  for (const Place &place : places)
    choice.push_back(place.strategy[labels[place.variable]]);
  return choice;
}

Labels Model::getLabels(ArrayRef<int32_t> choice) const {
  std::vector<std::vector<bool>> fits;
  for (const Variable &variable : variables)
    fits.emplace_back(variable.size(), true);
  for (auto [place, strategy] : zip_equal(places, choice))
    for (size_t l = 0; l < fits[place.variable].size(); ++l)
      if (place.strategy[l] != strategy)
        fits[place.variable][l] = false;
  Labels labels(variables.size(), 0);
  for (size_t v = 0; v < variables.size(); ++v)
    if (variables[v].size()) {
      auto found = llvm::find(fits[v], true);
      if (found == fits[v].end())
        return {};
      labels[v] = int32_t(found - fits[v].begin());
    }
  return labels;
}

size_t Model::getBytes() const {
  size_t bytes = sizeof(Model) + baseUsage.size() * 12 + variables.size() * sizeof(Variable) + edges.size() * sizeof(Edge);
  for (const Variable &variable : variables) {
    bytes += variable.cost.size() * 8 + size_t(variable.edges.getMemorySize());
    for (const Item &item : variable.items)
      bytes += sizeof(Item) + item.usage.size() * 8;
  }
  for (const Edge &edge : edges)
    bytes += edge.cost.size() * 8;
  for (const Place &place : places)
    bytes += sizeof(Place) + place.strategy.size() * 4;
  for (const Elimination &gone : eliminated)
    bytes += sizeof(Elimination) + gone.label.size() * 4;
  return bytes;
}
