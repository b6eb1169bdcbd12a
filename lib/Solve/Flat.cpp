#include "Flat.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;
using namespace para;

Flat::Flat(const Model &model) : baseCost(model.baseCost), limit(double(model.limit)), modelSize(model.variables.size()) {
  firstLabel.push_back(0);
  for (auto [v, variable] : enumerate(model.variables))
    if (variable.size()) {
      names.push_back(int32_t(v));
      sizes.push_back(int32_t(variable.size()));
      append_range(costs, variable.cost);
      costs.resize((costs.size() + 3) / 4 * 4, kNever);
      firstLabel.push_back(costs.size());
    }
  layItems(model);
  layEdges(model);
}

void Flat::layItems(const Model &model) {
  base.assign(model.baseUsage.begin(), model.baseUsage.end());
  firstItem.push_back(0);
  for (int32_t name : names) {
    for (const Model::Item &item : model.variables[name].items) {
      items.push_back({item.begin, item.end, usages.size()});
      usages.insert(usages.end(), item.usage.begin(), item.usage.end());
      usages.resize((usages.size() + 3) / 4 * 4, 0);
    }
    firstItem.push_back(int32_t(items.size()));
  }
}

void Flat::layEdges(const Model &model) {
  std::vector<int32_t> number(modelSize, -1);
  for (auto [i, name] : enumerate(names))
    number[name] = int32_t(i);
  std::vector<std::vector<Link>> lists(names.size());
  for (auto [name, edge] : enumerate(model.edges)) {
    if (edge.cost.empty())
      continue;
    int32_t a = number[edge.a], b = number[edge.b], e = int32_t(edges.size());
    size_t rows = getSize(a), columns = getSize(b), straight = cells.size(), transposed = straight + rows * getStride(b);
    cells.resize(transposed + columns * getStride(a), 0);
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j)
        cells[straight + i * getStride(b) + j] = cells[transposed + j * getStride(a) + i] = edge.cost[i * columns + j];
    edges.push_back({a, b, int32_t(name)});
    lists[a].push_back({b, e, straight, transposed});
    lists[b].push_back({a, e, transposed, straight});
  }
  firstLink.push_back(0);
  for (const std::vector<Link> &list : lists) {
    append_range(links, list);
    firstLink.push_back(int32_t(links.size()));
  }
}

double Flat::getCost(const Labels &labels) const {
  double sum = baseCost;
  for (int32_t v = 0; v < size(); ++v) {
    sum = addCosts(sum, costs[firstLabel[v] + labels[v]]);
    for (const Link &link : getLinks(v))
      if (link.other > v)
        sum = addCosts(sum, cells[link.rows + size_t(labels[v]) * getStride(link.other) + labels[link.other]]);
  }
  return sum;
}

std::vector<double> Flat::getUsage(const Labels &labels) const {
  std::vector<double> usage(base.size() + 1, 0);
  for (int32_t v = 0; v < size(); ++v)
    for (const Item &item : getItems(v)) {
      double used = usages[item.usage + labels[v]];
      usage[item.begin] += used;
      usage[item.end] -= used;
    }
  double now = 0;
  for (size_t t = 0; t < base.size(); ++t)
    usage[t] = base[t] + (now += usage[t]);
  usage.pop_back();
  return usage;
}

Labels Flat::getModelLabels(const Labels &labels) const {
  Labels result(modelSize, 0);
  for (int32_t v = 0; v < size(); ++v)
    result[names[v]] = labels[v];
  return result;
}
