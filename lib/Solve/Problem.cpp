#include "para/Solve/Problem.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>

using namespace llvm;
using namespace para;

static Error fail(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

/// Sums of usages stay integers.
static constexpr int64_t kMostUsage = int64_t(1) << 62;

/// Possible costs are exact as doubles.
static bool isTooLarge(int64_t cost) { return cost > int64_t(1) << 53 && cost < kImpossible; }

Error Problem::check() const {
  int64_t most = 0;
  for (auto [i, node] : enumerate(nodes)) {
    if (node.costs.empty())
      return fail("node " + Twine(i) + " has no strategy");
    if (node.costs.size() != node.usages.size())
      return fail("node " + Twine(i) + " has " + Twine(node.costs.size()) + " costs and " + Twine(node.usages.size()) + " usages");
    if (any_of(node.costs, [](int64_t cost) { return cost < 0; }) || any_of(node.usages, [](int64_t usage) { return usage < 0; }))
      return fail("node " + Twine(i) + " has a negative cost or usage");
    if (any_of(node.costs, isTooLarge))
      return fail("node " + Twine(i) + " has a cost that is too large to add");
    if (node.begin < 0)
      return fail("node " + Twine(i) + " lives from before time 0");
    int64_t usage = *std::max_element(node.usages.begin(), node.usages.end());
    if (usage > kMostUsage - most)
      return fail("the usages are too large to add");
    most += usage;
  }
  for (auto [e, edge] : enumerate(edges)) {
    for (int64_t end : {edge.from, edge.to})
      if (end < 0 || end >= int64_t(nodes.size()))
        return fail("edge " + Twine(e) + " ends at node " + Twine(end) + " of " + Twine(nodes.size()));
    if (edge.from == edge.to)
      return fail("edge " + Twine(e) + " leads from node " + Twine(edge.from) + " to itself");
    size_t pairs = nodes[edge.from].costs.size() * nodes[edge.to].costs.size();
    if (edge.costs.size() != pairs)
      return fail("edge " + Twine(e) + " has " + Twine(edge.costs.size()) + " costs for " + Twine(pairs) + " pairs of strategies");
    if (any_of(edge.costs, [](int64_t cost) { return cost < 0; }))
      return fail("edge " + Twine(e) + " has a negative cost");
    if (any_of(edge.costs, isTooLarge))
      return fail("edge " + Twine(e) + " has a cost that is too large to add");
  }
  if (usageLimit < 0)
    return fail("the usage limit is negative");
  return Error::success();
}

int64_t Problem::getCost(ArrayRef<int32_t> choice) const {
  int64_t sum = 0;
  auto add = [&](int64_t cost) { sum = cost >= kImpossible || sum >= kImpossible - cost ? kImpossible : sum + cost; };
  for (auto [node, strategy] : zip_equal(nodes, choice))
    add(node.costs[strategy]);
  for (const Edge &edge : edges)
    add(edge.costs[size_t(choice[edge.from]) * nodes[edge.to].costs.size() + choice[edge.to]]);
  return sum;
}

int64_t Problem::getPeak(ArrayRef<int32_t> choice) const {
  std::vector<std::pair<int64_t, int64_t>> changes; // time, change: what ends goes first
  for (auto [node, strategy] : zip_equal(nodes, choice))
    if (node.begin < node.end) {
      changes.push_back({node.begin, node.usages[strategy]});
      changes.push_back({node.end, -node.usages[strategy]});
    }
  std::sort(changes.begin(), changes.end());
  int64_t now = 0, peak = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    now += changes[i].second;
    if (i + 1 == changes.size() || changes[i + 1].first != changes[i].first)
      peak = std::max(peak, now);
  }
  return peak;
}

Error Problem::verify(ArrayRef<int32_t> choice) const {
  if (choice.size() != nodes.size())
    return fail("has " + Twine(choice.size()) + " entries for " + Twine(nodes.size()) + " nodes");
  for (auto [i, strategy] : enumerate(choice)) {
    if (strategy < 0 || strategy >= int64_t(nodes[i].costs.size()))
      return fail("node " + Twine(i) + " has no strategy " + Twine(strategy));
    if (nodes[i].costs[strategy] >= kImpossible)
      return fail("strategy " + Twine(strategy) + " of node " + Twine(i) + " is impossible");
  }
  for (auto [e, edge] : enumerate(edges))
    if (edge.costs[size_t(choice[edge.from]) * nodes[edge.to].costs.size() + choice[edge.to]] >= kImpossible)
      return fail("strategies " + Twine(choice[edge.from]) + " and " + Twine(choice[edge.to]) + " of nodes " + Twine(edge.from) + " and " +
                  Twine(edge.to) + " are impossible together");
  if (int64_t peak = getPeak(choice); peak > usageLimit)
    return fail("uses " + Twine(peak) + " at its peak, the limit is " + Twine(usageLimit));
  return Error::success();
}
