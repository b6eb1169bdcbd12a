// What a rehearsal of several ranks finds: operations on which they do not agree, and races that only messages between them rule out.
#include "RehearsalBench.h"

#include <csignal>
#include <glob.h>
#include <sys/wait.h>

using namespace para::test;

namespace {
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
  EXPECT_EXIT(std::exit(runRanks(ranks, []([[maybe_unused]] Bench & bench, [[maybe_unused]] Handle all,              \
                                           [[maybe_unused]] int rank) -> int __VA_ARGS__)),                            \
              ::testing::ExitedWithCode(code), message)

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
  EXPECT_OF_RANKS(2, 1, "rehearsed NCCL: all-reduce of (64|60) f32 \\(sum\\), sequence 0, of 'grads', number 1 of "
                        "the communicator of ranks 0, 1, where rank [01] has the all-reduce of (60|64) f32 \\(sum\\), sequence 0, of 'grads'", {
    void *arena = reinterpret_cast<void *>(bench.rank.where);
    bench.as("grads").nccl.ncclAllReduce(arena, arena, rank ? 60 : 64, F32, Sum, all, bench.streams[0]);
    bench.finish();
    return 0;
  });
  EXPECT_OF_RANKS(2, 1, "all-(gather of 32 bytes|reduce of 64 f32 \\(maximum\\)), sequence 0, of 'x', number 1 of "
                        "the communicator of ranks 0, 1, where rank [01] has the all-(reduce|gather)", {
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
  EXPECT_OF_RANKS(2, 1, "all-reduce of 32 f32 \\(sum\\), sequence [01], of '[ab]', number 1 of "
                        "the communicator of ranks 0, 1, where rank [01] has the all-reduce of 32 f32 \\(sum\\), sequence [01], of '[ba]'", {
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
               "rehearsed NCCL: ranks of several hosts cannot be rehearsed together: para-rehearse-of-nobody is not here");
}

TEST(Rehearsal, FindsRanksThatWaitForOneAnother) {
  EXPECT_OF_RANKS(2, 1,
                  "nothing has moved for 1 s: rank 0 waits in receive of 64 bytes of 'back', number 1 from rank 1; "
                  "rank 1 waits in receive of 64 bytes of 'back', number 1 from rank 0", {
    char *arena = reinterpret_cast<char *>(bench.rank.where);
    bench.as("back").nccl.ncclRecv(arena, 64, U8, 1 - rank, all, bench.streams[0]);
    bench.nccl.ncclSend(arena + 64, 64, U8, 1 - rank, all, bench.streams[0]);
    bench.finish();
    return 0;
  });
  EXPECT_OF_RANKS(2, 1, "rank 0 waits in all-reduce of 64 f32 \\(sum\\), sequence 0, of 'sum', number 1 of "
                        "the communicator of ranks 0, 1; rank 1 has nothing left on its streams", {
    void *arena = reinterpret_cast<void *>(bench.rank.where);
    if (rank == 0)
      bench.as("sum").nccl.ncclAllReduce(arena, arena, 64, F32, Sum, all, bench.streams[0]);
    bench.finish();
    if (rank == 1)
      sleep(2);
    return 0;
  });
}

TEST(Rehearsal, ARankThatEndedInATaskHoldsNobodyUp) {
  EXPECT_OF_RANKS(2, 1, "nothing has moved for 1 s: rank 0 waits in all-reduce of .*; rank 1 has ended, and", {
    void *arena = reinterpret_cast<void *>(bench.rank.where);
    if (rank == 1)
      bench.as("far").driver.cuMemsetD8Async(4096, 0, 16, bench.streams[0]); // ends it in the midst of a task
    else
      bench.as("sum").nccl.ncclAllReduce(arena, arena, 64, F32, Sum, all, bench.streams[0]);
    bench.finish();
    return 0;
  });
}

TEST(Rehearsal, AnEndedRankIsARemoteError) {
  EXPECT_OF_RANKS(2, 0, "", {
    if (rank == 1)
      return 0;
    constexpr int remoteError = 6;
    int found = 0;
    for (int i = 0; i < 500 && found == 0; ++i) {
      usleep(10000);
      if (bench.nccl.ncclCommGetAsyncError(all, &found) != 0)
        return 2;
    }
    return found == remoteError ? 0 : 2;
  });
}

TEST(Rehearsal, CapturedMessagesAreSentAnewEachTime) {
  EXPECT_OF_RANKS(2, 0, "", {
    void *arena = reinterpret_cast<void *>(bench.rank.where);
    Handle graph = nullptr, executable = nullptr;
    bench.driver.cuStreamBeginCapture(bench.streams[0], 1);
    bench.launch("add_one", 0);
    bench.nccl.ncclAllReduce(arena, arena, count, F32, Sum, all, bench.streams[0]);
    bench.driver.cuStreamEndCapture(bench.streams[0], &graph);
    bench.driver.cuGraphInstantiate(&executable, graph, 0);
    float expected = 0;
    bool isRight = true;
    for (int i = 0; i < 3; ++i) {
      bench.driver.cuGraphLaunch(executable, bench.streams[0]);
      expected = 2 * (expected + 1);
      isRight &= bench.result() == expected;
    }
    // One rank launches its graph, the other makes the calls: NCCL knows no difference.
    if (rank == 0) {
      bench.driver.cuGraphLaunch(executable, bench.streams[0]);
    } else {
      bench.launch("add_one", 0);
      bench.nccl.ncclAllReduce(arena, arena, count, F32, Sum, all, bench.streams[0]);
    }
    return isRight && bench.result() == 2 * (expected + 1) ? 0 : 2;
  });
}

TEST(Rehearsal, MemoryIsRegisteredAndDeregistered) {
  EXPECT_OF_RANKS(2, 0, "", {
    void *made = nullptr;
    Handle first = nullptr, second = nullptr, none = nullptr;
    bool isRight = bench.nccl.ncclMemAlloc(&made, bytes) == 0 && bench.nccl.ncclCommRegister(all, made, bytes, &first) == 0;
    isRight &= bench.nccl.ncclCommRegister(all, &bench, bytes, &none) != 0; // the host's
    bench.driver.cuMemsetD8Async(Address(uintptr_t(made)), 0, bytes, bench.streams[0]);
    bench.nccl.ncclAllReduce(made, made, count, F32, Sum, all, bench.streams[0]);
    bench.finish();
    isRight &= bench.nccl.ncclCommDeregister(all, first) == 0 && bench.nccl.ncclCommDeregister(all, first) != 0;
    // Registered anew it can be used again; and what never was can be used all along.
    isRight &= bench.nccl.ncclCommRegister(all, made, bytes, &second) == 0;
    bench.nccl.ncclAllReduce(made, made, count, F32, Sum, all, bench.streams[0]);
    bench.nccl.ncclAllReduce(reinterpret_cast<void *>(bench.rank.where), reinterpret_cast<void *>(bench.rank.where), count, F32, Sum, all, bench.streams[0]);
    bench.finish();
    isRight &= bench.nccl.ncclCommDeregister(all, second) == 0 && bench.nccl.ncclMemFree(made) == 0 && bench.nccl.ncclMemFree(made) != 0;
    return isRight && bench.nccl.ncclCommDestroy(all) == 0 ? 0 : 2;
  });
}

TEST(Rehearsal, FindsMisuseOfRegisteredMemory) {
  EXPECT_OF_RANKS(2, 1, "late: rehearsed NCCL: all-reduce of 64 f32 \\(sum\\), sequence 0, of 'late', number 0 of the communicator of ranks 0, 1, uses memory "
                        "that was registered with it and was deregistered", {
    void *arena = reinterpret_cast<void *>(bench.rank.where);
    Handle made = nullptr;
    bench.nccl.ncclCommRegister(all, arena, bytes, &made);
    bench.nccl.ncclCommDeregister(all, made);
    bench.as("late").nccl.ncclAllReduce(arena, arena, count, F32, Sum, all, bench.streams[0]);
    return 0;
  });
  // A graph keeps what it was captured with.
  EXPECT_OF_RANKS(2, 1, "graph: rehearsed NCCL: .* uses memory that was registered with it and was deregistered", {
    void *arena = reinterpret_cast<void *>(bench.rank.where);
    Handle made = nullptr, graph = nullptr, executable = nullptr;
    bench.nccl.ncclCommRegister(all, arena, bytes, &made);
    bench.driver.cuStreamBeginCapture(bench.streams[0], 1);
    bench.as("graph").nccl.ncclAllReduce(arena, arena, count, F32, Sum, all, bench.streams[0]);
    bench.driver.cuStreamEndCapture(bench.streams[0], &graph);
    bench.driver.cuGraphInstantiate(&executable, graph, 0);
    bench.nccl.ncclCommDeregister(all, made);
    bench.driver.cuGraphLaunch(executable, bench.streams[0]);
    return 0;
  });
  EXPECT_OF_RANKS(2, 1, "early: ncclCommDeregister: operations of the communicator of ranks 0, 1 are not done", {
    void *arena = reinterpret_cast<void *>(bench.rank.where);
    Handle made = nullptr;
    bench.nccl.ncclCommRegister(all, arena, bytes, &made);
    bench.nccl.ncclAllReduce(arena, arena, count, F32, Sum, all, bench.streams[0]);
    bench.as("early").nccl.ncclCommDeregister(all, made);
    return 0;
  });
  EXPECT_OF_RANKS(2, 1, "free: frees memory that is registered with the communicator of ranks 0, 1", {
    Handle made = nullptr;
    bench.nccl.ncclCommRegister(all, reinterpret_cast<void *>(bench.rank.where), bytes, &made);
    bench.as("free").driver.cuMemFree(bench.rank.where);
    return 0;
  });
  EXPECT_OF_RANKS(2, 1, "end: ncclCommDestroy: memory is registered with the communicator of ranks 0, 1 still", {
    Handle made = nullptr;
    bench.nccl.ncclCommRegister(all, reinterpret_cast<void *>(bench.rank.where), bytes, &made);
    bench.as("end").nccl.ncclCommDestroy(all);
    return 0;
  });
  EXPECT_FOUND({ Bench bench; void *made = nullptr; bench.nccl.ncclMemAlloc(&made, bytes); bench.as("other").driver.cuMemFree(Address(uintptr_t(made))); },
               "other: cuMemFree: this memory is ncclMemAlloc's, and ncclMemFree gives it back");
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

/// Files of a job in /dev/shm.
int countFiles(const std::string &job) {
  std::string pattern = "/dev/shm/" + job.substr(0, job.find(':')) + "*";
  glob_t found{};
  int count = glob(pattern.c_str(), 0, nullptr, &found) == 0 ? int(found.gl_pathc) : 0;
  globfree(&found);
  return count;
}

TEST(Rehearsal, LeavesNothingBehind) {
  EXPECT_OF_RANKS(2, 0, "", { return !bench.job.empty() && countFiles(bench.job) == 0 ? 0 : 2; });
}

// Nor does a job that is killed when some of its ranks have come, and others have not.
TEST(Rehearsal, LeavesNothingBehindWhenKilledWhileItStarts) {
  for (bool comes : {false, true}) {
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
      Bench bench(0, 2);
      NcclId id{};
      bench.nccl.ncclGetUniqueId(&id);
      if (write(pipes[1], &id, sizeof(id)) == ssize_t(sizeof(id)) && comes) {
        Handle all = nullptr;
        bench.nccl.ncclCommInitRank(&all, 2, id, 0); // waits for the other
      }
      while (true)
        pause();
    }
    NcclId id{};
    ASSERT_EQ(read(pipes[0], &id, sizeof(id)), ssize_t(sizeof(id)));
    usleep(300000);
    kill(child, SIGKILL);
    int how = 0;
    waitpid(child, &how, 0);
    EXPECT_TRUE(WIFSIGNALED(how));
    EXPECT_EQ(std::string(id.bytes).rfind("para-rehearse-", 0), 0u);
    EXPECT_EQ(countFiles(id.bytes), 0) << id.bytes;
    close(pipes[0]);
    close(pipes[1]);
  }
}
} // namespace
