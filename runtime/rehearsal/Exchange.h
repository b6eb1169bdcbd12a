//===- Exchange.h - What rehearsed ranks of one host share ------*- C++ -*-===//
//
// Memory with what each rank offers, and a rank's own with its data. None of it has a name in a folder: nothing is left behind however the job ends.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_REHEARSAL_EXCHANGE_H
#define PARA_RUNTIME_REHEARSAL_EXCHANGE_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace para::runtime::rehearsal {

/// An operation as its rank sees it, and where in the rank's data its input lies.
struct Offer {
  int32_t kind, type, reduction, sequence;
  uint64_t count, offset, bytes, clock; ///< the clock's offset too
  char op[104];
};
/// A member's collectives: operation n is in offers[n % 2], for nobody starts n + 2 before all have finished n.
struct alignas(64) Slot {
  std::atomic<uint64_t> started;
  Offer offers[2];
};
/// Messages from one member to another, one at a time.
struct alignas(64) Line {
  std::atomic<uint64_t> sent, taken;
  Offer offer;
};
/// What a rank does, for others that wait.
struct alignas(64) Seat {
  enum : uint32_t { Absent = 0, Runs = 1, Waits = 2, Idle = 3 };
  std::atomic<uint32_t> state;
  std::atomic<int32_t> pid, descriptor; ///< of its data
  std::atomic<bool> hasLeft; ///< it is done, with all that others wait for
  std::atomic<uint64_t> moves; ///< steps so far
  char doing[240];
  std::atomic<uint64_t> arrived; ///< at barriers of the host programs
  int32_t color, key;            ///< of the split that is made
};

class Exchange {
public:
  /// A name that no other job has, with where its memory is found.
  static std::string makeName();
  /// Waits for all ranks of the job.
  Exchange(const std::string &job, int rank, int size);
  ~Exchange();
  Seat &seat(int rank) const { return seats[rank]; }
  /// Of a communicator's member; communicators are numbered from 0.
  Slot &slot(size_t communicator, int member) const { return *reinterpret_cast<Slot *>(group(communicator) + size_t(member) * sizeof(Slot)); }
  Line &line(size_t communicator, int from, int to) const {
    return *reinterpret_cast<Line *>(group(communicator) + size_t(size) * sizeof(Slot) + (size_t(from) * size_t(size) + size_t(to)) * sizeof(Line));
  }
  /// Copies bytes to where other ranks find them at the offset.
  uint64_t offer(const void *data, size_t bytes);
  void withdraw(uint64_t offset);
  const char *data(int rank, uint64_t offset, size_t bytes);

  /// All ranks' host programs meet.
  void barrier();
  /// This rank can do nothing before another one does something. Fails when all have waited for too long.
  void pause();
  void moved();
  /// The host goes on by itself: nothing is left on its streams.
  void rest() { say(Seat::Idle, "has nothing left on its streams"); }
  /// What this rank waits for, for the others to read.
  std::function<std::string()> describeMine;

  const int rank, size;

private:
  struct Data {
    int descriptor = -1;
    char *map = nullptr;
    size_t bytes = 0;
  };
  char *group(size_t communicator) const { return groups + communicator * groupBytes; }
  void remap(Data &data, size_t bytes);
  std::string describeAll() const;
  bool mayMove(int of);
  void say(uint32_t state, const std::string &doing);
  char *map = nullptr, *groups = nullptr;
  Seat *seats = nullptr;
  size_t mapBytes = 0, groupBytes = 0;
  std::vector<Data> all;
  std::map<uint64_t, size_t> offered; ///< in this rank's data
  double waitsSince = 0, timeoutSeconds = 0;
  bool hasSaid = false;
  std::vector<uint64_t> movesSeen;
  double lookedAt = 0; ///< when the processes were
  double pausedAt = 0; ///< when pause() was called last
  enum : char { Lives, IsStopped, HasEnded };
  std::vector<char> life; ///< by rank: what its process was then
};

} // namespace para::runtime::rehearsal

#endif
