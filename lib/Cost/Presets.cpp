#include "Presets.h"

using namespace para;

namespace {
/// A device as its datasheet has it. Rates in 1e12 flops a second without sparsity, by CostType; memory in 1e9.
struct DeviceRow {
  const char *name, *kind;
  double memory, memoryRate;
  double f64, f32, tf32, bf16, f16, f8;
  double multiprocessors, l2;
};

// NVIDIA's datasheets and architecture whitepapers of each. f64 is of tensor units where there are any.
constexpr DeviceRow kV100 = {
    "V100-SXM2-32GB", "volta", 32, 900, 7.8, 15.7, 0, 0, 125, 0, 80, 6}; // "Tesla V100 GPU Architecture" (WP-08608)
constexpr DeviceRow kA100With40 = {
    "A100-SXM4-40GB", "ampere", 40, 1555, 19.5, 19.5, 156, 312, 312, 0, 108, 40}; // "A100 Tensor Core GPU Architecture"
constexpr DeviceRow kA100With80 = {
    "A100-SXM4-80GB", "ampere", 80, 2039, 19.5, 19.5, 156, 312, 312, 0, 108, 40};                            // A100 datasheet, June 2021
constexpr DeviceRow kH100 = {"H100-SXM5-80GB", "hopper", 80, 3350, 67, 67, 494.5, 989, 989, 1979, 132, 50};  // H100 datasheet, 2023
// As Meta has it (Grand Teton): memory of HBM2e, 500 W ("torchtitan: llama3_h100_202412"). Under load the clock goes as the cube root of the
// power, here of 500/700: 0.894 of the H100's rates of products.
constexpr DeviceRow kH100With96 = {"H100-SXM5-96GB", "hopper", 96, 2400, 60, 60, 442, 884, 884, 1769, 132, 50};
constexpr DeviceRow kH200 = {"H200-SXM-141GB", "hopper", 141, 4800, 67, 67, 494.5, 989, 989, 1979, 132, 50}; // H200 datasheet, 2023
constexpr DeviceRow kB200 = {
    "B200-SXM-180GB", "blackwell", 180, 8000, 40, 80, 1125, 2250, 2250, 4500, 148, 126}; // DGX B200 datasheet, 2024; l2 by CUDA's query
constexpr DeviceRow kGB200 = {"GB200-186GB", "graceblackwell", 186,  8000, 40,  80,
                              1250,          2500,        2500, 5000, 148, 126};                    // GB200 NVL72 datasheet, 2024; likewise
constexpr DeviceRow kGB300 = {"GB300-279GB", "blackwellultra", 279,  8000, 1.3,  80,
                              1250,          2500,        2500, 5000, 148, 126}; // GB300 NVL72 datasheet, 2025
constexpr DeviceRow kL40S = {"L40S-48GB", "ada", 48, 864, 1.43, 91.6, 183, 362, 362, 733, 142, 96}; // L40S datasheet, 2023
// "Ada GPU Architecture" (V2.1), Appendix A: with sums in f32.
constexpr DeviceRow kRTX4090 = {"RTX4090-24GB", "ada", 24, 1008, 1.29, 82.6, 82.6, 165.2, 165.2, 330.3, 128, 72};

Device make(const DeviceRow &row) {
  Device device;
  device.name = row.name;
  device.kind = row.kind;
  device.memoryBytes = row.memory * 0.99 * (1 << 30); // GiB, of which CUDA has 0.989 (A100, H100: 79.1) to 0.993 (H200: 139.8)
  device.memoryBytesPerSecond = row.memoryRate * 1e9;
  const double flops[] = {row.f64, row.f32, row.tf32, row.bf16, row.f16, row.f8};
  for (int i = 0; i < kNumCostTypes; ++i)
    device.flops[i] = flops[i] * 1e12;
  device.vectorFlops = row.f32 * 1e12;
  device.launchSeconds =
      1e-6; // between kernels of one stream that the host has enqueued ahead: about 1 us ("CUDA Graphs", NVIDIA blog 2019)
  device.multiprocessors = row.multiprocessors;
  device.l2Bytes = row.l2 * 1e6;
  device.constants = findDeviceKind(row.kind)->constants;
  return device;
}

Level make(const char *name, const char *kind, double bytesPerSecond, double seconds, bool reduces = false) {
  Level level;
  level.name = name;
  level.kind = kind;
  level.bytesPerSecond = bytesPerSecond;
  level.seconds = seconds;
  level.inNetworkReduction = reduces;
  level.constants = findNetworkKind(kind)->constants;
  return level;
}
} // namespace

const std::vector<Preset> &para::getPresets() {
  // One direction of one device. NVLink 2 to 5: 6 x 25, 12 x 25, 18 x 25, 18 x 50 GB/s; PCIe 4.0 x16: 31.5 GB/s. NVSwitches of the third
  // generation on reduce (NVLS).
  static const Level nvlink2 = make("nvlink", "nvlink2", 150e9, 0.7e-6), nvlink3 = make("nvlink", "nvlink3", 300e9, 0.7e-6),
                     nvlink4 = make("nvlink", "nvlink4", 450e9, 0.7e-6, true), nvlink5 = make("nvlink", "nvlink5", 900e9, 0.7e-6, true);
  static const Level pcie4 = make("pcie", "pcie", 31.5e9, 1e-6), shared4 = make("pcie", "hostpcie", 31.5e9, 1e-6);
  // Of DGX systems: four adapters of 100 Gb/s (DGX-1), one of 200 Gb/s HDR a device (DGX A100), one of 400 Gb/s NDR (DGX H100, H200, B200,
  // GB200). SHARP is not counted on. L40S: 400 Gb/s a node (AWS g6e.48xlarge). RTX 4090: 100 Gb/s a node, an assumption.
  static const Level edr = make("network", "infiniband", 6.25e9, 2e-6), hdr = make("network", "infiniband", 25e9, 2e-6),
                     ndr = make("network", "infiniband", 50e9, 2e-6), xdr = make("network", "infiniband", 100e9, 2e-6), efa = make("network", "efa", 6.25e9, 5e-6),
                     ethernet = make("network", "tcp", 1.5625e9, 10e-6);
  // Leaves: SuperPOD's scalable units of 20 DGX A100 and of 32 DGX H100.
  static const std::vector<Preset> presets = {
      {"v100", 8, make(kV100), nvlink2, edr, 20},           {"a100-40", 8, make(kA100With40), nvlink3, hdr, 20},
      {"a100-80", 8, make(kA100With80), nvlink3, hdr, 20},  {"dgx-a100", 8, make(kA100With80), nvlink3, hdr, 20},
      {"h100", 8, make(kH100), nvlink4, ndr, 32},           {"dgx-h100", 8, make(kH100), nvlink4, ndr, 32},
      {"h200", 8, make(kH200), nvlink4, ndr, 32},           {"b200", 8, make(kB200), nvlink5, ndr, 32},
      {"gb200", 72, make(kGB200), nvlink5, ndr, 8},
      {"gb300", 72, make(kGB300), nvlink5, xdr, 8},         {"h100-96", 8, make(kH100With96), nvlink4, ndr, 32},         {"l40s", 8, make(kL40S), pcie4, efa, 32},
      {"rtx4090", 8, make(kRTX4090), shared4, ethernet, 16}};
  return presets;
}
