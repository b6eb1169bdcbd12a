//===- MpiSupport.h - Moving bytes over MPI ---------------------*- C++ -*-===//
#ifndef PARA_RUNTIME_HOST_MPISUPPORT_H
#define PARA_RUNTIME_HOST_MPISUPPORT_H

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include "Context.h"

namespace para::runtime {

/// MPI's text for an error code.
std::string mpiError(int code);

/// Sends to one rank of `communicator` while receiving from another; either side may be empty (rank below 0). Waits without
/// hogging the core. Status as for compiled code, with the error reported.
para_status exchangeBytes(para_context *ctx, MPI_Comm communicator, int to, const void *out, int64_t outBytes, int from,
                          void *in, int64_t inBytes, int tag, int64_t waitedFor, const char *op);

/// MPI counts are ints: larger messages go in pieces of this size.
constexpr int64_t mpiPieceBytes = int64_t(1) << 30;

} // namespace para::runtime

#endif
