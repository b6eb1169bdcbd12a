// What a rehearsal finds: each kind of error by itself, with the sentence that tells of it; and that legal programs go through under all seeds.
#include "core/Status.h"
#include "rehearsal/Blocks.h"
#include "rehearsal/Rehearsal.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace para::runtime;
using namespace para::runtime::cuda;

namespace {
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
float *at(int64_t address, int64_t element, bool writes) {
  return static_cast<float *>(para_rehearse_access(reinterpret_cast<float *>(address) + element, 4, 4, writes));
}
void addOne(const int64_t *args) {
  int64_t i = para_gpu_block() * 32 + para_gpu_thread();
  if (i < args[1])
    *at(args[0], i, true) = *at(args[0], i, false) + 1;
}
void unevenBarrier(const int64_t *) {
  if (para_gpu_thread() < 5)
    para_gpu_barrier();
}
void strangeShuffle(const int64_t *) { para_gpu_shuffle(1, 8, para_gpu_thread() < 8 ? 0xff : 0xff00); }
void otherGroups(const int64_t *) { para_gpu_group_barrier(para_gpu_thread() == 0 ? 0x3 : 0x7); }
void notItsGroup(const int64_t *) { para_gpu_group_barrier(0x2); }
void endedThread(const int64_t *) {
  if (para_gpu_thread() > 0)
    para_gpu_group_barrier(0x7);
}
void beyondBlock(const int64_t *) { para_gpu_group_barrier(0xffff); }
void beyondShared(const int64_t *) { para_rehearse_access(static_cast<char *>(para_gpu_shared()) + 60, 8, 4, 1); }
void misaligned(const int64_t *args) { para_rehearse_access(reinterpret_cast<char *>(args[0]) + 4, 8, 8, 0); }
void hidden(const int64_t *args) { *reinterpret_cast<volatile float *>(args[0]) = 1; }

const para_thread_kernel kernels[] = {{"add_one", addOne, 2, 32, 0},           {"uneven", unevenBarrier, 0, 32, 1}, {"strange", strangeShuffle, 0, 32, 1},
                                      {"beyond_shared", beyondShared, 0, 1, 0}, {"misaligned", misaligned, 1, 32, 0}, {"hidden", hidden, 1, 1, 0},
                                      {"other_groups", otherGroups, 0, 32, 1},  {"not_its_group", notItsGroup, 0, 32, 1},   {"ended", endedThread, 0, 3, 1},
                                      {"beyond_block", beyondBlock, 0, 8, 1}};

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

TEST(Rehearsal, RunsLegalProgramsUnderAllSeeds) {
  for (int seed = 0; seed < 12; ++seed)
    EXPECT_EXIT(
        {
          setenv("PARA_REHEARSE_SEED", std::to_string(seed).c_str(), 1);
          Bench bench;
          bench.zero();
          bench.launch("add_one", 0);
          bench.order(0, 1);
          bench.launch("add_one", 1);
          bench.order(1, 0);
          bench.launch("add_one", 0);
          while (bench.driver.cuStreamQuery(bench.streams[0]) != 0)
            ;
          bool isRight = bench.result() == 3;
          bench.finish();
          bench.end();
          std::exit(isRight ? 0 : 2);
        },
        ::testing::ExitedWithCode(0), "PARA_REHEARSE_SEED=");
}

TEST(Rehearsal, NothingRunsBeforeTheHostWaits) {
  EXPECT_EXIT(
      {
        Bench bench;
        bench.zero();
        bench.finish();
        static_cast<float *>(bench.pinned)[count - 1] = 5;
        bench.driver.cuMemcpyDtoHAsync(bench.pinned, bench.rank.where, bytes, bench.streams[0]);
        float before = static_cast<float *>(bench.pinned)[count - 1]; // poison: no zero is there yet, and the 5 is gone
        bench.finish();
        std::exit(before != before && static_cast<float *>(bench.pinned)[count - 1] == 0 ? 0 : 2);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(Rehearsal, FindsRacesUnderAllSeeds) {
  for (int seed = 0; seed < 12; ++seed)
    EXPECT_FOUND(
        {
          setenv("PARA_REHEARSE_SEED", std::to_string(seed).c_str(), 1);
          Bench bench;
          bench.as("first").zero();
          bench.driver.cuStreamSynchronize(bench.streams[0]);
          bench.as("left").launch("add_one", 0);
          bench.as("right").launch("add_one", 1);
          bench.finish();
        },
        "para: rank 0: (left|right): a race: the kernel add_one of '(left|right)' on stream [01] reads byte [0-9]+ of the arena, which has 256, and the "
        "kernel add_one of '(left|right)' on stream [01] writes it: no event orders the two");
}

TEST(Rehearsal, AWriteMustBeBehindAllReaders) {
  EXPECT_FOUND(
      {
        Bench bench;
        bench.zero();
        bench.order(0, 1);
        bench.as("reader").driver.cuMemcpyDtoHAsync(bench.pinned, bench.rank.where, bytes, bench.streams[1]);
        bench.as("writer").zero();
        bench.finish();
      },
      "a race: the (memset of 'writer' on stream 0 writes|copy to the host of 'reader' on stream 1 reads) byte 0 of the arena, which has 256, and the "
      "(copy to the host of 'reader' on stream 1 reads|memset of 'writer' on stream 0 writes) it");
}

TEST(Rehearsal, FindsWhatNobodyWrote) {
  EXPECT_FOUND({ Bench bench; bench.as("early").launch("add_one", 0); bench.finish(); },
               "early: the kernel add_one of 'early' on stream 0 reads byte [0-9]+ of the arena, which has 256: nobody has written it");
}

TEST(Rehearsal, FindsAccessesOutOfBounds) {
  EXPECT_FOUND({ Bench bench; bench.zero(); bench.as("far").launch("add_one", 0, int64_t(bench.rank.where) + 4); bench.finish(); },
               "far: the kernel add_one of 'far' on stream 0 reads 4 bytes from byte 256 of the arena, which has 256");
  EXPECT_FOUND({ Bench bench; bench.as("before").driver.cuMemsetD8Async(bench.rank.where - 8, 0, 16, bench.streams[0]); bench.finish(); },
               "before: the memset of 'before' on stream 0 writes 16 bytes from byte -8 of the arena, which has 256");
  EXPECT_FOUND({ Bench bench; bench.as("nowhere").driver.cuMemsetD8Async(4096, 0, 16, bench.streams[0]); bench.finish(); },
               "nowhere: the memset of 'nowhere' on stream 0 writes 16 bytes from address 0x1000, where no device memory is");
  EXPECT_FOUND({ Bench bench; bench.as("odd").launch("misaligned", 0); bench.finish(); },
               "odd: the kernel misaligned of 'odd' on stream 0: block [01], thread 0: 8 bytes from an address that is no multiple of 8");
  EXPECT_FOUND({ Bench bench; bench.as("wide").launch("beyond_shared", 0, 0, 1, 1, 64); bench.finish(); },
               "wide: the kernel beyond_shared of 'wide' on stream 0: block 0, thread 0: writes 8 bytes from byte 60 of the 64 of shared memory");
  EXPECT_FOUND({ Bench bench; bench.as("long").driver.cuMemcpyHtoDAsync(bench.rank.where, static_cast<char *>(bench.pinned) + 8, bytes, bench.streams[0]); },
               "long: cuMemcpyHtoDAsync: 256 bytes from byte 8 of 256 in pinned memory");
  EXPECT_FOUND({ Bench bench; bench.as("over").driver.cuMemcpyDtoDAsync(bench.rank.where, bench.rank.where + 8, 16, bench.streams[0]); },
               "over: cuMemcpyDtoDAsync: from and to overlap");
}

TEST(Rehearsal, KeepsTheHostOutOfDeviceMemory) {
  EXPECT_FOUND({ Bench bench; bench.as("peek"); std::printf("%d", *reinterpret_cast<volatile int *>(bench.rank.where + 12)); },
               "peek: the host touches byte 12 of the arena, which has 256: device memory is the GPU's");
  EXPECT_FOUND({ Bench bench; bench.as("sly").launch("hidden", 0, 0, 1, 1); bench.finish(); },
               "sly: the kernel hidden of 'sly' on stream 0 touches byte 0 of the arena, which has 256 by a way that is not followed");
}

TEST(Rehearsal, FindsPinnedMemoryThatIsUsedAgainTooEarly) {
  EXPECT_FOUND(
      {
        Bench bench;
        bench.as("input").driver.cuMemcpyHtoDAsync(bench.rank.where, bench.pinned, bytes, bench.streams[0]);
        static_cast<float *>(bench.pinned)[3] = 7;
        bench.finish();
      },
      "input: the host changes pinned memory before the copy from the host of 'input' on stream 0 has read it");
}

TEST(Rehearsal, FindsMisuseOfMemory) {
  EXPECT_FOUND({ Bench bench; bench.as("one").driver.cuMemFree(bench.rank.where); bench.as("two").driver.cuMemFree(bench.rank.where); },
               "two: frees device memory twice: 'one' has given it back");
  EXPECT_FOUND({ Bench bench; bench.as("one").driver.cuMemFree(4096); }, "one: frees device memory that was never allocated");
  EXPECT_FOUND({ Bench bench; bench.as("one").driver.cuMemFreeHost(&bench); }, "one: frees pinned memory that is not allocated");
  EXPECT_FOUND({ Bench bench; bench.as("late").zero(); bench.as("free").driver.cuMemFree(bench.rank.where); bench.finish(); },
               "late: the memset of 'late' on stream 0 writes 256 bytes from byte 0 of the arena, which has 256 and 'free' has given back");
  // What runs on the other stream may be done already: the host does not know.
  EXPECT_FOUND(
      {
        setenv("PARA_REHEARSE_SEED", "0", 1);
        Bench bench;
        bench.as("use").driver.cuMemsetD8Async(bench.rank.where, 0, bytes, bench.streams[1]);
        Address more = 0;
        bench.driver.cuMemAlloc(&more, bytes);
        for (int i = 0; i < 100; ++i)
          bench.driver.cuMemsetD8Async(more, 0, bytes, bench.streams[0]);
        bench.driver.cuStreamSynchronize(bench.streams[0]);
        bench.as("free").driver.cuMemFree(bench.rank.where);
      },
      "free: frees device memory while the memset of 'use' on stream 1 may still use byte 0 of the arena, which has 256");
  EXPECT_FOUND({ Bench bench; bench.finish(); bench.driver.cuMemFreeHost(bench.pinned); bench.driver.cuDevicePrimaryCtxRelease(0); },
               "the end: 256 bytes of device memory that 'start' allocated are not given back");
  EXPECT_FOUND({ Bench bench; bench.finish(); bench.driver.cuMemFree(bench.rank.where); bench.driver.cuDevicePrimaryCtxRelease(0); },
               "the end: 256 bytes of pinned memory are not given back");
}

TEST(Rehearsal, FindsMisuseOfStreamsAndEvents) {
  EXPECT_FOUND({ Bench bench; bench.as("hasty").driver.cuStreamWaitEvent(bench.streams[1], bench.event, 0); },
               "hasty: stream 1 waits for an event that was never recorded: a GPU would not wait at all");
  EXPECT_FOUND({ Bench bench; bench.as("gone").driver.cuStreamDestroy(bench.streams[1]); bench.driver.cuStreamSynchronize(bench.streams[1]); },
               "gone: cuStreamSynchronize: there is no such stream");
  EXPECT_FOUND({ Bench bench; bench.as("gone").driver.cuEventDestroy(bench.event); bench.driver.cuEventRecord(bench.event, bench.streams[0]); },
               "gone: cuEventRecord: there is no such event");
}

TEST(Rehearsal, FindsLaunchesBeyondAGpu) {
  EXPECT_FOUND({ Bench bench; bench.as("big").launch("add_one", 0, 0, 1, 2048); }, "big: cuLaunchKernel: add_one: 1 blocks of 2048 threads with 0 bytes of shared memory are beyond what a GPU takes");
  EXPECT_FOUND({ Bench bench; bench.as("big").launch("add_one", 0, 0, 1, 32, 1 << 16); }, "1 blocks of 32 threads with 65536 bytes of shared memory are beyond");
  EXPECT_FOUND({ Bench bench; bench.as("big").launch("add_one", 0, 0, 1, 64); }, "big: cuLaunchKernel: add_one: blocks of 64 threads, and its code is for 32");
  EXPECT_FOUND({ Bench bench; bench.as("deep").driver.cuLaunchKernel(const_cast<para_thread_kernel *>(kernels), 1, 2, 1, 1, 1, 1, 0, bench.streams[0], nullptr, nullptr); },
               "deep: cuLaunchKernel: blocks and threads in more than one dimension are not rehearsed");
  EXPECT_EXIT({ Bench bench; std::exit(bench.launch("unknown", 0) == 500 ? 0 : 2); }, ::testing::ExitedWithCode(0), "");
}

TEST(Rehearsal, FindsMisuseOfBarriers) {
  EXPECT_FOUND({ Bench bench; bench.as("uneven").launch("uneven", 0, 0, 1); bench.finish(); },
               "uneven: the kernel uneven of 'uneven' on stream 0: block 0, thread [0-9]+: waits for threads of its block that do not come");
  EXPECT_FOUND({ Bench bench; bench.as("strange").launch("strange", 0, 0, 1); bench.finish(); },
               "strange: the kernel strange of 'strange' on stream 0: block 0, thread [0-9]+: a shuffle reads a thread outside of its group");
  for (auto [name, threads, cause] : {std::tuple("other_groups", 3, "threads of a warp wait for different groups"), {"not_its_group", 2, "is not in the group that it waits for"},
                                      {"ended", 3, "a group waits for a thread that has ended"}, {"beyond_block", 8, "a group has threads beyond the block"}})
    EXPECT_FOUND({ Bench bench; bench.as("k").launch(name, 0, 0, 1, unsigned(threads)); bench.finish(); }, std::string("k: the kernel .* of 'k' on stream 0: block 0, thread [0-9]+: ") + cause);
}

/// A product of two 4 x 4 matrices in columns, of which the second is one and the result lies `shift` bytes behind its place.
int multiply(Bench &bench, int shift) {
  Handle handle, operation, layout, preference;
  bench.blas.cublasLtCreate(&handle);
  bench.blas.cublasLtMatmulDescCreate(&operation, 68, 0);
  bench.blas.cublasLtMatrixLayoutCreate(&layout, 0, 4, 4, 4);
  bench.blas.cublasLtMatmulPreferenceCreate(&preference);
  uint64_t workspace = 1 << 20;
  bench.blas.cublasLtMatmulPreferenceSetAttribute(preference, 1, &workspace, 8);
  uint32_t alignment = 64;
  for (int which : {5, 6, 7, 8})
    bench.blas.cublasLtMatmulPreferenceSetAttribute(preference, which, &alignment, 4);
  BlasChoice choice;
  int found = 0;
  if (bench.blas.cublasLtMatmulAlgoGetHeuristic(handle, operation, layout, layout, layout, layout, preference, 1, &choice, &found) || found != 1)
    return 3;
  Address scratch = 0;
  bench.driver.cuMemAlloc(&scratch, choice.workspaceBytes);
  float *values = static_cast<float *>(bench.pinned);
  for (int i = 0; i < 16; ++i)
    values[i] = float(i), values[16 + i] = i % 5 == 0;
  bench.driver.cuMemcpyHtoDAsync(bench.rank.where, values, 128, bench.streams[0]);
  auto at = [&](int64_t offset) { return reinterpret_cast<void *>(bench.rank.where + Address(offset)); };
  float one = 1, zero = 0;
  if (int result = bench.blas.cublasLtMatmul(handle, operation, &one, at(0), layout, at(64), layout, &zero, at(128 + shift), layout, at(128 + shift), layout,
                                             &choice.algorithm, reinterpret_cast<void *>(scratch), choice.workspaceBytes, bench.streams[0]))
    return result;
  one = 9; // what was told is told
  bench.finish();
  bench.driver.cuMemcpyDtoHAsync(bench.pinned, bench.rank.where + 128, 64, bench.streams[0]);
  bench.finish();
  for (int i = 0; i < 16; ++i)
    if (values[i] != float(i))
      return 4;
  return 0;
}

TEST(Rehearsal, Multiplies) {
  EXPECT_EXIT({ Bench bench; std::exit(multiply(bench, 0)); }, ::testing::ExitedWithCode(0), "");
  EXPECT_FOUND({ Bench bench; multiply(bench.as("product"), 4); }, "product: cublasLtMatmul: a matrix is at an address for which the algorithm was not chosen");
}

/// Runs `program` as so many ranks; the status of the first that fails.
template <typename Program> int runRanks(int ranks, Program program) {
  int pipes[2];
  if (pipe(pipes) != 0)
    return -1;
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    pid_t child = fork();
    if (child == 0) {
      setenv("PARA_REHEARSE_TIMEOUT", "1", 1);
      Bench bench(rank, ranks);
      NcclId id{};
      if (rank == 0) {
        bench.nccl.ncclGetUniqueId(&id);
        for (int i = 1; i < ranks; ++i)
          if (write(pipes[1], &id, sizeof(id)) != ssize_t(sizeof(id)))
            _exit(3);
      } else if (read(pipes[0], &id, sizeof(id)) != ssize_t(sizeof(id))) {
        _exit(3);
      }
      Handle all = nullptr;
      bench.nccl.ncclCommInitRank(&all, ranks, id, rank);
      bench.job = id.bytes;
      bench.zero();
      bench.driver.cuStreamSynchronize(bench.streams[0]);
      _exit(program(bench, all, rank));
    }
    children.push_back(child);
  }
  close(pipes[0]), close(pipes[1]);
  int status = 0;
  for (pid_t child : children) {
    int wait = 0;
    waitpid(child, &wait, 0);
    int code = WIFEXITED(wait) ? WEXITSTATUS(wait) : 128;
    status = status ? status : code;
  }
  return status;
}
enum { U8 = 1, F32 = 7, Sum = 0, Max = 2 };

#define EXPECT_OF_RANKS(ranks, code, message, ...)                                                                     \
  EXPECT_EXIT(std::exit(runRanks(ranks, []([[maybe_unused]] Bench & bench, [[maybe_unused]] Handle all, [[maybe_unused]] int rank) -> int __VA_ARGS__)), ::testing::ExitedWithCode(code), message)

TEST(Rehearsal, ExchangesBetweenRanks) {
  EXPECT_OF_RANKS(3, 0, "", {
    void *arena = reinterpret_cast<void *>(bench.rank.where);
    for (int i = 0; i <= rank; ++i)
      bench.launch("add_one", 0); // rank + 1 everywhere
    bench.nccl.ncclAllReduce(arena, arena, count, F32, Sum, all, bench.streams[0]);
    bool isRight = bench.result() == 6;
    // A ring in one group: everyone sends and receives at once.
    for (int i = 0; i <= rank; ++i)
      bench.launch("add_one", 0);
    Address second = 0;
    bench.driver.cuMemAlloc(&second, bytes);
    bench.nccl.ncclGroupStart();
    bench.nccl.ncclSend(arena, bytes, U8, (rank + 1) % 3, all, bench.streams[0]);
    bench.nccl.ncclRecv(reinterpret_cast<void *>(second), bytes, U8, (rank + 2) % 3, all, bench.streams[0]);
    bench.nccl.ncclGroupEnd();
    bench.driver.cuMemcpyDtoDAsync(bench.rank.where, second, bytes, bench.streams[0]);
    isRight &= bench.result() == 6 + (rank + 2) % 3 + 1;
    // Ranks 0 and 2 by themselves.
    Handle pair = nullptr;
    bench.nccl.ncclCommSplit(all, rank == 1 ? -1 : 0, 2 - rank, &pair, nullptr);
    if (pair)
      bench.nccl.ncclAllReduce(arena, arena, count, F32, Max, pair, bench.streams[0]);
    isRight &= bench.result() == (rank == 1 ? 7 : 9);
    bench.nccl.ncclCommDestroy(pair ? pair : all);
    bench.driver.cuMemFree(second);
    bench.end();
    return isRight ? 0 : 2;
  });
}

TEST(Rehearsal, StreamsGoOnBesideACollective) {
  // Rank 0's collective comes first, rank 1's behind a message that rank 0 sends on another stream.
  EXPECT_OF_RANKS(2, 0, "", {
    void *arena = reinterpret_cast<void *>(bench.rank.where);
    Handle other = nullptr;
    bench.nccl.ncclCommSplit(all, 0, rank, &other, nullptr);
    char *half = static_cast<char *>(arena) + bytes / 2;
    if (rank == 0)
      bench.nccl.ncclAllReduce(arena, arena, count / 2, F32, Sum, all, bench.streams[0]);
    if (rank == 0)
      bench.nccl.ncclSend(half, bytes / 2, U8, 1, other, bench.streams[1]);
    else
      bench.nccl.ncclRecv(half, bytes / 2, U8, 0, other, bench.streams[0]);
    if (rank == 1)
      bench.nccl.ncclAllReduce(arena, arena, count / 2, F32, Sum, all, bench.streams[0]);
    bench.finish();
    return 0;
  });
}

TEST(Rehearsal, FindsRanksThatDisagree) {
  EXPECT_OF_RANKS(2, 1, "rehearsed NCCL: all-reduce of (64|60) f32 \\(sum\\), sequence 0, of 'grads', number 1 of the communicator of ranks 0, 1, where rank [01] has the all-reduce of (60|64) f32 \\(sum\\), sequence 0, of 'grads'", {
    void *arena = reinterpret_cast<void *>(bench.rank.where);
    bench.as("grads").nccl.ncclAllReduce(arena, arena, rank ? 60 : 64, F32, Sum, all, bench.streams[0]);
    bench.finish();
    return 0;
  });
  EXPECT_OF_RANKS(2, 1, "all-(gather of 32 bytes|reduce of 64 f32 \\(maximum\\)), sequence 0, of 'x', number 1 of the communicator of ranks 0, 1, where rank [01] has the all-(reduce|gather)", {
    char *arena = reinterpret_cast<char *>(bench.rank.where);
    if (rank)
      bench.as("x").nccl.ncclAllGather(arena + 32, arena, 32, U8, all, bench.streams[0]);
    else
      bench.as("x").nccl.ncclAllReduce(arena, arena, 64, F32, Max, all, bench.streams[0]);
    bench.finish();
    return 0;
  });
  EXPECT_OF_RANKS(2, 1, "receive of 128 bytes of 'there', number 1 from rank 0, which has the send of 64 bytes of 'here'", {
    void *arena = reinterpret_cast<void *>(bench.rank.where);
    if (rank)
      bench.as("there").nccl.ncclRecv(arena, 128, U8, 0, all, bench.streams[0]);
    else
      bench.as("here").nccl.ncclSend(arena, 64, U8, 1, all, bench.streams[0]);
    bench.finish();
    return 0;
  });
}

TEST(Rehearsal, FindsRanksThatChangeTheOrder) {
  // Equal but for what they are: only the compiler's numbers tell.
  EXPECT_OF_RANKS(2, 1, "all-reduce of 32 f32 \\(sum\\), sequence [01], of '[ab]', number 1 of the communicator of ranks 0, 1, where rank [01] has the all-reduce of 32 f32 \\(sum\\), sequence [01], of '[ba]'", {
    char *arena = reinterpret_cast<char *>(bench.rank.where);
    for (int i : {0, 1}) {
      bench.rank.inStep = i ^ rank;
      char *part = arena + bench.rank.inStep * bytes / 2;
      bench.as(bench.rank.inStep ? "b" : "a").nccl.ncclAllReduce(part, part, 32, F32, Sum, all, bench.streams[0]);
    }
    bench.finish();
    return 0;
  });
}

TEST(Rehearsal, FindsRanksOfOtherHosts) {
  EXPECT_FOUND({ Bench bench; NcclId id{"para-rehearse-of-nobody"}; Handle all = nullptr; bench.nccl.ncclCommInitRank(&all, 2, id, 0); },
               "rehearsed NCCL: ranks of several hosts cannot be rehearsed together: /dev/shm/para-rehearse-of-nobody is not here");
}

TEST(Rehearsal, FindsRanksThatWaitForOneAnother) {
  EXPECT_OF_RANKS(2, 1,
                  "nothing has moved for 1 s: rank 0 waits in receive of 64 bytes of 'back', number 1 from rank 1; rank 1 waits in receive of 64 bytes of 'back', number 1 from rank 0", {
    char *arena = reinterpret_cast<char *>(bench.rank.where);
    bench.as("back").nccl.ncclRecv(arena, 64, U8, 1 - rank, all, bench.streams[0]);
    bench.nccl.ncclSend(arena + 64, 64, U8, 1 - rank, all, bench.streams[0]);
    bench.finish();
    return 0;
  });
  EXPECT_OF_RANKS(2, 1, "rank 0 waits in all-reduce of 64 f32 \\(sum\\), sequence 0, of 'sum', number 1 of the communicator of ranks 0, 1; rank 1 has nothing left on its streams", {
    void *arena = reinterpret_cast<void *>(bench.rank.where);
    if (rank == 0)
      bench.as("sum").nccl.ncclAllReduce(arena, arena, 64, F32, Sum, all, bench.streams[0]);
    bench.finish();
    if (rank == 1)
      sleep(2);
    return 0;
  });
}

TEST(Rehearsal, CollectivesTakePartInRaces) {
  EXPECT_OF_RANKS(2, 1, "a race: the (all-reduce of 'sum' on stream 0 (reads|writes)|kernel add_one of 'use' on stream 1 (reads|writes)) byte [0-9]+ of the arena", {
    void *arena = reinterpret_cast<void *>(bench.rank.where);
    bench.as("sum").nccl.ncclAllReduce(arena, arena, 64, F32, Sum, all, bench.streams[0]);
    bench.as("use").launch("add_one", 1);
    bench.finish();
    return 0;
  });
  EXPECT_OF_RANKS(2, 1, "rehearsed NCCL: in and out overlap in all-reduce of 32 f32", {
    char *arena = reinterpret_cast<char *>(bench.rank.where);
    bench.nccl.ncclAllReduce(arena, arena + 64, 32, F32, Sum, all, bench.streams[0]);
    bench.finish();
    return 0;
  });
  EXPECT_OF_RANKS(2, 1, "ncclCommDestroy: operations of the communicator of ranks 0, 1 are not done", {
    void *arena = reinterpret_cast<void *>(bench.rank.where);
    bench.nccl.ncclAllReduce(arena, arena, 64, F32, Sum, all, bench.streams[0]);
    bench.nccl.ncclCommDestroy(all);
    return 0;
  });
}

TEST(Rehearsal, AnAnswerTellsThatTheQuestionWasRead) {
  // Rank 0 writes what it has sent over: behind an answer to it, and behind a message that is none.
  for (bool isAnswer : {true, false}) {
    setenv("PARA_TEST_ANSWER", isAnswer ? "1" : "0", 1);
    EXPECT_OF_RANKS(2, isAnswer ? 0 : 1, isAnswer ? "" : "a race: the (memset of 'over' on stream 0 writes|send of 'question' on stream 1 reads) byte 0 of the arena", {
      bool isAnswer = *std::getenv("PARA_TEST_ANSWER") == '1';
      char *arena = reinterpret_cast<char *>(bench.rank.where);
      Handle back = nullptr;
      bench.nccl.ncclCommSplit(all, 0, rank, &back, nullptr);
      if (rank == 0) {
        bench.as("question").nccl.ncclSend(arena, 64, U8, 1, all, bench.streams[1]);
        bench.as("answer").nccl.ncclRecv(arena + 64, 64, U8, 1, back, bench.streams[0]);
        bench.as("over").driver.cuMemsetD8Async(bench.rank.where, 1, 64, bench.streams[0]);
      } else {
        bench.as("question").nccl.ncclRecv(arena, 64, U8, 0, all, bench.streams[0]);
        bench.as("answer").nccl.ncclSend(arena + 64, 64, U8, 0, back, bench.streams[isAnswer ? 0 : 1]);
      }
      bench.finish();
      return 0;
    });
  }
}

TEST(Rehearsal, LeavesNothingBehind) {
  EXPECT_OF_RANKS(2, 0, "", {
    std::string mine = "/dev/shm/" + bench.job + "-" + std::to_string(rank);
    bool isGone = access(mine.c_str(), F_OK) != 0 && (rank != 0 || access(("/dev/shm/" + bench.job).c_str(), F_OK) != 0);
    return isGone && !bench.job.empty() ? 0 : 2;
  });
}
} // namespace
