// What a rehearsal makes of captured streams: nothing runs in a capture, edges are events, nodes run in any order that edges allow.
#include "RehearsalBench.h"

#include <set>

using namespace para::test;

namespace {
enum { ThreadLocal = 1, Relaxed = 2 };

/// Captures what `calls` enqueue on the bench's first stream and those that join.
template <typename Calls> Handle capture(Bench &bench, Calls calls, size_t *nodes = nullptr) {
  Handle graph = nullptr, executable = nullptr;
  bench.driver.cuStreamBeginCapture(bench.streams[0], ThreadLocal);
  calls();
  if (bench.driver.cuStreamEndCapture(bench.streams[0], &graph) != 0)
    return nullptr;
  if (nodes)
    bench.driver.cuGraphGetNodes(graph, nullptr, nodes);
  bench.driver.cuGraphInstantiate(&executable, graph, 0);
  bench.driver.cuGraphDestroy(graph);
  return executable;
}

std::string order;
const para_thread_kernel left = {"left", [](const int64_t *) { order += 'l'; }, 0, 1, 0};
const para_thread_kernel right = {"right", [](const int64_t *) { order += 'r'; }, 0, 1, 0};

TEST(RehearsalGraph, RunsWhatWasCapturedEachTime) {
  for (int seed = 0; seed < 8; ++seed)
    EXPECT_EXIT(
        {
          setenv("PARA_REHEARSE_SEED", std::to_string(seed).c_str(), 1);
          Bench bench;
          bench.zero();
          bench.finish();
          size_t nodes = 0;
          Handle executable = capture(bench, [&] {
            bench.launch("add_one", 0);
            bench.order(0, 1);
            bench.launch("add_one", 1);
            bench.order(1, 0);
            bench.launch("add_one", 0);
          }, &nodes);
          bool isRight = nodes == 3 && bench.result() == 0; // nothing has run
          for (int i = 1; i < 4; ++i) {
            bench.driver.cuGraphLaunch(executable, bench.streams[0]);
            isRight &= i == 2 || bench.result() == float(3 * i); // twice without a word in between
          }
          bench.driver.cuGraphExecDestroy(executable);
          bench.end();
          std::exit(isRight ? 0 : 2);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST(RehearsalGraph, NodesRunInOrdersThatEdgesAllow) {
  // Two nodes that nothing orders tell the host when they run.
  std::set<std::string> orders;
  for (int seed = 0; seed < 12; ++seed) {
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    EXPECT_EXIT(
        {
          setenv("PARA_REHEARSE_SEED", std::to_string(seed).c_str(), 1);
          Bench bench;
          bench.zero();
          bench.finish();
          auto start = [&](const para_thread_kernel &kernel, int stream) {
            bench.driver.cuLaunchKernel(const_cast<para_thread_kernel *>(&kernel), 1, 1, 1, 1, 1, 1, 0, bench.streams[stream], nullptr, nullptr);
          };
          Handle executable = capture(bench, [&] {
            bench.order(0, 1);
            start(left, 0);
            start(right, 1);
            bench.order(1, 0);
          });
          bench.driver.cuGraphLaunch(executable, bench.streams[0]);
          bench.finish();
          if (write(pipes[1], order.data(), order.size()) != ssize_t(order.size()))
            std::exit(3);
          std::exit(0);
        },
        ::testing::ExitedWithCode(0), "");
    char text[3] = {};
    ASSERT_EQ(read(pipes[0], text, 2), 2);
    close(pipes[0]), close(pipes[1]);
    orders.insert(text);
  }
  EXPECT_EQ(orders, (std::set<std::string>{"lr", "rl"}));
}

TEST(RehearsalGraph, AMissingEdgeIsARace) {
  for (int seed = 0; seed < 4; ++seed)
    EXPECT_FOUND(
        {
          setenv("PARA_REHEARSE_SEED", std::to_string(seed).c_str(), 1);
          Bench bench;
          bench.zero();
          bench.finish();
          Handle executable = capture(bench, [&] {
            bench.order(0, 1); // before the kernel, not behind it
            bench.as("left").launch("add_one", 0);
            bench.as("right").launch("add_one", 1);
            bench.order(1, 0);
          });
          bench.driver.cuGraphLaunch(executable, bench.streams[0]);
          bench.finish();
        },
        "a race: the kernel add_one of '(left|right)' on stream [01] (reads|writes) byte [0-9]+ of the arena of 256 bytes, and the kernel add_one of "
        "'(left|right)' on stream [01] writes it: no event orders the two");
}

TEST(RehearsalGraph, ALaunchIsOnItsStreamAlone) {
  // The graph was captured from both streams, but what comes behind on the second one is in no order with it.
  EXPECT_FOUND(
      {
        Bench bench;
        bench.zero();
        bench.finish();
        Handle executable = capture(bench, [&] {
          bench.order(0, 1);
          bench.as("inside").launch("add_one", 1);
          bench.order(1, 0);
        });
        bench.driver.cuGraphLaunch(executable, bench.streams[0]);
        bench.as("behind").launch("add_one", 1);
        bench.finish();
      },
      "a race: the kernel add_one of '(inside|behind)' on stream 1");
}

TEST(RehearsalGraph, FindsMisuse) {
  EXPECT_FOUND({ Bench bench; bench.as("x"); capture(bench, [&] { bench.order(0, 1); bench.as("lost").launch("add_one", 1); }); },
               "lost: cuStreamEndCapture: the capture's first stream does not wait for the kernel add_one of 'lost' on stream 1");
  EXPECT_FOUND({ Bench bench; bench.order(0, 1); bench.as("old"); capture(bench, [&] { bench.driver.cuStreamWaitEvent(bench.streams[0], bench.event, 0); }); },
               "old: stream 0, which is captured, waits for an event that was recorded outside of the capture");
  EXPECT_FOUND({ Bench bench; capture(bench, [&] { bench.driver.cuEventRecord(bench.event, bench.streams[0]); }); bench.as("late").order(1, 1);
                 capture(bench, [&] { bench.driver.cuEventRecord(bench.event, bench.streams[0]); }); bench.driver.cuStreamWaitEvent(bench.streams[1], bench.event, 0); },
               "late: stream 1 waits for an event of a capture that has ended");
  EXPECT_FOUND({ Bench bench; bench.as("sync"); capture(bench, [&] { bench.driver.cuStreamSynchronize(bench.streams[0]); }); },
               "sync: cuStreamSynchronize: stream 0 is captured");
  EXPECT_FOUND({ Bench bench; bench.as("ask"); capture(bench, [&] { bench.driver.cuStreamQuery(bench.streams[0]); }); }, "ask: cuStreamQuery: stream 0 is captured");
  EXPECT_FOUND({ Bench bench; bench.as("more"); capture(bench, [&] { Address made = 0; bench.driver.cuMemAlloc(&made, 64); }); },
               "more: cuMemAlloc: this call is not allowed while a stream is captured");
  EXPECT_FOUND({ Bench bench; bench.as("less"); capture(bench, [&] { bench.driver.cuMemFree(bench.rank.where); }); },
               "less: cuMemFree: this call is not allowed while a stream is captured");
  EXPECT_FOUND({ Bench bench; bench.as("heap"); capture(bench, [&] { bench.driver.cuMemcpyHtoDAsync(bench.rank.where, &bench, 8, bench.streams[0]); }); },
               "heap: cuMemcpyHtoDAsync from memory that is not pinned: this call is not allowed while a stream is captured");
  EXPECT_FOUND({ Bench bench; bench.as("twice"); capture(bench, [&] { bench.driver.cuStreamBeginCapture(bench.streams[0], ThreadLocal); }); },
               "twice: cuStreamBeginCapture: stream 0 is captured already");
  EXPECT_FOUND({ Bench bench; Handle graph; bench.as("end").driver.cuStreamEndCapture(bench.streams[0], &graph); },
               "end: cuStreamEndCapture: no capture began on stream 0");
  EXPECT_FOUND({ Bench bench; Handle e = capture(bench, [] {}); bench.as("in"); capture(bench, [&] { bench.driver.cuGraphLaunch(e, bench.streams[0]); }); },
               "in: cuGraphLaunch: graphs in graphs are not rehearsed");
  EXPECT_FOUND({ Bench bench; capture(bench, [&] { bench.zero(); }); bench.end(); }, "the end: 1 graphs are not destroyed");
  // Calls that allocate are allowed in a relaxed capture, and what is no graph is refused.
  EXPECT_EXIT(
      {
        Bench bench;
        Address made = 0;
        Handle graph = nullptr;
        Handle executable = nullptr;
        bench.driver.cuStreamBeginCapture(bench.streams[0], Relaxed);
        bool isFine = bench.driver.cuMemAlloc(&made, 64) == 0;
        bench.driver.cuStreamEndCapture(bench.streams[0], &graph);
        isFine &= bench.driver.cuGraphInstantiate(&executable, &bench, 0) != 0 && bench.driver.cuGraphLaunch(graph, bench.streams[0]) != 0;
        isFine &= bench.driver.cuStreamBeginCapture(bench.streams[0], 3) != 0 && bench.driver.cuGraphDestroy(graph) == 0 && bench.driver.cuGraphDestroy(graph) != 0;
        std::exit(isFine ? 0 : 2);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(RehearsalGraph, MemoryMustLiveAsLongAsItsGraph) {
  EXPECT_FOUND(
      {
        Bench bench;
        Address more = 0;
        bench.driver.cuMemAlloc(&more, bytes);
        Handle executable = capture(bench, [&] { bench.as("user").driver.cuMemsetD8Async(more, 0, bytes, bench.streams[0]); });
        bench.as("free").driver.cuMemFree(more);
        bench.driver.cuGraphLaunch(executable, bench.streams[0]);
        bench.finish();
      },
      "user: the memset of 'user' on stream 0 writes 256 bytes from byte 0 of .* that 'free' has given back");
}
} // namespace
