//===- ControlBlock.cpp - What ranks of one host share ------------------------===//
#include "ControlBlock.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace para::runtime {

int64_t ControlBlock::bytesFor(int64_t ranks, int64_t communicators) {
  return int64_t(sizeof(Header)) + ranks * int64_t(sizeof(RankBlock)) +
         ranks * communicators * int64_t(sizeof(CollectiveSlot)) +
         ranks * ranks * messagesPerPair * int64_t(sizeof(PostedMessage));
}

int ControlBlock::createDescriptor(const char *name) { return memfd_create(name, 0); }

Status ControlBlock::map(int descriptor, int64_t ranks, int64_t communicators, bool create, ControlBlock &block) {
  int64_t bytes = bytesFor(ranks, communicators);
  if (create && ftruncate(descriptor, bytes) != 0)
    return Status::error(std::string("cannot size shared memory: ") + std::strerror(errno));
  void *address = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED)
    return Status::error(std::string("cannot map shared memory: ") + std::strerror(errno));
  char *at = static_cast<char *>(address);
  block.header = reinterpret_cast<Header *>(at);
  block.rankBlocks = reinterpret_cast<RankBlock *>(at += sizeof(Header));
  block.slots = reinterpret_cast<CollectiveSlot *>(at += size_t(ranks) * sizeof(RankBlock));
  block.posted = reinterpret_cast<PostedMessage *>(at += size_t(ranks * communicators) * sizeof(CollectiveSlot));
  block.numRanks = ranks;
  block.numCommunicators = communicators;
  if (create) {
    // The file is zero; only what must not start at zero is written.
    new (&block.header->failure) FirstFailure;
    block.header->creator = getpid();
    for (int64_t i = 0; i < ranks; ++i) {
      block.rankBlocks[i].arenaDescriptor = -1;
      block.rankBlocks[i].sequence = -1;
      block.rankBlocks[i].waitsFor = -1;
    }
    block.header->ready.store(readyMark, std::memory_order_release);
  }
  return Status::success();
}

void ControlBlock::unmap() {
  munmap(header, size_t(bytesFor(numRanks, numCommunicators)));
  *this = ControlBlock();
}

void ControlBlock::ring(int64_t index) const {
  RankBlock &theirs = rank(index);
  theirs.bell.fetch_add(1);
  if (theirs.isAsleep.load())
    syscall(SYS_futex, &theirs.bell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

Waiter::Waiter(RankBlock *mine, bool coresAreScarce)
    : mine(mine), spins(coresAreScarce ? 50 : 2000), yields(coresAreScarce && mine ? 30 : 20000), heard(mine ? mine->bell.load() : 0) {}

void Waiter::pause() {
  ++count;
  if (count < spins) {
    __builtin_ia32_pause();
  } else if (count < spins + yields) {
    if (began == 0)
      began = nowSeconds();
    sched_yield();
  } else if (mine) {
    // Not for long: a rank that has failed does not ring.
    timespec nap{0, 20 * 1000 * 1000};
    mine->isAsleep.store(1);
    syscall(SYS_futex, &mine->bell, FUTEX_WAIT, heard, &nap, nullptr, 0); // returns at once if the bell has rung since
    mine->isAsleep.store(0);
  } else {
    timespec nap{0, 50000};
    nanosleep(&nap, nullptr);
  }
  if (mine)
    heard = mine->bell.load();
}

/// As /proc has it: R, S, T, Z and others; 0 where it has nothing.
static char processState(int pid) {
  char path[64], text[512];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  std::FILE *file = std::fopen(path, "re");
  if (!file)
    return 0;
  size_t bytes = std::fread(text, 1, sizeof(text) - 1, file);
  std::fclose(file);
  text[bytes] = 0;
  // The state follows the command's name, which may hold anything but ends with the last parenthesis.
  const char *end = std::strrchr(text, ')');
  return end && end[1] == ' ' ? end[2] : 0;
}

bool hasEnded(int pid) {
  if (kill(pid, 0) != 0 && errno == ESRCH)
    return true;
  char state = processState(pid);
  return state == 'Z' || state == 'X';
}

bool isStopped(int pid) {
  char state = processState(pid);
  return state == 'T' || state == 't';
}

void tellFailure(const ControlBlock *block, int64_t rank, const std::string &line) {
  if (block)
    block->failure().tell(rank, line);
  else
    std::fprintf(stderr, "para: %s\n", line.c_str());
}

std::string whereIs(const ControlBlock &block, int64_t rank) {
  const RankBlock &peer = block.rank(rank);
  std::string op(peer.op, strnlen(peer.op, sizeof(peer.op)));
  if (op.empty())
    return "before its first step";
  int64_t sequence = peer.sequence.load();
  return "in '" + op + "'" + (sequence >= 0 ? " (sequence " + std::to_string(sequence) + ")" : "");
}

struct Watchdog::State {
  ControlBlock block;
  int64_t rank;
  pthread_t thread;
  std::atomic<bool> isStopping{false};
};

void Watchdog::start(const ControlBlock &block, int64_t rank) {
  if (state || block.ranks() < 2)
    return;
  state = new State{block, rank, {}, {}};
  if (pthread_create(
          &state->thread, nullptr,
          [](void *argument) -> void * {
            State &watch = *static_cast<State *>(argument);
            int ticksSinceFailure = 0;
            for (int tick = 0; !watch.isStopping; ++tick) {
              timespec nap{0, 100 * 1000 * 1000};
              nanosleep(&nap, nullptr);
              if (watch.block.failedRank() >= 0) {
                // Ranks that wait notice by themselves; this ends those that compute.
                if (++ticksSinceFailure > 15 && !watch.isStopping)
                  _exit(1);
                continue;
              }
              if (tick % 4 != 3)
                continue;
              for (int64_t peer = 0; peer < watch.block.ranks(); ++peer) {
                RankBlock &other = watch.block.rank(peer);
                if (peer == watch.rank || RankState(other.state.load()) != RankState::Running)
                  continue;
                if (!hasEnded(other.pid) || RankState(other.state.load()) != RankState::Running)
                  continue;
                // A supervisor that saw the signal reports better: let it be first.
                timespec moment{0, 300 * 1000 * 1000};
                nanosleep(&moment, nullptr);
                watch.block.failure().tell(peer, format("rank %lld died ", (long long)peer) + whereIs(watch.block, peer));
                break;
              }
            }
            return nullptr;
          },
          state) != 0) {
    delete state;
    state = nullptr;
  }
}

void Watchdog::stop() {
  if (!state)
    return;
  state->block.rank(state->rank).state.store(int32_t(RankState::Finished));
  state->isStopping = true;
  pthread_join(state->thread, nullptr);
  delete state;
  state = nullptr;
}

} // namespace para::runtime
