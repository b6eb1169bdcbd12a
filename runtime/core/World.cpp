//===- World.cpp - The ranks of a job and their control messages --------------===//
#include "World.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sched.h>
#include <unistd.h>

namespace para::runtime {

int64_t availableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
    return CPU_COUNT(&set);
  return std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
}

bool World::coresAreScarce(int64_t threads) const { return numRanks * threads > availableCores(); }

void World::tellFailure(const std::string &line) { runtime::tellFailure(control(), myRank, line); }

Status World::barrier() {
  std::vector<char> all;
  char token = 0;
  PARA_TRY(gather(&token, 1, all));
  return broadcast(&token, 1);
}

Status World::gather(const void *mine, int64_t bytes, std::vector<char> &all) {
  if (myRank != 0)
    return send(0, mine, bytes);
  all.resize(size_t(numRanks * bytes));
  std::memcpy(all.data(), mine, size_t(bytes));
  for (int64_t from = 1; from < numRanks; ++from)
    PARA_TRY(receive(from, all.data() + from * bytes, bytes));
  return Status::success();
}

Status World::gatherText(const std::string &mine, std::vector<std::string> &all) {
  int64_t bytes = int64_t(mine.size());
  if (myRank != 0) {
    PARA_TRY(send(0, &bytes, 8));
    return send(0, mine.data(), bytes);
  }
  all.assign(size_t(numRanks), "");
  all[0] = mine;
  for (int64_t from = 1; from < numRanks; ++from) {
    PARA_TRY(receive(from, &bytes, 8));
    all[size_t(from)].resize(size_t(bytes));
    PARA_TRY(receive(from, all[size_t(from)].data(), bytes));
  }
  return Status::success();
}

Status World::broadcast(void *data, int64_t bytes) {
  if (myRank != 0)
    return receive(0, data, bytes);
  for (int64_t to = 1; to < numRanks; ++to)
    PARA_TRY(send(to, data, bytes));
  return Status::success();
}

uint64_t World::shareProgress(uint64_t mine) {
  const ControlBlock *block = control();
  if (!block)
    return mine;
  block->rank(myRank).progress = mine;
  uint64_t sum = 0;
  for (int64_t i = 0; i < numRanks; ++i)
    sum += block->rank(i).progress.load();
  return sum;
}

Status World::agree(const Status &mine) {
  if (numRanks == 1)
    return Status(mine).markKnownToAll();
  std::vector<char> all;
  int32_t code = mine.exitCode(), verdict[2] = {-1, 0};
  PARA_TRY(gather(&code, 4, all));
  for (int64_t i = 0; myRank == 0 && i < numRanks; ++i) {
    int32_t theirs;
    std::memcpy(&theirs, all.data() + i * 4, 4);
    if (theirs != 0 && verdict[0] < 0) {
      verdict[0] = int32_t(i);
      verdict[1] = theirs;
    }
  }
  PARA_TRY(broadcast(verdict, sizeof(verdict)));
  if (verdict[0] < 0)
    return Status::success();
  Status status = verdict[0] == myRank ? mine : Status::error("", verdict[1]);
  return std::move(status).markKnownToAll();
}

SharedWorld::SharedWorld(const ControlBlock &block, int64_t rank) : World(rank, block.ranks()), block(block) {
  sharesCores = coresAreScarce(1);
  block.rank(rank).pid = getpid();
  block.rank(rank).state = int32_t(RankState::Running);
  watchdog.start(block, rank);
}

template <typename Done> Status SharedWorld::waitFor(int64_t peer, Done done) {
  Waiter waiter(&block.rank(myRank), sharesCores);
  double noteAfterSeconds = 20;
  struct Mark {
    std::atomic<int32_t> &waitsFor;
    ~Mark() { waitsFor.store(-1, std::memory_order_relaxed); }
  } mark{block.rank(myRank).waitsFor};
  Waiting waiting(*this);
  while (!done()) {
    waiter.pause();
    if (!waiter.isSlow())
      continue;
    mark.waitsFor.store(int32_t(peer), std::memory_order_relaxed);
    if (block.failedRank() >= 0)
      return Status::error("");
    // Others wait for rank 0 as long as it writes a checkpoint; rank 0 waits only for those that compute.
    if (double seconds = waiter.seconds(); myRank == 0 && seconds > noteAfterSeconds) {
      std::fprintf(stderr, "para: rank 0 has waited %.0f s for rank %lld, which is %s\n", seconds, (long long)peer,
                   whereIs(block, peer).c_str());
      noteAfterSeconds *= 4;
    }
  }
  return Status::success();
}

Status SharedWorld::send(int64_t to, const void *data, int64_t bytes) {
  RankBlock &mine = block.rank(myRank);
  const char *at = static_cast<const char *>(data);
  for (int64_t left = bytes; left > 0;) {
    PARA_TRY(waitFor(to, [&] { return mine.mailFull.load(std::memory_order_acquire) == 0; }));
    int64_t chunk = std::min(left, mailboxBytes);
    std::memcpy(mine.mail, at, size_t(chunk));
    mine.mailTo = int32_t(to);
    mine.mailBytes = chunk;
    mine.mailFull.store(1, std::memory_order_release);
    block.ring(to);
    at += chunk;
    left -= chunk;
  }
  return Status::success();
}

Status SharedWorld::receive(int64_t from, void *data, int64_t bytes) {
  RankBlock &theirs = block.rank(from);
  char *at = static_cast<char *>(data);
  for (int64_t left = bytes; left > 0;) {
    PARA_TRY(waitFor(
        from, [&] { return theirs.mailFull.load(std::memory_order_acquire) == 1 && theirs.mailTo == int32_t(myRank); }));
    if (theirs.mailBytes > left)
      return Status::error("control messages of different sizes between ranks " + std::to_string(from) + " and " +
                           std::to_string(myRank));
    std::memcpy(at, theirs.mail, size_t(theirs.mailBytes));
    at += theirs.mailBytes;
    left -= theirs.mailBytes;
    theirs.mailFull.store(0, std::memory_order_release);
    block.ring(from);
  }
  return Status::success();
}

Status SharedWorld::barrier() {
  ++generation;
  block.rank(myRank).barrier.store(generation, std::memory_order_release);
  for (int64_t i = 0; i < numRanks; ++i)
    block.ring(i);
  for (int64_t i = 0; i < numRanks; ++i)
    PARA_TRY(waitFor(i, [&] { return block.rank(i).barrier.load(std::memory_order_acquire) >= generation; }));
  return Status::success();
}

void SharedWorld::declareFailure(int) {
  block.failure().claim(myRank);
  block.rank(myRank).state = int32_t(RankState::Failed);
}

} // namespace para::runtime
