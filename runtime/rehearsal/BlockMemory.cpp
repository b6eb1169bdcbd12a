//===- BlockMemory.cpp - What the threads of a block touch --------------------===//
#include "BlockMemory.h"

namespace para::runtime::rehearsal {

void BlockMemory::start(size_t wanted, int32_t threads) {
  bytes = wanted;
  memory.assign((bytes + 15) / 16 * 2 + 8, ~uint64_t(0));
  words.assign((bytes + 3) / 4, fresh);
  meetings.resize(size_t((threads + warp - 1) / warp));
  for (auto &ofWarp : meetings)
    ofWarp.clear();
  round = 0;
  used = 0;
  ++block;
}

void BlockMemory::passBarrier() {
  ++round;
  for (auto &ofWarp : meetings)
    ofWarp.clear();
}

bool BlockMemory::haveMet(int32_t ofWarp, uint32_t since, uint32_t lanes) const {
  const std::vector<uint32_t> &groups = meetings[size_t(ofWarp)];
  for (size_t i = since; i < groups.size(); ++i)
    if ((groups[i] & lanes) == lanes)
      return true;
  return false;
}

bool BlockMemory::isBehind(const Word &word, int32_t writer, int32_t thread) const {
  if (writer == nobody || writer == thread || word.writerRound != round)
    return true;
  uint32_t both = 1u << (thread % warp) | 1u << (writer % warp);
  return writer / warp == thread / warp && haveMet(thread / warp, word.writerMeetings, both);
}

int32_t BlockMemory::findConflict(const Word &word, int32_t thread, Access access) const {
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

int32_t BlockMemory::touch(Word &word, int32_t thread, Access access) {
  if (int32_t other = findConflict(word, thread, access); other != nobody)
    return other;
  int32_t mine = thread / warp;
  uint32_t met = uint32_t(meetings[size_t(mine)].size());
  if (access != Read) {
    int32_t also = isBehind(word, word.writer, thread) ? nobody : word.writer;
    word = {thread, nobody, also, access == AtomicWrite, round, 0, met, 0, 0};
    return nobody;
  }
  if (word.readerRound != round || word.readerWarp == nobody)
    word.readerWarp = mine, word.readers = 0;
  else if (word.readerWarp != mine)
    word.readerWarp = severalWarps;
  word.readers |= 1u << (thread % warp);
  word.readerRound = round;
  word.readerMeetings = met;
  return nobody;
}

int32_t BlockMemory::touchShared(size_t begin, size_t count, int32_t thread, Access access) {
  if (begin % 4 || count % 4) // Others may have the rest of a word.
    return nobody;
  for (size_t i = begin / 4; i < (begin + count) / 4; ++i)
    if (int32_t other = touch(words[i], thread, access); other != nobody)
      return other;
  return nobody;
}

BlockMemory::Word &BlockMemory::find(uintptr_t address) {
  if (used * 2 > table.size()) {
    std::vector<Entry> old(table.size() * 2);
    old.swap(table);
    used = 0;
    for (const Entry &entry : old)
      if (entry.block == block)
        find(entry.address) = entry.word;
  }
  size_t at = (address >> 2) * 0x9e3779b97f4a7c15ull >> 20;
  while (true) {
    Entry &entry = table[at++ & (table.size() - 1)];
    if (entry.block == block && entry.address == address)
      return entry.word;
    if (entry.block == block)
      continue;
    ++used;
    entry = {address, block, fresh};
    return entry.word;
  }
}

int32_t BlockMemory::touchDevice(uintptr_t begin, size_t count, int32_t thread, Access access) {
  if (begin % 4 || count % 4)
    return nobody;
  for (uintptr_t at = begin; at < begin + count; at += 4)
    if (int32_t other = touch(find(at), thread, access); other != nobody)
      return other;
  return nobody;
}

} // namespace para::runtime::rehearsal
