//===- Clock.h - The time that is left ---------------------------------------===//
//
// Example: Clock clock(10); while (!clock.isOver()) work();
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_SOLVE_CLOCK_H
#define PARA_LIB_SOLVE_CLOCK_H

#include <chrono>

namespace para {

class Clock {
public:
  explicit Clock(double seconds) : start(std::chrono::steady_clock::now()), seconds(seconds) {}
  double getElapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }
  double getLeft() const { return seconds - getElapsed(); }
  bool isOver() const { return getElapsed() >= seconds; }

private:
  std::chrono::steady_clock::time_point start;
  double seconds;
};

} // namespace para

#endif
