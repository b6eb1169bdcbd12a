//===- Exchange.cpp - What rehearsed ranks of one host share ------------------===//
#include "Exchange.h"
#include "Rehearsal.h"

#include "core/ControlBlock.h"
#include "core/Environment.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace para::runtime::rehearsal {

namespace {
constexpr size_t mostGroups = 4096; // only those that are used take memory

[[noreturn]] void cannot(const std::string &what) { fail(rankOf().op(), "rehearsed NCCL: cannot " + what + ": " + std::strerror(errno)); }

/// Memory that other ranks open by the process and the descriptor. It has no name in a folder, and so is gone with the last that has it, whenever
/// that ends and however.
int create(const std::string &name) {
  int descriptor = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (descriptor < 0)
    cannot("create shared memory");
  return descriptor;
}

/// -1 where the process has no such memory, as on another host.
int open(int pid, int descriptor, const std::string &name) {
  std::string path = text("/proc/%d/fd/%d", pid, descriptor);
  char link[256];
  ssize_t bytes = readlink(path.c_str(), link, sizeof(link));
  bool isIt = bytes > 0 && std::string(link, size_t(bytes)).rfind("/memfd:" + name + " ", 0) == 0;
  return isIt ? ::open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
}
} // namespace

std::string Exchange::makeName() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number))
    cannot("make a name");
  std::string name = text("para-rehearse-%016llx", (unsigned long long)number);
  return text("%s:%d:%d", name.c_str(), int(getpid()), create(name));
}

Exchange::Exchange(const std::string &job, int rank, int size) : rank(rank), size(size), all(size_t(size)), movesSeen(size_t(size)), life(size_t(size)) {
  timeoutSeconds = numberOf(Setting::RehearseTimeout);
  size_t seatBytes = (size_t(size) * sizeof(Seat) + 4095) / 4096 * 4096;
  groupBytes = (size_t(size) * sizeof(Slot) + size_t(size) * size_t(size) * sizeof(Line) + 4095) / 4096 * 4096;
  mapBytes = seatBytes + mostGroups * groupBytes;
  std::string name = job.substr(0, job.find(':'));
  int maker = 0, made = -1;
  std::sscanf(job.c_str() + name.size(), ":%d:%d", &maker, &made);
  int descriptor = open(maker, made, name);
  if (descriptor < 0)
    fail(rankOf().op(), "rehearsed NCCL: ranks of several hosts cannot be rehearsed together: " + name + " is not here");
  // All make it equally large; zeros are a good beginning.
  if (ftruncate(descriptor, off_t(mapBytes)) != 0)
    cannot("size shared memory");
  void *mapped = mmap(nullptr, mapBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (mapped == MAP_FAILED)
    cannot("map shared memory");
  close(descriptor);
  map = static_cast<char *>(mapped);
  seats = reinterpret_cast<Seat *>(map);
  groups = map + seatBytes;
  auto dataName = [&](int of) { return name + "-" + std::to_string(of); };
  all[size_t(rank)].descriptor = create(dataName(rank));
  seat(rank).descriptor = all[size_t(rank)].descriptor;
  seat(rank).pid = getpid();
  say(Seat::Runs, "starts");
  barrier();
  for (int i = 0; i < size; ++i)
    if (i != rank && (all[size_t(i)].descriptor = open(seat(i).pid, seat(i).descriptor, dataName(i))) < 0)
      cannot("open the data of rank " + std::to_string(i));
  barrier(); // before one that has nothing to do is gone
  if (maker == getpid())
    close(made); // all have it
}

Exchange::~Exchange() {
  say(Seat::Idle, "has ended");
  seat(rank).hasLeft = true;
  for (Data &data : all) {
    if (data.map)
      munmap(data.map, data.bytes);
    close(data.descriptor);
  }
  munmap(map, mapBytes);
}

void Exchange::remap(Data &data, size_t bytes) {
  if (data.map)
    munmap(data.map, data.bytes);
  void *made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, data.descriptor, 0);
  if (made == MAP_FAILED)
    cannot("map a rank's data");
  data.map = static_cast<char *>(made);
  data.bytes = bytes;
}

uint64_t Exchange::offer(const void *from, size_t bytes) {
  size_t rounded = (std::max<size_t>(bytes, 1) + 63) / 64 * 64;
  uint64_t offset = 0; // the first gap
  for (auto &[begin, length] : offered) {
    if (begin - offset >= rounded)
      break;
    offset = begin + length;
  }
  Data &mine = all[size_t(rank)];
  if (offset + rounded > mine.bytes) {
    size_t wanted = std::max<size_t>(2 * mine.bytes, (offset + rounded + (1 << 20)) / (1 << 20) * (1 << 20));
    // Not ftruncate: what is not there would be a bus error later.
    if ((errno = posix_fallocate(mine.descriptor, 0, off_t(wanted))) != 0)
      cannot(text("have %zu bytes of memory for messages", wanted));
    remap(mine, wanted);
  }
  offered[offset] = rounded;
  std::memcpy(mine.map + offset, from, bytes);
  return offset;
}

void Exchange::withdraw(uint64_t offset) { offered.erase(offset); }

const char *Exchange::data(int of, uint64_t offset, size_t bytes) {
  Data &theirs = all[size_t(of)];
  if (offset + bytes > theirs.bytes) {
    struct stat info;
    if (fstat(theirs.descriptor, &info) != 0 || size_t(info.st_size) < offset + bytes)
      cannot("read another rank's data");
    remap(theirs, size_t(info.st_size));
  }
  return theirs.map + offset;
}

void Exchange::say(uint32_t state, const std::string &doing) {
  Seat &mine = seat(rank);
  std::strncpy(mine.doing, doing.c_str(), sizeof(mine.doing) - 1);
  mine.state = state;
}

void Exchange::moved() {
  seat(rank).moves.fetch_add(1);
  seat(rank).state = Seat::Runs;
  waitsSince = 0;
  hasSaid = false;
}

std::string Exchange::describeAll() const {
  std::string said;
  static const char *const lives[] = {"", " is stopped by a signal or a debugger, and", " has ended, and"}; // as `life` counts
  for (int i = 0; i < size; ++i)
    said += text("%s rank %d%s %s", i ? ";" : "", i, lives[size_t(life[size_t(i)])],
                 std::string(seat(i).doing, strnlen(seat(i).doing, sizeof(seat(i).doing))).c_str());
  return said;
}

/// A rank that runs a task may take its time, unless its process is stopped or has ended.
bool Exchange::mayMove(int of) { return of != rank && seat(of).state == Seat::Runs && life[size_t(of)] == Lives; }

void Exchange::pause() {
  if (rankOf().othersFailed())
    _exit(1);
  // Somebody who moves may send what is waited for: then the time begins again.
  double now = nowSeconds();
  // A rank that was stopped itself has not waited meanwhile.
  constexpr double mostBetween = 1;
  if (double since = now - std::max(pausedAt, waitsSince); waitsSince > 0 && since > mostBetween)
    waitsSince += since;
  pausedAt = now;
  if (now - lookedAt > 0.1) {
    lookedAt = now;
    for (int i = 0; i < size; ++i)
      if (int pid = seat(i).pid; i != rank && pid)
        life[size_t(i)] = hasEnded(pid) ? HasEnded : isStopped(pid) ? IsStopped : Lives;
  }
  bool isQuiet = waitsSince > 0;
  for (int i = 0; i < size; ++i) {
    uint64_t moves = seat(i).moves;
    isQuiet &= moves == movesSeen[size_t(i)] && !mayMove(i);
    movesSeen[size_t(i)] = moves;
  }
  seat(rank).state = Seat::Waits;
  if (!isQuiet)
    waitsSince = now;
  if (!hasSaid && now - waitsSince > std::min(0.05, timeoutSeconds / 4)) {
    say(Seat::Waits, describeMine ? describeMine() : "waits for the other ranks to start");
    hasSaid = true;
  }
  if (now - waitsSince > timeoutSeconds) {
    std::string said = describeAll();
    fail(rankOf().op(), text("rehearsed NCCL: nothing has moved for %.0f s:", timeoutSeconds) + said);
  }
  usleep(now - waitsSince < 0.005 ? 20 : 500);
}

void Exchange::barrier() {
  uint64_t round = ++seat(rank).arrived;
  for (int i = 0; i < size; ++i)
    while (seat(i).arrived < round)
      pause();
  moved();
  rest();
}

} // namespace para::runtime::rehearsal
