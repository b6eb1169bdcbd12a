// What is read is what is written; what is damaged or hostile is refused with what is wrong.
#include "para/Solve/Problem.h"

#include <gtest/gtest.h>
#include <zlib.h>

using namespace para;

namespace {
const std::string good =
    R"({"problem": {"name": "two", "nodes": {"intervals": [[0, 2], [1, 3]], "costs": [[1, 5], [1]], "usages": [[8, 4], [3]]},
  "edges": {"nodes": [[0, 1]], "costs": [[0, 1000000000000000000]]}, "usage_limit": 16}, "note": [1.5, {"a": null}]})";

std::string refusal(const std::string &bytes) {
  llvm::Expected<Problem> problem = parseProblem("p", bytes);
  return problem ? "" : llvm::toString(problem.takeError());
}

std::string with(const std::string &from, const std::string &to) {
  std::string text = good;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string compress(const std::string &text) {
  std::string bytes(compressBound(text.size()) + 64, '\0');
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
  stream.avail_in = uInt(text.size());
  stream.next_out = reinterpret_cast<Bytef *>(bytes.data());
  stream.avail_out = uInt(bytes.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

TEST(ReadProblem, PlainAndCompressed) {
  for (const std::string &bytes : {good, compress(good)}) {
    llvm::Expected<Problem> problem = parseProblem("p", bytes);
    ASSERT_TRUE(bool(problem)) << llvm::toString(problem.takeError());
    EXPECT_EQ(problem->name, "two");
    ASSERT_EQ(problem->nodes.size(), 2u);
    EXPECT_EQ(problem->nodes[0].costs, (std::vector<int64_t>{1, 5}));
    EXPECT_EQ(problem->nodes[1].end, 3);
    EXPECT_EQ(problem->usageLimit, 16);
    EXPECT_EQ(problem->getCost({0, 0}), 2);
    EXPECT_EQ(problem->getCost({1, 0}), kImpossible);
    EXPECT_EQ(problem->getPeak({0, 0}), 11);
  }
}

TEST(ReadProblem, DamagedCompression) {
  std::string bytes = compress(good);
  for (size_t size : {size_t(3), bytes.size() / 2, bytes.size() - 1})
    EXPECT_EQ(refusal(bytes.substr(0, size)), "'p' is damaged: the compressed data does not end well") << size;
  bytes[bytes.size() / 2] ^= 0x55;
  EXPECT_EQ(refusal(bytes), "'p' is damaged: the compressed data does not end well");
}

TEST(ReadProblem, DamagedText) {
  const std::string wrong = "'p' is no problem in the contest's format: line 1: expected ";
  EXPECT_EQ(refusal(""), wrong + "'{'");
  EXPECT_EQ(refusal("{}"), "'p' has no member \"problem\"");
  EXPECT_EQ(refusal(with("[1, 5]", "[1.5, 5]")), wrong + "an integer");
  EXPECT_EQ(refusal(with("[1, 5]", "[1e3, 5]")), wrong + "an integer");
  EXPECT_EQ(refusal(with("[1, 5]", "[99999999999999999999, 5]")), wrong + "an integer");
  EXPECT_EQ(refusal(with("[0, 2]", "[0, 2, 3]")), wrong + "two ends of an interval");
  EXPECT_NE(refusal(good.substr(0, good.size() / 2)), "");
  EXPECT_NE(refusal(good + "x"), "");
  std::string deep = good;
  EXPECT_NE(refusal(with("[1.5,", std::string(100000, '[') + ",")).find("expected less nesting"), std::string::npos);
}

TEST(ReadProblem, SizesThatDoNotFit) {
  EXPECT_EQ(refusal(with("[[1, 5], [1]]", "[[1, 5, 6], [1]]")), "'p': node 0 has 3 costs and 2 usages");
  EXPECT_EQ(refusal(with("[[1, 5], [1]]", "[[], [1]]")), "'p': node 0 has no strategy");
  EXPECT_EQ(refusal(with("[[1, 5], [1]]", "[[1, -5], [1]]")), "'p': node 0 has a negative cost or usage");
  EXPECT_EQ(refusal(with("[[1, 5], [1]]", "[[1, 100000000000000000], [1]]")), "'p': node 0 has a cost that is too large to add");
  EXPECT_EQ(refusal(with("[[0, 1000000000000000000]]", "[[0, 999999999999999999]]")), "'p': edge 0 has a cost that is too large to add");
  EXPECT_EQ(refusal(with("[[8, 4], [3]]", "[[8, 4], [-3]]")), "'p': node 1 has a negative cost or usage");
  EXPECT_EQ(refusal(with("[[8, 4], [3]]", "[[8, 9223372036854775807], [3]]")), "'p': the usages are too large to add");
  EXPECT_EQ(refusal(with("[[0, 1]]", "[[0, 2]]")), "'p': edge 0 ends at node 2 of 2");
  EXPECT_EQ(refusal(with("[[0, 1]]", "[[0, -1]]")), "'p': edge 0 ends at node -1 of 2");
  EXPECT_EQ(refusal(with("[[0, 1]]", "[[1, 1]]")), "'p': edge 0 leads from node 1 to itself");
  EXPECT_EQ(refusal(with("[[0, 1]]", "[[0, 1], [0, 1]]")),
            "'p' is no problem in the contest's format: line 2: expected as many pairs of nodes as costs of edges");
  EXPECT_EQ(refusal(with("[[0, 1000000000000000000]]", "[[0]]")), "'p': edge 0 has 1 costs for 2 pairs of strategies");
  EXPECT_EQ(refusal(with("\"usage_limit\": 16", "\"usage_limit\": -1")), "'p': the usage limit is negative");
}

TEST(ReadProblem, FilesThatAreNotThere) {
  llvm::Expected<Problem> problem = readProblem("/nowhere/p.json");
  EXPECT_EQ(llvm::toString(problem.takeError()), "cannot read '/nowhere/p.json': No such file or directory");
}
} // namespace
