//===- BlockMemory.h - What the threads of a block touch --------*- C++ -*-===//
//
// Threads of a block are in no order between two barriers of the block, unless they are of one warp and meet in a barrier of a group. A shuffle
// exchanges values but orders no stores. That is so for shared memory, which is here, and for device memory.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_REHEARSAL_BLOCKMEMORY_H
#define PARA_RUNTIME_REHEARSAL_BLOCKMEMORY_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace para::runtime::rehearsal {

class BlockMemory {
public:
  static constexpr int32_t warp = 32;
  enum Access { Read = 0, Write = 1, AtomicWrite = 2 }; ///< atomic ones may come at the same time
  /// A new block: its shared memory is filled with NaNs.
  void start(size_t bytes, int32_t threads);
  char *data() { return reinterpret_cast<char *>(memory.data()); }
  size_t size() const { return bytes; }
  /// Whether an address is in shared memory, or not far behind it.
  bool isNear(uintptr_t address) { return address - reinterpret_cast<uintptr_t>(memory.data()) < memory.size() * 8; }
  /// Notes an access within shared memory; another thread with which it is in conflict, or -1.
  int32_t touchShared(size_t begin, size_t bytes, int32_t thread, Access access);
  int32_t touchDevice(uintptr_t begin, size_t bytes, int32_t thread, Access access);
  /// All threads have met.
  void passBarrier();
  /// The threads of a warp whose bits are set have met.
  void passGroup(int32_t firstThread, uint32_t group) { meetings[size_t(firstThread / warp)].push_back(group); }

private:
  struct Word {
    int32_t writer, readerWarp; ///< -1: none; of readers -2: of several warps
    int32_t alsoWrites;         ///< another one, where there were several atomic writes
    bool isAtomic;
    uint32_t writerRound, readerRound;       ///< barriers of the block before
    uint32_t writerMeetings, readerMeetings; ///< of its warp before
    uint32_t readers;                        ///< lanes
  };
  /// Of device memory: those words that this block has touched, in a table with open addressing.
  struct Entry {
    uintptr_t address = 0;
    uint32_t block = 0; ///< entries of blocks before are free
    Word word;
  };
  static constexpr Word fresh = {-1, -1, -1, false, 0, 0, 0, 0, 0};
  Word &find(uintptr_t address);
  int32_t touch(Word &word, int32_t thread, Access access);
  static constexpr int32_t nobody = -1, severalWarps = -2;
  bool haveMet(int32_t ofWarp, uint32_t since, uint32_t lanes) const;
  bool isBehind(const Word &word, int32_t writer, int32_t thread) const;
  int32_t findConflict(const Word &word, int32_t thread, Access access) const;
  std::vector<uint64_t> memory;
  std::vector<Word> words;
  std::vector<std::vector<uint32_t>> meetings; ///< by warp: groups since the last barrier
  std::vector<Entry> table = std::vector<Entry>(1 << 12);
  size_t bytes = 0, used = 0;
  uint32_t round = 0, block = 0;
};

} // namespace para::runtime::rehearsal

#endif
