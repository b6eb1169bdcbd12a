//===- Failure.h - Which rank failed first, and who says so ----*- C++ -*-===//
//
// A job tells of one failure, the first. Other threads of the process that tells learn of it at once and end the process, so whoever asks waits
// until the line is out.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_FAILURE_H
#define PARA_RUNTIME_CORE_FAILURE_H

#include <atomic>
#include <cstdint>
#include <string>

namespace para::runtime {

/// May lie in memory that processes share.
class FirstFailure {
public:
  /// The rank that failed first; -1 if none has.
  int64_t rank() const {
    int32_t found = first.load(std::memory_order_relaxed);
    if (found >= 0)
      awaitTelling();
    return found;
  }
  /// True for the one caller in the job that was first.
  bool claim(int64_t rank);
  /// Whether it is the first failure; then "para: " and the line have gone to stderr.
  bool tell(int64_t rank, const std::string &line);

private:
  static void awaitTelling();
  std::atomic<int32_t> first{-1};
};

} // namespace para::runtime

#endif
