#include "Dual.h"

#include <algorithm>
#include <cmath>

using namespace para;

Dual::Dual(const Flat &flat) : bestPrices(flat.base.size(), 0), flat(flat), messages(flat), prices(flat.base.size(), 0), direction(flat.base.size(), 0) {}

size_t Dual::getStepWork() const { return 4 * flat.cells.size() + 40 * flat.edges.size() + flat.usages.size() + 4 * flat.base.size(); }

/// The bound at `prices`, with `last` and `usage` of the labels there.
double Dual::evaluate() {
  messages.setPrices(prices);
  double bound = 0;
  for (int pass = 0; pass < 2; ++pass)
    bound = messages.pass();
  messages.decode(last);
  usage = flat.getUsage(last);
  double back = 0, most = INT64_MIN, paid = 0;
  for (size_t t = 0; t < usage.size(); ++t) {
    back += prices[t] * (flat.base[t] - flat.limit);
    paid += prices[t] * (flat.base[t] + flat.limit);
    most = std::max(most, usage[t] - flat.limit);
  }
  if (double cost = flat.getCost(last); most <= 0 && cost < bestCost) {
    best = last;
    bestCost = cost;
  }
  bound += flat.baseCost + back;
  // Each sum has been rounded about as often as there are links, times and labels' items.
  double roundings = double(10 * flat.links.size() + flat.base.size() + 4 * flat.items.size() + 100);
  double slack = 0x1p-53 * (roundings * messages.getLargest() + double(flat.base.size() + 10) * (paid + std::abs(bound)));
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

std::vector<double> Dual::getLabelBounds() {
  prices = bestPrices;
  std::vector<double> bounds;
  messages.setPrices(prices);
  double before = messages.pass();
  messages.pass(&bounds);
  double back = flat.baseCost;
  for (size_t t = 0; t < prices.size(); ++t)
    back += prices[t] * (flat.base[t] - flat.limit);
  for (double &entry : bounds)
    entry += before + back;
  return bounds;
}
