//===- CostKernelTest.cpp - Seconds of kernels ----------------------------===//
#include "para/Cost/Kernel.h"

#include <gtest/gtest.h>

using namespace para;

namespace {
Device get(llvm::StringRef spec) { return llvm::cantFail(Machine::get(spec)).getDevice(0); }
double seconds(const Device &device, int64_t m, int64_t n, int64_t k, CostType type = CostType::BF16, int64_t batch = 1) {
  return kernelSeconds(device, Kernel::product(type, m, n, k, batch));
}
double rate(const Device &device, int64_t m, int64_t n, int64_t k, CostType type = CostType::BF16) {
  return 2.0 * double(m) * double(n) * double(k) / seconds(device, m, n, k, type);
}
Kernel attention(int64_t heads, int64_t queries, int64_t keys, int64_t width) {
  Kernel kernel;
  kernel.kind = Kernel::Attention;
  kernel.type = CostType::BF16;
  kernel.batch = heads, kernel.m = queries, kernel.n = keys, kernel.k = width;
  kernel.flops = 4.0 * double(heads) * double(queries) * double(keys) * double(width);
  kernel.bytes = 2.0 * 4 * double(heads) * double(queries) * double(width);
  return kernel;
}
const char *const kNames[] = {"v100", "a100-40", "a100-80", "h100", "h200", "b200", "gb200", "l40s", "rtx4090"};
} // namespace

// Products in training sustain the most that any shape was measured to achieve (ml-engineering's table of maximum achieved matmul flops), as
// whole runs say; nine tenths of it where no run was fitted.
TEST(CostKernel, MeasuredPeaks) {
  EXPECT_NEAR(rate(get("a100-80"), 16384, 16384, 16384) / 271.2e12, 0.93, 0.03);
  EXPECT_NEAR(rate(get("h100"), 16384, 16384, 16384) / 794.5e12, 0.9, 0.03);
  EXPECT_NEAR(rate(get("b200"), 16384, 16384, 16384) / 1745e12, 0.9, 0.03);
  EXPECT_NEAR(rate(get("h100"), 16384, 16384, 16384, CostType::F8) / 1402.6e12, 0.91, 0.03);
  EXPECT_NEAR(rate(get("b200"), 16384, 16384, 16384, CostType::F8) / 3432.5e12, 0.9, 0.03);
}

// Gradients of the weights of layers, measured on A100 (Zero Bubble, Table 9, T_W: milliseconds of 3 layers of width 2304 with 6 x 1024
// tokens, and of 2 layers of width 6144 with 1024), within 8 %. Sums are in f32.
TEST(CostKernel, MeasuredWeightGradients) {
  Device device = get("a100-80");
  auto layers = [&](int64_t tokens, int64_t width, int64_t count) {
    double sum = 0;
    for (auto [n, k] : {std::pair(3 * width, width), {width, width}, {4 * width, width}, {width, 4 * width}}) {
      Kernel kernel = Kernel::product(CostType::BF16, n, k, tokens);
      kernel.bytes += 6.0 * double(n) * double(k);
      sum += kernelSeconds(device, kernel);
    }
    return double(count) * sum;
  };
  EXPECT_NEAR(layers(6 * 1024, 2304, 3) / 9.337e-3, 1, 0.08);
  EXPECT_NEAR(layers(1024, 6144, 2) / 7.715e-3, 1, 0.08);
}

// No kernel is faster than peak flops, or than its bytes from memory, or than its start.
TEST(CostKernel, RooflineBounds) {
  for (const char *name : kNames) {
    Device device = get(name);
    for (CostType type : {CostType::F32, CostType::BF16, CostType::F16, CostType::F8})
      for (int64_t m : {1, 17, 128, 1000, 4096, 30000})
        for (int64_t k : {1, 64, 1024, 8192}) {
          Kernel kernel = Kernel::product(type, m, 3072, k);
          double time = kernelSeconds(device, kernel);
          EXPECT_GE(time, device.launchSeconds + kernel.flops / device.getFlops(type)) << name << m << " " << k;
          EXPECT_GE(time, device.launchSeconds + kernel.bytes / device.memoryBytesPerSecond) << name << m << " " << k;
        }
    EXPECT_GE(kernelSeconds(device, Kernel::streaming(1e9)), 1e9 / device.memoryBytesPerSecond) << name;
    EXPECT_GE(kernelSeconds(device, Kernel::streaming(1, 1e12)), 1e12 / device.vectorFlops) << name;
    Kernel fused = attention(64, 4096, 4096, 128);
    EXPECT_GE(kernelSeconds(device, fused), fused.flops / device.getFlops(CostType::BF16)) << name;
  }
}

// More rows, columns, steps, batches and bytes never take less time.
TEST(CostKernel, GrowsWithSize) {
  for (const char *name : kNames) {
    Device device = get(name);
    for (int64_t size = 64; size < 5000; size += 64) { // rows of a multiple of 128 bytes; others are slower
      EXPECT_LE(seconds(device, size, 512, 512), seconds(device, size + 64, 512, 512)) << name << size;
      EXPECT_LE(seconds(device, 512, size, 512), seconds(device, 512, size + 64, 512)) << name << size;
      EXPECT_LE(seconds(device, 512, 512, size), seconds(device, 512, 512, size + 64) * 1.0001) << name << size;
      EXPECT_LE(seconds(device, 512, 512, size), seconds(device, 512, 512, size - 1) * 1.001) << name << size;
    }
    for (int64_t size = 1; size < 5000; size += 37) {
      EXPECT_LE(seconds(device, 256, 256, 64, CostType::F16, size), seconds(device, 256, 256, 64, CostType::F16, size + 37))
          << name << size;
      EXPECT_LE(kernelSeconds(device, attention(8, size, size, 64)), kernelSeconds(device, attention(8, size + 37, size + 37, 64)))
          << name << size;
      EXPECT_LT(kernelSeconds(device, Kernel::streaming(double(size) * 1e4)),
                kernelSeconds(device, Kernel::streaming(double(size + 37) * 1e4)));
    }
  }
}

// A result that just exceeds its tiles, or its waves, costs what the next tile costs.
TEST(CostKernel, TilesAndWaves) {
  Device device = get("a100-80");
  EXPECT_LT(rate(device, 4096, 4096, 4096), 271.2e12);
  EXPECT_GT(rate(device, 4096, 4096, 4096), 190e12);
  EXPECT_LT(rate(device, 2048 + 1, 2048, 4096), rate(device, 2048, 2048, 4096));
  EXPECT_LT(rate(device, 128, 128, 1 << 15), 0.5 * rate(device, 4096, 4096, 4096)) << "few blocks leave multiprocessors idle";
  EXPECT_LT(rate(device, 8, 8192, 8192), 20e12) << "bound by the weights' bytes";
  EXPECT_LT(rate(device, 8192, 8192, 32), 0.5 * rate(device, 8192, 8192, 8192)) << "short reductions are start-up and bytes";
}

// Small kernels take their start, and it is microseconds.
TEST(CostKernel, SmallKernelsStart) {
  for (const char *name : kNames) {
    double time = kernelSeconds(get(name), Kernel::streaming(1024));
    EXPECT_GT(time, 1e-6) << name;
    EXPECT_LT(time, 10e-6) << name;
    EXPECT_LT(seconds(get(name), 1, 1, 1), 10e-6) << name;
  }
}

// Of a shape that is not known, the best is assumed.
TEST(CostKernel, UnknownShapes) {
  Device device = get("h100");
  Kernel kernel;
  kernel.kind = Kernel::Product;
  kernel.type = CostType::BF16;
  kernel.flops = 2e12;
  kernel.bytes = 1e6;
  EXPECT_NEAR(kernelSeconds(device, kernel), 2e12 / (device.getFlops(CostType::BF16) * device.constants.productFraction), 1e-5);
}

// On the host what was measured is what is sustained.
TEST(CostKernel, Host) {
  Machine host = Machine::getHost(1);
  Kernel kernel = Kernel::product(CostType::F32, 10000, 10000, 10000);
  EXPECT_NEAR(kernelSeconds(host.getDevice(0), kernel), 2e12 / host.getFlopsPerSecond(), 1e-6 + 1e-2 * 2e12 / host.getFlopsPerSecond());
}
