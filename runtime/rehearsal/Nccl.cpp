//===- Nccl.cpp - NCCL's table, served by the processor -----------------------===//
#include "Communicator.h"
#include "Graph.h"
#include "Rehearsal.h"

#include "core/ControlBlock.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace para::runtime::rehearsal {

namespace {
using cuda::Handle;
using cuda::NcclId;
enum { Success = 0, SystemError = 2, InvalidArgument = 4, InvalidUsage = 5, RemoteError = 6, NoColor = -1 };

std::unique_ptr<Exchange> exchange;
size_t splits = 0; ///< of the communicator of all ranks, counted alike by all
int depth = 0;     ///< of groups
std::vector<Communicator *> alive;
std::map<uintptr_t, size_t> allocated; ///< by ncclMemAlloc
std::vector<std::pair<Stream *, Operation>> grouped;

int version(int *number) { return *number = 22800, Success; }
const char *errorString(int result) {
  switch (result) {
  case Success: return "success";
  case SystemError: return "no memory (rehearsed)";
  case InvalidUsage: return "invalid usage (rehearsed)";
  case RemoteError: return "remote error (rehearsed)";
  }
  return "an invalid argument (rehearsed)";
}
const char *lastError(Handle) { return ""; }

int uniqueId(NcclId *id) {
  std::snprintf(id->bytes, sizeof(id->bytes), "%s", Exchange::makeName().c_str());
  return Success;
}

int initRank(Handle *made, int size, NcclId id, int rank) {
  if (exchange || rank < 0 || rank >= size)
    return InvalidUsage;
  exchange = std::make_unique<Exchange>(std::string(id.bytes, strnlen(id.bytes, sizeof(id.bytes))), rank, size);
  exchange->describeMine = describeWaiting;
  machine().pause = [] { exchange->pause(); };
  machine().begins = [] { exchange->seat(exchange->rank).state = Seat::Runs; };
  machine().moved = [] { exchange->moved(); };
  machine().rests = [] { exchange->rest(); };
  std::vector<int> ranks(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i)
    ranks[size_t(i)] = i;
  alive.push_back(new Communicator(*exchange, 0, ranks));
  *made = alive.back();
  return Success;
}

int split(Handle parent, int color, int key, Handle *made, void *) {
  auto *all = static_cast<Communicator *>(parent);
  *made = nullptr;
  if (!exchange || all->size() != exchange->size)
    return InvalidUsage; // Only the first communicator is split.
  Seat &mine = exchange->seat(exchange->rank);
  mine.color = color, mine.key = key;
  exchange->barrier();
  std::vector<std::pair<int, int>> members; // key, rank
  for (int i = 0; i < exchange->size; ++i)
    if (exchange->seat(i).color == color)
      members.push_back({exchange->seat(i).key, i});
  exchange->barrier(); // before the next one overwrites it
  ++splits;
  if (color == NoColor)
    return Success;
  std::sort(members.begin(), members.end());
  std::vector<int> ranks;
  for (auto &[key, rank] : members)
    ranks.push_back(rank);
  size_t first = size_t(*std::min_element(ranks.begin(), ranks.end()));
  alive.push_back(new Communicator(*exchange, 1 + (splits - 1) * size_t(exchange->size) + first, ranks));
  *made = alive.back();
  return Success;
}

int allocate(void **made, size_t bytes) {
  forbidInCapture("ncclMemAlloc");
  *made = reinterpret_cast<void *>(bytes ? memory().allocate(bytes, rankOf().op()) : 0);
  if (!*made)
    return bytes ? SystemError : InvalidArgument;
  allocated[reinterpret_cast<uintptr_t>(*made)] = bytes;
  return Success;
}
int release(void *address) {
  forbidInCapture("ncclMemFree");
  auto at = allocated.find(reinterpret_cast<uintptr_t>(address));
  if (at == allocated.end())
    return InvalidArgument;
  uintptr_t begin = at->first;
  checkFree(begin, at->second);
  allocated.erase(at);
  memory().free(begin, rankOf().op(), machine().host());
  return Success;
}
int registerMemory(Handle handle, void *address, size_t bytes, Handle *made) {
  auto *communicator = static_cast<Communicator *>(handle);
  if (!memory().holds(reinterpret_cast<uintptr_t>(address)) || bytes == 0)
    return InvalidArgument;
  communicator->add(reinterpret_cast<uintptr_t>(address), bytes);
  return *made = address, Success;
}
int deregisterMemory(Handle handle, Handle registration) {
  return static_cast<Communicator *>(handle)->remove(reinterpret_cast<uintptr_t>(registration)) ? Success : InvalidArgument;
}

int destroy(Handle handle) {
  auto *communicator = static_cast<Communicator *>(handle);
  if (communicator->hasRegistered())
    fail(rankOf().op(), "ncclCommDestroy: memory is registered with " + communicator->name() + " still");
  if (!communicator->isIdle())
    fail(rankOf().op(), "ncclCommDestroy: operations of " + communicator->name() + " are not done");
  bool isFirst = exchange && communicator->size() == exchange->size && communicator->number() == 0;
  alive.erase(std::find(alive.begin(), alive.end(), communicator));
  delete communicator;
  if (isFirst) { // The one that the others were split off.
    machine().pause = nullptr;
    machine().begins = machine().moved = nullptr;
    machine().rests = nullptr;
    exchange.reset();
  }
  return Success;
}
/// What runs is not taken away here: a rank that aborts ends, and its memory with it.
int abort(Handle) { return Success; }
/// A member whose process has ended, and not as one that was done, is what NCCL calls a remote error.
int asyncError(Handle handle, int *found) {
  *found = Success;
  for (int rank : static_cast<Communicator *>(handle)->members())
    if (int pid = exchange->seat(rank).pid; pid && !exchange->seat(rank).hasLeft && hasEnded(pid))
      *found = RemoteError;
  return Success;
}

/// One task a stream; what is in it goes on side by side.
void enqueueAll() {
  while (!grouped.empty()) {
    Stream *stream = grouped.front().first;
    std::vector<Operation> mine;
    for (auto &[other, operation] : grouped)
      if (other == stream)
        mine.push_back(operation);
    grouped.erase(std::remove_if(grouped.begin(), grouped.end(), [&](auto &entry) { return entry.first == stream; }), grouped.end());
    Communicator::enqueue(stream, std::move(mine));
  }
}
int groupStart() { return ++depth, Success; }
int groupEnd() {
  if (depth == 0)
    return InvalidUsage;
  if (--depth == 0)
    enqueueAll();
  return Success;
}

int add(Operation operation, Handle handle, Handle stream) {
  constexpr int mostTypes = 10;
  operation.communicator = static_cast<Communicator *>(handle);
  operation.op = rankOf().op();
  operation.sequence = rankOf().sequence();
  bool isKnown = operation.type >= 0 && operation.type < mostTypes && operation.reduction >= 0 && operation.reduction < 4;
  if (!isKnown || operation.peer < 0 || operation.peer >= operation.communicator->size())
    return InvalidArgument;
  grouped.push_back({machine().streamOf(stream, nameOf(operation.kind)), operation});
  if (depth == 0)
    enqueueAll();
  return Success;
}
uintptr_t at(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

int allReduce(const void *in, void *out, size_t count, int type, int reduction, Handle communicator, Handle stream) {
  return add({Kind::AllReduce, at(in), at(out), count, type, reduction, 0}, communicator, stream);
}
int allGather(const void *in, void *out, size_t count, int type, Handle communicator, Handle stream) {
  return add({Kind::AllGather, at(in), at(out), count, type, 0, 0}, communicator, stream);
}
int reduceScatter(const void *in, void *out, size_t count, int type, int reduction, Handle communicator, Handle stream) {
  return add({Kind::ReduceScatter, at(in), at(out), count, type, reduction, 0}, communicator, stream);
}
int send(const void *buffer, size_t count, int type, int peer, Handle communicator, Handle stream) {
  return add({Kind::Send, at(buffer), 0, count, type, 0, peer}, communicator, stream);
}
int receive(void *buffer, size_t count, int type, int peer, Handle communicator, Handle stream) {
  return add({Kind::Receive, 0, at(buffer), count, type, 0, peer}, communicator, stream);
}
} // namespace

void checkFree(uintptr_t begin, size_t bytes) {
  for (const Communicator *communicator : alive)
    if (communicator->registers(begin, bytes))
      fail(rankOf().op(), "frees memory that is registered with " + communicator->name());
}

bool isNccls(uintptr_t begin) { return allocated.count(begin); }

void fill(cuda::Nccl &nccl) {
  nccl.ncclMemAlloc = allocate;
  nccl.ncclMemFree = release;
  nccl.ncclCommRegister = registerMemory;
  nccl.ncclCommDeregister = deregisterMemory;
  nccl.ncclGetVersion = version;
  nccl.ncclGetErrorString = errorString;
  nccl.ncclGetLastError = lastError;
  nccl.ncclGetUniqueId = uniqueId;
  nccl.ncclCommInitRank = initRank;
  nccl.ncclCommSplit = split;
  nccl.ncclCommDestroy = destroy;
  nccl.ncclCommAbort = abort;
  nccl.ncclCommGetAsyncError = asyncError;
  nccl.ncclGroupStart = groupStart;
  nccl.ncclGroupEnd = groupEnd;
  nccl.ncclAllReduce = allReduce;
  nccl.ncclAllGather = allGather;
  nccl.ncclReduceScatter = reduceScatter;
  nccl.ncclSend = send;
  nccl.ncclRecv = receive;
}

} // namespace para::runtime::rehearsal
