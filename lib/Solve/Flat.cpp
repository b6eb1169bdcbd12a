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

namespace {
using Item = Model::Item;

/// What happens between two times that follow each other.
struct Times {
  std::vector<int64_t> base;
  std::vector<std::vector<Item>> items; ///< by variable

  /// Usage above the least, which goes to the base; items of one interval together.
  void normalize() {
    std::vector<int64_t> more(base.size() + 1, 0);
    for (std::vector<Item> &list : items) {
      sort(list, [](const Item &a, const Item &b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
      std::vector<Item> kept;
      for (Item &item : list) {
        if (item.begin >= item.end)
          continue;
        int64_t least = *std::min_element(item.usage.begin(), item.usage.end());
        more[item.begin] += least;
        more[item.end] -= least;
        for (int64_t &usage : item.usage)
          usage -= least;
        if (all_of(item.usage, [](int64_t usage) { return usage == 0; }))
          continue;
        if (!kept.empty() && kept.back().begin == item.begin && kept.back().end == item.end) {
          for (size_t l = 0; l < item.usage.size(); ++l)
            kept.back().usage[l] += item.usage[l];
          continue;
        }
        kept.push_back(std::move(item));
      }
      list = std::move(kept);
    }
    int64_t now = 0;
    for (size_t t = 0; t < base.size(); ++t)
      base[t] += now += more[t];
  }

  void keep(const std::vector<bool> &kept) {
    std::vector<int32_t> place(base.size() + 1, 0);
    std::vector<int64_t> next;
    for (size_t t = 0; t < base.size(); ++t) {
      place[t + 1] = place[t] + kept[t];
      if (kept[t])
        next.push_back(base[t]);
    }
    for (std::vector<Item> &list : items)
      for (Item &item : list) {
        item.begin = place[item.begin];
        item.end = place[item.end];
      }
    base = std::move(next);
  }

  /// Times at which even the most usage of all is within the limit.
  std::vector<bool> canBind(int64_t limit) const {
    std::vector<int64_t> most(base.size() + 1, 0);
    for (const std::vector<Item> &list : items)
      for (const Item &item : list) {
        int64_t usage = *std::max_element(item.usage.begin(), item.usage.end());
        most[item.begin] += usage;
        most[item.end] -= usage;
      }
    std::vector<bool> kept(base.size());
    int64_t now = 0;
    for (size_t t = 0; t < base.size(); ++t)
      kept[t] = base[t] + (now += most[t]) > limit;
    return kept;
  }

  /// Drops times that use no more than the time before or after, whatever is chosen. Returns whether there were any.
  bool dropDominated() {
    // The most that the usage rises, and that it falls, from each time to the next.
    size_t count = base.size();
    std::vector<int64_t> rise(count + 1, 0), fall(count + 1, 0);
    for (size_t t = 1; t < count; ++t) {
      rise[t] = base[t] - base[t - 1];
      fall[t] = base[t - 1] - base[t];
    }
    std::vector<std::pair<int32_t, std::pair<const Item *, int>>> events;
    std::vector<int64_t> change;
    for (const std::vector<Item> &list : items) {
      events.clear();
      for (const Item &item : list) {
        events.push_back({item.begin, {&item, 1}});
        events.push_back({item.end, {&item, -1}});
      }
      sort(events, [](const auto &a, const auto &b) { return a.first < b.first; });
      for (size_t i = 0; i < events.size();) {
        int32_t t = events[i].first;
        change.assign(list[0].usage.size(), 0);
        for (; i < events.size() && events[i].first == t; ++i)
          for (size_t l = 0; l < change.size(); ++l)
            change[l] += events[i].second.second * events[i].second.first->usage[l];
        rise[t] += *std::max_element(change.begin(), change.end());
        fall[t] -= *std::min_element(change.begin(), change.end());
      }
    }
    std::vector<bool> kept(count, true);
    bool any = false;
    for (size_t t = 1; t < count; ++t) {
      size_t gone = rise[t] <= 0 ? t : t - 1;
      // Its better neighbour must stay.
      if ((rise[t] <= 0 || fall[t] <= 0) && kept[t - 1]) {
        kept[gone] = false;
        any = true;
      }
    }
    keep(kept);
    return any;
  }
};
} // namespace

void Flat::layItems(const Model &model) {
  Times times{model.baseUsage, {}};
  for (int32_t name : names)
    times.items.push_back(model.variables[name].items);
  times.normalize();
  do {
    times.keep(times.canBind(model.limit));
    times.normalize();
  } while (times.dropDominated());
  times.normalize();
  base.assign(times.base.begin(), times.base.end());
  firstItem.push_back(0);
  for (const std::vector<Model::Item> &list : times.items) {
    for (const Model::Item &item : list) {
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
  for (const Model::Edge &edge : model.edges) {
    if (edge.cost.empty())
      continue;
    int32_t a = number[edge.a], b = number[edge.b], e = int32_t(edges.size());
    size_t rows = getSize(a), columns = getSize(b), straight = cells.size(), transposed = straight + rows * getStride(b);
    cells.resize(transposed + columns * getStride(a), 0);
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j)
        cells[straight + i * getStride(b) + j] = cells[transposed + j * getStride(a) + i] = edge.cost[i * columns + j];
    edges.push_back({a, b});
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
