//===- MpiSupport.h - Moving bytes over MPI ---------------------*- C++ -*-===//
#ifndef PARA_RUNTIME_HOST_MPISUPPORT_H
#define PARA_RUNTIME_HOST_MPISUPPORT_H

#include "MpiError.h"

#include "Context.h"

namespace para::runtime {

/// Sends to one rank of `communicator` while receiving from another; either side may be empty (rank below 0). Waits without
/// hogging the core. Status as for compiled code, with the error reported.
para_status exchangeBytes(para_context *ctx, MPI_Comm communicator, int to, const void *out, int64_t outBytes, int from,
                          void *in, int64_t inBytes, int tag, int64_t waitedFor, const char *op);

} // namespace para::runtime

#endif
