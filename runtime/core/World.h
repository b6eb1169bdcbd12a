//===- World.h - The ranks of a job and their control messages --*- C++ -*-===//
//
// Control messages are for start, checkpoints and the few numbers a step ends with; they are not counted as the program's
// bytes. A call fails with an empty message when another rank has failed and reported already.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_WORLD_H
#define PARA_RUNTIME_CORE_WORLD_H

#include "ControlBlock.h"

#include <memory>

namespace para::runtime {

class World {
public:
  virtual ~World() = default;
  int64_t rank() const { return myRank; }
  int64_t size() const { return numRanks; }
  /// The shared block when all ranks are on this host, else null.
  virtual const ControlBlock *control() const { return nullptr; }
  /// Ranks that share this host's cores.
  virtual int64_t ranksOnHost() const { return numRanks; }
  /// Whether ranks with so many threads must share cores, so that waiting ranks should give theirs away.
  virtual bool coresAreScarce(int64_t threads) const;

  /// Whether all ranks of the host may run on the same cores.
  virtual bool sharesCores() const { return true; }

  virtual Status send(int64_t to, const void *data, int64_t bytes) = 0;
  virtual Status receive(int64_t from, void *data, int64_t bytes) = 0;
  virtual Status barrier();
  /// `all` becomes size() times `bytes` on rank 0.
  Status gather(const void *mine, int64_t bytes, std::vector<char> &all);
  Status gatherText(const std::string &mine, std::vector<std::string> &all);
  Status broadcast(void *data, int64_t bytes);
  /// Succeeds on all ranks or fails on all; the lowest failing rank keeps its message, others get an empty one.
  Status agree(const Status &mine);
  /// A rank that has failed, as far as is known here; -1 if none.
  virtual int64_t failedRank() const { return control() ? control()->failedRank() : -1; }
  /// Where this rank's failure, as far as is known here, is the job's first, "para: " and the line go to stderr.
  virtual void tellFailure(const std::string &line);
  /// Tells others how far this rank got, a number that grows; the result changes when any rank of the job got on, where ranks share that.
  virtual uint64_t shareProgress(uint64_t mine);
  /// Whether this rank waits for a control message of another one. From any thread.
  bool isWaiting() const { return waits; }
  virtual bool sharesProgress() const { return numRanks == 1 || control(); }
  /// As the host calls itself; empty where it is not known, or all are on one.
  virtual std::string hostOf(int64_t) const { return ""; }
  /// Tells the other ranks that this one has failed; the caller then returns from main.
  virtual void declareFailure(int exitCode) = 0;
  /// This rank is done; nothing is sent after it.
  virtual void finish() {}

protected:
  World(int64_t rank, int64_t size) : myRank(rank), numRanks(size) {}
  int64_t myRank, numRanks;
  /// Says that this rank waits, as long as it lives.
  struct Waiting {
    explicit Waiting(World &world) : waits(world.waits) { waits = true; }
    ~Waiting() { waits = false; }
    std::atomic<bool> &waits;
  };

private:
  std::atomic<bool> waits{false};
};

/// All ranks on one host, over a control block. Also serves a single rank.
class SharedWorld : public World {
public:
  SharedWorld(const ControlBlock &block, int64_t rank);
  ~SharedWorld() override { watchdog.stop(); }
  const ControlBlock *control() const override { return &block; }
  Status send(int64_t to, const void *data, int64_t bytes) override;
  Status receive(int64_t from, void *data, int64_t bytes) override;
  Status barrier() override;
  void declareFailure(int exitCode) override;
  void finish() override { watchdog.stop(); }

private:
  template <typename Done> Status waitFor(int64_t peer, Done done);
  ControlBlock block;
  Watchdog watchdog;
  uint64_t generation = 0;
  bool sharesCores;
};

/// Cores that this process may use.
int64_t availableCores();

} // namespace para::runtime

#endif
