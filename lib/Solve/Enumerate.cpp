//===- Enumerate.cpp - Forests exactly --------------------------------------===//
#include "Search.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace para;

/// Adds what the label uses; false if that is over the limit somewhere.
bool Search::put(int32_t v, int32_t label, double sign) {
  bool within = true;
  for (const Flat::Item &item : flat.getItems(v))
    if (double used = sign * flat.usages[item.usage + label]; used != 0) {
      for (int32_t t = item.begin; t < item.end; ++t)
        within &= (usage[t] += used) <= flat.limit;
      work += size_t(item.end - item.begin) / 4;
    }
  return within;
}

/// Depth first over the labels of the forest. With all else fixed, a solution that costs at most `allowed` more than the current one has,
/// at any prices, at most the current one's loss to the best labels plus the price of what the current one leaves unused: branches with
/// more end.
void Search::enumerate(double share, double allowed) {
  relabel(share, 0);
  double budget = allowed > 0 ? allowed : -0.5;
  if (share > 0)
    for (size_t t = 0; t < usage.size(); ++t)
      budget += share * prices[t] * (flat.limit - usage[t]);
  for (const Tree &tree : forest)
    next[tree.variable] = current[tree.variable];
  for (const Tree &tree : forest) {
    const double *sum = getChoices(tree);
    budget += sum[current[tree.variable]] - *std::min_element(sum, sum + flat.getSize(tree.variable));
  }
  if (budget < 0)
    return;
  if (levels.size() < forest.size())
    levels.resize(forest.size());
  for (const Tree &tree : forest)
    put(tree.variable, current[tree.variable], -1);
  auto open = [&](size_t depth, double spent) {
    Level &level = levels[depth];
    const Tree &tree = forest[depth];
    const double *sum = getChoices(tree);
    int32_t size = flat.getSize(tree.variable);
    double least = *std::min_element(sum, sum + size);
    level.choices.clear();
    for (int32_t l = 0; l < size; ++l)
      if (spent + sum[l] - least <= budget)
        level.choices.push_back({sum[l] - least, l});
    llvm::sort(level.choices);
    level.tried = 0;
    level.spent = spent;
    level.placed = false;
    work += size;
  };
  open(0, 0);
  bool found = false;
  size_t depth = 0;
  for (int visits = 0; visits < 2000 && !found; ++visits) {
    Level &level = levels[depth];
    int32_t v = forest[depth].variable;
    if (level.placed)
      put(v, next[v], -1);
    level.placed = false;
    if (level.tried == level.choices.size()) {
      next[v] = current[v];
      if (depth == 0)
        break;
      --depth;
      continue;
    }
    auto [more, label] = level.choices[level.tried++];
    next[v] = label;
    level.placed = true;
    if (!put(v, label, 1))
      continue;
    if (depth + 1 < forest.size()) {
      open(depth + 1, level.spent + more);
      ++depth;
      continue;
    }
    change = getChange();
    found = change < 0 || (change <= allowed && allowed > 0 &&
                           llvm::any_of(forest, [&](const Tree &tree) { return next[tree.variable] != current[tree.variable]; }));
  }
  if (found)
    return take();
  for (size_t i = 0; i <= depth; ++i)
    if (levels[i].placed)
      put(forest[i].variable, next[forest[i].variable], -1);
  for (const Tree &tree : forest) {
    next[tree.variable] = current[tree.variable];
    put(tree.variable, current[tree.variable], 1);
  }
}
