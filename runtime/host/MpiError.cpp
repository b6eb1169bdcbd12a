//===- MpiError.cpp - MPI without a back end ----------------------------------===//
#include "MpiError.h"

namespace para::runtime {

std::string mpiError(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return "MPI: " + std::string(text, size_t(length));
}

} // namespace para::runtime
