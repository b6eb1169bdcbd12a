#include "Measure.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <time.h>
#include <vector>

using namespace para;

namespace {
/// Seconds that this thread has run: what others do on the computer meanwhile does not count.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// What is at `data` may be read and written here, for all that the compiler knows.
void use(void *data) { asm volatile("" : : "r"(data) : "memory"); }
} // namespace

double para::measureRate(double perCall, double least, llvm::function_ref<void()> work) {
  std::vector<double> rates;
  work(); // pages and caches are warm from here on
  for (int round = 0; round < 5; ++round) {
    double start = now(), seconds = 0;
    int64_t calls = 0;
    while (seconds < least) {
      work();
      ++calls;
      seconds = now() - start;
    }
    rates.push_back(perCall * double(calls) / seconds); // at least `least` seconds
  }
  std::nth_element(rates.begin(), rates.begin() + rates.size() / 2, rates.end());
  return rates[rates.size() / 2];
}

double para::measureFlopsPerSecond() {
  constexpr int lanes = 64, steps = 20000;
  float x[lanes], y = 0.999999f, z = 1e-6f; // what is 1 stays about 1
  std::fill(x, x + lanes, 1.0f);
  return measureRate(2.0 * lanes * steps, 0.01, [&] {
    use(x);
    float values[lanes], scale = y, shift = z;
    std::copy(x, x + lanes, values);
    for (int step = 0; step < steps; ++step)
      for (float &value : values)
        value = value * scale + shift;
    std::copy(values, values + lanes, x);
    use(x);
  });
}

double para::measureMemoryBytesPerSecond() {
  std::vector<char> from(size_t(64) << 20, 1), to(from.size());
  return measureRate(2.0 * double(from.size()), 0.02, [&] {
    use(from.data());
    std::memcpy(to.data(), from.data(), from.size());
    use(to.data());
  });
}
