//===- Memory.cpp - Device memory that only tasks can touch -------------------===//
#include "Memory.h"
#include "Rehearsal.h"

#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace para::runtime::rehearsal {

namespace {
constexpr size_t guardBytes = 1 << 20, alignment = 4096;
const Memory *watched = nullptr;
struct sigaction before[2];

void onFault(int signal, siginfo_t *info, void *) {
  uintptr_t address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (watched->holds(address)) {
    std::string where = watched->nameOf(address);
    if (watched->running)
      fail(watched->running->op, describe(*watched->running) + " touches " + where + " by a way that is not followed");
    fail(rankOf().op(), "the host touches " + where + ": device memory is the GPU's");
  }
  sigaction(signal, &before[signal == SIGBUS], nullptr); // Not ours: it happens again.
}
} // namespace

std::string describe(const TaskName &task) {
  return std::string("the ") + task.what + (task.detail ? std::string(" ") + task.detail : "") + " of '" + task.op + "' on stream " +
         std::to_string(task.shown);
}

size_t Memory::total() const {
  // The rest of a rank's share is for what is noted of it.
  size_t all = size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGESIZE));
  return all / size_t(std::max<int64_t>(1, rankOf().ranksOnHost())) / 6;
}

uintptr_t Memory::allocate(size_t bytes, const char *op) {
  if (!watched) {
    watched = this;
    struct sigaction action {};
    action.sa_sigaction = onFault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before[0]);
    sigaction(SIGBUS, &action, &before[1]);
  }
  if (bytes > total() - std::min(total(), usedBytes))
    return 0;
  size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void *addresses = mmap(nullptr, rounded + 2 * guardBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void *backing = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses == MAP_FAILED || backing == MAP_FAILED)
    return 0;
  std::memset(backing, 0xff, rounded); // a NaN of each type
  uintptr_t begin = reinterpret_cast<uintptr_t>(addresses) + guardBytes;
  Allocation &made = allocations[begin];
  made.begin = begin, made.bytes = bytes, made.number = allocations.size(), made.backing = static_cast<char *>(backing), made.op = op;
  made.shadow = std::make_unique<Shadow>(bytes);
  usedBytes += bytes;
  return begin;
}

void Memory::free(uintptr_t address, const char *op, const Viewer &host) {
  auto at = allocations.find(address);
  if (at == allocations.end())
    fail(op, "frees device memory that was never allocated");
  Allocation &mine = at->second;
  if (mine.freedBy)
    fail(op, "frees device memory twice: '" + std::string(mine.freedBy) + "' has given it back");
  Conflict conflict = mine.shadow->touch(0, mine.bytes, true, host);
  if (conflict.kind != Conflict::None)
    fail(op, "frees device memory while " + describe((*host.names)[conflict.other]) + " may still use " + nameOf(address + conflict.byte));
  mine.freedBy = op;
  munmap(mine.backing, (mine.bytes + alignment - 1) / alignment * alignment);
  mine.backing = nullptr;
  mine.shadow.reset();
  usedBytes -= mine.bytes;
  last = nullptr;
}

bool Memory::holds(uintptr_t address) const {
  auto at = allocations.upper_bound(address + guardBytes);
  return at != allocations.begin() && (--at, address < at->first + at->second.bytes + alignment + guardBytes);
}

std::string Memory::nameOf(uintptr_t address) const {
  auto at = allocations.upper_bound(address);
  if (at == allocations.begin() || (--at, address >= at->first + at->second.bytes + alignment + guardBytes)) {
    at = allocations.upper_bound(address + guardBytes);
    if (at == allocations.begin() || address < (--at)->first - guardBytes || address >= at->first)
      return text("address %#llx, where no device memory is", (unsigned long long)address);
  }
  const Allocation &of = at->second;
  std::string name = of.begin == rankOf().arena() || of.number == 1 ? text("the arena of %zu bytes", of.bytes)
                                                                    : text("the %zu bytes that '%s' allocated beside it", of.bytes, of.op);
  if (of.freedBy)
    name += text(" that '%s' has given back", of.freedBy);
  return text("byte %lld of ", (long long)(address - of.begin)) + name;
}

void Memory::find(uintptr_t address, size_t bytes, bool writes) {
  auto at = allocations.upper_bound(address);
  if (at != allocations.begin()) {
    Allocation &of = (--at)->second;
    if (!of.freedBy && address - of.begin < of.bytes && bytes <= of.bytes - (address - of.begin)) {
      last = &of;
      return;
    }
  }
  fail(running->op, describe(*running) + text(" %s %zu bytes from ", writes ? "writes" : "reads", bytes) + nameOf(address));
}

void Memory::tell(const Conflict &conflict, bool writes) const {
  std::string where = nameOf(last->begin + conflict.byte), mine = describe(*running);
  if (conflict.kind == Conflict::Unwritten)
    fail(running->op, mine + " reads " + where + ": nobody has written it");
  if (conflict.kind == Conflict::WithBlock) {
    std::string other = int32_t(conflict.other) >= 0 ? text("block %d", int32_t(conflict.other)) : "other blocks";
    fail(running->op, "a race: " + mine + text(": block %d ", viewer->block) + (writes ? "writes " : "reads ") + where + ", and " + other +
                          (int32_t(conflict.other) >= 0 ? " touches" : " read") + " it too: blocks are in no order");
  }
  fail(running->op, "a race: " + mine + (writes ? " writes " : " reads ") + where + ", and " + describe((*viewer->names)[conflict.other]) +
                        (conflict.kind == Conflict::WithWriter ? " writes it" : " reads it") + ": no event orders the two");
}

std::string Memory::findLeak() const {
  for (auto &[begin, of] : allocations)
    if (!of.freedBy)
      return text("%zu bytes of device memory that '%s' allocated are not given back", of.bytes, of.op);
  return "";
}

} // namespace para::runtime::rehearsal
