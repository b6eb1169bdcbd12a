#include "Search.h"

#include "Kernels.h"
#include "Messages.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace para;

Search::Search(const Flat &flat, uint64_t seed)
    : flat(flat), random(seed), prices(flat.base.size(), 0), extra(flat.base.size(), 0), priced(flat.costs.size(), 0),
      place(flat.size(), -1), fixed(flat.costs.size()), table(flat.costs.size()) {
  int32_t widest = 4;
  for (int32_t v = 0; v < flat.size(); ++v)
    widest = std::max(widest, flat.getStride(v));
  scratch.resize(widest);
}

void Search::setPrices(llvm::ArrayRef<double> next) {
  prices.assign(next.begin(), next.end());
  priceLabels(flat, prices, priced);
  for (size_t i = 0; i < priced.size(); ++i)
    priced[i] -= flat.costs[i];
  double sum = 0;
  size_t count = 0;
  for (double price : prices)
    if (price > 0) {
      sum += price;
      ++count;
    }
  typicalPrice = count ? sum / double(count) : 0;
}

void Search::start(const Labels &labels) {
  current = next = labels;
  cost = flat.getCost(labels);
  usage = flat.getUsage(labels);
  excess = 0;
  for (double used : usage)
    excess += std::max(0.0, used - flat.limit);
  if (excess == 0 && cost < kNever / 4 && cost < bestCost) {
    best = labels;
    bestCost = cost;
  }
}

void Search::growForest(size_t most) {
  for (const Tree &tree : forest)
    place[tree.variable] = -1;
  forest.clear();
  open.clear();
  open.push_back({int32_t(random() % flat.size()), {-1, nullptr}});
  while (!open.empty() && forest.size() < most) {
    size_t pick = random() % open.size();
    auto [v, from] = open[pick];
    open[pick] = open.back();
    open.pop_back();
    if (place[v] >= 0)
      continue;
    int inside = 0;
    for (const Flat::Link &link : flat.getLinks(v))
      inside += place[link.other] >= 0;
    if (inside > 1) // it would close a cycle
      continue;
    place[v] = int32_t(forest.size());
    const Flat::Link *up = nullptr;
    for (const Flat::Link &link : flat.getLinks(v))
      if (link.other == from.first)
        up = &link;
    forest.push_back({v, from.first < 0 ? -1 : place[from.first], up});
    for (const Flat::Link &link : flat.getLinks(v))
      if (place[link.other] < 0)
        open.push_back({link.other, {v, nullptr}});
  }
}

/// Costs of the forest's labels with the labels outside.
void Search::fixOutside() {
  for (const Tree &tree : forest) {
    int32_t v = tree.variable;
    size_t stride = flat.getStride(v);
    double *sum = &fixed[flat.firstLabel[v]];
    std::copy_n(&flat.costs[flat.firstLabel[v]], stride, sum);
    for (const Flat::Link &link : flat.getLinks(v))
      if (place[link.other] < 0)
        addTo(sum, &flat.cells[link.columns + size_t(current[link.other]) * stride], stride);
    work += stride * flat.getLinks(v).size();
  }
}

/// The cheapest labels of the forest at a share of the prices and all of the extra prices, in `next`.
void Search::relabel(double share, double noise) {
  if (hasExtra) {
    before.resize(extra.size() + 1);
    before[0] = 0;
    for (size_t t = 0; t < extra.size(); ++t)
      before[t + 1] = before[t] + extra[t];
  }
  for (const Tree &tree : forest) {
    int32_t v = tree.variable;
    size_t stride = flat.getStride(v);
    double *sum = &table[flat.firstLabel[v]];
    std::copy_n(&fixed[flat.firstLabel[v]], stride, sum);
    double mine = noise > 0 ? share * std::exp(noise * (2 * draw() - 1)) : share;
    if (mine > 0)
      addScaled(sum, &priced[flat.firstLabel[v]], mine, stride);
    if (hasExtra)
      for (const Flat::Item &item : flat.getItems(v))
        if (double price = before[item.end] - before[item.begin]; price > 0)
          addScaled(sum, &flat.usages[item.usage], price, stride);
  }
  for (const Tree &tree : llvm::reverse(forest)) {
    if (tree.parent < 0)
      continue;
    int32_t v = tree.variable, up = forest[tree.parent].variable;
    size_t stride = flat.getStride(up);
    minPlus(&flat.cells[tree.link->rows], &table[flat.firstLabel[v]], flat.getSize(v), stride, scratch.data());
    addTo(&table[flat.firstLabel[up]], scratch.data(), stride);
    work += stride * flat.getSize(v);
  }
  for (const Tree &tree : forest) {
    int32_t v = tree.variable;
    const double *sum = getChoices(tree);
    int32_t label = current[v]; // stays where nothing is better
    for (int32_t l = 0; l < flat.getSize(v); ++l)
      if (sum[l] < sum[label])
        label = l;
    next[v] = label;
  }
}

/// What the labels of a tree's variable cost with all below it and the label of `next` above it.
const double *Search::getChoices(const Tree &tree) {
  int32_t v = tree.variable;
  size_t stride = flat.getStride(v);
  std::copy_n(&table[flat.firstLabel[v]], stride, scratch.begin());
  if (tree.parent >= 0)
    addTo(scratch.data(), &flat.cells[tree.link->columns + size_t(next[forest[tree.parent].variable]) * stride], stride);
  return scratch.data();
}

double Search::getChange() const {
  double sum = 0;
  for (const Tree &tree : forest) {
    int32_t v = tree.variable;
    size_t first = flat.firstLabel[v];
    if (next[v] == current[v]) // edges are counted by their changed end, or the first of two
      continue;
    sum += flat.costs[first + next[v]] - flat.costs[first + current[v]];
    for (const Flat::Link &link : flat.getLinks(v)) {
      int32_t o = link.other;
      if (next[o] != current[o] && o < v)
        continue;
      size_t stride = flat.getStride(o);
      sum += flat.cells[link.rows + next[v] * stride + next[o]] - flat.cells[link.rows + current[v] * stride + current[o]];
    }
  }
  return sum;
}

/// Usage of `next` less that of `current` in `difference`; returns what is over the limit, summed over times.
double Search::placeUsage() {
  difference.assign(usage.size() + 1, 0);
  for (const Tree &tree : forest) {
    int32_t v = tree.variable;
    if (next[v] != current[v])
      for (const Flat::Item &item : flat.getItems(v)) {
        double more = flat.usages[item.usage + next[v]] - flat.usages[item.usage + current[v]];
        difference[item.begin] += more;
        difference[item.end] -= more;
      }
  }
  double now = 0, over = 0;
  for (size_t t = 0; t < usage.size(); ++t) {
    difference[t] = now += difference[t];
    over += std::max(0.0, usage[t] + now - flat.limit);
  }
  work += usage.size();
  return over;
}

void Search::raisePrices() {
  double floor = typicalPrice > 0 ? typicalPrice * 0.1 : 1e-3;
  for (size_t t = 0; t < usage.size(); ++t)
    if (usage[t] + difference[t] > flat.limit)
      extra[t] += std::max(floor, 0.5 * (prices[t] + extra[t]));
  hasExtra = true;
}

bool Search::accept(double heat) {
  change = getChange();
  double allowed = heat > 0 ? -std::log(1 - draw()) * heat * std::abs(cost) : 0;
  isOver = false;
  if (excess == 0 && change > allowed)
    return false;
  double over = placeUsage();
  isOver = excess == 0 ? over > 0 : over >= excess;
  if (isOver)
    return false;
  for (size_t t = 0; t < usage.size(); ++t)
    usage[t] += difference[t];
  excess = over;
  take();
  return true;
}

void Search::take() {
  for (const Tree &tree : forest)
    current[tree.variable] = next[tree.variable];
  cost = cost < kNever / 4 ? cost + change : flat.getCost(current); // from what is impossible, differences lose their digits
  if (excess == 0 && cost < kNever / 4 && cost < bestCost) {
    best = current;
    bestCost = cost;
  }
}

void Search::run(size_t budget, double heat, const Clock &clock) {
  work = 0;
  while (work < budget && !clock.isOver()) {
    bool exactly = excess == 0 && draw() < exactShare;
    double most = exactly ? 30 : std::min(400, flat.size());
    growForest(size_t(std::exp(draw() * std::log(most))) + 1);
    fixOutside();
    work += 60 * forest.size(); // growing takes more than tables do
    std::fill(extra.begin(), extra.end(), 0);
    hasExtra = false;
    double share = draw() < 0.1 ? 0 : std::exp((draw() * 2 - 1) * 1.5), noise = exactly || draw() < 0.5 ? 0 : draw();
    if (exactly) {
      enumerate(share, heat > 0 ? -std::log(1 - draw()) * heat * std::abs(cost) : 0);
      continue;
    }
    for (int trial = 0; trial < 4; ++trial) {
      relabel(share, noise);
      bool same = llvm::all_of(forest, [&](const Tree &tree) { return next[tree.variable] == current[tree.variable]; });
      if (same || accept(heat))
        break;
      if (isOver)
        raisePrices();
      else if (hasExtra)
        break; // even dearer would be no cheaper
      else
        share *= 0.4;
    }
    for (const Tree &tree : forest)
      next[tree.variable] = current[tree.variable];
  }
}
