//===- ConformanceTest.cpp - One suite on all back ends ------------------------===//
//
// Intent: buffers, streams, events, kernels, products, collectives, messages and errors of the ABI are the same on the host and for CUDA, which
// is rehearsed here. (On a machine with GPUs: para-conformance-cuda --target cuda --ranks N.)
//
//===----------------------------------------------------------------------===//
#include "TestSupport.h"

using namespace para::runtime;

namespace {
std::string suite(const std::string &backEnd, int ranks, const std::string &flags = "") {
  return "timeout 110 " PARA_TEST_BIN "/para-conformance-" + backEnd + " --ranks " + std::to_string(ranks) + " " + flags;
}

void expectConforms(const Outcome &outcome, int ranks) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char *check : {"buffers", "lists", "streams", "kernels", "products", "collectives", "messages"})
    EXPECT_TRUE(has(outcome.out, std::string(check) + ": as they should be on " + std::to_string(ranks) + " ranks\n"));
}
} // namespace

TEST(Conformance, OfTheHost) {
  for (int ranks : {1, 2, 3, 4})
    expectConforms(runCommand(suite("host", ranks)), ranks);
}

TEST(Conformance, OfTheHostUnderMpi) {
  for (const char *transport : {"auto", "mpi"})
    expectConforms(runCommand(std::string("PARA_CONFORMANCE_RANKS=3 timeout 110 mpirun --oversubscribe --allow-run-as-root -n 3 " PARA_TEST_BIN
                                          "/para-conformance-host --transport ") + transport), 3);
}

TEST(Conformance, OfRehearsals) {
  for (auto [ranks, seed] : {std::pair{1, 0}, {2, 1}, {3, 2}, {4, 3}, {2, 4}})
    expectConforms(runCommand("PARA_REHEARSE_SEED=" + std::to_string(seed) + " " + suite("cuda", ranks)), ranks);
  expectConforms(runCommand("PARA_CUDA_GRAPHS=0 " + suite("cuda", 2)), 2);
}

/// What cannot be ends all ranks with status 1, and one of them says where: at the node's name.
TEST(Conformance, OfErrors) {
  for (auto [fault, parts] : {std::pair{"peer", std::vector<std::string>{"para: rank 1: blocks.0.mlp: send: ", " 99"}},
                              {"communicator", {"para: rank 1: blocks.0.mlp: the manifest has no communicator 77"}},
                              {"type", {"para: rank 1: blocks.0.mlp: ", "element type"}},
                              {"kernel", {"para: rank 1: blocks.0.mlp: the kernel has no ", " code"}},
                              {"product", {"para: rank 1: blocks.0.mlp: matmul: no code for this element type"}},
                              {"sequence", {": blocks.1.mlp: ", "sequence 5", "sequence 1"}}})
    for (const char *backEnd : {"host", "cuda"}) {
      SCOPED_TRACE(std::string(fault) + " " + backEnd);
      Outcome outcome = runCommand(std::string("PARA_CONFORMANCE_FAULT=") + fault + " " + suite(backEnd, 2, "--check errors"));
      EXPECT_EQ(outcome.status, 1);
      EXPECT_LT(outcome.seconds, 10);
      for (const std::string &part : parts)
        EXPECT_TRUE(has(outcome.err, part));
      EXPECT_EQ(outcome.err.find("para: rank "), outcome.err.rfind("para: rank ")) << outcome.err;
    }
}

TEST(Conformance, OfFlags) {
  EXPECT_EQ(runCommand(suite("host", 1, "--target cuda")).status, 2);
  EXPECT_EQ(runCommand(suite("cuda", 1, "--target host")).status, 2);
  EXPECT_EQ(runCommand(suite("cuda", 1, "--check speed")).status, 2);
}
