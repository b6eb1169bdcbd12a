//===- MpiWorld.cpp - Ranks that an MPI launcher started ----------------------===//
//
// Ranks that all are on one host meet over MPI once and then share memory like ranks of our own; MPI carries the data only
// between hosts.
//
//===----------------------------------------------------------------------===//
#include "MpiError.h"

#include "core/Device.h"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace para::runtime {

namespace {
class MpiWorld : public World {
public:
  MpiWorld(int64_t rank, int64_t size, int64_t onHost) : World(rank, size), onHost(onHost) {
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  }
  const ControlBlock *control() const override { return shared ? shared->control() : nullptr; }
  int64_t ranksOnHost() const override { return onHost; }
  bool coresAreScarce(int64_t threads) const override {
    // MPI launchers bind each rank to cores of its own: the mask says nothing of the others.
    return threads > availableCores() || onHost * threads > sysconf(_SC_NPROCESSORS_ONLN);
  }
  bool sharesCores() const override { return availableCores() == sysconf(_SC_NPROCESSORS_ONLN); }
  Status send(int64_t to, const void *data, int64_t bytes) override {
    Waiting waiting(*this);
    if (shared)
      return shared->send(to, data, bytes);
    return inPieces(bytes, [&](int64_t at, int count) {
      return MPI_Send(static_cast<const char *>(data) + at, count, MPI_BYTE, int(to), 0, communicator);
    });
  }
  Status receive(int64_t from, void *data, int64_t bytes) override {
    Waiting waiting(*this);
    if (shared)
      return shared->receive(from, data, bytes);
    return inPieces(bytes, [&](int64_t at, int count) {
      return MPI_Recv(static_cast<char *>(data) + at, count, MPI_BYTE, int(from), 0, communicator, MPI_STATUS_IGNORE);
    });
  }
  Status barrier() override {
    Waiting waiting(*this);
    if (shared)
      return shared->barrier();
    int code = MPI_Barrier(communicator);
    return code == MPI_SUCCESS ? Status::success() : Status::error(mpiError(code));
  }
  void declareFailure(int exitCode) override {
    if (shared)
      shared->declareFailure(exitCode);
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, exitCode);
  }
  void finish() override {
    MPI_Comm_free(&communicator);
    MPI_Finalize();
    if (shared)
      shared->finish();
  }
  Status shareMemory(int64_t communicators);

private:
  template <typename Move> Status inPieces(int64_t bytes, Move move) {
    for (int64_t at = 0; at < bytes; at += mpiPieceBytes) {
      int code = move(at, int(std::min(mpiPieceBytes, bytes - at)));
      if (code != MPI_SUCCESS)
        return Status::error(mpiError(code));
    }
    return Status::success();
  }
  int64_t onHost;
  MPI_Comm communicator = MPI_COMM_NULL;
  std::unique_ptr<SharedWorld> shared;
};
} // namespace

Status MpiWorld::shareMemory(int64_t communicators) {
  int where[2] = {int(getpid()), -1};
  ControlBlock block;
  Status status = Status::success();
  if (myRank == 0) {
    where[1] = ControlBlock::createDescriptor("para-control");
    status = where[1] < 0 ? Status::error("cannot create shared memory")
                          : ControlBlock::map(where[1], numRanks, communicators, true, block);
  }
  MPI_Bcast(where, 2, MPI_INT, 0, communicator);
  if (myRank != 0 && where[1] >= 0) {
    int descriptor = open(format("/proc/%d/fd/%d", where[0], where[1]).c_str(), O_RDWR | O_CLOEXEC);
    status = descriptor < 0 ? Status::error("cannot open shared memory")
                            : ControlBlock::map(descriptor, numRanks, communicators, false, block);
    if (descriptor >= 0)
      close(descriptor);
  }
  // Containers may share a host but no processes: then the data goes over MPI.
  int isFine = !status.failed() && where[1] >= 0, allFine = 0;
  MPI_Allreduce(&isFine, &allFine, 1, MPI_INT, MPI_MIN, communicator);
  if (allFine)
    shared = std::make_unique<SharedWorld>(block, myRank);
  return Status::success();
}

Status joinMpi(int64_t ranks, int64_t communicators, bool sharesMemory, std::unique_ptr<World> &world) {
  int provided = 0, rank = 0, size = 0, onHost = 0;
  if (int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided); code != MPI_SUCCESS)
    return Status::error(mpiError(code));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != ranks) {
    MPI_Finalize();
    if (rank != 0) {
      // The launcher ends all ranks with the first that fails: rank 0 is to be heard before.
      sleep(2);
      return Status::error("", 2);
    }
    return Status::error(format("the MPI launcher started %d rank%s but this program is compiled for %lld: use -n %lld, "
                                "or compile with --ranks %d",
                                size, size == 1 ? "" : "s", (long long)ranks, (long long)ranks, size),
                         2);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &onHost);
  MPI_Comm_free(&host);
  auto joined = std::make_unique<MpiWorld>(rank, size, onHost);
  if (onHost == size && sharesMemory)
    PARA_TRY(joined->shareMemory(communicators));
  world = std::move(joined);
  return Status::success();
}

} // namespace para::runtime
