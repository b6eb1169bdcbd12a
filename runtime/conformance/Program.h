//===- Program.h - What programs written by hand share ----------*- C++ -*-===//
#ifndef PARA_RUNTIME_CONFORMANCE_PROGRAM_H
#define PARA_RUNTIME_CONFORMANCE_PROGRAM_H

#include "core/Launcher.h"
#include "para/Runtime/para_runtime.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#define PARA_STEP(call)                                                                                                \
  do {                                                                                                                 \
    if (para_status status_ = (call))                                                                                  \
      return status_;                                                                                                  \
  } while (false)

namespace para::conformance {

/// A number from the environment: the launcher starts the same program again, and both must agree on the manifest.
inline int64_t setting(const char *name, int64_t fallback) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : fallback;
}

inline std::string settingText(const char *name, const char *fallback) {
  const char *text = std::getenv(name);
  return text ? text : fallback;
}

/// A failed expectation of a program: the run ends with status 1.
inline para_status mismatch(const char *what, long long where, double found, double expected) {
  std::fprintf(stderr, "conformance: %s at %lld: found %.17g, expected %.17g\n", what, where, found, expected);
  return PARA_ERROR;
}

inline int runProgram(int argc, char **argv, const std::string &manifest, const para_segment *segments,
                      uint32_t numSegments) {
  para::runtime::limitThreadSpinning(argv);
  para_program program{PARA_ABI_VERSION, numSegments, manifest.data(), manifest.size(), segments, nullptr, 0};
  return para_main(argc, argv, &program);
}

} // namespace para::conformance

#endif
