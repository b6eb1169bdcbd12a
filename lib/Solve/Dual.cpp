#include "Dual.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace para;

Dual::Dual(const Flat &flat, std::vector<double> start)
    : bestPrices(start), flat(flat), messages(flat), prices(std::move(start)), direction(flat.base.size(), 0) {
  messages.setPrices(prices);
  for (int pass = 0; pass < 10; ++pass) // from messages of nothing, the first steps would lead astray
    messages.pass();
}

/// What a bound at `prices` has in addition to the messages'; in `slack` what roundings can have added to `bound` messages.
double Dual::getBack(double bound, double &slack) const {
  double back = flat.baseCost, paid = 0;
  for (size_t t = 0; t < prices.size(); ++t) {
    back += prices[t] * (flat.base[t] - flat.limit);
    paid += prices[t] * (flat.base[t] + flat.limit);
  }
  // Each sum has been rounded about as often as there are links, times and labels' items.
  double roundings = double(10 * flat.links.size() + flat.base.size() + 4 * flat.items.size() + 100);
  slack =
      0x1p-53 * (roundings * messages.getLargest() + double(flat.base.size() + 10) * (paid + std::abs(bound) + std::abs(flat.baseCost)));
  return back;
}

size_t Dual::getStepWork() const { return 4 * flat.cells.size() + 40 * flat.edges.size() + flat.usages.size() + 4 * flat.base.size(); }

/// The bound at `prices`, with `last` and `usage` of the labels there.
double Dual::evaluate() {
  messages.setPrices(prices);
  double bound = 0;
  for (int pass = 0; pass < 2; ++pass)
    bound = messages.pass();
  messages.decode(last);
  usage = flat.getUsage(last);
  if (llvm::all_of(usage, [&](double used) { return used <= flat.limit; }))
    if (double cost = flat.getCost(last); cost < bestCost) {
      best = last;
      bestCost = cost;
    }
  double slack = 0;
  bound += getBack(bound, slack);
  if (bound - slack > this->bound) {
    this->bound = bound - slack;
    bestPrices = prices;
  }
  return bound;
}

void Dual::step() {
  double now = evaluate();
  if (!started) {
    started = true;
    level = std::max(1.0, std::abs(now)) * 0.05;
    mark = now;
  }
  if (now > mark + 0.1 * level) {
    failures = 0;
    if (now > mark + 0.5 * level)
      level *= 1.1;
  }
  stuck = now > mark + 1e-6 * std::abs(mark) ? 0 : stuck + 1;
  mark = std::max(mark, now);
  level = std::max(level, 1e-6 * std::max(1.0, std::abs(mark)));
  if (++failures > 15) {
    failures = 0;
    level *= 0.7;
    prices = bestPrices;
    std::fill(direction.begin(), direction.end(), 0);
    return;
  }
  double norm = 0, scale = std::max(1.0, flat.limit);
  for (size_t t = 0; t < prices.size(); ++t) {
    direction[t] = 0.3 * (usage[t] - flat.limit) / scale + 0.7 * direction[t];
    if (direction[t] > 0 || prices[t] > 0)
      norm += direction[t] * direction[t];
  }
  double length = std::min(mark + level - now, 3 * level) / std::max(norm, 1e-12) / scale;
  for (size_t t = 0; t < prices.size(); ++t)
    prices[t] = std::max(0.0, prices[t] + length * direction[t]);
}

void Dual::run(size_t work, const Clock &clock) {
  for (size_t done = 0; done < work && !clock.isOver(); done += getStepWork())
    step();
}

std::vector<double> Dual::getLabelBounds(llvm::function_ref<void(int32_t, int32_t, int32_t, double)> visit) {
  prices = bestPrices;
  std::vector<double> bounds;
  messages.setPrices(prices);
  double before = messages.pass();
  messages.pass(&bounds);
  double slack = 0, back = getBack(before, slack);
  if (visit)
    messages.visitPairs(bounds, [&](int32_t e, int32_t i, int32_t j, double more) { visit(e, i, j, before + back - slack + more); });
  for (double &entry : bounds)
    entry += before + back - slack;
  return bounds;
}
