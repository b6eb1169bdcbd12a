#include "para/Cost/Kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace para;

Kernel Kernel::product(CostType type, int64_t m, int64_t n, int64_t k, int64_t batch) {
  Kernel kernel;
  kernel.kind = Product;
  kernel.type = type;
  kernel.batch = batch, kernel.m = m, kernel.n = n, kernel.k = k;
  kernel.flops = 2.0 * double(batch) * double(m) * double(n) * double(k);
  kernel.bytes = double(batch) * double(getBytes(type)) * (double(m) * double(k) + double(k) * double(n) + double(m) * double(n));
  return kernel;
}

Kernel Kernel::streaming(double bytes, double flops) {
  Kernel kernel;
  kernel.bytes = bytes;
  kernel.flops = flops;
  return kernel;
}

namespace {
double divideUp(double a, double b) { return std::ceil(a / b); }

/// Waves of blocks over the multiprocessors. Blocks of other kernels, higher clocks of a part that works and libraries that split the last
/// blocks give back some of a last wave's loss.
double getWaves(const Device &device, double blocks) {
  double exact = blocks / device.multiprocessors, tail = device.constants.waveTail;
  return tail * std::ceil(exact) + (1 - tail) * std::max(exact, 1.0);
}

double getStreamRate(const Device &device) { return device.memoryBytesPerSecond * device.constants.streamFraction; }
/// A processor's cache keeps what kernels after one another stream; on a GPU the second level is too small for that.
double getStreamRate(const Device &device, double bytes) {
  bool isKept = device.kind == "processor" && bytes <= device.l2Bytes && device.constants.cacheBytesPerSecond > 0;
  return isKept ? device.constants.cacheBytesPerSecond : getStreamRate(device);
}

/// By the best tile, and parts of the reduction that different blocks make (split-k).
double getProductSeconds(const Device &device, const Kernel &kernel) {
  const KernelConstants &c = device.constants;
  double rate = device.getFlops(kernel.type) * c.productFraction * (kernel.type == CostType::F8 ? c.f8Fraction : 1);
  if (kernel.kind == Kernel::Convolution)
    rate *= c.convolutionFraction;
  double memory = kernel.bytes / getStreamRate(device);
  if (kernel.m <= 0 || kernel.n <= 0 || kernel.k <= 0 || device.kind == "plain")
    return std::max(kernel.flops / rate, memory);
  if (device.kind == "processor") { // tiles are as small as registers; panels are packed along each side
    double edges = (1 + c.productStart / double(kernel.m)) * (1 + c.productStart / double(kernel.n)) * (1 + c.productStart / double(kernel.k));
    return std::max(kernel.flops * edges / rate, memory);
  }
  auto isWhole = [&](int64_t bytes) {
    int64_t elements = bytes / getBytes(kernel.type);
    return kernel.m % elements == 0 && kernel.n % elements == 0 && kernel.k % elements == 0;
  };
  rate *= isWhole(128) ? 1 : isWhole(16) ? c.unalignedFraction : c.oddFraction;
  double batch = double(std::max<int64_t>(1, kernel.batch)), m = double(kernel.m), n = double(kernel.n), k = double(kernel.k);
  double width = double(getBytes(kernel.type)), perUnit = rate / device.multiprocessors;
  double perStep = kernel.flops / (batch * m * n * k); // 2, for what is dense
  double best = std::numeric_limits<double>::infinity();
  for (Tile tile : device.getTiles())
    for (double parts : {1.0, 2.0, 4.0, 8.0, 16.0}) {
      double steps = std::max(divideUp(k, parts), parts > 1 ? 256.0 : 1.0); // libraries do not part what is short
      double tm = double(tile.m), tn = double(tile.n), rows = divideUp(m, tm), columns = divideUp(n, tn);
      double waves = getWaves(device, batch * rows * columns * parts);
      double compute = waves * perStep * tm * tn * (steps + c.productStart) / perUnit;
      double cache = c.cacheBytesPerSecond > 0 ? waves * (tm + tn) * steps * width / c.cacheBytesPerSecond : 0;
      // Tiles at work together form about a square; what they share is read once for each such square, unless the cache keeps it.
      double side = std::sqrt(device.multiprocessors);
      double again = batch * width * k * (m * (divideUp(columns, side) - 1) + n * (divideUp(rows, side) - 1));
      double kept = std::min(1.0, device.l2Bytes / (width * k * std::min(m, n)));
      double sums = parts > 1 ? batch * m * n * 4 * (parts + 1) : 0;
      double moved = memory + (again * (1 - kept) + sums) / getStreamRate(device);
      best = std::min(best, std::max({compute, cache, moved}));
    }
  return best;
}

/// Blocks of 128 queries over all keys (FlashAttention-2, arXiv:2307.08691).
double getAttentionSeconds(const Device &device, const Kernel &kernel) {
  const KernelConstants &c = device.constants;
  double rate = device.getFlops(kernel.type) * c.attentionFraction, memory = kernel.bytes / getStreamRate(device);
  if (kernel.m <= 0 || kernel.n <= 0 || kernel.k <= 0)
    return std::max(kernel.flops / rate, memory);
  double batch = double(std::max<int64_t>(1, kernel.batch)), m = double(kernel.m), n = double(kernel.n), k = double(kernel.k);
  double blocks = batch * divideUp(m, 128), perBlock = kernel.flops * 128 / (batch * m);
  double compute = getWaves(device, blocks) * device.multiprocessors * perBlock / rate;
  return std::max(compute * (1 + c.attentionStart / n) * (1 + c.attentionHead / k), memory);
}
} // namespace

double para::kernelSeconds(const Device &device, const Kernel &kernel) {
  double start = device.launchSeconds + device.constants.startSeconds;
  switch (kernel.kind) {
  case Kernel::Product:
  case Kernel::Convolution:
    return start + getProductSeconds(device, kernel);
  case Kernel::Attention:
    return start + getAttentionSeconds(device, kernel);
  case Kernel::Streaming:
    break;
  }
  return start + std::max(kernel.bytes / getStreamRate(device, kernel.bytes), kernel.flops / (device.vectorFlops * device.constants.vectorFraction));
}

double para::kernelSeconds(const Machine &machine, const Kernel &kernel) {
  double most = 0;
  for (const DeviceClass &devices : machine.classes)
    most = std::max(most, kernelSeconds(devices.device, kernel));
  return most;
}
