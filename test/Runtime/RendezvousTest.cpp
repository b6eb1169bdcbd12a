//===- RendezvousTest.cpp - Ranks that find one another over TCP ---------------===//
//
// Intent: processes that a launcher started without MPI, on hosts that do not share memory (here: that are told so), become one job, and what keeps
// them from it is one clear sentence.
//
//===----------------------------------------------------------------------===//
#include "TestSupport.h"

#include "core/Rendezvous.h"
#include "core/Socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>

using namespace para::runtime;

namespace {
const std::string stuckProgram = PARA_TEST_BIN "/runtime-stuck-program";

int freePort() {
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  socklen_t bytes = sizeof(at);
  EXPECT_EQ(bind(socket, reinterpret_cast<sockaddr *>(&at), sizeof(at)), 0);
  getsockname(socket, reinterpret_cast<sockaddr *>(&at), &bytes);
  close(socket);
  return ntohs(at.sin_port);
}

Outcome startOnce(const std::vector<int> &ranks, const std::string &shared, const std::vector<std::string> &own, const std::string &program) {
  std::string command = "export WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(freePort()) + " " + shared + "; status=0; ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    std::string rank = std::to_string(ranks[i]), local = std::to_string(ranks[i] % 2);
    std::string mine = i < own.size() ? own[i] : "";
    command += "RANK=" + rank + " LOCAL_RANK=" + local + " " + (mine.find('/') == std::string::npos ? mine + " timeout 60 " + program : "timeout 60 " + mine) +
               " --repeat 3 & pids=\"$pids $!\"; ";
  }
  return runCommand(command + "for p in $pids; do wait $p || status=$?; done; exit $status");
}

/// Starts the ranks in the background, two a host, each with variables of its own; the status of the first that fails.
Outcome start(const std::vector<int> &ranks, const std::string &shared, const std::vector<std::string> &own = {}, const std::string &program = stuckProgram) {
  Outcome outcome = startOnce(ranks, shared, own, program);
  // Another process may have taken the port since it was found free.
  bool isTaken = outcome.err.find("Address already in use") != std::string::npos && shared.find("MASTER_PORT") == std::string::npos;
  return isTaken ? startOnce(ranks, shared, own, program) : outcome;
}
} // namespace

TEST(Rendezvous, RanksOfTwoHostsAreOneJob) {
  Outcome outcome = start({3, 1, 0, 2}, "");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_LT(outcome.seconds, 15);
  EXPECT_TRUE(has(outcome.out, "3 runs: median"));
}

TEST(Rendezvous, SlurmsVariablesDo) {
  std::string command = "export SLURM_STEP_NUM_TASKS=4 SLURM_STEP_ID=0 SLURM_JOB_ID=" + std::to_string(getpid()) + 
                        " SLURM_STEP_NODELIST='localhost,node[07-09]' SLURM_STEP_NUM_NODES=2; ";
  for (int rank = 0; rank < 4; ++rank)
    command += "SLURM_PROCID=" + std::to_string(rank) + " SLURM_LOCALID=" + std::to_string(rank) + " timeout 60 " + stuckProgram + " --repeat 2 & pids=\"$pids $!\"; ";
  Outcome outcome = runCommand(command + "for p in $pids; do wait $p || exit 1; done");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST(Rendezvous, AShellOfSrunsIsNoRank) {
  Outcome outcome = runCommand("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_STEP_ID=0 timeout 60 " + stuckProgram + " --repeat 1");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  outcome = runCommand("SLURM_PROCID=0 SLURM_NTASKS=4 timeout 60 " + stuckProgram + " --repeat 1"); // a batch script
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST(Rendezvous, ReadsListsOfHosts) {
  EXPECT_EQ(firstHost("node[01-04,07],other"), "node01");
  EXPECT_EQ(firstHost("a-[2,5]-x,b"), "a-2-x");
  EXPECT_EQ(firstHost("alone"), "alone");
  EXPECT_EQ(firstHost("one,two"), "one");
  EXPECT_EQ(firstHost("cut[1"), "");
}

TEST(Rendezvous, RanksThatDoNotComeAreNamed) {
  Outcome outcome = start({0, 2}, "PARA_RENDEZVOUS_TIMEOUT=1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_LT(outcome.seconds, 10);
  EXPECT_TRUE(has(outcome.err, " has waited 1 s at port "));
  EXPECT_TRUE(has(outcome.err, "and ranks 1, 3 have not come (PARA_RENDEZVOUS_TIMEOUT sets how many seconds ranks wait)"));
  EXPECT_EQ(outcome.err.find("para: "), outcome.err.rfind("para: ")) << outcome.err;
  outcome = start({1}, "PARA_RENDEZVOUS_TIMEOUT=1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.err, "has not reached rank 0 at 127.0.0.1:"));
  EXPECT_TRUE(has(outcome.err, " for 1 s: Connection refused"));
}

TEST(Rendezvous, AHostThatDoesNotAnswerIsGivenUp) {
  // A listener whose queue is full leaves whoever comes without an answer.
  int deaf = ::socket(AF_INET, SOCK_STREAM, 0), full[4];
  sockaddr_in at{};
  at.sin_family = AF_INET, at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(at);
  ASSERT_EQ(bind(deaf, reinterpret_cast<sockaddr *>(&at), sizeof(at)), 0);
  ASSERT_EQ(listen(deaf, 0), 0);
  getsockname(deaf, reinterpret_cast<sockaddr *>(&at), &bytes);
  for (int &socket : full) {
    socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    connect(socket, reinterpret_cast<sockaddr *>(&at), sizeof(at));
  }
  usleep(100000);
  Outcome outcome = start({1}, "PARA_RENDEZVOUS_TIMEOUT=1 MASTER_PORT=" + std::to_string(ntohs(at.sin_port)));
  for (int socket : full)
    close(socket);
  close(deaf);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_LT(outcome.seconds, 10);
  EXPECT_TRUE(has(outcome.err, " for 1 s: Connection timed out (PARA_RENDEZVOUS_TIMEOUT sets"));
}

TEST(Rendezvous, ManyConnectionsNeedDescriptors) {
  constexpr const char *few = "8"; // three of them are a shell's
  Outcome outcome = start({0, 1, 2, 3}, std::string("; ulimit -S -n ") + few);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  outcome = start({0, 1, 2, 3}, std::string("PARA_RENDEZVOUS_TIMEOUT=3; ulimit -n ") + few);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_LT(outcome.seconds, 10);
  EXPECT_TRUE(has(outcome.err, "para: rank 0 on host '"));
  EXPECT_TRUE(has(outcome.err, "cannot take another connection: Too many open files: it needs 6 descriptors for the connections of 4 ranks, and may have 8 (ulimit -n)"));
}

TEST(Rendezvous, ARankThatIsDoneHearsRank0Out) {
  // This test is rank 0, and tells how far it got while the other rank ends: a connection that were closed then would be reset, last word and all.
  Socket listener, ends[2]; // for control messages, and the one that is watched
  int port = freePort();
  ASSERT_OK(Socket::listen(port, listener));
  double until = nowSeconds() + 10;
  std::thread other([&] {
    LaunchVariables told;
    told.rank = 1, told.size = 2, told.address = "127.0.0.1", told.port = std::to_string(port);
    std::unique_ptr<World> world;
    EXPECT_OK(joinByTcp(told, 1, world));
    world.reset();
  });
  std::string from;
  for (Socket &end : ends)
    while (!end.isOpen() && nowSeconds() < until)
      EXPECT_OK(listener.accept(end, from));
  auto isOver = [&] { return nowSeconds() > until; };
  const int64_t welcome[33] = {1}, gotOn[2] = {0, 1};
  EXPECT_TRUE(ends[0].send(welcome, sizeof(welcome), isOver));
  for (int i = 0; i < 3; ++i) {
    usleep(150000);
    EXPECT_TRUE(ends[1].send(gotOn, sizeof(gotOn), isOver));
  }
  std::vector<char> said(1); // until it ends its side
  while (ends[1].receive(&said.back(), 1, isOver))
    said.push_back(0);
  constexpr size_t wordBytes = 16;
  ASSERT_GT(said.size(), wordBytes);
  EXPECT_EQ(said[said.size() - 1 - wordBytes], 2); // done
  double began = nowSeconds();
  ends[1].endSending();
  other.join();
  EXPECT_LT(nowSeconds() - began, 0.3); // it waits no longer than it must
}

TEST(Rendezvous, ABlockOfADeadJobIsMappedOnce) {
  // Its creator was killed before the others came: they look at it again and again, for it may be another job's any time.
  std::string port = std::to_string(freePort());
  Outcome outcome = runCommand("export WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 MASTER_PORT=" + port + "; RANK=0 LOCAL_RANK=0 " + stuckProgram + " & sleep 0.5; kill -9 $!; "
                               "RANK=1 LOCAL_RANK=1 PARA_RENDEZVOUS_TIMEOUT=2 " + stuckProgram + " & sleep 1; grep -c /para- /proc/$!/maps; wait $!; status=$?; "
                               "rm /dev/shm/para-$(id -u)-" + port + " || status=2; exit $status");
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "rank 1 has waited 2 seconds for rank 0"));
  EXPECT_TRUE(outcome.out == "0\n" || outcome.out == "1\n") << outcome.out;
}

TEST(Rendezvous, RanksOfOneHostThatDoNotComeAreNamed) {
  Outcome outcome = start({0, 2}, "LOCAL_WORLD_SIZE=4 PARA_RENDEZVOUS_TIMEOUT=1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_LT(outcome.seconds, 10);
  EXPECT_TRUE(has(outcome.err, " has waited 1 s for these ranks, which have not come: 1, 3 (PARA_RENDEZVOUS_TIMEOUT sets how many seconds)"));
  EXPECT_EQ(outcome.err.find("para: "), outcome.err.rfind("para: ")) << outcome.err;
}

TEST(Rendezvous, ATakenPortIsNamed) {
  int taken = ::socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 at{};
  at.sin6_family = AF_INET6, at.sin6_addr = in6addr_any;
  socklen_t bytes = sizeof(at);
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr *>(&at), sizeof(at)), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  getsockname(taken, reinterpret_cast<sockaddr *>(&at), &bytes);
  std::string port = std::to_string(ntohs(at.sin6_port));
  Outcome outcome = start({0}, "PARA_RENDEZVOUS_TIMEOUT=1 MASTER_PORT=" + port);
  close(taken);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.err, "para: rank 0: cannot listen at port " + port + ": Address already in use: another MASTER_PORT is needed, the same for all ranks"));
}

TEST(Rendezvous, AnotherProgramIsNamed) {
  TemporaryFolder folder;
  ASSERT_EQ(std::system(("cp " + stuckProgram + " " + (folder / "other") + "; echo >> " + (folder / "other")).c_str()), 0);
  Outcome outcome = start({0, 1, 2, 3}, "PARA_RENDEZVOUS_TIMEOUT=5", {"", "", folder / "other", ""});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.err, "para: rank 2 on host '"));
  EXPECT_TRUE(has(outcome.err, " runs another program than rank 0: all hosts need the same executable"));
  // On one host they share memory, and say the same.
  outcome = start({0, 2}, "LOCAL_WORLD_SIZE=4 PARA_RENDEZVOUS_TIMEOUT=2", {"", folder / "other"});
  EXPECT_TRUE(has(outcome.err, "para: rank 2 runs another program than rank 0: all ranks need the same executable"));
  EXPECT_LT(outcome.seconds, 10);
}

TEST(Rendezvous, NumbersThatDoNotFitAreNamed) {
  Outcome outcome = start({0, 1, 1, 3}, "PARA_RENDEZVOUS_TIMEOUT=5");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.err, "two processes were started as rank 1"));
  outcome = start({0}, "MASTER_PORT=70000");
  EXPECT_TRUE(has(outcome.err, "MASTER_PORT=70000: a port from 1 to 65535 is needed"));
  outcome = start({0}, "MASTER_ADDR=");
  EXPECT_TRUE(has(outcome.err, "ranks on several hosts need MASTER_ADDR, the host of rank 0, and MASTER_PORT"));
  outcome = start({0}, "WORLD_SIZE=3");
  EXPECT_TRUE(has(outcome.err, "WORLD_SIZE is 3 but this program is compiled for 4 ranks"));
  outcome = start({1}, "PARA_RENDEZVOUS_TIMEOUT=1 MASTER_ADDR=no.such.host.invalid");
  EXPECT_TRUE(has(outcome.err, "the host is not known"));
}

TEST(Rendezvous, AHostProgramNeedsMpiAcrossHosts) {
  Outcome outcome = start({0}, "PARA_TEST_RANKS=4", {}, PARA_TEST_BIN "/para-conformance-collectives");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.err, "a program compiled for the host moves its data by MPI there, so across hosts this program is started by mpirun or srun --mpi"));
}

TEST(Rendezvous, ARankThatDiesEndsTheJob) {
  Outcome outcome = start({0, 1, 2, 3}, "PARA_TEST_FAULT=die");
  EXPECT_NE(outcome.status, 0);
  EXPECT_LT(outcome.seconds, 10);
  EXPECT_TRUE(has(outcome.err, "para: rank 3 on host '"));
  EXPECT_TRUE(has(outcome.err, " has died, or its connection to rank 0 is lost; the other ranks are stopped"));
}

TEST(Rendezvous, StuckRanksAreNamedAcrossHosts) {
  Outcome outcome = start({0, 1, 2, 3}, "PARA_TEST_FAULT=missing PARA_COMMUNICATION_TIMEOUT=2");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_LT(outcome.seconds, 15);
  EXPECT_TRUE(has(outcome.err, "para: rank 2: layer.0.weight: the all-reduce on 'data' (ranks 2, 3), sequence 0 has waited 2 s, and nothing gets on; "
                               "not come to it, or held up on the way: rank 3"));
}
