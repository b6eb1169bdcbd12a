// Stands in for libnccl.so.2 between processes of one host: each message is a file that its receiver takes away. Ranks that do not
// agree on an operation end the program.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

namespace {
struct Id {
  char bytes[128];
};
struct Comm {
  std::string path; ///< of its messages: a folder and a prefix
  int rank = 0, size = 1, splits = 0;
  long long collectives = 0;
  std::vector<long long> sent, received;
};

[[noreturn]] void misuse(const std::string &what) {
  std::fprintf(stderr, "stand-in: NCCL: %s\n", what.c_str());
  std::abort();
}

void put(const std::string &name, const void *data, size_t bytes) {
  std::string unfinished = name + ".new";
  std::FILE *file = std::fopen(unfinished.c_str(), "wb");
  if (!file || std::fwrite(data, 1, bytes, file) != bytes || std::fclose(file) != 0 || std::rename(unfinished.c_str(), name.c_str()) != 0)
    misuse("cannot write " + name);
}

void take(const std::string &name, void *data, size_t bytes) {
  std::FILE *file = nullptr;
  for (int i = 0; !(file = std::fopen(name.c_str(), "rb")); ++i) {
    usleep(i < 1000 ? 20 : 1000);
    if (i > 60000)
      misuse("waits for " + name);
  }
  std::vector<char> all(bytes + 1);
  if (std::fread(all.data(), 1, bytes + 1, file) != bytes)
    misuse("another size was sent: " + name);
  std::fclose(file);
  unlink(name.c_str());
  std::memcpy(data, all.data(), bytes);
}

std::string between(const Comm &comm, const char *kind, long long number, int from, int to) {
  return comm.path + kind + std::to_string(number) + "." + std::to_string(from) + "-" + std::to_string(to);
}

size_t sizeOf(int type) {
  constexpr size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return sizes[type];
}

/// Everyone's `bytes`, rank by rank; `what` must be the same on all.
std::vector<char> exchange(Comm &comm, const std::string &what, const void *in, size_t bytes) {
  std::vector<char> mine(256 + bytes), theirs(mine.size()), all;
  std::snprintf(mine.data(), 256, "%s", what.c_str());
  std::memcpy(mine.data() + 256, in, bytes);
  for (int to = 0; to < comm.size; ++to)
    put(between(comm, "c", comm.collectives, comm.rank, to), mine.data(), mine.size());
  for (int from = 0; from < comm.size; ++from) {
    take(between(comm, "c", comm.collectives, from, comm.rank), theirs.data(), theirs.size());
    if (std::strcmp(mine.data(), theirs.data()) != 0)
      misuse(what + " here, " + theirs.data() + " there");
    all.insert(all.end(), theirs.begin() + 256, theirs.end());
  }
  ++comm.collectives;
  return all;
}

template <typename T> void reduce(const std::vector<char> &all, int ranks, size_t first, size_t count, size_t stride, int op, void *out) {
  auto *to = static_cast<T *>(out);
  auto *from = reinterpret_cast<const T *>(all.data());
  for (size_t i = 0; i < count; ++i) {
    T value = from[first + i];
    for (int r = 1; r < ranks; ++r) {
      T next = from[size_t(r) * stride + first + i];
      value = op == 0 ? T(value + next) : op == 2 ? (next > value ? next : value) : (next < value ? next : value);
    }
    to[i] = value;
  }
}

int reduceAny(const std::vector<char> &all, const Comm &comm, size_t first, size_t count, size_t stride, int type, int op, void *out) {
  switch (type) {
  case 1: return reduce<uint8_t>(all, comm.size, first, count, stride, op, out), 0;
  case 2: return reduce<int32_t>(all, comm.size, first, count, stride, op, out), 0;
  case 4: return reduce<int64_t>(all, comm.size, first, count, stride, op, out), 0;
  case 7: return reduce<float>(all, comm.size, first, count, stride, op, out), 0;
  case 8: return reduce<double>(all, comm.size, first, count, stride, op, out), 0;
  }
  return 4;
}
std::string describe(const char *kind, size_t count, int type, int op) {
  return std::string(kind) + " of " + std::to_string(count) + " type " + std::to_string(type) + " op " + std::to_string(op);
}
Comm &of(void *comm) { return *static_cast<Comm *>(comm); }
} // namespace

extern "C" {
int ncclGetVersion(int *version) { return *version = 22800, 0; }
const char *ncclGetErrorString(int) { return "stand-in error"; }
const char *ncclGetLastError(void *) { return ""; }
int ncclGetUniqueId(Id *id) {
  std::snprintf(id->bytes, sizeof id->bytes, "/dev/shm/para-stand-in-XXXXXX");
  return mkdtemp(id->bytes) ? 0 : 2;
}
int ncclCommInitRank(void **made, int size, Id id, int rank) {
  auto *comm = new Comm;
  comm->path = std::string(id.bytes) + "/";
  comm->rank = rank, comm->size = size;
  comm->sent.resize(size_t(size)), comm->received.resize(size_t(size));
  *made = comm;
  return exchange(*comm, "start", "", 0), 0;
}
int ncclCommSplit(void *parent, int color, int key, void **made, void *) {
  Comm &all = of(parent);
  int mine[] = {color, key};
  std::vector<char> bytes = exchange(all, "split", mine, sizeof mine);
  auto *pairs = reinterpret_cast<const int *>(bytes.data());
  int number = all.splits++;
  *made = nullptr;
  if (color < 0)
    return 0;
  auto *comm = new Comm;
  comm->size = 0;
  for (int r = 0; r < all.size; ++r)
    if (pairs[2 * r] == color) {
      ++comm->size;
      comm->rank += pairs[2 * r + 1] < key || (pairs[2 * r + 1] == key && r < all.rank);
    }
  comm->path = all.path + std::to_string(number) + "_" + std::to_string(color) + "_";
  comm->sent.resize(size_t(comm->size)), comm->received.resize(size_t(comm->size));
  *made = comm;
  return 0;
}
int ncclCommDestroy(void *comm) {
  std::string path = of(comm).path;
  delete &of(comm);
  if (path.back() == '/')
    rmdir(path.c_str()); // the last rank's succeeds
  return 0;
}
int ncclCommAbort(void *comm) { return ncclCommDestroy(comm); }
int ncclCommGetAsyncError(void *, int *found) { return *found = 0, 0; }
int ncclGroupStart() { return 0; }
int ncclGroupEnd() { return 0; }
int ncclAllReduce(const void *in, void *out, size_t count, int type, int op, void *comm, void *) {
  return reduceAny(exchange(of(comm), describe("all-reduce", count, type, op), in, count * sizeOf(type)), of(comm), 0, count, count, type, op, out);
}
int ncclAllGather(const void *in, void *out, size_t count, int type, void *comm, void *) {
  std::vector<char> all = exchange(of(comm), describe("all-gather", count, type, 0), in, count * sizeOf(type));
  return std::memcpy(out, all.data(), all.size()), 0;
}
int ncclReduceScatter(const void *in, void *out, size_t count, int type, int op, void *comm, void *) {
  size_t whole = count * size_t(of(comm).size);
  std::vector<char> all = exchange(of(comm), describe("reduce-scatter", count, type, op), in, whole * sizeOf(type));
  return reduceAny(all, of(comm), count * size_t(of(comm).rank), count, whole, type, op, out);
}
int ncclSend(const void *buffer, size_t count, int type, int peer, void *comm, void *) {
  Comm &c = of(comm);
  return put(between(c, "m", c.sent[size_t(peer)]++, c.rank, peer), buffer, count * sizeOf(type)), 0;
}
int ncclRecv(void *buffer, size_t count, int type, int peer, void *comm, void *) {
  Comm &c = of(comm);
  return take(between(c, "m", c.received[size_t(peer)]++, peer, c.rank), buffer, count * sizeOf(type)), 0;
}
}
