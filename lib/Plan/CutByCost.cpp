#include "Pricer.h"

#include "llvm/Support/MathExtras.h"

using namespace para;

std::vector<int64_t> para::cutByCost(llvm::ArrayRef<double> costs, int64_t parts) {
  double most = 0, all = 0;
  for (double cost : costs) {
    most = std::max(most, cost);
    all += cost;
  }
  auto walk = [&](double bound) {
    std::vector<int64_t> cut;
    int64_t part = 0;
    double filled = 0;
    for (size_t i = 0; i < costs.size(); ++i) {
      bool mustOpen = int64_t(costs.size() - i) == parts - part - 1; // one layer for each of the rest
      if (i > 0 && cut.back() == part && (filled + costs[i] > bound * (1 + 1e-9) || mustOpen)) {
        ++part;
        filled = 0;
      }
      filled += costs[i];
      cut.push_back(part);
    }
    return cut;
  };
  double low = std::max(most, all / double(parts)), high = all;
  for (int step = 0; step < 40 && parts > 1; ++step) {
    double middle = (low + high) / 2;
    if (walk(middle).back() < parts)
      high = middle;
    else
      low = middle;
  }
  return walk(parts > 1 ? high : all * 2);
}

std::vector<int64_t> para::cutEvenly(int64_t layers, int64_t parts) {
  std::vector<int64_t> cut;
  for (int64_t i = 0; i < layers; ++i)
    cut.push_back(std::clamp<int64_t>(i - 1, 0, layers - 3) * parts / (layers - 2));
  return cut;
}

std::vector<int64_t> para::cutAsGiven(llvm::ArrayRef<Segment> segments, const std::map<std::string, int64_t> &stages, int64_t parts) {
  constexpr size_t voters = 9; // of a layer, which may have hundreds of nodes
  std::vector<int64_t> cut;
  for (const Segment &segment : segments)
    for (const std::vector<std::string> &nodes : segment.members) {
      std::map<int64_t, int64_t> votes;
      for (size_t i = 0; i < nodes.size(); i += llvm::divideCeil(nodes.size(), voters))
        if (auto it = stages.find(nodes[i]); it != stages.end())
          ++votes[std::min(it->second, parts - 1)];
      int64_t least = cut.empty() ? 0 : cut.back(), part = least, most = 0;
      for (auto [stage, count] : votes)
        if (count > most && stage >= least) {
          part = stage;
          most = count;
        }
      cut.push_back(part);
    }
  return cut;
}
