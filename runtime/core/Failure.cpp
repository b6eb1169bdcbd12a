//===- Failure.cpp - Which rank failed first, and who says so -----------------===//
#include "Failure.h"

#include <cstdio>
#include <mutex>

namespace para::runtime {

static std::mutex telling;

void FirstFailure::awaitTelling() { std::lock_guard<std::mutex> lock(telling); }

bool FirstFailure::claim(int64_t rank) {
  int32_t none = -1;
  bool isFirst = first.compare_exchange_strong(none, int32_t(rank));
  if (!isFirst)
    awaitTelling();
  return isFirst;
}

bool FirstFailure::tell(int64_t rank, const std::string &line) {
  std::lock_guard<std::mutex> lock(telling);
  int32_t none = -1;
  if (!first.compare_exchange_strong(none, int32_t(rank)))
    return false;
  std::fprintf(stderr, "para: %s\n", line.c_str());
  return true;
}

} // namespace para::runtime
