//===- PlacementTest.cpp - Which cores ranks run on ---------------------------===//
#include "host/Placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sched.h>
#include <set>
#include <thread>
#include <vector>

using namespace para::runtime;

namespace {
std::vector<int> coresOfThread() {
  cpu_set_t set;
  std::vector<int> cores;
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set))
      cores.push_back(core);
  return cores;
}

/// Where a rank that was given `cores` runs after it was bound; in a thread of its own, which leaves the others where they are.
std::vector<int> bound(const std::vector<int> &cores, int64_t rank, int64_t ranks, int64_t threads) {
  std::vector<int> result;
  std::thread([&] {
    cpu_set_t given;
    CPU_ZERO(&given);
    for (int core : cores)
      CPU_SET(core, &given);
    ASSERT_EQ(sched_setaffinity(0, sizeof(given), &given), 0);
    bindToCores(rank, ranks, threads);
    result = coresOfThread();
  }).join();
  return result;
}

/// The first one, two, ... of the cores there are.
std::vector<std::vector<int>> someCores() {
  std::vector<int> all = coresOfThread();
  std::vector<std::vector<int>> result;
  for (size_t count = 1; count <= std::min<size_t>(all.size(), 4); ++count)
    result.emplace_back(all.begin(), all.begin() + int64_t(count));
  return result;
}
} // namespace

// Ranks are numbered stage by stage: as many as there are cores, one after another, never share one.
TEST(Placement, RanksTakeCoresInTurns) {
  for (const std::vector<int> &cores : someCores()) {
    int64_t count = int64_t(cores.size());
    for (int64_t share : {1, 2, 3})
      for (int64_t rank = 0; rank < share * count; ++rank)
        EXPECT_EQ(bound(cores, rank, share * count, 1), std::vector<int>{cores[size_t(rank % count)]}) << "rank " << rank << " of " << share * count;
  }
}

// Every core gets as many threads as any other.
TEST(Placement, ThreadsOfARankTakeCoresTogether) {
  for (const std::vector<int> &cores : someCores()) {
    int64_t count = int64_t(cores.size()), threads = 2, ranks = 2 * count;
    std::multiset<int> load;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      std::vector<int> mine = bound(cores, rank, ranks, threads);
      EXPECT_EQ(int64_t(mine.size()), std::min(threads, count));
      load.insert(mine.begin(), mine.end());
    }
    for (int core : cores)
      EXPECT_EQ(int64_t(load.count(core)), ranks * std::min(threads, count) / count);
  }
}

// Cores that cannot be shared out evenly are left to the system, and a launcher's choice of them is never widened.
TEST(Placement, UnevenSharesAreLeftToTheSystem) {
  for (const std::vector<int> &cores : someCores()) {
    int64_t count = int64_t(cores.size());
    for (int64_t rank = 0; rank <= count; ++rank)
      EXPECT_EQ(bound(cores, rank, count + 1, 1), cores) << "rank " << rank;
    EXPECT_EQ(bound(cores, 0, 1, count), cores);
  }
}
