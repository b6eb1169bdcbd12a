//===- Blocks.cpp - A GPU's blocks on the processor ---------------------------===//
//
// Threads of kernels that never wait run one after another; others have stacks of their own, which they keep from block to block, since
// only the first jump to a stack asks the system. They run in an order of the seed's: nobody may count on the others' stores before a
// barrier.
//
//===----------------------------------------------------------------------===//
#undef _FORTIFY_SOURCE // which takes a jump to another stack for a mistake
#include "Blocks.h"
#include "BlockMemory.h"
#include "Machine.h"
#include "Rehearsal.h"
#include "core/DType.h"

#include <csetjmp>
#include <cstring>
#include <memory>
#include <numeric>
#include <ucontext.h>
#include <vector>

using namespace para::runtime;
using namespace para::runtime::rehearsal;

namespace {
enum class State { Ready, AtBarrier, InGroup, Ended };
enum class Meeting { Barrier, Shuffle, Product, Rows };

struct Thread {
  jmp_buf place; ///< where it waits
  State state = State::Ready;
  uint32_t group = 0;
  int32_t value = 0, distance = 0;
  Meeting meeting = Meeting::Barrier;
  const int32_t *operands = nullptr; ///< of a product
  float *sums = nullptr;
  bool isHalf = false;
  int32_t *row = nullptr; ///< to be dealt out
  bool isTransposed = false;
  std::unique_ptr<char[]> stack;
};

struct Block {
  void (*function)(const int64_t *);
  const int64_t *args;
  int32_t number = 0, current = 0, threads = 0;
  std::vector<Thread> all;
  jmp_buf scheduler;
  BlockMemory memory;
  int32_t first = 0, step = 1; ///< the order of its threads
  int32_t at(int32_t i) const { return int32_t((first + int64_t(i) * step) % threads); }
};

constexpr size_t stackBytes = 64 << 10;
constexpr int32_t warp = BlockMemory::warp;
Block *block = nullptr;

[[noreturn]] void misuse(const std::string &what) {
  const TaskName &task = *memory().running;
  fail(task.op, describe(task) + text(": block %d, thread %d: ", block->number, block->current) + what);
}

/// Back to who lets threads run.
[[gnu::noinline]] void leave() {
  if (_setjmp(block->all[size_t(block->current)].place) == 0)
    _longjmp(block->scheduler, 1);
}

void enter() {
  while (true) {
    block->function(block->args);
    block->all[size_t(block->current)].state = State::Ended;
    leave();
  }
}

/// Runs the current thread until it waits or ends.
[[gnu::noinline]] void resume(Thread &thread) {
  if (_setjmp(block->scheduler) != 0)
    return;
  if (thread.stack)
    _longjmp(thread.place, 1);
  thread.stack.reset(new char[stackBytes]);
  ucontext_t first;
  getcontext(&first);
  first.uc_stack.ss_sp = thread.stack.get();
  first.uc_stack.ss_size = stackBytes;
  first.uc_link = nullptr;
  makecontext(&first, enter, 0);
  setcontext(&first);
}

/// An element of a pair, which is of the lower half of the register first.
float narrow(int32_t pair, int which, bool isHalf) {
  uint16_t bits = uint16_t(uint32_t(pair) >> (16 * which));
  if (isHalf) {
    Float16 value;
    std::memcpy(&value, &bits, sizeof(value));
    return float(value);
  }
  BFloat16 value;
  value.bits = bits;
  return float(value);
}

/// With thread 4 g + t: the left factor's rows g and g + 8, of each the pairs from 2 t and 2 t + 8; the right one's column g, the same pairs; of
/// the sums the rows g and g + 8, of each the pair from 2 t.
void multiply(Thread *threads) {
  float left[16][16], right[16][8];
  for (int32_t i = 0; i < warp; ++i)
    for (int k = 0; k < 2; ++k) {
      int g = i / 4, t = i % 4;
      const Thread &one = threads[i];
      for (int reg = 0; reg < 4; ++reg)
        left[g + 8 * (reg % 2)][2 * t + 8 * (reg / 2) + k] = narrow(one.operands[reg], k, one.isHalf);
      for (int reg = 0; reg < 2; ++reg)
        right[2 * t + 8 * reg + k][g] = narrow(one.operands[4 + reg], k, one.isHalf);
    }
  for (int32_t i = 0; i < warp; ++i)
    for (int n = 0; n < 4; ++n)
      for (int k = 0; k < 16; ++k)
        threads[i].sums[n] += left[i / 4 + 8 * (n / 2)][k] * right[k][2 * (i % 4) + n % 2];
}

void dealRows(Thread *threads) {
  uint16_t rows[warp][8];
  for (int32_t i = 0; i < warp; ++i)
    std::memcpy(rows[i], threads[i].row, sizeof(rows[i]));
  for (int32_t i = 0; i < warp; ++i)
    for (int32_t matrix = 0; matrix < 4; ++matrix) {
      int32_t g = i / 4, t = i % 4;
      auto at = [&](int32_t row, int32_t column) { return uint32_t(rows[8 * matrix + row][column]); };
      uint32_t low = threads[i].isTransposed ? at(2 * t, g) : at(g, 2 * t), high = threads[i].isTransposed ? at(2 * t + 1, g) : at(g, 2 * t + 1);
      threads[i].row[matrix] = int32_t(low | high << 16);
    }
}

/// Frees the threads of a group when all of them are there.
bool releaseGroup(int32_t first, uint32_t group) {
  Meeting meeting = block->all[size_t(block->current)].meeting;
  for (int32_t i = 0; i < warp; ++i)
    if (group >> i & 1) {
      if (first + i >= block->threads)
        misuse("a group has threads beyond the block");
      Thread &other = block->all[size_t(first + i)];
      if (other.state == State::Ended)
        misuse("a group waits for a thread that has ended");
      if (other.state != State::InGroup)
        return false;
      if (other.group != group)
        misuse("threads of a warp wait for different groups");
      if (other.meeting != meeting)
        misuse("threads of a group meet for different things: a shuffle, a product, rows, or a barrier");
      if (meeting == Meeting::Product && other.isHalf != block->all[size_t(first)].isHalf)
        misuse("threads of a warp multiply elements of different types");
    }
  if (meeting == Meeting::Product)
    multiply(&block->all[size_t(first)]);
  if (meeting == Meeting::Rows)
    dealRows(&block->all[size_t(first)]);
  int32_t values[warp];
  for (int32_t i = 0; i < warp; ++i)
    if (group >> i & 1)
      values[i] = block->all[size_t(first + i)].value;
  for (int32_t i = 0; i < warp; ++i)
    if (group >> i & 1) {
      Thread &mine = block->all[size_t(first + i)];
      if (meeting == Meeting::Shuffle && !(group >> (i ^ mine.distance) & 1))
        misuse("a shuffle reads a thread outside of its group");
      if (meeting == Meeting::Shuffle)
        mine.value = values[i ^ mine.distance];
      mine.state = State::Ready;
    }
  if (meeting == Meeting::Barrier)
    block->memory.passGroup(first, group);
  return true;
}

void runCooperative() {
  for (int32_t i = 0; i < block->threads; ++i)
    block->all[size_t(i)].state = State::Ready;
  while (true) {
    bool moved = false;
    int32_t ended = 0, waiting = 0;
    for (int32_t turn = 0; turn < block->threads; ++turn) {
      int32_t i = block->at(turn);
      Thread &thread = block->all[size_t(i)];
      block->current = i;
      if (thread.state == State::Ready) {
        resume(thread);
        moved = true;
      }
      if (thread.state == State::InGroup)
        moved |= releaseGroup(i / warp * warp, thread.group);
      ended += thread.state == State::Ended;
      waiting += thread.state == State::AtBarrier;
    }
    if (ended == block->threads)
      return;
    if (waiting == block->threads) {
      block->memory.passBarrier();
      for (int32_t i = 0; i < block->threads; ++i)
        block->all[size_t(i)].state = State::Ready;
    } else if (!moved)
      misuse("waits for threads of its block that do not come");
  }
}
} // namespace

int32_t para_gpu_thread() { return block->current; }
int32_t para_gpu_block() { return block->number; }
void *para_gpu_shared() { return block->memory.data(); }

void para_gpu_barrier() {
  block->all[size_t(block->current)].state = State::AtBarrier;
  leave();
}

static int32_t meet(int32_t value, int32_t distance, int32_t group, Meeting meeting) {
  Thread &mine = block->all[size_t(block->current)];
  mine.state = State::InGroup;
  mine.group = uint32_t(group);
  mine.value = value;
  mine.distance = distance;
  mine.meeting = meeting;
  if (!(mine.group >> (block->current % warp) & 1))
    misuse("is not in the group that it waits for");
  leave();
  return mine.value;
}

void para_gpu_group_barrier(int32_t group) { meet(0, 0, group, Meeting::Barrier); }
int32_t para_gpu_shuffle(int32_t value, int32_t distance, int32_t group) { return meet(value, distance, group, Meeting::Shuffle); }

void para_gpu_multiply(const int32_t *operands, float *sums, int32_t isHalf) {
  Thread &mine = block->all[size_t(block->current)];
  mine.operands = operands;
  mine.sums = sums;
  mine.isHalf = isHalf != 0;
  meet(0, 0, -1, Meeting::Product);
}

void para_gpu_deal_rows(int32_t *row, int32_t isTransposed) {
  Thread &mine = block->all[size_t(block->current)];
  mine.row = row;
  mine.isTransposed = isTransposed != 0;
  meet(0, 0, -1, Meeting::Rows);
}

void *para_rehearse_access(void *address, int64_t bytes, int32_t alignment, int32_t writes) {
  uintptr_t at = reinterpret_cast<uintptr_t>(address);
  BlockMemory &mine = block->memory;
  auto access = BlockMemory::Access(writes);
  const char *does = writes ? "writes" : "reads";
  if (at % uintptr_t(alignment))
    misuse(text("%lld bytes from an address that is no multiple of %d", (long long)bytes, alignment));
  auto notOrdered = [&](const std::string &where, int32_t other) {
    misuse(std::string("a race: ") + does + " " + where + text(", which thread %d touches too: no barrier orders the two", other));
  };
  if (mine.isNear(at)) {
    size_t begin = at - reinterpret_cast<uintptr_t>(mine.data());
    if (size_t(bytes) > mine.size() || begin > mine.size() - size_t(bytes))
      misuse(text("%s %lld bytes from byte %zu of the %zu of shared memory", does, (long long)bytes, begin, mine.size()));
    if (int32_t other = mine.touchShared(begin, size_t(bytes), block->current, access); other >= 0)
      notOrdered(text("byte %zu of shared memory", begin), other);
    return address;
  }
  uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (at - here < stackBytes)
    return address;
  char *found = memory().access(at, size_t(bytes), writes);
  if (int32_t other = mine.touchDevice(at, size_t(bytes), block->current, access); other >= 0)
    notOrdered(memory().nameOf(at), other);
  return found;
}

namespace para::runtime::rehearsal {

void runBlocks(const para_thread_kernel &kernel, int64_t blocks, int32_t threads, int32_t sharedBytes, const int64_t *args) {
  static Block mine;
  block = &mine;
  mine.function = kernel.function;
  mine.args = args;
  mine.threads = threads;
  if (mine.all.size() < size_t(threads))
    mine.all.resize(size_t(threads));
  // Blocks run in any order on a GPU, and their threads do: from anywhere, by any step that reaches all.
  auto stepFor = [](int64_t count) {
    int64_t step = 1 + int64_t(random() % uint64_t(count));
    while (std::gcd(step, count) != 1)
      ++step;
    return step;
  };
  int64_t at = int64_t(random() % uint64_t(blocks)), step = stepFor(blocks);
  for (int64_t i = 0; i < blocks; ++i, at = (at + step) % blocks) {
    mine.number = int32_t(at);
    mine.first = int32_t(random() % uint64_t(threads));
    mine.step = int32_t(stepFor(threads));
    memory().viewer->block = mine.number;
    mine.memory.start(size_t(sharedBytes), threads);
    if (kernel.waits)
      runCooperative();
    else
      for (int32_t turn = 0; turn < threads; ++turn) {
        mine.current = mine.at(turn);
        kernel.function(args);
      }
  }
}

} // namespace para::runtime::rehearsal
