//===- ScheduleTest.cpp - Orders of microbatches, and what refuses them ---===//
#include "para/Schedule/Schedule.h"

#include <gtest/gtest.h>

using namespace para;

namespace {
std::string show(const std::vector<Action> &actions) {
  std::string text;
  for (const Action &action : actions)
    text += (text.empty() ? "" : " ") + std::string(action.phase == Phase::Forward ? "F" : "B") + std::to_string(action.microbatch);
  return text;
}
/// What a pipeline sends: activations to the next stage, their gradients back.
std::vector<Transfer> chain(int64_t stages) {
  std::vector<Transfer> transfers;
  for (int64_t s = 0; s + 1 < stages; ++s) {
    transfers.push_back({s, s + 1, Phase::Forward});
    transfers.push_back({s + 1, s, Phase::Backward});
  }
  return transfers;
}
std::string verify(const Schedule &schedule, int64_t microbatches, llvm::ArrayRef<Transfer> transfers) {
  return llvm::toString(verifySchedule(schedule, microbatches, transfers));
}
} // namespace

// The order of 1F1B is the published one.
TEST(Schedule, OneForwardOneBackward) {
  Schedule schedule = llvm::cantFail(makeSchedule("1f1b", 3, 4));
  EXPECT_EQ(show(schedule.stages[0]), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(show(schedule.stages[1]), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(show(schedule.stages[2]), "F0 B0 F1 B1 F2 B2 F3 B3");
}

// GPipe runs all forwards, then all backwards.
TEST(Schedule, GPipe) {
  Schedule schedule = llvm::cantFail(makeSchedule("gpipe", 2, 3));
  for (const auto &actions : schedule.stages)
    EXPECT_EQ(show(actions), "F0 F1 F2 B0 B1 B2");
}

// 1F1B holds as many microbatches as there are stages behind, GPipe all of them.
TEST(Schedule, MicrobatchesInFlight) {
  EXPECT_EQ(getMicrobatchesInFlight(llvm::cantFail(makeSchedule("1f1b", 4, 8))), (std::vector<int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(getMicrobatchesInFlight(llvm::cantFail(makeSchedule("1f1b", 4, 2))), (std::vector<int64_t>{2, 2, 2, 1}));
  EXPECT_EQ(getMicrobatchesInFlight(llvm::cantFail(makeSchedule("gpipe", 4, 8))), (std::vector<int64_t>{8, 8, 8, 8}));
}

// Every schedule that there is passes the verifier at every size, and runs each microbatch once a phase.
TEST(Schedule, AllSchedulesAreSound) {
  for (llvm::StringRef name : getScheduleNames())
    for (int64_t stages = 1; stages <= 6; ++stages)
      for (int64_t microbatches = 1; microbatches <= 9; ++microbatches) {
        Schedule schedule = llvm::cantFail(makeSchedule(name, stages, microbatches));
        EXPECT_EQ(verify(schedule, microbatches, chain(stages)), "") << name.str() << " " << stages << " " << microbatches;
        for (const auto &actions : schedule.stages)
          EXPECT_EQ(int64_t(actions.size()), 2 * microbatches);
      }
}

// An order in which two stages wait for each other is refused, with the action that waits.
TEST(Schedule, DeadlockIsRefused) {
  Schedule schedule = llvm::cantFail(makeSchedule("gpipe", 2, 2));
  // Stage 0 wants the gradient of microbatch 0 before it has sent microbatch 1, which stage 1 runs first.
  schedule.stages[0] = {{Phase::Forward, 0}, {Phase::Backward, 0}, {Phase::Forward, 1}, {Phase::Backward, 1}};
  std::string text = verify(schedule, 2, chain(2));
  EXPECT_NE(text.find("waits for ever"), std::string::npos) << text;
  EXPECT_NE(text.find("microbatch 0 on stage 0"), std::string::npos) << text;
  EXPECT_EQ(verify(schedule, 2, chain(1)), ""); // without messages nobody waits
}

// Broken lists are refused, each with what is wrong.
TEST(Schedule, BrokenListsAreRefused) {
  auto broken = [](std::function<void(std::vector<Action> &)> change) {
    Schedule schedule = llvm::cantFail(makeSchedule("1f1b", 2, 3));
    change(schedule.stages[1]);
    return verify(schedule, 3, chain(2));
  };
  EXPECT_NE(broken([](auto &actions) { actions.push_back({Phase::Forward, 1}); }).find("is there twice"), std::string::npos);
  EXPECT_NE(broken([](auto &actions) { actions.pop_back(); }).find("is missing"), std::string::npos);
  EXPECT_NE(broken([](auto &actions) { std::swap(actions[0], actions[1]); }).find("comes before its forward"), std::string::npos);
  EXPECT_NE(broken([](auto &actions) { actions.push_back({Phase::Forward, 3}); }).find("there are 3 microbatches"), std::string::npos);
}

// A name that does not exist is answered with those that do.
TEST(Schedule, UnknownNameListsTheSchedules) {
  std::string text = llvm::toString(makeSchedule("1f2b", 2, 2).takeError());
  for (llvm::StringRef name : getScheduleNames())
    EXPECT_NE(text.find(name.str()), std::string::npos) << text;
}

// A message past several stages needs as many buffers as the sender is ahead; one to the next stage, and GPipe's, need one.
TEST(Schedule, MessagesThatSkipStagesAreDeeper) {
  for (int64_t stages = 2; stages <= 9; ++stages)
    for (int64_t to = 1; to < stages; ++to) {
      std::vector<Transfer> transfers = chain(stages);
      transfers.push_back({0, to, Phase::Forward});
      transfers.push_back({to, 0, Phase::Backward});
      Schedule schedule = llvm::cantFail(makeSchedule("1f1b", stages, 12));
      if (to > 2)
        EXPECT_NE(verify(schedule, 12, transfers), "") << stages << " " << to;
      deepenTransfers(schedule, transfers);
      EXPECT_EQ(verify(schedule, 12, transfers), "") << stages << " " << to;
      for (size_t i = 0; i + 2 < transfers.size(); ++i)
        EXPECT_EQ(transfers[i].depth, 1);
      EXPECT_LE(transfers.end()[-2].depth, to);
      transfers.end()[-2].depth -= 1;
      if (to > 2)
        EXPECT_NE(verify(schedule, 12, transfers), "") << "deeper than it must be: " << stages << " " << to;
      transfers = chain(stages);
      transfers.push_back({0, to, Phase::Forward});
      deepenTransfers(llvm::cantFail(makeSchedule("gpipe", stages, 12)), transfers);
      EXPECT_EQ(transfers.back().depth, 1);
    }
}
