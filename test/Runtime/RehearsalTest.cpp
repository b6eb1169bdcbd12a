// What a rehearsal finds: each kind of error by itself, with the sentence that tells of it; and that legal programs go through under all seeds.
#include "RehearsalBench.h"

using namespace para::test;

namespace {
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
        "para: rank 0: (left|right): a race: the kernel add_one of '(left|right)' on stream [01] reads byte [0-9]+ of the arena of 256 bytes, and the "
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
      "a race: the (memset of 'writer' on stream 0 writes|copy to the host of 'reader' on stream 1 reads) byte 0 of the arena of 256 bytes, and the "
      "(copy to the host of 'reader' on stream 1 reads|memset of 'writer' on stream 0 writes) it");
}

TEST(Rehearsal, FindsRacesBetweenBlocks) {
  EXPECT_FOUND({ Bench bench; bench.zero(); bench.as("k").launch("write_next", 0, 0, 3, 2); bench.finish(); },
               "k: a race: the kernel write_next of 'k' on stream 0: block [0-2] writes byte (0|4|8|12) of the arena of 256 bytes, and block [0-2] touches it too: "
               "blocks are in no order");
  EXPECT_FOUND({ Bench bench; bench.zero(); bench.as("k").launch("read_first", 0, 0, 3, 1); bench.finish(); },
               "k: a race: the kernel read_first of 'k' on stream 0: block [0-2] (writes byte 0 of the arena of 256 bytes, and (block [0-2] touches|other blocks read)|"
               "reads byte 0 of the arena of 256 bytes, and block 1 touches) it too: blocks are in no order");
  EXPECT_EXIT({ Bench bench; bench.zero(); bench.launch("write_next", 0, 0, 1, 2); bench.finish(); std::exit(0); }, ::testing::ExitedWithCode(0), "");
}

TEST(Rehearsal, FindsRacesInABlock) {
  for (auto seed : {"0", "1", "2"}) {
    setenv("PARA_REHEARSE_SEED", seed, 1);
    auto run = [](const char *name) { Bench bench; bench.as("k").launch(name, 0, 0, 2, 64, 256); bench.finish(); };
    EXPECT_EXIT({ run("both_barriers"); run("say_together"); std::exit(0); }, ::testing::ExitedWithCode(0), "");
    // Values are read before they are there, or written over before they are read; a warp's barrier does not bind two warps.
    for (auto name : {"no_barrier", "one_barrier", "shuffled", "group_barrier"})
      EXPECT_FOUND(run(name), std::string("k: the kernel ") + name + " of 'k' on stream 0: block [01], thread [0-9]+: a race: (reads|writes) byte [0-9]+ of "
                              "shared memory, which thread [0-9]+ touches too: no barrier orders the two");
  }
}

TEST(Rehearsal, FindsRacesInABlockOverDeviceMemory) {
  EXPECT_EXIT({ Bench bench; bench.zero(); bench.launch("swap_ordered", 0, 0, 1); bench.finish(); std::exit(0); }, ::testing::ExitedWithCode(0), "");
  EXPECT_FOUND({ Bench bench; bench.zero(); bench.as("k").launch("swap", 0, 0, 1); bench.finish(); },
               "k: the kernel swap of 'k' on stream 0: block 0, thread [0-9]+: a race: (reads|writes) byte [0-9]+ of the arena of 256 bytes, which thread [0-9]+ "
               "touches too: no barrier orders the two");
}

TEST(Rehearsal, FindsWhatNobodyWrote) {
  EXPECT_FOUND({ Bench bench; bench.as("early").launch("add_one", 0); bench.finish(); },
               "early: the kernel add_one of 'early' on stream 0 reads byte [0-9]+ of the arena of 256 bytes: nobody has written it");
}

TEST(Rehearsal, FindsAccessesOutOfBounds) {
  EXPECT_FOUND({ Bench bench; bench.zero(); bench.as("far").launch("add_one", 0, int64_t(bench.rank.where) + 4); bench.finish(); },
               "far: the kernel add_one of 'far' on stream 0 reads 4 bytes from byte 256 of the arena of 256 bytes");
  EXPECT_FOUND({ Bench bench; bench.as("before").driver.cuMemsetD8Async(bench.rank.where - 8, 0, 16, bench.streams[0]); bench.finish(); },
               "before: the memset of 'before' on stream 0 writes 16 bytes from byte -8 of the arena of 256 bytes");
  EXPECT_FOUND({ Bench bench; bench.as("nowhere").driver.cuMemsetD8Async(4096, 0, 16, bench.streams[0]); bench.finish(); },
               "nowhere: the memset of 'nowhere' on stream 0 writes 16 bytes from address 0x1000, where no device memory is");
  EXPECT_FOUND({ Bench bench; bench.as("odd").launch("misaligned", 0); bench.finish(); },
               "odd: the kernel misaligned of 'odd' on stream 0: block [01], thread [0-9]+: 8 bytes from an address that is no multiple of 8");
  EXPECT_FOUND({ Bench bench; bench.as("wide").launch("beyond_shared", 0, 0, 1, 1, 64); bench.finish(); },
               "wide: the kernel beyond_shared of 'wide' on stream 0: block 0, thread 0: writes 8 bytes from byte 60 of the 64 of shared memory");
  EXPECT_FOUND({ Bench bench; bench.as("long").driver.cuMemcpyHtoDAsync(bench.rank.where, static_cast<char *>(bench.pinned) + 8, bytes, bench.streams[0]); },
               "long: cuMemcpyHtoDAsync: 256 bytes from byte 8 of 256 in pinned memory");
  EXPECT_FOUND({ Bench bench; bench.as("over").driver.cuMemcpyDtoDAsync(bench.rank.where, bench.rank.where + 8, 16, bench.streams[0]); },
               "over: cuMemcpyDtoDAsync: from and to overlap");
}

TEST(Rehearsal, KeepsTheHostOutOfDeviceMemory) {
  EXPECT_FOUND({ Bench bench; bench.as("peek"); std::printf("%d", *reinterpret_cast<volatile int *>(bench.rank.where + 12)); },
               "peek: the host touches byte 12 of the arena of 256 bytes: device memory is the GPU's");
  EXPECT_FOUND({ Bench bench; bench.as("sly").launch("hidden", 0, 0, 1, 1); bench.finish(); },
               "sly: the kernel hidden of 'sly' on stream 0 touches byte 0 of the arena of 256 bytes by a way that is not followed");
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
               "late: the memset of 'late' on stream 0 writes 256 bytes from byte 0 of the arena of 256 bytes that 'free' has given back");
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
      "free: frees device memory while the memset of 'use' on stream 1 may still use byte 0 of the arena of 256 bytes");
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
  EXPECT_FOUND({ Bench bench; bench.as("big").launch("add_one", 0, 0, 1, 2048); },
               "big: cuLaunchKernel: add_one: 1 blocks of 2048 threads with 0 bytes of shared memory are beyond what a GPU takes");
  EXPECT_FOUND({ Bench bench; bench.as("big").launch("add_one", 0, 0, 1, 32, 1 << 16); }, "1 blocks of 32 threads with 65536 bytes of shared memory are beyond");
  EXPECT_EXIT(
      {
        Bench bench;
        Handle function = nullptr;
        bench.driver.cuModuleGetFunction(&function, bench.module, "add_one");
        bool isRefused = bench.driver.cuFuncSetAttribute(function, 8, 100 << 10) != 0; // more than some GPUs have
        bool isFine = bench.driver.cuFuncSetAttribute(function, 8, 64 << 10) == 0;
        bench.zero();
        bench.launch("add_one", 0, 0, 1, 32, 1 << 16);
        bench.finish();
        std::exit(isRefused && isFine ? 0 : 2);
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_FOUND({ Bench bench; bench.as("big").launch("add_one", 0, 0, 1, 64); }, "big: cuLaunchKernel: add_one: blocks of 64 threads, and its code is for 32");
  auto *kernel = const_cast<para_thread_kernel *>(kernels);
  EXPECT_FOUND({ Bench bench; bench.as("deep").driver.cuLaunchKernel(kernel, 1, 2, 1, 1, 1, 1, 0, bench.streams[0], nullptr, nullptr); },
               "deep: cuLaunchKernel: blocks and threads in more than one dimension are not rehearsed");
  EXPECT_EXIT({ Bench bench; std::exit(bench.launch("unknown", 0) == 500 ? 0 : 2); }, ::testing::ExitedWithCode(0), "");
}

TEST(Rehearsal, FindsMisuseOfBarriers) {
  EXPECT_FOUND({ Bench bench; bench.as("uneven").launch("uneven", 0, 0, 1); bench.finish(); },
               "uneven: the kernel uneven of 'uneven' on stream 0: block 0, thread [0-9]+: waits for threads of its block that do not come");
  EXPECT_FOUND({ Bench bench; bench.as("strange").launch("strange", 0, 0, 1, 16); bench.finish(); },
               "strange: the kernel strange of 'strange' on stream 0: block 0, thread [0-9]+: a shuffle reads a thread outside of its group");
  for (auto [name, threads, cause] : {std::tuple("other_groups", 3, "threads of a warp wait for different groups"),
                                      {"other_calls", 2, "threads of a group meet for different things: a shuffle, a product, rows, or a barrier"},
                                      {"not_its_group", 2, "is not in the group that it waits for"},
                                      {"ended", 3, "a group waits for a thread that has ended"}, {"beyond_block", 8, "a group has threads beyond the block"}})
    EXPECT_FOUND({ Bench bench; bench.as("k").launch(name, 0, 0, 1, unsigned(threads)); bench.finish(); },
                 std::string("k: the kernel .* of 'k' on stream 0: block 0, thread [0-9]+: ") + cause);
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
} // namespace
