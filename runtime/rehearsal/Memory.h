//===- Memory.h - Device memory that only tasks can touch -------*- C++ -*-===//
//
// Device addresses are a range of the address space that nobody may touch, with room around each allocation; the bytes lie elsewhere, and
// access() tells where. So a host that follows a device's address is caught at once, and nothing that a task touches goes unnoticed.
// Memory is filled with NaNs when it is allocated; an address is not used again after it was given back.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_REHEARSAL_MEMORY_H
#define PARA_RUNTIME_REHEARSAL_MEMORY_H

#include "Shadow.h"

#include <map>
#include <memory>
#include <string>

namespace para::runtime::rehearsal {

class Memory {
public:
  /// 0 if there is not so much.
  uintptr_t allocate(size_t bytes, const char *op);
  void free(uintptr_t address, const char *op, const Viewer &host);
  /// Where the bytes are for the task that runs; ends the rehearsal where it may not touch them.
  char *access(uintptr_t address, size_t bytes, bool writes) {
    if (bytes == 0)
      return nullptr;
    if (!last || address - last->begin >= last->bytes || bytes > last->bytes - (address - last->begin))
      find(address, bytes, writes);
    size_t at = address - last->begin;
    Conflict conflict = last->shadow->touch(at, at + bytes, writes, *viewer);
    if (conflict.kind != Conflict::None)
      tell(conflict, writes);
    return last->backing + at;
  }
  char *read(uintptr_t address, size_t bytes) { return access(address, bytes, false); }
  char *write(uintptr_t address, size_t bytes) { return access(address, bytes, true); }
  bool holds(uintptr_t address) const;
  /// "byte 12 of the arena".
  std::string nameOf(uintptr_t address) const;
  size_t total() const;
  size_t used() const { return usedBytes; }
  /// The oldest allocation that was not given back, as a sentence; empty if there is none.
  std::string findLeak() const;

  /// The task that runs; null while none does.
  Viewer *viewer = nullptr;
  const TaskName *running = nullptr;

private:
  struct Allocation {
    uintptr_t begin;
    size_t bytes, number;
    char *backing;
    const char *op, *freedBy = nullptr;
    std::unique_ptr<Shadow> shadow;
  };
  void find(uintptr_t address, size_t bytes, bool writes);
  [[noreturn]] void tell(const Conflict &conflict, bool writes) const;
  std::map<uintptr_t, Allocation> allocations; ///< freed ones too
  Allocation *last = nullptr;
  size_t usedBytes = 0;
};

/// "the kernel kernel_7_block of 'layer.0.mlp' on stream 0".
std::string describe(const TaskName &task);

} // namespace para::runtime::rehearsal

#endif
