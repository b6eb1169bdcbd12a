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
  for (int round = 0; round < 12; ++round) {
    double start = now(), seconds = 0;
    int64_t calls = 0;
    while (seconds < least) {
      work();
      ++calls;
      seconds = now() - start;
    }
    rates.push_back(perCall * double(calls) / seconds); // at least `least` seconds
  }
  return *std::max_element(rates.begin(), rates.end()); // what others on the computer do takes from it and never adds
}

/// Multiplies and adds in as many registers as hide the latency, by the widest vectors that the processor has.
#if defined(__x86_64__)
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
static void multiplyAndAdd(float *x, int steps, float scale, float shift) {
  constexpr int registers = 12;
  typedef float Row __attribute__((vector_size(64)));
  Row rows[registers], y = Row{} + scale, z = Row{} + shift;
  std::memcpy(rows, x, sizeof(rows));
  for (int step = 0; step < steps; ++step)
    for (Row &row : rows)
      row = row * y + z;
  std::memcpy(x, rows, sizeof(rows));
}

double para::measureFlopsPerSecond() {
  constexpr int lanes = 12 * 16, steps = 20000;
  float x[lanes];
  std::fill(x, x + lanes, 1.0f); // what is 1 stays about 1
  return measureRate(2.0 * lanes * steps, 0.01, [&] {
    use(x);
    multiplyAndAdd(x, steps, 0.999999f, 1e-6f);
    use(x);
  });
}

double para::measureMemoryBytesPerSecond() {
  // As the optimizer does: read, change and write in place, so that no line is read to be overwritten.
  std::vector<float> values(size_t(16) << 20, 1);
  return measureRate(2.0 * double(values.size()) * sizeof(float), 0.02, [&] {
    use(values.data());
    for (float &value : values)
      value += 1;
    use(values.data());
  });
}

#if defined(__x86_64__)
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
static void addArrays(const float *x, const float *y, float *sum, size_t count) {
  for (size_t i = 0; i < count; ++i)
    sum[i] = x[i] + y[i];
}

double para::measureCacheBytesPerSecond(double bytes) {
  size_t count = size_t(bytes) / sizeof(float);
  std::vector<float> x(count, 1), y(count, 2), sum(count);
  return measureRate(3.0 * double(count) * sizeof(float), 0.01, [&] {
    use(x.data());
    addArrays(x.data(), y.data(), sum.data(), count);
    use(sum.data());
  });
}
