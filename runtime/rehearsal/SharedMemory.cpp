//===- SharedMemory.cpp - Which threads touched a block's memory --------------===//
#include "SharedMemory.h"

#include <cstring>

namespace para::runtime::rehearsal {

void SharedMemory::start(size_t wanted, int32_t threads) {
  bytes = wanted;
  memory.assign((bytes + 15) / 16 * 2 + 8, ~uint64_t(0));
  words.assign((bytes + 3) / 4, {nobody, nobody, nobody, false, 0, 0, 0, 0, 0});
  meetings.resize(size_t((threads + warp - 1) / warp));
  for (auto &ofWarp : meetings)
    ofWarp.clear();
  round = 0;
}

void SharedMemory::passBarrier() {
  ++round;
  for (auto &ofWarp : meetings)
    ofWarp.clear();
}

bool SharedMemory::haveMet(int32_t ofWarp, uint32_t since, uint32_t lanes) const {
  const std::vector<uint32_t> &groups = meetings[size_t(ofWarp)];
  for (size_t i = since; i < groups.size(); ++i)
    if ((groups[i] & lanes) == lanes)
      return true;
  return false;
}

bool SharedMemory::isBehind(const Word &word, int32_t writer, int32_t thread) const {
  if (writer == nobody || writer == thread || word.writerRound != round)
    return true;
  uint32_t both = 1u << (thread % warp) | 1u << (writer % warp);
  return writer / warp == thread / warp && haveMet(thread / warp, word.writerMeetings, both);
}

int32_t SharedMemory::findConflict(const Word &word, int32_t thread, Access access) const {
  int32_t mine = thread / warp;
  uint32_t lane = 1u << (thread % warp);
  if (!(access == AtomicWrite && word.isAtomic))
    for (int32_t writer : {word.writer, word.alsoWrites})
      if (!isBehind(word, writer, thread))
        return writer;
  if (access == Read || word.readerWarp == nobody || word.readerRound != round)
    return nobody;
  uint32_t others = word.readerWarp == mine ? word.readers & ~lane : word.readers;
  bool isBehindAll = others == 0 || (word.readerWarp == mine && haveMet(mine, word.readerMeetings, others | lane));
  return isBehindAll ? nobody : (word.readerWarp == severalWarps ? 0 : word.readerWarp) * warp + __builtin_ctz(others);
}

int32_t SharedMemory::touch(size_t begin, size_t end, int32_t thread, Access access) {
  if (begin % 4 || end % 4) // Others may have the rest of a word.
    return nobody;
  int32_t mine = thread / warp;
  uint32_t met = uint32_t(meetings[size_t(mine)].size());
  for (size_t i = begin / 4; i < end / 4; ++i) {
    Word &word = words[i];
    if (int32_t other = findConflict(word, thread, access); other != nobody)
      return other;
    if (access != Read) {
      int32_t also = isBehind(word, word.writer, thread) ? nobody : word.writer;
      word = {thread, nobody, also, access == AtomicWrite, round, 0, met, 0, 0};
      continue;
    }
    if (word.readerRound != round || word.readerWarp == nobody)
      word.readerWarp = mine, word.readers = 0;
    else if (word.readerWarp != mine)
      word.readerWarp = severalWarps;
    word.readers |= 1u << (thread % warp);
    word.readerRound = round;
    word.readerMeetings = met;
  }
  return nobody;
}

} // namespace para::runtime::rehearsal
