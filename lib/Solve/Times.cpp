//===- Times.cpp - Presolve of times ----------------------------------------===//
#include "Edit.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;
using namespace para;

namespace {
using Item = Model::Item;

struct Times {
  std::vector<int64_t> base;
  Labels names;
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
    Labels nextNames;
    for (size_t t = 0; t < base.size(); ++t) {
      place[t + 1] = place[t] + kept[t];
      if (kept[t]) {
        next.push_back(base[t]);
        nextNames.push_back(names[t]);
      }
    }
    for (std::vector<Item> &list : items)
      for (Item &item : list) {
        item.begin = place[item.begin];
        item.end = place[item.end];
      }
    base = std::move(next);
    names = std::move(nextNames);
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

bool para::reduceTimes(Model &model) {
  Times times{std::move(model.baseUsage), std::move(model.times), {}};
  size_t before = times.base.size();
  for (Model::Variable &variable : model.variables)
    times.items.push_back(std::move(variable.items));
  times.normalize();
  do {
    times.keep(times.canBind(model.limit));
    times.normalize();
  } while (times.dropDominated());
  times.normalize();
  for (size_t v = 0; v < times.items.size(); ++v)
    model.variables[v].items = std::move(times.items[v]);
  model.baseUsage = std::move(times.base);
  model.times = std::move(times.names);
  return model.baseUsage.size() != before;
}

/// What a label uses by time.
static void layProfile(const Model &model, const Model::Variable &variable, size_t label, std::vector<int64_t> &profile) {
  profile.assign(model.baseUsage.size() + 1, 0);
  for (const Model::Item &item : variable.items) {
    profile[item.begin] += item.usage[label];
    profile[item.end] -= item.usage[label];
  }
  for (size_t t = 1; t < profile.size(); ++t)
    profile[t] += profile[t - 1];
}

bool Editor::dropOverLimit() {
  bool any = false;
  size_t times = model.baseUsage.size();
  std::vector<int64_t> profile, other;
  std::vector<std::vector<double>> shares(model.variables.size()); // by label: the largest share of what is free at some time
  for (auto [v, variable] : enumerate(model.variables)) {
    shares[v].assign(variable.size(), 0);
    if (variable.items.empty())
      continue;
    for (size_t l = 0; l < variable.size(); ++l) {
      layProfile(model, variable, l, profile);
      for (size_t t = 0; t < times; ++t)
        if (int64_t room = model.limit - model.baseUsage[t]; profile[t] > room) {
          any |= variable.cost[l] < kNever;
          variable.cost[l] = kNever;
        } else if (profile[t] > 0)
          shares[v][l] = std::max(shares[v][l], double(profile[t]) / double(room));
    }
  }
  size_t work = 0;
  for (Model::Edge &edge : model.edges) {
    if (edge.cost.empty())
      continue;
    const Model::Variable &a = model.variables[edge.a], &b = model.variables[edge.b];
    for (size_t i = 0; i < a.size(); ++i) {
      bool laid = false;
      for (size_t j = 0; j < b.size(); ++j) {
        double &cost = edge.cost[i * b.size() + j];
        if (shares[edge.a][i] + shares[edge.b][j] <= 1 || cost >= kNever || (work += times) > (size_t(1) << 29))
          continue;
        if (!laid)
          layProfile(model, a, i, profile);
        laid = true;
        layProfile(model, b, j, other);
        for (size_t t = 0; t < times && cost < kNever; ++t)
          if (profile[t] + other[t] > model.limit - model.baseUsage[t]) {
            cost = kNever;
            any = true;
          }
      }
    }
  }
  return any;
}
