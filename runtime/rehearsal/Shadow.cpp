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
  TaskId knownWriter = 0, knownReader = 0; // behind which `by` is
  for (size_t i = begin / 4, last = (end - 1) / 4; i <= last; ++i) {
    Word &word = words[i];
    if (word.writer != by.id || word.writer == 0) {
      if (word.writer == 0) {
        if (!writes)
          return {Conflict::Unwritten, std::max(begin, i * 4), 0};
      } else if (word.writer != knownWriter) {
        if (!by.isBehind(word.writer))
          return {Conflict::WithWriter, std::max(begin, i * 4), word.writer};
        knownWriter = word.writer;
      }
    }
    if (writes) {
      if (word.reader && word.reader != by.id && word.reader != knownReader) {
        if (TaskId other = findUnordered(word, by))
          return {Conflict::WithReader, std::max(begin, i * 4), other};
        if (word.reader & isSet)
          freeSets.push_back(word.reader & ~isSet);
        else
          knownReader = word.reader;
      }
      word = {by.id, 0};
    } else if (word.reader != by.id) {
      if (word.reader == 0 || word.reader == knownReader) {
        word.reader = by.id;
      } else {
        TaskId before = word.reader;
        addReader(word, by);
        if (!(before & isSet) && word.reader == by.id)
          knownReader = before;
      }
    }
  }
  return {};
}

} // namespace para::runtime::rehearsal
