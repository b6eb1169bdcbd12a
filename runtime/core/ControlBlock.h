//===- ControlBlock.h - What ranks of one host share ------------*- C++ -*-===//
//
// One anonymous memory file that every rank of a host maps. It holds, per rank, who it is and what it is doing (so that any
// rank can name a dead or stuck peer), a mailbox for control messages, one slot per communicator for collectives and a
// table of posted messages per pair of ranks. Memory files vanish with their last user: a killed job leaves nothing behind.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_CONTROLBLOCK_H
#define PARA_RUNTIME_CORE_CONTROLBLOCK_H

#include "Failure.h"
#include "Status.h"

#include <atomic>

namespace para::runtime {

enum class RankState : int32_t { Absent = 0, Running = 1, Finished = 2, Failed = 3 };

constexpr int64_t mailboxBytes = 64 * 1024;
constexpr int64_t messagesPerPair = 64;

struct alignas(128) RankBlock {
  std::atomic<int32_t> pid, state;
  std::atomic<int32_t> arenaDescriptor;
  std::atomic<int64_t> arenaBytes;
  std::atomic<int64_t> sequence; ///< of the collective it is in, -1 outside of one
  char op[120];                  ///< the node it is in; a torn read is only a torn name
  std::atomic<uint64_t> progress; ///< grows as long as this rank gets on, or its host program works by itself
  std::atomic<int32_t> waitsFor;  ///< the rank of which it awaits a control message, or -1
  char doing[160];                ///< what its device waits for, empty where it waits for nothing
  alignas(128) std::atomic<uint64_t> barrier;
  alignas(128) std::atomic<uint32_t> bell; ///< how often others have rung: what this rank waits for may have come
  std::atomic<uint32_t> isAsleep;
  alignas(128) std::atomic<uint32_t> mailFull;
  int32_t mailTo;
  int64_t mailBytes;
  char mail[mailboxBytes];
};

/// One rank's part of one communicator's current collective. (Of a pair of stages, back ends with a channel for each count messages.)
struct alignas(128) CollectiveSlot {
  std::atomic<uint64_t> arrived, done; ///< how many collectives this rank has entered and left
  int32_t kind, sequence, dtype, reduction;
  int64_t count, inOffset, outOffset; ///< bytes from the arena's start
  char op[120];
};

/// A message that the sender posted and the receiver copies out of the sender's arena.
struct alignas(64) PostedMessage {
  enum : uint32_t { Free = 0, Posted = 1, Taken = 2 };
  std::atomic<uint32_t> state;
  int64_t tag, offset, bytes;
  uint64_t order; ///< of messages with equal tags the oldest is taken first
};

class ControlBlock {
public:
  /// Maps the file `descriptor`, sized for a job; `create` also initializes it.
  static Status map(int descriptor, int64_t ranks, int64_t communicators, bool create, ControlBlock &block);
  /// Gives the mapping back; this block and its copies are of no use after.
  void unmap();
  /// A new memory file, inherited by children. -1 on failure.
  static int createDescriptor(const char *name);

  int64_t ranks() const { return numRanks; }
  RankBlock &rank(int64_t index) const { return rankBlocks[index]; }
  CollectiveSlot &slot(int64_t rank, int64_t communicator) const {
    return slots[rank * numCommunicators + communicator];
  }
  PostedMessage *messages(int64_t from, int64_t to) const {
    return posted + (from * numRanks + to) * messagesPerPair;
  }
  /// Rank that failed first, or -1.
  int64_t failedRank() const { return header->failure.rank(); }
  FirstFailure &failure() const { return header->failure; }
  /// After a change that `rank` may wait for: wakes it if it sleeps.
  void ring(int64_t rank) const;
  /// The signal that asks the job to stop after its step, or 0.
  int stopSignal() const { return header->stopSignal.load(std::memory_order_relaxed); }
  void requestStop(int signal) const { header->stopSignal.store(signal); }
  bool isReady() const { return header->ready.load(std::memory_order_acquire) == readyMark; }
  int32_t creator() const { return header->creator.load(); }
  /// Of the creator's program; 0 until it is told.
  std::atomic<uint64_t> &programHash() const { return header->programHash; }

  static int64_t bytesFor(int64_t ranks, int64_t communicators);

private:
  static constexpr uint64_t readyMark = 0x7061726172756e31ull;
  struct alignas(128) Header {
    std::atomic<uint64_t> ready;
    FirstFailure failure;
    std::atomic<int32_t> creator, stopSignal;
    std::atomic<uint64_t> programHash;
  };
  Header *header = nullptr;
  RankBlock *rankBlocks = nullptr;
  CollectiveSlot *slots = nullptr;
  PostedMessage *posted = nullptr;
  int64_t numRanks = 0, numCommunicators = 0;
};

/// Waits politely: spins for some microseconds, gives the core away for a while, then sleeps until the rank's bell rings. Where ranks share
/// cores it sleeps almost at once, for one that only yields gets its turns as those do that compute.
class Waiter {
public:
  /// `mine` is the block of the rank that waits; without one nobody rings, and it looks again and again.
  Waiter(RankBlock *mine, bool coresAreScarce);
  void pause();
  /// Seconds since the first pause that gave the core away.
  double seconds() const { return began > 0 ? nowSeconds() - began : 0; }
  /// Whether this pause is one of those between which to look for failures.
  bool isSlow() const { return count >= spins; }

private:
  RankBlock *mine;
  int spins, yields, count = 0;
  uint32_t heard = 0; ///< the bell before what is waited for was looked at
  double began = 0;
};

/// Reports dead peers and ends this process when another rank has failed: a thread of its own, so that ranks which compute
/// or wait in a library notice too.
class Watchdog {
public:
  void start(const ControlBlock &block, int64_t rank);
  /// Marks this rank as finished; its end is no failure from here on.
  void stop();
  ~Watchdog() { stop(); }

private:
  struct State;
  State *state = nullptr;
};

/// Where it is the job's first failure, as far as is known without a block: "para: " and the line go to stderr.
void tellFailure(const ControlBlock *block, int64_t rank, const std::string &line);

/// Whether a process has ended (zombies have).
bool hasEnded(int pid);
/// Whether a signal or a debugger holds it.
bool isStopped(int pid);
/// "in 'blocks.0.mlp' (sequence 3)".
std::string whereIs(const ControlBlock &block, int64_t rank);

} // namespace para::runtime

#endif
