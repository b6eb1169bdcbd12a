//===- Communicator.h - Collectives and messages of a rehearsal -*- C++ -*-===//
//
// An operation starts when its stream comes to it: its input is offered to the others then, and it is done when all members have
// offered theirs (a message: when it was taken). Other streams go on meanwhile. A communicator's operations run one after another, in the
// order in which they were enqueued. Members that do not agree are an error that names both.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_REHEARSAL_COMMUNICATOR_H
#define PARA_RUNTIME_REHEARSAL_COMMUNICATOR_H

#include "Exchange.h"
#include "Machine.h"

namespace para::runtime::rehearsal {

enum class Kind { AllReduce, AllGather, ReduceScatter, Send, Receive };
const char *nameOf(Kind kind);

class Communicator;

struct Operation {
  Kind kind;
  uintptr_t in, out;
  uint64_t count; ///< as NCCL takes it: of a rank's part for all-gather and reduce-scatter
  int type, reduction, peer;
  Communicator *communicator = nullptr;
  const char *op = nullptr;
  int32_t sequence = 0; ///< within the step, from the compiler
  uint64_t number = 0; ///< of the communicator's collectives, or of the messages between the two, from 1
  bool isStarted = false, isDone = false, isAlone = false; ///< alone: it is no part of a group
  uint64_t offset = 0, clock = 0;                          ///< of what is offered
};

class Communicator {
public:
  Communicator(Exchange &exchange, size_t number, std::vector<int> ranks);
  int size() const { return int(ranks.size()); }
  size_t number() const { return index; }
  const std::vector<int> &members() const { return ranks; } ///< ranks of the job
  /// "the communicator of ranks 0, 2".
  std::string name() const;
  bool isIdle() const { return turnsDone == turns; }
  /// A group on one stream, of any communicators, or a single operation.
  static void enqueue(Stream *stream, std::vector<Operation> operations);
  /// "all-reduce of 12 f32 (sum), sequence 2, of 'layer.0', number 3 of the communicator of ranks 0, 1".
  std::string describe(const Operation &operation) const;

  /// Memory that NCCL may read and write in place, until it is deregistered.
  void add(uintptr_t begin, size_t bytes) { registered.push_back({begin, bytes, false}); }
  /// False where no such memory is registered.
  bool remove(uintptr_t begin);
  /// The op ends the rehearsal where it uses memory that was registered and is no more.
  void checkRegistered(const Operation &operation) const;
  bool registers(uintptr_t address, size_t bytes) const;
  bool hasRegistered() const;

private:
  struct Registered {
    uintptr_t begin;
    size_t bytes;
    bool isOver;
  };
  std::vector<Registered> registered;
  /// What a group does once: its operations get their numbers.
  static std::function<Step()> prepare(std::vector<Operation> operations);
  Step advance(Operation &operation);
  void startCollective(Operation &operation);
  bool finishCollective(Operation &operation);
  bool send(Operation &operation, bool &moves);
  bool receive(Operation &operation);
  void learn(int member, const Offer &offer);
  Exchange &exchange;
  size_t index;
  std::vector<int> ranks; ///< of the job, by member
  int mine = 0;
  uint64_t turns = 0, turnsDone = 0, collectives = 0;
  std::vector<uint64_t> sent, received;   ///< by member
  uint64_t lastOffset = 0, lastClock = 0; ///< of the collective before, until all have certainly read it
  bool hasLast = false;
};

/// Ends the rehearsal where memory that is given back is registered with a communicator.
void checkFree(uintptr_t begin, size_t bytes);
/// Whether ncclMemAlloc made it.
bool isNccls(uintptr_t begin);
/// What this rank's streams wait for.
std::string describeWaiting();

} // namespace para::runtime::rehearsal

#endif
