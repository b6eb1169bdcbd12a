//===- FailureTest.cpp - What goes wrong, and how it ends ----------------------===//
//
// Dead and failing ranks end the job within seconds and by name; a user's mistake is one sentence and status 1 or 2; signals
// end a run in order.
//
//===----------------------------------------------------------------------===//
#include "TestSupport.h"

using namespace para::runtime;

static Outcome fault(const std::string &kind, int ranks, const std::string &launcher = "",
                     const std::string &flags = "") {
  return runCommand("PARA_TEST_FAULT=" + kind + " PARA_TEST_RANKS=" + std::to_string(ranks) + " " + launcher +
                    program("collectives") + " " + flags);
}

TEST(Failure, AKilledRankIsNamedWithWhatItDid) {
  for (int ranks : {2, 4}) {
    Outcome outcome = fault("kill", ranks);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_LT(outcome.seconds, 10);
    EXPECT_TRUE(has(outcome.err, "para: rank " + std::to_string(ranks - 1) + " was killed by signal 9 (Killed) in 'blocks.0.mlp'"));
  }
}

TEST(Failure, AFailingRankEndsTheJobUnderMpirun) {
  // mpirun names dead ranks in words of its own, most often before our watchdog does.
  const char *cases[][3] = {{"kill", "--transport=auto", "rank 2"},
                            {"kill", "--transport=mpi", "rank 2"},
                            {"exit", "--transport=mpi", "Exit code:    7"},
                            {"status", "--transport=mpi", "para: rank 2: blocks.0.mlp: send: there is no peer 99"}};
  for (auto &[kind, flags, text] : cases) {
    SCOPED_TRACE(std::string(kind) + flags);
    Outcome outcome = fault(kind, 3, "timeout 60 mpirun --oversubscribe --allow-run-as-root -n 3 ", flags);
    EXPECT_NE(outcome.status, 0);
    EXPECT_LT(outcome.seconds, 10);
    EXPECT_TRUE(has(outcome.err, text));
  }
}

TEST(Failure, ARankThatExitsIsNamed) {
  Outcome outcome = fault("exit", 3);
  EXPECT_EQ(outcome.status, 7);
  EXPECT_LT(outcome.seconds, 10);
  EXPECT_TRUE(has(outcome.err, "para: rank 2 ended with status 7 in 'blocks.0.attention'"));
}

TEST(Failure, AnErrorStatusIsOneLine) {
  Outcome outcome = fault("status", 4);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_LT(outcome.seconds, 10);
  EXPECT_EQ(outcome.err, "para: rank 3: blocks.0.mlp: send: there is no peer 99 on that axis\n");
}

TEST(Failure, DifferentSequencesAreNamed) {
  for (const char *launcher : {"", "timeout 60 mpirun --oversubscribe --allow-run-as-root -n 2 "}) {
    Outcome outcome = fault("sequence", 2, launcher);
    EXPECT_NE(outcome.status, 0);
    EXPECT_LT(outcome.seconds, 10);
    EXPECT_TRUE(has(outcome.err, "all-reduce sequence 5 of 16 f32 in 'blocks.1.mlp'"));
    EXPECT_TRUE(has(outcome.err, "all-reduce sequence 1 of 16 f32 in 'blocks.1.mlp'"));
  }
}

TEST(Failure, NothingIsLeftBehind) {
  fault("kill", 4);
  Outcome left = runCommand("ls /dev/shm");
  EXPECT_EQ(left.out.find("para-control"), std::string::npos);
}

namespace {
class Mistake : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_OK(writeNpz(folder / "t.npz", {{"x", makeArray<double>(PARA_F64, {20, 5}, std::vector<double>(100, 1.0))},
                                          {"y", makeArray<double>(PARA_F64, {20}, std::vector<double>(20, 2.0))}}));
    data = " --data " + (folder / "t.npz") + " ";
  }
  Outcome train(const std::string &flags, int ranks = 2, const std::string &environment = "") {
    return runCommand(environment + "PARA_TEST_RANKS=" + std::to_string(ranks) + " " + program("regression") + " " + flags);
  }
  /// One rank says it, in one line.
  void expectMistake(const Outcome &outcome, int status, const std::string &text) {
    EXPECT_EQ(outcome.status, status) << outcome.err;
    EXPECT_TRUE(has(outcome.err, text));
    EXPECT_EQ(outcome.err.find("para: "), outcome.err.rfind("para: ")) << outcome.err;
    EXPECT_LT(outcome.seconds, 10);
  }
  TemporaryFolder folder;
  std::string data;
};
} // namespace

TEST_F(Mistake, WrongDataIsNamed) {
  ASSERT_OK(writeNpz(folder / "bad.npz", {{"x", makeArray<int64_t>(PARA_I64, {20, 5}, std::vector<int64_t>(100))},
                                          {"y", makeArray<double>(PARA_F64, {20}, std::vector<double>(20))}}));
  expectMistake(train("--data " + (folder / "bad.npz")), 1, "input 'x' is i64[20, 5], expected f64[samples, 5]: the types differ");
  ASSERT_OK(writeNpz(folder / "bad.npz", {{"x", makeArray<double>(PARA_F64, {20, 5}, std::vector<double>(100))}}));
  expectMistake(train("--data " + (folder / "bad.npz")), 1, "lacks the input 'y' (f64[samples]); it has: x");
  expectMistake(train("--data /nowhere.npz"), 1, "cannot open '/nowhere.npz'");
  expectMistake(train(""), 2, "training needs --data FILE");
}

TEST_F(Mistake, ATruncatedDataFileIsAnError) {
  std::string whole = readText(folder / "t.npz");
  for (size_t bytes : {size_t(0), size_t(10), whole.size() / 2, whole.size() - 1}) {
    writeText(folder / "cut.npz", whole.substr(0, bytes));
    expectMistake(train("--data " + (folder / "cut.npz")), 1, "cut.npz' is not an .npz archive or is cut short");
  }
}

TEST_F(Mistake, WrongUsageIsStatusTwo) {
  expectMistake(train("--bogus"), 2, "unknown flag --bogus");
  expectMistake(train("--ranks 5" + data), 2, "compiled for 2 ranks (mesh data=2)");
  expectMistake(train("--batch 3" + data), 2, "compile with --dim batch=3");
}

TEST_F(Mistake, UnwritablePlacesAreErrors) {
  expectMistake(train("--steps 1 --metrics /nowhere/log" + data), 1, "cannot write '/nowhere/log'");
  writeText(folder / "file", "");
  expectMistake(train("--steps 1 --save " + (folder / "file/ckpt") + data), 1, "cannot create the folder");
  // What is written in the end is refused in the beginning: a step takes 40 s here. A single rank and several.
  for (int ranks : {1, 2})
    for (const char *flag : {"--dump-state", "--dump-grads", "--trace"}) {
      SCOPED_TRACE(flag);
      std::string slow = "PARA_TEST_SLOW=40000 ", steps = "--steps 1" + data;
      expectMistake(train(steps + flag + " /nowhere/s.npz", ranks, slow), 1, "cannot write '/nowhere/s.npz': No such file or directory");
      expectMistake(train(steps + flag + " " + folder.path, ranks, slow), 1, "cannot write '" + folder.path + "': Is a directory");
    }
}

TEST_F(Mistake, ResultsThatWouldReplaceWhatIsReadAreRefused) {
  std::string file = folder / "t.npz", before = readText(file), path = folder / "one.jsonl";
  for (const char *flag : {"--metrics", "--dump-state", "--dump-grads", "--trace"})
    expectMistake(train("--steps 1" + data + " " + flag + " " + file), 2, std::string(flag) + " " + file + ": that is the data; give another name");
  EXPECT_EQ(readText(file), before);
  expectMistake(train("--steps 1" + data + " --dump-state " PARA_TEST_BIN "/para-conformance-regression"), 2, "that is the program itself; give another name");
  expectMistake(train("--steps 1" + data + " --metrics " + path + " --trace " + (folder / "../" + path.substr(path.find_last_of('/', path.rfind('/') - 1) + 1))), 2,
                "that is where --trace is written; give another name");
  EXPECT_EQ(train("--steps 1" + data + " --metrics /dev/null --trace /dev/null").status, 0);
}

TEST_F(Mistake, MemoryThatTheHostLacksIsRefused) {
  expectMistake(train("--steps 1" + data, 2, "PARA_TEST_EXTRA_BYTES=100000000000000 "), 1,
                "do not fit into this host");
}

TEST_F(Mistake, AForeignCheckpointIsNamed) {
  ASSERT_EQ(train("--steps 1 --save " + (folder / "c") + data).status, 0);
  std::string model = folder / "c/step-000001/model.safetensors", text = readText(model);
  size_t at = text.find("\"w\"");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 3, "\"v\"");
  writeText(model, text);
  expectMistake(train("--steps 2 --load " + (folder / "c") + data), 1, "lacks 'w'");
}

TEST_F(Mistake, ASecondSignalEndsTheRunAtOnce) {
  // Not under timeout, which passes a signal on only once.
  Outcome outcome = runCommand("set -m; export PARA_TEST_SLOW=40000 PARA_TEST_RANKS=2; " PARA_TEST_BIN
                               "/para-conformance-regression --steps 2" + data +
                               "& child=$!; sleep 0.5; kill -INT $child; sleep 1; kill -INT $child; wait $child");
  EXPECT_EQ(outcome.status, 130);
  EXPECT_LT(outcome.seconds, 10);
}

TEST_F(Mistake, SignalsEndTheRunInOrder) {
  for (auto [signal, status] : {std::pair{"INT", 130}, {"TERM", 143}})
    for (int ranks : {1, 3}) {
      std::string directory = folder / (std::string(signal) + std::to_string(ranks));
      Outcome outcome = train("--steps 100000 --save " + directory + " --metrics " + (folder / "log") + data +
                                  "& child=$!; sleep 0.7; kill -" + signal + " $child; wait $child",
                              ranks, "set -m; export PARA_TEST_SLOW=20; ");
      EXPECT_EQ(outcome.status, status) << outcome.err;
      Outcome saved = runCommand("ls " + directory + "/*/state.json");
      EXPECT_EQ(saved.status, 0) << signal << ranks;
      std::string log = readText(folder / "log");
      EXPECT_EQ(log.back(), '\n');
    }
}

namespace {
/// The process of the second rank, in a shell in which `child` is that of the parent of all.
const std::string secondRank = "$(cut -d ' ' -f 2 /proc/$child/task/$child/children)";
/// Until all ranks of the job are there.
const std::string awaitRanks = "while ! test -n \"" + secondRank + "\"; do sleep 0.01; done; ";
} // namespace

TEST_F(Mistake, ASignalToOneRankEndsTheRun) {
  // While it trains, and while it has not even begun.
  for (auto [signal, status] : {std::pair{"INT", 130}, {"TERM", 143}})
    for (const char *delay : {"sleep 0.7; ", ""}) {
      SCOPED_TRACE(std::string(signal) + delay);
      std::string directory = folder / (std::string("one") + signal + (*delay ? "late" : "soon"));
      Outcome outcome = runCommand("set -m; export PARA_TEST_SLOW=20 PARA_TEST_RANKS=3; " PARA_TEST_BIN "/para-conformance-regression --steps 100000 --save " + directory + data +
                                   "& child=$!; (sleep 30; kill -KILL $child) & guard=$!; " + awaitRanks + delay + "kill -" + signal + " " + secondRank + "; wait $child; status=$?; kill -- -$guard; exit $status");
      EXPECT_EQ(outcome.status, status) << outcome.err;
      EXPECT_LT(outcome.seconds, 10);
      EXPECT_EQ(runCommand("ls " + directory + "/*/state.json").status, 0);
    }
}

TEST_F(Mistake, RanksThatAreAllStoppedAreTold) {
  Outcome outcome = runCommand("set -m; export PARA_TEST_SLOW=20 PARA_TEST_RANKS=3 PARA_COMMUNICATION_TIMEOUT=1; " PARA_TEST_BIN "/para-conformance-regression --steps 40" + data +
                               "& child=$!; (sleep 30; kill -KILL $child) & guard=$!; " + awaitRanks + "ranks=$(cat /proc/$child/task/$child/children); sleep 0.3; kill -STOP $ranks; sleep 2.5; "
                               "echo $ranks; kill -CONT $ranks; wait $child; status=$?; kill -- -$guard; exit $status");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::string ranks = outcome.out.substr(0, outcome.out.find('\n'));
  EXPECT_TRUE(has(outcome.err, "para: all ranks have been stopped by a signal for 1 s; the job goes on when they are continued: kill -CONT " + ranks + "\n"));
  EXPECT_EQ(outcome.err.find("para: "), outcome.err.rfind("para: ")) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "40 steps"));
}
