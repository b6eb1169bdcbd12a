//===- TcpWorld.cpp - Ranks that find one another over TCP --------------------===//
//
// A star: each rank has two connections to rank 0, one for control messages and one that a thread watches at both ends. On the second a rank tells that
// it has failed or is done, and four times a second how far it got; rank 0 tells all others the same of the job. A connection that ends without
// a word is a rank that died.
//
//===----------------------------------------------------------------------===//
#include "Environment.h"
#include "Rendezvous.h"
#include "Socket.h"
#include "Thread.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

namespace para::runtime {

namespace {
constexpr uint64_t mark = 0x7061726172767a31ull;
struct Hello {
  uint64_t mark, hash;
  int32_t rank, size, isWatch, unused;
  char host[64];
};
struct Welcome {
  int64_t ranksOnHost; ///< 0: refused, the text says why
  char text[256];
};
/// On the watched connections.
struct Word {
  enum : uint64_t { GotOn = 0, Failed = 1, Done = 2 };
  uint64_t kind, value; ///< of GotOn how far, of Failed the rank
};

std::string hostName() {
  char name[64] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

class TcpWorld : public World {
public:
  TcpWorld(int64_t rank, int64_t size) : World(rank, size), peers(size_t(size)), hosts(size_t(size)) {}
  ~TcpWorld() override { finish(); }
  Status meet(const LaunchVariables &variables, uint64_t hash);

  int64_t ranksOnHost() const override { return onHost; }
  int64_t failedRank() const override { return failure.rank(); }
  void tellFailure(const std::string &line) override { failure.tell(myRank, line); }
  std::string hostOf(int64_t rank) const override { return hosts[size_t(rank)]; }
  bool sharesProgress() const override { return true; }
  uint64_t shareProgress(uint64_t mine) override {
    myProgress = mine;
    return mine + theirProgress;
  }
  Status send(int64_t to, const void *data, int64_t bytes) override {
    return move(to, [&](Socket &socket) { return socket.send(data, size_t(bytes), isOver()); });
  }
  Status receive(int64_t from, void *data, int64_t bytes) override {
    return move(from, [&](Socket &socket) { return socket.receive(data, size_t(bytes), isOver()); });
  }
  void declareFailure(int) override {
    failure.claim(myRank);
    tellAll({Word::Failed, uint64_t(failedRank())});
  }
  void finish() override;

private:
  struct Peer {
    Socket control, watched;
    std::atomic<bool> isDone{false};
    uint64_t progress = 0;
  };
  Status receiveAll(int port, uint64_t hash, uint64_t mostDescriptors);
  Status check(const Hello &hello, uint64_t hash, const std::string &from);
  Status findFirst(const LaunchVariables &variables, int port, uint64_t hash);
  void watch();
  void hear(size_t rank, const Word &word, bool isGone);
  void tellAll(const Word &word);
  template <typename Move> Status move(int64_t other, Move how) {
    if (myRank != 0 && other != 0)
      return Status::error(format("ranks %lld and %lld have no connection: control messages go over rank 0", (long long)myRank, (long long)other));
    Waiting waiting(*this);
    if (failedRank() < 0 && how(peers[size_t(other)].control))
      return Status::success();
    // Whoever is gone is told of by the thread.
    for (int i = 0; i < 40 && failedRank() < 0; ++i)
      usleep(50000);
    return Status::error(failedRank() >= 0 ? "" : "the connection to rank " + std::to_string(other) + " is lost");
  }
  std::function<bool()> isOver() const {
    return [this] { return failedRank() >= 0; };
  }
  std::vector<Peer> peers; ///< by rank; others than rank 0 have but one
  std::vector<std::string> hosts;
  int64_t onHost = 1;
  FirstFailure failure;
  std::atomic<uint64_t> myProgress{0}, theirProgress{0};
  std::atomic<bool> isEnding{false};
  std::mutex telling;
  bool saidLast = false; ///< under the mutex
  std::thread thread;
};

double limitSeconds() { return numberOf(Setting::RendezvousTimeout); }
/// Rank 0 has two connections to each other rank, NCCL has its own, and what a shell sets is often 1024.
rlim_t raiseMostDescriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

std::string limitHint() { return std::string(" (") + nameOf(Setting::RendezvousTimeout) + " sets how many seconds ranks wait)"; }
} // namespace

Status TcpWorld::check(const Hello &hello, uint64_t hash, const std::string &from) {
  std::string who = format("rank %d on host '%s' (%s)", hello.rank, std::string(hello.host, strnlen(hello.host, sizeof(hello.host))).c_str(), from.c_str());
  if (hello.size != numRanks)
    return Status::error(format("%s was started as one of %d ranks, rank 0 as one of %lld", who.c_str(), hello.size, (long long)numRanks));
  if (hello.rank < 1 || hello.rank >= numRanks)
    return Status::error(who + " is none of the ranks that rank 0 waits for");
  if (hello.hash != hash)
    return Status::error(who + " runs another program than rank 0: all hosts need the same executable");
  const Peer &peer = peers[size_t(hello.rank)];
  if ((hello.isWatch ? peer.watched : peer.control).isOpen())
    return Status::error(who + format(" has come already, from host '%s': two processes were started as rank %d", hosts[size_t(hello.rank)].c_str(), hello.rank));
  return Status::success();
}

Status TcpWorld::receiveAll(int port, uint64_t hash, uint64_t mostDescriptors) {
  Socket listener;
  if (Status status = Socket::listen(port, listener); status.failed())
    return Status::error("rank 0: " + status.message() + ": another MASTER_PORT is needed, the same for all ranks");
  hosts[0] = hostName();
  double until = nowSeconds() + limitSeconds();
  int64_t missing = 2 * (numRanks - 1);
  Status status = Status::success();
  while (missing > 0 && !status.failed() && nowSeconds() < until) {
    std::string from;
    Socket socket;
    if (Status taken = listener.accept(socket, from); taken.failed()) {
      status = Status::error(format("rank 0 on host '%s': %s: it needs %lld descriptors for the connections of %lld ranks, and may have %llu (ulimit -n)",
                                    hosts[0].c_str(), taken.message().c_str(), 2 * (long long)(numRanks - 1), (long long)numRanks,
                                    (unsigned long long)mostDescriptors));
      break;
    }
    Hello hello{};
    double patience = nowSeconds() + 2; // What is no rank may say nothing.
    if (!socket.isOpen() || !socket.receive(&hello, sizeof(hello), [&] { return nowSeconds() > patience; }) || hello.mark != mark)
      continue;
    status = check(hello, hash, from);
    if (status.failed()) {
      Welcome refusal{};
      std::strncpy(refusal.text, status.message().c_str(), sizeof(refusal.text) - 1);
      socket.send(&refusal, sizeof(refusal), [&] { return nowSeconds() > patience; });
      break;
    }
    Peer &peer = peers[size_t(hello.rank)];
    (hello.isWatch ? peer.watched : peer.control) = std::move(socket);
    hosts[size_t(hello.rank)].assign(hello.host, strnlen(hello.host, sizeof(hello.host)));
    --missing;
  }
  if (!status.failed() && missing > 0) {
    std::string who;
    int64_t ranks = 0;
    for (int64_t i = 1; i < numRanks; ++i)
      if (!peers[size_t(i)].watched.isOpen() && ++ranks <= 8)
        who += (who.empty() ? "" : ", ") + std::to_string(i);
    who += ranks > 8 ? " and " + std::to_string(ranks - 8) + " more" : "";
    status = Status::error(format("rank 0 on host '%s' has waited %.0f s at port %d, and rank%s %s ", hosts[0].c_str(), limitSeconds(), port, ranks > 1 ? "s" : "",
                                  who.c_str()) + (ranks > 1 ? "have" : "has") + " not come" + limitHint());
  }
  for (size_t i = 1; i < peers.size(); ++i) {
    if (!peers[i].control.isOpen())
      continue;
    Welcome welcome{status.failed() ? 0 : int64_t(std::count(hosts.begin(), hosts.end(), hosts[i])), {}};
    peers[i].control.send(&welcome, sizeof(welcome), [] { return false; });
  }
  onHost = int64_t(std::count(hosts.begin(), hosts.end(), hosts[0]));
  return status;
}

Status TcpWorld::findFirst(const LaunchVariables &variables, int port, uint64_t hash) {
  double until = nowSeconds() + limitSeconds();
  Peer &first = peers[0];
  for (bool isWatch : {false, true}) {
    Socket &socket = isWatch ? first.watched : first.control;
    while (true) {
      Status status = Socket::connect(variables.address, port, std::max(0.1, until - nowSeconds()), socket);
      if (!status.failed())
        break;
      if (nowSeconds() > until)
        return Status::error(format("rank %lld on host '%s' has not reached rank 0 at %s:%d for %.0f s: ", (long long)myRank, hostName().c_str(),
                                    variables.address.c_str(), port, limitSeconds()) + status.message() + limitHint());
      usleep(50000);
    }
    Hello hello{mark, hash, int32_t(myRank), int32_t(numRanks), isWatch, 0, {}};
    std::strncpy(hello.host, hostName().c_str(), sizeof(hello.host) - 1);
    socket.send(&hello, sizeof(hello), [&] { return nowSeconds() > until; });
  }
  Welcome welcome{};
  // Rank 0 speaks when all have come, or when it has waited long enough.
  if (!first.control.receive(&welcome, sizeof(welcome), [&] { return nowSeconds() > until + limitSeconds(); }))
    return Status::error(format("rank %lld has reached %s:%d, and no rank 0 answers there", (long long)myRank, variables.address.c_str(), port));
  onHost = welcome.ranksOnHost;
  if (onHost == 0) // What concerns this rank is its own; else rank 0 tells.
    return Status::error(welcome.text[0] ? std::string("refused by rank 0: ") + welcome.text : "");
  return Status::success();
}

Status TcpWorld::meet(const LaunchVariables &variables, uint64_t hash) {
  int64_t port = 0;
  if (!parseInteger(variables.port.empty() ? "29500" : variables.port, port) || port < 1 || port > 65535)
    return Status::error("MASTER_PORT=" + variables.port + ": a port from 1 to 65535 is needed");
  if (variables.address.empty())
    return Status::error("ranks on several hosts need MASTER_ADDR, the host of rank 0, and MASTER_PORT");
  uint64_t mostDescriptors = raiseMostDescriptors();
  PARA_TRY(myRank == 0 ? receiveAll(int(port), hash, mostDescriptors) : findFirst(variables, int(port), hash));
  if (variables.localSize > 0)
    onHost = variables.localSize;
  thread = startThread([this] { watch(); });
  return Status::success();
}

void TcpWorld::tellAll(const Word &word) {
  std::lock_guard<std::mutex> lock(telling);
  if (std::exchange(saidLast, saidLast || word.kind == Word::Done))
    return; // Nobody listens behind that.
  double until = nowSeconds() + 1;
  for (Peer &peer : peers)
    if (peer.watched.isOpen() && !peer.isDone)
      peer.watched.send(&word, sizeof(word), [&] { return nowSeconds() > until; });
}

void TcpWorld::hear(size_t rank, const Word &word, bool isGone) {
  Peer &peer = peers[rank];
  if (isGone) {
    bool isDone = peer.isDone.exchange(true);
    std::string host = hosts[rank].empty() ? "" : " on host '" + hosts[rank] + "'";
    std::string line = format("rank %zu%s has died, or its connection to rank %lld is lost; the other ranks are stopped", rank, host.c_str(), (long long)myRank);
    if (!isDone && !isEnding && failure.tell(int64_t(rank), line))
      tellAll({Word::Failed, rank});
    return;
  }
  if (word.kind == Word::Done) {
    peer.isDone = true;
    if (myRank == 0)
      peer.watched.endSending();
  }
  if (word.kind == Word::GotOn)
    peer.progress = word.value;
  if (word.kind == Word::Failed && failure.claim(int64_t(word.value)) && myRank == 0)
    tellAll(word);
}

void TcpWorld::watch() {
  std::vector<pollfd> asked;
  std::vector<size_t> ranks;
  double told = 0, failedAt = 0;
  while (true) {
    asked.clear(), ranks.clear();
    for (size_t i = 0; i < peers.size(); ++i)
      if (peers[i].watched.isOpen() && !peers[i].isDone) {
        asked.push_back({peers[i].watched.get(), POLLIN, 0});
        ranks.push_back(i);
      }
    bool allDone = asked.empty();
    if (isEnding && (allDone || myRank != 0))
      return;
    constexpr int napMilliseconds = 50;
    poll(asked.data(), nfds_t(asked.size()), napMilliseconds);
    for (size_t i = 0; i < asked.size(); ++i) {
      if (!asked[i].revents)
        continue;
      Word word{};
      double until = nowSeconds() + 1;
      bool isGone = !peers[ranks[i]].watched.receive(&word, sizeof(word), [&] { return nowSeconds() > until; });
      hear(ranks[i], word, isGone);
    }
    double now = nowSeconds();
    if (now - told > 0.25) {
      told = now;
      uint64_t theirs = 0;
      for (const Peer &peer : peers)
        theirs += peer.progress;
      theirProgress = theirs;
      // To rank 0 goes this rank's, from it the job's.
      tellAll({Word::GotOn, myRank == 0 ? myProgress + theirs : myProgress.load()});
    }
    if (failedRank() < 0)
      continue;
    // Ranks that wait notice by themselves; this ends those that compute.
    failedAt = failedAt > 0 ? failedAt : now;
    if (now - failedAt > 2 && !isEnding)
      _exit(1);
    if (isEnding)
      return;
  }
}

void TcpWorld::finish() {
  if (isEnding.exchange(true))
    return;
  tellAll({Word::Done, 0});
  if (!thread.joinable())
    return;
  thread.join();
  if (myRank == 0 || failedRank() >= 0)
    return;
  // A connection that is closed with words unread is reset, and rank 0 might not get the last one: it answers that by ending its side.
  Socket &first = peers[0].watched;
  first.endSending();
  double until = nowSeconds() + 1;
  for (Word word{}; first.receive(&word, sizeof(word), [&] { return nowSeconds() > until; });)
    ;
}

Status joinByTcp(const LaunchVariables &variables, uint64_t hash, std::unique_ptr<World> &world) {
  auto made = std::make_unique<TcpWorld>(variables.rank, variables.size);
  PARA_TRY(made->meet(variables, hash));
  world = std::move(made);
  return Status::success();
}

} // namespace para::runtime
