//===- RehearsalBench.h - What tests of rehearsals share --------*- C++ -*-===//
#ifndef PARA_TEST_RUNTIME_REHEARSALBENCH_H
#define PARA_TEST_RUNTIME_REHEARSALBENCH_H

#include "core/Status.h"
#include "rehearsal/Blocks.h"
#include "rehearsal/Rehearsal.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <unistd.h>

namespace para::test {
using namespace para::runtime;
using namespace para::runtime::cuda;

/// One rank; the test says what it enqueues.
struct TestRank : rehearsal::Rank {
  const char *current = "start";
  Address where = 0;
  int64_t number = 0, count = 1;
  int32_t inStep = 0;
  const char *op() const override { return current; }
  void report(const char *op, const std::string &cause) override { std::fprintf(stderr, "para: rank %d: %s: %s\n", int(number), op, cause.c_str()); }
  bool othersFailed() const override { return false; }
  Address arena() const override { return where; }
  int32_t sequence() const override { return inStep; }
  int64_t rank() const override { return number; }
  int64_t ranksOnHost() const override { return count; }
};

/// What the kernels below do to device memory is told as in compiled code.
inline float *at(int64_t address, int64_t element, bool writes) {
  return static_cast<float *>(para_rehearse_access(reinterpret_cast<float *>(address) + element, 4, 4, writes));
}
inline void addOne(const int64_t *args) {
  int64_t i = para_gpu_block() * 32 + para_gpu_thread();
  if (i < args[1])
    *at(args[0], i, true) = *at(args[0], i, false) + 1;
}
inline void writeNext(const int64_t *args) { // a word of the next block's
  *at(args[0], (para_gpu_block() + para_gpu_thread()) % args[1], true) = 0;
}
inline void readFirst(const int64_t *args) {
  *at(args[0], para_gpu_block() + 1, true) = *at(args[0], 0, false);
  if (para_gpu_block() == 1)
    *at(args[0], 0, true) = 0;
}
inline void unevenBarrier(const int64_t *) {
  if (para_gpu_thread() < 5)
    para_gpu_barrier();
}
inline void strangeShuffle(const int64_t *) { para_gpu_shuffle(1, 8, para_gpu_thread() < 8 ? 0xff : 0xff00); }
inline void otherGroups(const int64_t *) { para_gpu_group_barrier(para_gpu_thread() == 0 ? 0x3 : 0x7); }
inline void otherCalls(const int64_t *) {
  if (para_gpu_thread() == 0)
    para_gpu_group_barrier(0x3);
  else
    para_gpu_shuffle(0, 1, 0x3);
}
inline void notItsGroup(const int64_t *) { para_gpu_group_barrier(0x2); }
inline void endedThread(const int64_t *) {
  if (para_gpu_thread() > 0)
    para_gpu_group_barrier(0x7);
}
inline void beyondBlock(const int64_t *) { para_gpu_group_barrier(0xffff); }
inline void beyondShared(const int64_t *) { para_rehearse_access(static_cast<char *>(para_gpu_shared()) + 60, 8, 4, 1); }
/// A value goes round: each thread reads its neighbour's, behind a barrier of the kind that the kernel has.
inline int32_t *sharedAt(int32_t i, bool writes) {
  return static_cast<int32_t *>(para_rehearse_access(static_cast<int32_t *>(para_gpu_shared()) + i, 4, 4, writes));
}
template <int barriers> void passRound(const int64_t *) {
  int32_t mine = para_gpu_thread();
  *sharedAt(mine, true) = mine;
  if (barriers & 1)
    para_gpu_barrier();
  if (barriers & 2)
    para_gpu_group_barrier(-1);
  if (barriers & 4)
    para_gpu_shuffle(0, 1, -1);
  int32_t theirs = *sharedAt((mine + 1) % 64, false);
  if (barriers & 8)
    para_gpu_barrier();
  if (barriers)
    *sharedAt(mine, true) = theirs;
}
/// All say so at once, and look behind a barrier.
inline void sayTogether(const int64_t *) {
  *static_cast<int32_t *>(para_rehearse_access(para_gpu_shared(), 4, 4, 2)) = 1;
  para_gpu_barrier();
  sharedAt(0, false);
}
inline void swapNeighbours(const int64_t *args) { // each thread's value goes to the other one of a pair
  int64_t mine = para_gpu_thread();
  float value = *at(args[0], mine, false);
  if (args[1] < 0)
    para_gpu_group_barrier(-1);
  *at(args[0], mine ^ 1, true) = value;
}
inline void swapOrdered(const int64_t *args) {
  int64_t ordered[] = {args[0], -1};
  swapNeighbours(ordered);
}
inline void misaligned(const int64_t *args) { para_rehearse_access(reinterpret_cast<char *>(args[0]) + 4, 8, 8, 0); }
inline void hidden(const int64_t *args) { *reinterpret_cast<volatile float *>(args[0]) = 1; }

inline const para_thread_kernel kernels[] = {{"add_one", addOne, 2, 32, 0},           {"uneven", unevenBarrier, 0, 32, 1}, {"strange", strangeShuffle, 0, 32, 1},
                                      {"beyond_shared", beyondShared, 0, 1, 0}, {"misaligned", misaligned, 1, 32, 0}, {"hidden", hidden, 1, 1, 0},
                                      {"other_groups", otherGroups, 0, 32, 1},  {"not_its_group", notItsGroup, 0, 32, 1},   {"ended", endedThread, 0, 3, 1},
                                      {"beyond_block", beyondBlock, 0, 8, 1},   {"write_next", writeNext, 2, 2, 0},         {"read_first", readFirst, 2, 1, 0},
                                      {"both_barriers", passRound<9>, 0, 64, 1}, {"one_barrier", passRound<1>, 0, 64, 1},   {"group_barrier", passRound<2>, 0, 64, 1},
                                      {"shuffled", passRound<4>, 0, 64, 1},      {"no_barrier", passRound<0>, 0, 64, 1},
                                      {"say_together", sayTogether, 0, 64, 1},   {"swap", swapNeighbours, 2, 32, 1},         {"swap_ordered", swapOrdered, 2, 32, 1},
                                      {"other_calls", otherCalls, 0, 2, 1}};

constexpr int64_t count = 64, bytes = count * 4;

struct Bench {
  TestRank rank;
  para_program program{};
  Driver driver;
  Blas blas;
  Nccl nccl;
  Handle context = nullptr, module = nullptr, streams[2] = {}, event = nullptr;
  void *pinned = nullptr;
  std::string job; ///< the name of what its ranks share

  explicit Bench(int number = 0, int ranks = 1) {
    rank.number = number, rank.count = ranks;
    program.thread_kernels = kernels;
    program.num_thread_kernels = sizeof(kernels) / sizeof(kernels[0]);
    rehearsal::start(&rank, &program);
    rehearsal::fill(driver), rehearsal::fill(blas), rehearsal::fill(nccl);
    driver.cuDevicePrimaryCtxRetain(&context, 0);
    driver.cuModuleLoadDataEx(&module, nullptr, 0, nullptr, nullptr);
    for (Handle &stream : streams)
      driver.cuStreamCreate(&stream, 1);
    driver.cuEventCreate(&event, 2);
    driver.cuMemAlloc(&rank.where, bytes);
    driver.cuMemAllocHost(&pinned, bytes);
  }
  Bench &as(const char *op) { return rank.current = op, *this; }
  void zero() { driver.cuMemsetD8Async(rank.where, 0, bytes, streams[0]); }
  int launch(const char *name, int stream, int64_t argument = 0, unsigned blocks = 2, unsigned threads = 32, unsigned shared = 0) {
    Handle function = nullptr;
    if (int result = driver.cuModuleGetFunction(&function, module, name))
      return result;
    int64_t values[] = {argument ? argument : int64_t(rank.where), count};
    void *list[] = {&values[0], &values[1]};
    return driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, streams[stream], list, nullptr);
  }
  void order(int from, int to) {
    driver.cuEventRecord(event, streams[from]);
    driver.cuStreamWaitEvent(streams[to], event, 0);
  }
  void finish() {
    for (Handle stream : streams)
      driver.cuStreamSynchronize(stream);
  }
  float result() {
    driver.cuMemcpyDtoHAsync(pinned, rank.where, bytes, streams[0]);
    driver.cuStreamSynchronize(streams[0]);
    return static_cast<float *>(pinned)[count - 1];
  }
  void end() {
    driver.cuMemFree(rank.where);
    driver.cuMemFreeHost(pinned);
    driver.cuDevicePrimaryCtxRelease(0);
  }
};

#define EXPECT_FOUND(statement, message) EXPECT_EXIT({ statement; std::exit(0); }, ::testing::ExitedWithCode(1), message)


} // namespace para::test

#endif
