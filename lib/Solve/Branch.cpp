#include "Branch.h"

#include "Kernels.h"
#include "Messages.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace para;

namespace {
class Branches {
public:
  Branches(const Flat &flat, const Messages &messages, llvm::ArrayRef<double> prices, double slack, double &bestCost, Labels &best)
      : flat(flat), messages(messages), slack(slack), bestCost(bestCost), best(best), labels(flat.size(), 0), usage(flat.base),
        levels(flat.size() + 1) {
    back = flat.baseCost;
    for (size_t t = 0; t < prices.size(); ++t)
      back += prices[t] * (flat.base[t] - flat.limit);
    messages.getSuffixes(suffixes);
  }

  bool run(size_t most, const Clock &clock) {
    if (llvm::any_of(usage, [&](double used) { return used > flat.limit; }))
      return true;
    if (!flat.size()) {
      bestCost = std::min(bestCost, flat.baseCost);
      return true;
    }
    open(0, 0);
    int32_t v = 0;
    for (size_t visited = 0;; ++visited) {
      if (visited >= most || ((visited & 255) == 0 && clock.isOver()))
        return false;
      Level &level = levels[v];
      if (level.placed >= 0) {
        place(v, level.placed, -1);
        level.placed = -1;
      }
      if (level.next >= level.order.size()) {
        if (v-- == 0)
          return true;
        continue;
      }
      int32_t label = level.order[level.next++];
      if (back + level.bounds[label] > bestCost - 1 + slack) { // and so are those after it
        level.next = level.order.size();
        continue;
      }
      labels[v] = label;
      level.placed = label;
      if (!place(v, label, 1))
        continue;
      if (v + 1 == flat.size()) {
        if (double cost = flat.getCost(labels); cost < bestCost) {
          bestCost = cost;
          best = labels;
        }
        continue;
      }
      open(v + 1, level.spent[label]);
      ++v;
    }
  }

private:
  struct Level {
    std::vector<double> bounds, spent; ///< by label: of all completions; of the variables so far with messages to them
    Labels order;
    size_t next = 0;
    int32_t placed = -1;
  };

  /// Adds what the label uses; false if that is over the limit somewhere.
  bool place(int32_t v, int32_t label, double sign) {
    bool within = true;
    for (const Flat::Item &item : flat.getItems(v))
      if (double used = sign * flat.usages[item.usage + label]; used != 0)
        for (int32_t t = item.begin; t < item.end; ++t)
          within &= (usage[t] += used) <= flat.limit;
    return within;
  }

  void open(int32_t v, double spent) {
    Level &level = levels[v];
    messages.getChoices(v, labels, level.bounds);
    // The messages to this variable's earlier neighbours are replaced by what it really costs with them.
    double gone = messages.getExpected(v, labels);
    level.spent.resize(level.bounds.size());
    for (size_t l = 0; l < level.bounds.size(); ++l) {
      level.spent[l] = spent - gone + level.bounds[l];
      level.bounds[l] = level.spent[l] + suffixes[v + 1];
    }
    level.order.resize(flat.getSize(v));
    for (int32_t l = 0; l < flat.getSize(v); ++l)
      level.order[l] = l;
    llvm::sort(level.order, [&](int32_t a, int32_t b) { return std::pair(level.bounds[a], a) < std::pair(level.bounds[b], b); });
    level.next = 0;
    level.placed = -1;
  }

  const Flat &flat;
  const Messages &messages;
  double slack, back;
  double &bestCost;
  Labels &best;
  Labels labels;
  std::vector<double> usage, suffixes;
  std::vector<Level> levels;
};
} // namespace

bool para::searchBranches(const Flat &flat, llvm::ArrayRef<double> prices, size_t most, const Clock &clock, double &bestCost,
                          Labels &best) {
  Messages messages(flat);
  messages.setPrices(prices);
  for (int pass = 0; pass < 10; ++pass)
    messages.pass();
  double paid = 0;
  for (size_t t = 0; t < prices.size(); ++t)
    paid += prices[t] * (flat.base[t] + flat.limit);
  double slack = 0x1p-53 * ((10 * double(flat.links.size()) + 100 + 4 * double(flat.items.size())) * messages.getLargest() +
                            double(prices.size() + 10) * paid);
  return Branches(flat, messages, prices, slack, bestCost, best).run(most, clock);
}
