//===- Shadow.h - Who wrote and read each word of device memory -*- C++ -*-===//
//
// For each 4 bytes the last task that wrote them and those that have read them since: the last one of each stream, as a stream is in order.
// An access that is not behind a conflicting one is a race, in whichever order the two ran (Flanagan and Freund, FastTrack, 2009). Blocks of one
// kernel are in no order either; where they share 4 bytes without touching the same one, nothing is said.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_REHEARSAL_SHADOW_H
#define PARA_RUNTIME_REHEARSAL_SHADOW_H

#include "Clock.h"

namespace para::runtime::rehearsal {

/// Who looks: a task, or with `id` 0 the host.
struct Viewer {
  TaskId id = 0;
  int32_t block = -1; ///< of a kernel
  const Clock *clock = nullptr;
  const std::vector<TaskName> *names = nullptr;
  bool isBehind(TaskId other) const {
    const TaskName &name = (*names)[other];
    return (*clock)[name.stream] >= name.position;
  }
};

struct Conflict {
  enum { None, Unwritten, WithWriter, WithReader, WithBlock } kind = None;
  size_t byte = 0;
  TaskId other = 0; ///< the block, of another block
};

class Shadow {
public:
  explicit Shadow(size_t bytes);
  ~Shadow();
  Shadow(const Shadow &) = delete;
  /// Notes the access to [begin, end); the first conflict, if any.
  Conflict touch(size_t begin, size_t end, bool writes, const Viewer &by);

private:
  struct Word {
    TaskId writer, reader; ///< `reader` with the highest bit: a set of readers
    int32_t writerBlock, readerBlock;
  };
  static constexpr int32_t noBlock = -1, manyBlocks = -2;
  static constexpr uint32_t isSet = 1u << 31;
  Conflict addReader(Word &word, const Viewer &by);
  TaskId findUnordered(const Word &word, const Viewer &by) const;
  Word *words;
  size_t mapped;
  std::vector<std::vector<TaskId>> sets;
  std::vector<uint32_t> freeSets;
};

} // namespace para::runtime::rehearsal

#endif
