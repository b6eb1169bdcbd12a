//===- MpiError.h - MPI without a back end ----------------------*- C++ -*-===//
//
// With MpiWorld.cpp, all that joining the ranks of an MPI launcher takes: other back ends are built with these two files.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_HOST_MPIERROR_H
#define PARA_RUNTIME_HOST_MPIERROR_H

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdint>
#include <string>

namespace para::runtime {

/// MPI's text for an error code.
std::string mpiError(int code);

/// MPI counts are ints: larger messages go in pieces of this size.
constexpr int64_t mpiPieceBytes = int64_t(1) << 30;

} // namespace para::runtime

#endif
