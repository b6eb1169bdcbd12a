//===- MpiSupport.cpp - Moving bytes over MPI ---------------------------------===//
#include "MpiSupport.h"

#include <algorithm>

namespace para::runtime {

para_status exchangeBytes(para_context *ctx, MPI_Comm communicator, int to, const void *out, int64_t outBytes, int from,
                          void *in, int64_t inBytes, int tag, int64_t waitedFor, const char *op) {
  std::vector<MPI_Request> requests;
  int code = MPI_SUCCESS;
  for (int64_t at = 0; from >= 0 && at < inBytes && code == MPI_SUCCESS; at += mpiPieceBytes) {
    requests.emplace_back();
    code = MPI_Irecv(static_cast<char *>(in) + at, int(std::min(mpiPieceBytes, inBytes - at)), MPI_BYTE, from, tag,
                     communicator, &requests.back());
  }
  for (int64_t at = 0; to >= 0 && at < outBytes && code == MPI_SUCCESS; at += mpiPieceBytes) {
    requests.emplace_back();
    code = MPI_Isend(static_cast<const char *>(out) + at, int(std::min(mpiPieceBytes, outBytes - at)), MPI_BYTE, to, tag,
                     communicator, &requests.back());
  }
  if (code != MPI_SUCCESS)
    return ctx->fail(op, mpiError(code));
  bool isAlive = waitUntil(ctx, waitedFor, op, [&] {
    int isDone = 0;
    code = MPI_Testall(int(requests.size()), requests.data(), &isDone, MPI_STATUSES_IGNORE);
    return isDone || code != MPI_SUCCESS;
  });
  if (code != MPI_SUCCESS)
    return ctx->fail(op, mpiError(code));
  return isAlive ? PARA_OK : PARA_PEER_FAILED;
}

} // namespace para::runtime
