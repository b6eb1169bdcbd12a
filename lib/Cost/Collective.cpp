#include "para/Cost/Collective.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace para;

static constexpr llvm::StringLiteral kNames[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_receive"};

llvm::StringRef para::getName(CollectiveKind kind) { return kNames[int(kind)]; }

std::optional<CollectiveKind> para::parseCollectiveKind(llvm::StringRef name) {
  for (int i = 0; i < int(std::size(kNames)); ++i)
    if (name == kNames[i])
      return CollectiveKind(i);
  return std::nullopt;
}

double para::sentBytes(CollectiveKind kind, double bytes, int64_t ranks) {
  if (ranks <= 1)
    return 0;
  double n = double(ranks);
  switch (kind) {
  case CollectiveKind::AllReduce:
    return 2 * (n - 1) / n * bytes;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return (n - 1) / n * bytes;
  case CollectiveKind::Broadcast:
  case CollectiveKind::SendReceive:
    break;
  }
  return bytes;
}

int64_t para::getMembersInside(int64_t joined, int64_t ranks, int64_t stride, int64_t total) {
  int64_t span = ranks * stride;
  if (joined >= total || joined % span == 0 || (total % span != 0 && span <= joined)) // alone at rank 0 if others do not fit beside it
    return ranks;
  if (joined <= stride)
    return 1;
  int64_t most = 1;
  for (int64_t members = 2; members < ranks && members * stride <= joined; ++members)
    if (ranks % members == 0 && joined % (members * stride) == 0)
      most = members;
  return most;
}

namespace {
/// A level that the communicator crosses: `below` members reach it through each block of the level inside, `blocks` of which it joins.
struct Crossing {
  const Level *level;
  double below, blocks;
};

enum Protocol { Low, Middle, Simple };

class Pricer {
public:
  Pricer(const DeviceClass &devices, int64_t ranks, int64_t stride, int64_t total, double copies) : n(double(ranks)), copies(copies) {
    int64_t below = 1;
    for (const Level &level : devices.levels) {
      int64_t inside = getMembersInside(level.ranks, ranks, stride, total);
      if (inside > below)
        crossings.push_back({&level, double(below), double(inside) / double(below)});
      below = std::max(below, inside);
    }
  }

  double price(CollectiveKind kind, double bytes) {
    if (crossings.empty())
      return 0;
    switch (kind) {
    case CollectiveKind::AllReduce:
      return std::min({ring(crossings, 2, bytes), tree(bytes), levelByLevel(2, bytes), inNetwork(bytes)});
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
      return std::min(ring(crossings, 1, bytes), levelByLevel(1, bytes));
    case CollectiveKind::AllToAll:
      return exchange(bytes);
    case CollectiveKind::Broadcast:
      return std::min(pass(bytes), spread(bytes));
    case CollectiveKind::SendReceive:
      break;
    }
    const Level &level = *crossings.back().level;
    return level.seconds + level.constants.exchangeStart + bytes / (getRate(level) * level.constants.pairFraction);
  }

private:
  using Crossings = llvm::ArrayRef<Crossing>;

  static double getRate(const Level &level) { return level.bytesPerSecond / level.oversubscription; }

  static double getFraction(const Level &level, Protocol protocol) {
    const NetworkConstants &c = level.constants;
    return protocol == Low ? c.lowFraction : protocol == Middle ? c.middleFraction : c.simpleFraction;
  }
  static double getStart(const Level &level, Protocol protocol) {
    const NetworkConstants &c = level.constants;
    return protocol == Low ? c.lowStart : protocol == Middle ? c.middleStart : c.simpleStart;
  }
  static double getStep(const Level &level, Protocol protocol) {
    const NetworkConstants &c = level.constants;
    return level.seconds + (protocol == Low ? c.lowStep : protocol == Middle ? c.middleStep : c.simpleStep);
  }

  /// Of the links of a device, those which a ring of the members uses.
  static double getShare(const Crossing &crossing) {
    static constexpr double NetworkConstants::*shares[] = {&NetworkConstants::share2, &NetworkConstants::share3, &NetworkConstants::share4,
                                                           &NetworkConstants::share5, &NetworkConstants::share6, &NetworkConstants::share7,
                                                           &NetworkConstants::share8};
    int64_t members = int64_t(crossing.blocks);
    return members >= 2 && members <= 8 ? crossing.level->constants.*shares[members - 2] : 1;
  }

  /// Steps in part hide behind bytes.
  static double join(double steps, double bytes, double p) {
    double most = std::max(steps, bytes);
    return most <= 0 ? 0 : most * std::pow(std::pow(steps / most, p) + std::pow(bytes / most, p), 1 / p);
  }

  static double getRamp(double ramp, double seconds) { return 2 * std::sqrt(ramp * seconds); }

  /// `rounds` times around: each member sends (n - 1) / n of the bytes in each. Rings go through all members, so that all devices of a
  /// block feed the level outside.
  static double ring(Crossings crossings, double rounds, double bytes) {
    double best = std::numeric_limits<double>::infinity(), n = 1;
    for (const Crossing &crossing : crossings)
      n *= crossing.blocks;
    for (Protocol protocol : {Low, Middle, Simple}) {
      double start = 0, steps = 0, seconds = 0, ramp = 0, overlap = 16;
      bool has = true;
      for (const Crossing &crossing : llvm::reverse(crossings)) {
        const Level &level = *crossing.level;
        has &= getFraction(level, protocol) > 0;
        start = std::max(start, getStart(level, protocol));
        // Of the n - 1 steps the outer levels make few: as many as there are blocks inside, less one.
        double blocks = n / crossing.below, outer = n / (crossing.below * crossing.blocks);
        steps += getStep(level, protocol) * (blocks - outer);
        seconds = std::max(seconds, rounds * (n - 1) / n * bytes /
                                        (getRate(level) * getShare(crossing) * getFraction(level, protocol) * crossing.below));
        ramp = std::max(ramp, level.constants.simpleRamp);
        overlap = std::min(overlap, level.constants.overlap);
      }
      if (has)
        best = std::min(best, start + join(rounds * steps, seconds, overlap) + (protocol == Simple ? getRamp(ramp, seconds) : 0));
    }
    return best;
  }

  /// Buffers in either direction at a block of a double binary tree: of two trees, each for half of the buffer, one has the block inside
  /// (three links) and one at a leaf. Two blocks could do with one; what is published of two nodes shows none of that (192 GB/s of 8 x 200
  /// Gb/s).
  static constexpr double kTreeLoad = 2;

  /// Up and down: chains inside, a double binary tree outside.
  double tree(double bytes) const {
    double best = std::numeric_limits<double>::infinity();
    for (Protocol protocol : {Low, Middle, Simple}) {
      double start = 0, steps = 0, seconds = 0, ramp = 0, overlap = 16;
      bool has = true;
      for (const Crossing &crossing : crossings) {
        const Level &level = *crossing.level;
        const NetworkConstants &c = level.constants;
        has &= getFraction(level, protocol) > 0;
        start = std::max(start, getStart(level, protocol));
        bool inside = crossing.below == 1 && crossings.size() > 1;
        steps += getStep(level, protocol) * c.treeStep * (inside ? crossing.blocks - 1 : std::ceil(std::log2(crossing.blocks)));
        seconds =
            std::max(seconds, kTreeLoad * bytes /
                                  (getRate(level) * getShare(crossing) * getFraction(level, protocol) * c.treeFraction * crossing.below));
        ramp = std::max(ramp, c.simpleRamp);
        overlap = std::min(overlap, c.overlap);
      }
      if (has)
        best = std::min(best, start + join(2 * steps, seconds, overlap) + (protocol == Simple ? getRamp(ramp, seconds) : 0));
    }
    return best;
  }

  /// Scatters inside, goes on outside with what each then has, and gathers: each by itself, one after the other.
  double levelByLevel(double rounds, double bytes) const {
    if (crossings.size() < 2 || crossings.back().level->constants.levelByLevel == 0)
      return std::numeric_limits<double>::infinity();
    double seconds = 0;
    for (size_t i = 0; i < crossings.size(); ++i) {
      Crossing alone = crossings[i];
      bool last = i + 1 == crossings.size();
      alone.below = 1;
      seconds += last ? ring(alone, rounds, bytes) : rounds * ring(alone, 1, bytes);
      bytes /= alone.blocks;
    }
    return seconds;
  }

  /// The innermost level, and others that can, reduce in their switches: a device sends its bytes and a multicast of its part once.
  /// Outside, a tree where the network cannot.
  double inNetwork(double bytes) const {
    double start = 0, steps = 0, seconds = 0, ramp = 0;
    if (!crossings.front().level->inNetworkReduction)
      return std::numeric_limits<double>::infinity();
    for (const Crossing &crossing : crossings) {
      const Level &level = *crossing.level;
      const NetworkConstants &c = level.constants;
      bool reduces = level.inNetworkReduction && c.reductionFraction > 0;
      start = std::max(start, reduces ? c.reductionStart : c.simpleStart);
      ramp = std::max(ramp, reduces ? c.reductionRamp : c.simpleRamp);
      double load = !reduces ? kTreeLoad : crossing.below > 1 ? 1 : (crossing.blocks + 1) / crossing.blocks;
      double fraction = reduces ? c.reductionFraction : c.simpleFraction * c.treeFraction;
      steps += reduces ? level.seconds : 2 * std::ceil(std::log2(crossing.blocks)) * getStep(level, Simple) * c.treeStep;
      seconds = std::max(seconds, load * bytes / (getRate(level) * fraction * crossing.below));
    }
    return start + steps + seconds + getRamp(ramp, seconds);
  }

  /// Of the copies of a row, the share that enters a block: the expected number of distinct blocks among so many independent draws, over the
  /// draws. Experts of a row differ, so that it is a little more where they are few.
  double getEntering(double blocks) const { return copies <= 1 ? 1 : blocks * (1 - std::pow(1 - 1 / blocks, copies)) / copies; }

  /// Each to each; what leaves a block goes over the links outside, of which each device has its own.
  double exchange(double bytes) const {
    double start = 0, seconds = 0, reached = 1;
    for (const Crossing &crossing : crossings) {
      const Level &level = *crossing.level;
      const NetworkConstants &c = level.constants;
      double outside = n - crossing.below, peers = crossing.below * (crossing.blocks - 1);
      start = std::max(start, c.exchangeStart);
      seconds = std::max(seconds, getEntering(n / crossing.below) * outside / n * bytes / (getRate(level) * (n == 2 ? c.pairFraction : c.exchangeFraction)));
      reached += peers * (level.seconds + c.exchangeStep);
    }
    return start + (reached - 1) + seconds;
  }

  /// Around a ring in chunks.
  double pass(double bytes) const {
    double start = 0, steps = 0, seconds = 0;
    for (const Crossing &crossing : crossings) {
      const Level &level = *crossing.level;
      start = std::max(start, getStart(level, Simple));
      steps += getStep(level, Simple) * (n / crossing.below - n / (crossing.below * crossing.blocks));
      seconds = std::max(seconds, bytes / (getRate(level) * getShare(crossing) * getFraction(level, Simple) * crossing.below));
    }
    return start + steps + seconds;
  }

  /// Whole messages to ever more members.
  double spread(double bytes) const {
    double start = 0, seconds = 0;
    for (const Crossing &crossing : crossings) {
      const Level &level = *crossing.level;
      Protocol protocol = getFraction(level, Low) > 0 ? Low : Simple;
      start = std::max(start, getStart(level, protocol));
      seconds += std::ceil(std::log2(crossing.blocks)) *
                 (getStep(level, protocol) + bytes / (getRate(level) * getShare(crossing) * getFraction(level, protocol)));
    }
    return start + seconds;
  }

  double n, copies;
  std::vector<Crossing> crossings;
};
} // namespace

double para::collectiveSeconds(const Machine &machine, CollectiveKind kind, double bytes, int64_t ranks, int64_t stride, double copies) {
  if (ranks <= 1)
    return 0;
  double slowest = 0;
  for (const DeviceClass &devices : machine.classes)
    slowest = std::max(slowest, Pricer(devices, ranks, std::max<int64_t>(1, stride), machine.getNumRanks(), copies).price(kind, bytes));
  return slowest;
}
