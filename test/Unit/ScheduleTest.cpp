//===- ScheduleTest.cpp - Orders of microbatches, and what refuses them ---===//
#include "para/Schedule/Schedule.h"

#include <gtest/gtest.h>

using namespace para;

namespace {
std::string show(const std::vector<Action> &actions) {
  std::string text;
  for (const Action &action : actions) {
    const char *letter = action.phase == Phase::Forward ? "F" : action.part == BackwardPart::Weight ? "W" : "B";
    text += (text.empty() ? "" : " ") + std::string(letter) + std::to_string(action.microbatch) + (action.chunk ? std::string(action.chunk, '\'') : "");
  }
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

// Every schedule that there is passes the verifier at every size, and runs each microbatch once a phase on each virtual stage.
TEST(Schedule, AllSchedulesAreSound) {
  int64_t sound = 0;
  for (llvm::StringRef name : {"gpipe", "1f1b", "interleaved:2", "interleaved:3", "interleaved:4", "zb-h1", "zb-h2", "zb-v"})
    for (int64_t stages = 1; stages <= 6; ++stages)
      for (int64_t microbatches = 1; microbatches <= 20; ++microbatches) {
        Schedule schedule = llvm::cantFail(makeSchedule(name, stages, microbatches));
        EXPECT_EQ(schedule.chunks, getScheduleChunks(name));
        std::vector<Transfer> transfers = getChainTransfers(schedule);
        deepenTransfers(schedule, transfers);
        EXPECT_EQ(verify(schedule, microbatches, transfers), "") << name.str() << " " << stages << " " << microbatches;
        for (const auto &actions : schedule.stages)
          EXPECT_EQ(int64_t(actions.size()), (name.starts_with("zb") ? 3 : 2) * microbatches * schedule.chunks);
        if (schedule.chunks == 1 && !name.starts_with("zb"))
          for (const Transfer &transfer : transfers)
            EXPECT_EQ(transfer.depth, 1);
        ++sound;
      }
  EXPECT_EQ(sound, 8 * 6 * 20);
}

// Every name that is listed makes a schedule.
TEST(Schedule, NamesAreAccepted) {
  for (llvm::StringRef name : getScheduleNames())
    EXPECT_EQ(llvm::toString(checkScheduleName(name == "interleaved:V" ? "interleaved:4" : name)), "") << name.str();
  for (llvm::StringRef name : {"interleaved", "interleaved:", "interleaved:1", "interleaved:V", "interleaved:2000", "interleaved:2x", "ZB-H1", ""})
    EXPECT_NE(llvm::toString(checkScheduleName(name)), "") << name.str();
}

// The interleaved order is Megatron's: groups of as many microbatches as there are stages run through the chunks.
TEST(Schedule, Interleaved) {
  Schedule schedule = llvm::cantFail(makeSchedule("interleaved:2", 2, 4));
  EXPECT_EQ(show(schedule.stages[0]), "F0 F1 F0' F1' F2 B0' F3 B1' F2' B0 F3' B1 B2' B3' B2 B3");
  EXPECT_EQ(show(schedule.stages[1]), "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3");
  EXPECT_EQ(schedule.getVirtualStage(1, 1), 3);
  EXPECT_EQ(schedule.getPlace(2), std::make_pair(int64_t(0), int64_t(1)));
  // What is left over makes groups larger: 3 and 2, and the others as they were.
  Schedule uneven = llvm::cantFail(makeSchedule("interleaved:2", 2, 5));
  EXPECT_EQ(show(uneven.stages[1]), "F0 F1 F2 F0' B0' F1' B1' F2' B2' F3 B0 F4 B1 F3' B2 F4' B3' B4' B3 B4");
  // Fewer microbatches than stages are one group.
  EXPECT_EQ(show(llvm::cantFail(makeSchedule("interleaved:2", 3, 1)).stages[2]), "F0 F0' B0' B0");
}

// The zero-bubble orders are those of the paper's figures 2 and 3.
TEST(Schedule, ZeroBubble) {
  Schedule first = llvm::cantFail(makeSchedule("zb-h1", 4, 8));
  EXPECT_EQ(show(first.stages[0]), "F0 F1 F2 F3 B0 W0 F4 B1 W1 F5 B2 W2 F6 B3 W3 F7 B4 W4 B5 W5 B6 W6 B7 W7");
  EXPECT_EQ(show(first.stages[3]), "F0 B0 F1 B1 F2 B2 F3 B3 W0 F4 B4 W1 F5 B5 W2 F6 B6 W3 F7 B7 W4 W5 W6 W7");
  Schedule second = llvm::cantFail(makeSchedule("zb-h2", 3, 6));
  EXPECT_EQ(show(second.stages[0]), "F0 F1 F2 F3 F4 B0 W0 F5 B1 W1 B2 W2 B3 W3 B4 W4 B5 W5");
  EXPECT_EQ(show(second.stages[2]), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 W0 F5 B5 W1 W2 W3 W4 W5");
}

// A V turns on the last stage: its chunk 1 takes up what its chunk 0 has made.
TEST(Schedule, ZeroBubbleV) {
  Schedule schedule = llvm::cantFail(makeSchedule("zb-v", 3, 6));
  EXPECT_TRUE(schedule.folded);
  EXPECT_EQ(schedule.getVirtualStage(2, 1), 3);
  EXPECT_EQ(schedule.getPlace(5), std::make_pair(int64_t(0), int64_t(1)));
  EXPECT_EQ(show(schedule.stages[2]).substr(0, 29), "F0 F0' F1 F1' F2 F2' B0' W0' ");
}

// What schedules hold: zb-h1 no more than 1F1B's first stage, zb-h2 up to twice as much, zb-v two chunks of half the size for each of these.
TEST(Schedule, MicrobatchesInFlightOfChunks) {
  for (int64_t p = 1; p <= 6; ++p) {
    int64_t m = 4 * p;
    EXPECT_EQ(getMicrobatchesInFlight(llvm::cantFail(makeSchedule("zb-h1", p, m))), std::vector<int64_t>(p, p));
    EXPECT_EQ(getMicrobatchesInFlight(llvm::cantFail(makeSchedule("zb-h2", p, m))), std::vector<int64_t>(p, 2 * p - 1));
    for (int64_t inFlight : getMicrobatchesInFlight(llvm::cantFail(makeSchedule("zb-v", p, m))))
      EXPECT_LE(inFlight, 2 * p);
    for (int64_t v : {2, 3}) // the first stage: 1 + (p - 1) / (p v) times the activations of p microbatches, in parts of 1 / v
      EXPECT_EQ(getMicrobatchesInFlight(llvm::cantFail(makeSchedule("interleaved:" + std::to_string(v), p, m)))[0], p * v + p - 1);
  }
  // Groups that are larger hold so much more, of all chunks but one.
  EXPECT_EQ(getMicrobatchesInFlight(llvm::cantFail(makeSchedule("interleaved:2", 4, 11)))[0], 6 + 2 * 3 + 1);
  Schedule schedule = llvm::cantFail(makeSchedule("interleaved:2", 2, 4));
  EXPECT_EQ(getMicrobatchesInFlightByChunk(schedule), (std::vector<int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(llvm::toString(verifySchedule(schedule, 4, {}, {4, 3, 2, 1})), "");
  std::string text = llvm::toString(verifySchedule(schedule, 4, {}, {4, 3, 1, 1}));
  EXPECT_NE(text.find("chunk 1 of stage 0 holds 2 microbatches at once; at most 1"), std::string::npos) << text;
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

// Of one microbatch, schedules without chunks and halves are what there is without a schedule.
TEST(Schedule, Naive) {
  for (llvm::StringRef name : {"gpipe", "1f1b"})
    EXPECT_TRUE(isNaive(name)) << name.str();
  for (llvm::StringRef name : {"interleaved:2", "zb-h1", "zb-h2", "zb-v", "none"})
    EXPECT_FALSE(isNaive(name)) << name.str();
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

// Halves of a backward come in order, once, and both.
TEST(Schedule, BrokenHalvesAreRefused) {
  auto broken = [](std::function<void(std::vector<Action> &)> change) {
    Schedule schedule = llvm::cantFail(makeSchedule("zb-h1", 2, 2)); // stage 0: F0 F1 B0 W0 B1 W1
    change(schedule.stages[0]);
    return verify(schedule, 2, chain(2));
  };
  EXPECT_EQ(broken([](auto &) {}), "");
  auto expect = [](const std::string &text, llvm::StringRef part) { EXPECT_NE(text.find(part.str()), std::string::npos) << text; };
  expect(broken([](auto &actions) { std::swap(actions[2], actions[3]); }), "backward (weights) of microbatch 0 on stage 0 comes before its gradients of activations");
  expect(broken([](auto &actions) { actions.pop_back(); }), "backward (weights) of microbatch 1 on stage 0 is missing");
  expect(broken([](auto &actions) { actions[4].part = BackwardPart::Whole; }), "backward (weights) of microbatch 1 on stage 0 comes before");
  expect(broken([](auto &actions) { actions.push_back(actions.back()); }), "is there twice");
  expect(broken([](auto &actions) { actions.push_back({Phase::Backward, 1}); }), "backward of microbatch 1 on stage 0 is there twice");
  expect(broken([](auto &actions) { actions[0].part = BackwardPart::Input; }), "only a backward has parts");
  expect(broken([](auto &actions) { actions[0].chunk = 1; }), "is of chunk 1; there are 1");
  expect(broken([](auto &actions) { actions.erase(actions.begin() + 4, actions.end()); }), "backward of microbatch 1 on stage 0 is missing");
  // A microbatch may be whole where others are halved.
  EXPECT_EQ(broken([](auto &actions) { actions[4].part = BackwardPart::Whole, actions.pop_back(); }), "");
  // Chunks that wait for each other.
  Schedule schedule = llvm::cantFail(makeSchedule("interleaved:2", 2, 2));
  std::swap(schedule.stages[0][0], schedule.stages[0][2]);
  expect(verify(schedule, 2, getChainTransfers(schedule)), "forward of microbatch 0 of chunk 1 on stage 0 waits for ever for what it receives");
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
