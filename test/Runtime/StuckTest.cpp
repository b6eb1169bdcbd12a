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

/// Fails within seconds, and one rank tells why.
void expectTold(const Outcome &outcome, const std::vector<std::string> &parts) {
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_LT(outcome.seconds, 10);
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

TEST(Stuck, ARankThatDiesIsNamedByWhoSawIt) {
  for (int i = 0; i < 3; ++i)
    expectTold(fault("die"), {"para: rank 3 was killed by signal 9 (Killed) in '", "the other ranks are stopped"});
}

TEST(Stuck, ErrorsThatNcclFindsAreTold) {
  // Of a rank that ends without a word to anybody only NCCL's own connections tell.
  expectTold(fault("leave"), {"NCCL: found while it ran: remote error (rehearsed), while the "});
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
  Outcome outcome = runCommand("export PARA_COMMUNICATION_TIMEOUT=8 PARA_TEST_FAULT=stop; timeout 60 " PARA_TEST_BIN "/runtime-stuck-program --repeat 3 & sleep 3; "
                               "for p in $(pgrep -f '[r]untime-stuck-program --repeat 3'); do kill -CONT $p; done; wait $!");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
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

TEST(Stuck, TheTimeIsANumber) {
  Outcome outcome = fault("none", "PARA_COMMUNICATION_TIMEOUT=soon");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.err, "para: PARA_COMMUNICATION_TIMEOUT=soon: seconds up to 1000000 are needed, or 0 to wait for ever"));
}
