//===- StuckTest.cpp - Ranks that others wait for, in a rehearsal --------------===//
//
// Intent: communication that does not get on ends the job within the time that was set, by name; what only takes long does not.
//
//===----------------------------------------------------------------------===//
#include "TestSupport.h"

using namespace para::runtime;

namespace {
/// Runs the program of StuckProgram.cpp with a time of two seconds, unless the environment says otherwise.
Outcome fault(const std::string &kind, const std::string &environment = "") {
  return runCommand("PARA_COMMUNICATION_TIMEOUT=2 PARA_TEST_FAULT=" + kind + " " + environment + " timeout 60 " PARA_TEST_BIN "/runtime-stuck-program --repeat 3");
}

/// A line of the environment by which a test's processes are told from others'.
std::string newMark() {
  static int marks = 0;
  return "PARA_TEST_MARK=" + std::to_string(getpid()) + "." + std::to_string(marks++);
}

/// A shell's command: sends a signal to rank 3 of those with the mark.
std::string signalLastRank(const std::string &mark, const std::string &signal) {
  return "for f in /proc/[0-9]*/environ; do if grep -qzx " + mark + " $f 2>/dev/null && grep -qzx PARA_RANK=3 $f; then kill -" + signal +
         " $(echo $f | cut -d/ -f3); fi; done; ";
}

/// Fails within seconds, and one rank tells why.
void expectTold(const Outcome &outcome, const std::vector<std::string> &parts) {
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_LT(outcome.seconds, 15);
  for (const std::string &part : parts)
    EXPECT_TRUE(has(outcome.err, part));
  size_t first = outcome.err.find("para: rank ");
  EXPECT_EQ(first, outcome.err.rfind("para: rank ")) << outcome.err;
}
} // namespace

TEST(Stuck, ARankThatIsStoppedIsNamed) {
  Outcome outcome = fault("stop");
  expectTold(outcome, {"para: rank ", "rank 3 is stopped by a signal or a debugger, and is in 'layer.1'", " has waited 2 s, and nothing gets on; ",
                       "(PARA_COMMUNICATION_TIMEOUT sets after how many seconds; 0: never)"});
  // Two ranks wait for it, and either may be the first to say so.
  bool isCollective = outcome.err.find("para: rank 2: layer.0.bias: the all-reduce on 'data' (ranks 2, 3), sequence 0 has") != std::string::npos;
  bool isMessage = outcome.err.find("para: rank 1: layer.1: the send to stage 1 has") != std::string::npos;
  EXPECT_TRUE(isCollective || isMessage) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "not come to it: rank 3 is stopped"));
}

TEST(Stuck, ARankThatIsStoppedAtAnyTimeIsNamed) {
  // Wherever the signal finds it, in a step or between two.
  for (int i = 0; i < 3; ++i) {
    std::string mark = newMark();
    Outcome outcome = runCommand("PARA_COMMUNICATION_TIMEOUT=2 " + mark + " timeout 60 " PARA_TEST_BIN "/runtime-stuck-program --repeat 100000000 & sleep 1; " +
                                 signalLastRank(mark, "STOP") + "wait $!");
    expectTold(outcome, {"rank 3 is stopped by a signal or a debugger, and"});
  }
}

TEST(Stuck, ACollectiveThatARankLeavesOutIsNamed) {
  expectTold(fault("missing"), {"para: rank 2: layer.0.weight: the all-reduce on 'data' (ranks 2, 3), sequence 0 has waited 2 s",
                                "not come to it: rank 3 waits for rank 0, behind its step, in 'the step'"});
}

TEST(Stuck, CollectivesInAnotherOrderAreNamed) {
  expectTold(fault("order"), {"layer.0.", "not come to it: rank "});
  EXPECT_TRUE(has(fault("order").err, " waits in the all-reduce on 'data' (ranks 2, 3), sequence 0 of 'layer.0."));
}

TEST(Stuck, AMessageThatIsNotTakenIsNamed) {
  expectTold(fault("message"), {"para: rank 1: layer.1: the send to stage 1 has waited 2 s", "not come to it: rank 3 waits for rank 0, behind its step"});
}

TEST(Stuck, RanksOfMpiAreNamed) {
  // On one host they know of each other; where they do not, a rank may do something of its own for six times as long.
  const char *launcher = "PARA_COMMUNICATION_TIMEOUT=1 PARA_TEST_FAULT=missing timeout 60 mpirun --oversubscribe --allow-run-as-root -n 4 " PARA_TEST_BIN
                         "/runtime-stuck-program --repeat 3";
  for (bool sharesMemory : {true, false}) {
    Outcome outcome = runCommand(launcher + std::string(sharesMemory ? "" : " --transport=mpi"));
    EXPECT_NE(outcome.status, 0);
    EXPECT_LT(outcome.seconds, 15);
    EXPECT_TRUE(has(outcome.err, "para: rank 2: layer.0.weight: the all-reduce on 'data' (ranks 2, 3), sequence 0 has waited "));
    EXPECT_TRUE(has(outcome.err, sharesMemory ? "not come to it: rank 3 waits for rank 0" : "not come to it, or held up on the way: rank 3"));
  }
}

TEST(Stuck, ARankThatDiesIsNamedByWhoSawIt) {
  for (int i = 0; i < 3; ++i)
    expectTold(fault("die"), {"para: rank 3 was killed by signal 9 (Killed) in '", "the other ranks are stopped"});
}

TEST(Stuck, ErrorsThatNcclFindsAreTold) {
  // Of a rank that ends without a word to anybody only NCCL's own connections tell.
  expectTold(fault("leave"), {"NCCL: found while it ran: remote error (rehearsed), while the "});
}

TEST(Stuck, ErrorsThatAreFoundInACaptureAreTold) {
  // The others are in the capture of their second run: that one's calls are noted, not told, and what is found beside them is told all the same.
  expectTold(fault("leave", "PARA_TEST_OTHERS_SECONDS=4"), {"the step: NCCL: found while it ran: remote error (rehearsed)"});
}

TEST(Stuck, AStartOfManyStepsGoesOn) {
  // Three communicators are split off, in all for longer than one step may take.
  Outcome outcome = runCommand("PARA_COMMUNICATION_TIMEOUT=1 PARA_TEST_SPLIT_SECONDS=3 timeout 60 " PARA_TEST_BIN "/runtime-stuck-program --repeat 1");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_GT(outcome.seconds, 9);
  outcome = runCommand("PARA_COMMUNICATION_TIMEOUT=1 PARA_TEST_SPLIT_SECONDS=20 timeout 60 " PARA_TEST_BIN "/runtime-stuck-program --repeat 1");
  expectTold(outcome, {": the start: NCCL has waited for all ranks to come for 6 s (PARA_COMMUNICATION_TIMEOUT sets"});
}

TEST(Stuck, WhatOnlyTakesLongGoesOn) {
  for (const char *kind : {"slow", "split"}) {
    Outcome outcome = fault(kind, "PARA_TEST_SECONDS=3");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_GT(outcome.seconds, 4); // two of the three runs
  }
  Outcome outcome = fault("late", "PARA_TEST_SECONDS=3 PARA_COMMUNICATION_TIMEOUT=0");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST(Stuck, ARankThatGoesOnInTimeIsForgiven) {
  std::string mark = newMark();
  Outcome outcome = runCommand("PARA_COMMUNICATION_TIMEOUT=8 PARA_TEST_FAULT=stop " + mark + " timeout 60 " PARA_TEST_BIN "/runtime-stuck-program --repeat 3 & sleep 3; " +
                               signalLastRank(mark, "CONT") + "wait $!");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST(Stuck, RanksThatAreAllStoppedGoOn) {
  // Longer than any of the times: nobody has waited meanwhile. Their parent tells of it.
  for (const char *times : {"PARA_COMMUNICATION_TIMEOUT=2 PARA_REHEARSE_TIMEOUT=20", "PARA_COMMUNICATION_TIMEOUT=2 PARA_REHEARSE_TIMEOUT=2"}) {
    Outcome outcome = runCommand(std::string(times) + " PARA_TEST_FAULT=slow PARA_TEST_SECONDS=1 timeout 60 " PARA_TEST_BIN "/runtime-stuck-program --repeat 3 & sleep 1; "
                                 "parent=$(cut -d ' ' -f 1 /proc/$!/task/$!/children); ranks=$(cat /proc/$parent/task/$parent/children); "
                                 "kill -STOP $ranks; sleep 4; kill -CONT $ranks; wait $!");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(has(outcome.err, "para: all ranks have been stopped by a signal for 2 s; the job goes on when they are continued: kill -CONT "));
  }
}

TEST(Stuck, TheRehearsalItselfTellsOfAStoppedRank) {
  expectTold(fault("stop", "PARA_COMMUNICATION_TIMEOUT=0 PARA_REHEARSE_TIMEOUT=1"), {"rehearsed NCCL: nothing has moved for 1 s:",
                                                                                     "rank 3 is stopped by a signal or a debugger, and"});
}

TEST(Stuck, ARankTellsHowItRan) {
  Outcome outcome = fault("none");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err.find("registered"), std::string::npos) << outcome.err;
  outcome = runCommand(PARA_TEST_BIN "/runtime-stuck-program --repeat 3 --verbose");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(has(outcome.err, "para: rank 3 has its arena registered with 3 communicators\n")); // two of its stage, one of messages
  EXPECT_TRUE(has(outcome.err, "para: rank 3 runs its step as a CUDA graph of "));
  outcome = runCommand("PARA_REGISTER_BUFFERS=0 " PARA_TEST_BIN "/runtime-stuck-program --repeat 3 --verbose");
  EXPECT_TRUE(has(outcome.err, "para: rank 3 has its arena registered with 0 communicators (PARA_REGISTER_BUFFERS=0)\n"));
}

TEST(Stuck, WhatCannotBeCapturedRunsCallByCall) {
  Outcome outcome = runCommand("PARA_TEST_FAULT=grow " PARA_TEST_BIN "/runtime-stuck-program --repeat 3 --verbose");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "para: rank 3 runs its step call by call: its calls are not those of its first run\n"));
  EXPECT_TRUE(has(outcome.err, "para: rank 2 runs its step as a CUDA graph of ")); // the others' are graphs all the same
}

TEST(Stuck, TheTimeIsANumber) {
  Outcome outcome = fault("none", "PARA_COMMUNICATION_TIMEOUT=soon");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.err, "para: PARA_COMMUNICATION_TIMEOUT=soon: seconds up to 1000000 are needed, or 0 to wait for ever"));
}
