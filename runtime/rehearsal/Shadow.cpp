//===- Shadow.cpp - Who wrote and read each word of device memory -------------===//
#include "Shadow.h"

#include <sys/mman.h>

namespace para::runtime::rehearsal {

Shadow::Shadow(size_t bytes) : mapped((bytes / 4 + 1) * sizeof(Word)) {
  void *made = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  words = made == MAP_FAILED ? nullptr : static_cast<Word *>(made);
}

Shadow::~Shadow() {
  if (words)
    munmap(words, mapped);
}

TaskId Shadow::findUnordered(const Word &word, const Viewer &by) const {
  if (!(word.reader & isSet))
    return word.reader && word.reader != by.id && !by.isBehind(word.reader) ? word.reader : 0;
  for (TaskId reader : sets[word.reader & ~isSet])
    if (reader != by.id && !by.isBehind(reader))
      return reader;
  return 0;
}

Conflict Shadow::addReader(Word &word, const Viewer &by) {
  // Who is behind a reader stands for it: what is behind the one is behind the other.
  if (!findUnordered(word, by)) {
    if (word.reader & isSet)
      freeSets.push_back(word.reader & ~isSet);
    word.reader = by.id;
    return {};
  }
  uint32_t index;
  if (word.reader & isSet) {
    index = word.reader & ~isSet;
  } else {
    if (freeSets.empty()) {
      freeSets.push_back(uint32_t(sets.size()));
      sets.emplace_back();
    }
    index = freeSets.back();
    freeSets.pop_back();
    sets[index].assign(1, word.reader);
    word.reader = isSet | index;
  }
  std::vector<TaskId> &set = sets[index];
  set.erase(std::remove_if(set.begin(), set.end(), [&](TaskId reader) { return reader == by.id || by.isBehind(reader); }), set.end());
  set.push_back(by.id);
  return {};
}

Conflict Shadow::touch(size_t begin, size_t end, bool writes, const Viewer &by) {
  if (begin >= end)
    return {};
  int32_t block = begin % 4 || end % 4 ? noBlock : by.block;
  TaskId knownWriter = 0, knownReader = 0; // behind which `by` is
  for (size_t i = begin / 4, last = (end - 1) / 4; i <= last; ++i) {
    Word &word = words[i];
    size_t byte = std::max(begin, i * 4);
    if (word.writer == 0) {
      if (!writes)
        return {Conflict::Unwritten, byte, 0};
    } else if (word.writer == by.id) {
      if (block != word.writerBlock && block >= 0 && word.writerBlock >= 0)
        return {Conflict::WithBlock, byte, TaskId(word.writerBlock)};
    } else if (word.writer != knownWriter) {
      if (!by.isBehind(word.writer))
        return {Conflict::WithWriter, byte, word.writer};
      knownWriter = word.writer;
    }
    if (writes) {
      if (word.reader == by.id) {
        if (block != word.readerBlock && block >= 0 && word.readerBlock != noBlock && by.id)
          return {Conflict::WithBlock, byte, TaskId(word.readerBlock)};
      } else if (word.reader && word.reader != knownReader) {
        if (TaskId other = findUnordered(word, by))
          return {Conflict::WithReader, byte, other};
        if (word.reader & isSet)
          freeSets.push_back(word.reader & ~isSet);
        else
          knownReader = word.reader;
      }
      word = {by.id, 0, block, noBlock};
    } else if (word.reader == by.id) {
      word.readerBlock = block == noBlock || word.readerBlock == noBlock ? noBlock : block == word.readerBlock ? block : manyBlocks;
    } else {
      word.readerBlock = block;
      TaskId before = word.reader;
      if (before == 0 || before == knownReader) {
        word.reader = by.id;
      } else {
        addReader(word, by);
        if (!(before & isSet) && word.reader == by.id)
          knownReader = before;
      }
    }
  }
  return {};
}

} // namespace para::runtime::rehearsal
