//===- BellTest.cpp - Waiting for another rank and being woken ----------------===//
//
// A wait ends by itself after a moment, for a rank that has failed does not ring: a wake that is lost would show as a delay only. Here it lasts
// so long that it never ends by itself unless a wake is lost, and such ends are counted. Ranks that wait give no core away before they sleep, so
// that they sleep often.
//
//===----------------------------------------------------------------------===//
#include "core/ControlBlock.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdarg>
#include <dlfcn.h>
#include <functional>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace para::runtime;

static std::atomic<int64_t> numSlept{0}, numWakes{0}, numLost{0};
static thread_local std::function<void()> beforeSleep;

/// These two stand before the C library's functions of their names.
extern "C" int sched_yield() noexcept { return 0; }
extern "C" long syscall(long number, ...) noexcept {
  static const auto original = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
  va_list list;
  va_start(list, number);
  long given[6];
  for (long &argument : given)
    argument = va_arg(list, long);
  va_end(list);
  timespec endless{10, 0};
  bool isWait = number == SYS_futex && given[1] == FUTEX_WAIT;
  if (isWait && beforeSleep)
    beforeSleep();
  if (isWait)
    given[3] = reinterpret_cast<long>(&endless);
  long result = original(number, given[0], given[1], given[2], given[3], given[4], given[5]);
  if (isWait && result == 0)
    ++numSlept;
  if (isWait && result == -1 && errno == ETIMEDOUT)
    ++numLost;
  if (number == SYS_futex && given[1] == FUTEX_WAKE)
    ++numWakes;
  return result;
}

namespace {
class Bell : public testing::Test {
protected:
  static constexpr int64_t ranks = 8;
  void SetUp() override {
    int descriptor = ControlBlock::createDescriptor("para-bell-test");
    ASSERT_GE(descriptor, 0);
    Status status = ControlBlock::map(descriptor, ranks, 1, true, block);
    ASSERT_FALSE(status.failed()) << status.message();
    close(descriptor);
    numSlept = numWakes = numLost = 0;
  }
  /// Waits as ranks do that share cores: asleep almost at once.
  void waitFor(int64_t rank, const std::atomic<int64_t> &counter, int64_t value) {
    for (Waiter waiter(&block.rank(rank), true); counter.load() < value; waiter.pause())
      idle(100); // what is waited for may come between looking and sleeping
  }
  static void idle(int64_t turns) {
    for (volatile int64_t turn = 0; turn < turns;)
      turn = turn + 1;
  }
  ControlBlock block;
};
} // namespace

TEST_F(Bell, WakesTheRankThatSleeps) {
  std::atomic<int64_t> counter{0};
  std::thread waiter([&] { waitFor(3, counter, 1); });
  while (!block.rank(3).isAsleep)
    usleep(100);
  usleep(20000); // from saying so to sleeping
  block.ring(4); // somebody else's
  EXPECT_EQ(numWakes, 0);
  counter = 1;
  block.ring(3);
  waiter.join();
  EXPECT_EQ(block.rank(3).isAsleep, 0u);
  EXPECT_EQ(numSlept, 1);
  EXPECT_EQ(numWakes, 1);
  EXPECT_EQ(numLost, 0);
}

// What comes between the last look and the sleep, at whichever moment, is not slept over.
TEST_F(Bell, WhatRingsBeforeTheSleepIsHeard) {
  int64_t sleeps = 0, pauses = 0;
  beforeSleep = [&] {
    ++sleeps;
    block.ring(0);
  };
  for (Waiter waiter(&block.rank(0), true); sleeps == 0; waiter.pause())
    ++pauses;
  beforeSleep = [&] { ++sleeps; };
  Waiter waiter(&block.rank(0), true);
  for (int64_t i = 1; i < pauses; ++i)
    waiter.pause();
  EXPECT_EQ(sleeps, 1);
  block.ring(0); // after the look that follows a pause
  waiter.pause();
  EXPECT_EQ(sleeps, 2);
  EXPECT_EQ(numSlept, 0);
  EXPECT_EQ(numLost, 0);
  beforeSleep = nullptr;
}

// A rank that looks again and again is not woken through the system, which would cost the one that rings.
TEST_F(Bell, NobodyIsWokenWhoDoesNotSleep) {
  for (int i = 0; i < 1000; ++i)
    block.ring(i % ranks);
  EXPECT_EQ(numWakes, 0);
  EXPECT_EQ(block.rank(0).bell, 125u);
}

// A token goes round: whoever has it passes it on while the next one is about to look, to sleep, or asleep.
TEST_F(Bell, NoWakeIsLostInARing) {
  constexpr int64_t rounds = 6000;
  std::vector<std::atomic<int64_t>> tokens(ranks);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      for (int64_t round = 1; round <= rounds; ++round) {
        if (rank > 0 || round > 1)
          waitFor(rank, tokens[size_t(rank)], rank > 0 ? round : round - 1);
        idle((round * 37 + rank * 101) % 500);
        int64_t next = (rank + 1) % ranks;
        ++tokens[size_t(next)];
        block.ring(next);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(numLost, 0);
  EXPECT_GT(numSlept, rounds / 10);
}

// All ring one rank at once, and it releases all of them: as a barrier does.
TEST_F(Bell, NoWakeIsLostWhereManyRing) {
  constexpr int64_t rounds = 6000;
  std::atomic<int64_t> arrived{0}, released{0};
  std::vector<std::thread> threads;
  for (int64_t rank = 1; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      for (int64_t round = 1; round <= rounds; ++round) {
        idle((round * 53 + rank * 211) % 900);
        ++arrived;
        block.ring(0);
        waitFor(rank, released, round);
      }
    });
  for (int64_t round = 1; round <= rounds; ++round) {
    waitFor(0, arrived, round * (ranks - 1));
    ++released;
    for (int64_t rank = 1; rank < ranks; ++rank)
      block.ring(rank);
  }
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(numLost, 0);
  EXPECT_GT(numSlept, rounds / 10);
}
