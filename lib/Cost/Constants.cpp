#include "para/Cost/Constants.h"

using namespace para;

//===----------------------------------------------------------------------===//
// Keys, units, meanings
//===----------------------------------------------------------------------===//

using K = KernelConstants;
using N = NetworkConstants;

static const Field<K> kKernelFields[] = {
    {"product_fraction", &K::productFraction, 0.01, 1, "of peak flops", "products of many full waves"},
    {"f8_fraction", &K::f8Fraction, 0.01, 1, "of product_fraction", "products of 8-bit elements"},
    {"product_start", &K::productStart, 0, 1e4, "steps of the reduction", "filling and draining of a tile's pipeline"},
    {"wave_tail", &K::waveTail, 0, 1, "of a wave", "what is lost of idle multiprocessors in the last wave"},
    {"cache_bytes_per_second", &K::cacheBytesPerSecond, 0, 1e13, "bytes/second",
     "second level cache to one multiprocessor, with multicast; 0: no bound"},
    {"convolution_fraction", &K::convolutionFraction, 0.01, 1, "of a product's rate", "convolutions"},
    {"attention_fraction", &K::attentionFraction, 0.01, 1, "of peak flops", "fused attention, long sequences, wide heads"},
    {"attention_start", &K::attentionStart, 0, 1e5, "keys", "start of a block of queries"},
    {"attention_head", &K::attentionHead, 0, 1e4, "width of a head", "where softmax takes as long as the products"},
    {"stream_fraction", &K::streamFraction, 0.01, 1, "of the memory's rate", "kernels that stream"},
    {"vector_fraction", &K::vectorFraction, 0.01, 1, "of peak vector flops", "kernels that compute without products"},
    {"start_seconds", &K::startSeconds, 0, 1, "seconds", "all multiprocessors to begin and to end"},
};

static const Field<N> kNetworkFields[] = {
    {"low_start", &N::lowStart, 0, 1, "seconds", "LL: once"},
    {"low_step", &N::lowStep, 0, 1, "seconds", "LL: each step of a ring"},
    {"low_fraction", &N::lowFraction, 0, 1, "of the link's rate", "LL; 0: not there"},
    {"middle_start", &N::middleStart, 0, 1, "seconds", "LL128: once"},
    {"middle_step", &N::middleStep, 0, 1, "seconds", "LL128: each step of a ring"},
    {"middle_fraction", &N::middleFraction, 0, 1, "of the link's rate", "LL128; 0: not there"},
    {"simple_start", &N::simpleStart, 0, 1, "seconds", "Simple: once"},
    {"simple_step", &N::simpleStep, 0, 1, "seconds", "Simple: each step of a ring"},
    {"simple_fraction", &N::simpleFraction, 0.01, 1, "of the link's rate", "Simple, ring"},
    {"simple_ramp", &N::simpleRamp, 0, 1, "seconds", "Simple: chunks in flight, adds 2 sqrt(ramp * time of the bytes)"},
    {"tree_fraction", &N::treeFraction, 0.01, 2, "of a ring's rate", "trees"},
    {"tree_step", &N::treeStep, 0, 100, "of a ring's step", "each level of a tree"},
    {"exchange_start", &N::exchangeStart, 0, 1, "seconds", "all-to-all and sends: once"},
    {"exchange_step", &N::exchangeStep, 0, 1, "seconds", "all-to-all: each peer"},
    {"exchange_fraction", &N::exchangeFraction, 0.01, 1, "of the link's rate", "all-to-all"},
    {"pair_fraction", &N::pairFraction, 0.01, 1, "of the link's rate", "one peer alone"},
    {"reduction_start", &N::reductionStart, 0, 1, "seconds", "in the network: once"},
    {"reduction_fraction", &N::reductionFraction, 0, 1, "of the link's rate", "in the network; 0: not there"},
    {"reduction_ramp", &N::reductionRamp, 0, 1, "seconds", "in the network: as simple_ramp"},
    {"share_2", &N::share2, 0.01, 1, "of a device's links", "that a ring of 2 uses"},
    {"share_3", &N::share3, 0.01, 1, "of a device's links", "that a ring of 3 uses"},
    {"share_4", &N::share4, 0.01, 1, "of a device's links", "that a ring of 4 uses"},
    {"share_5", &N::share5, 0.01, 1, "of a device's links", "that a ring of 5 uses"},
    {"share_6", &N::share6, 0.01, 1, "of a device's links", "that a ring of 6 uses"},
    {"share_7", &N::share7, 0.01, 1, "of a device's links", "that a ring of 7 uses"},
    {"share_8", &N::share8, 0.01, 1, "of a device's links", "that a ring of 8 uses"},
};

llvm::ArrayRef<Field<K>> para::getKernelFields() { return kKernelFields; }
llvm::ArrayRef<Field<N>> para::getNetworkFields() { return kNetworkFields; }

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

// Tiles: the shapes of cuBLAS and CUTLASS, large first.
static constexpr Tile kPlainTiles[] = {{1, 1}};
static constexpr Tile kTensorTiles[] = {{256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256},
                                        {128, 64},  {64, 128},  {64, 64},   {32, 64},  {64, 32}};
static constexpr Tile kBlackwellTiles[] = {{256, 256}, {256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}};

static constexpr KernelConstants kPlainKernels = {};
static constexpr KernelConstants kVolta = {
    /*productFraction=*/0.80, // no measurement here
    /*f8Fraction=*/1,
    /*productStart=*/96,
    /*waveTail=*/0.5,
    /*cacheBytesPerSecond=*/30e9, // 64 B a clock at 1.53 GHz is 98e9; about a third was measured (Jia et al. 2018, arXiv:1804.06826)
    /*convolutionFraction=*/0.75,
    /*attentionFraction=*/0.40,
    /*attentionStart=*/256,
    /*attentionHead=*/16,
    /*streamFraction=*/0.85,
    /*vectorFraction=*/0.8,
    /*startSeconds=*/3e-6,
};
static constexpr KernelConstants kAmpere = {
    /*productFraction=*/0.87, // MAMF: 271.2 of 312
    /*f8Fraction=*/1,
    /*productStart=*/96,
    /*waveTail=*/0.5,
    /*cacheBytesPerSecond=*/50e9,
    /*convolutionFraction=*/0.80,
    /*attentionFraction=*/0.70, // FlashAttention-2 (arXiv:2307.08691): up to 73 % forward, 63 % backward
    /*attentionStart=*/256,
    /*attentionHead=*/16,
    /*streamFraction=*/0.85,
    /*vectorFraction=*/0.8,
    /*startSeconds=*/3e-6,
};
static constexpr KernelConstants kAda = {
    /*productFraction=*/0.80,
    /*f8Fraction=*/0.95,
    /*productStart=*/96,
    /*waveTail=*/0.5,
    /*cacheBytesPerSecond=*/50e9,
    /*convolutionFraction=*/0.80,
    /*attentionFraction=*/0.65,
    /*attentionStart=*/256,
    /*attentionHead=*/16,
    /*streamFraction=*/0.88,
    /*vectorFraction=*/0.8,
    /*startSeconds=*/3e-6,
};
static constexpr KernelConstants kHopper = {
    /*productFraction=*/0.81, // MAMF: 794.5 of 989
    /*f8Fraction=*/0.89,      // MAMF: 1402.6 and 1453.4 of 1979
    /*productStart=*/128,
    /*waveTail=*/0.5,
    /*cacheBytesPerSecond=*/110e9,
    /*convolutionFraction=*/0.80,
    /*attentionFraction=*/0.75, // FlashAttention-3 (arXiv:2407.08608): up to 75 % forward
    /*attentionStart=*/512,
    /*attentionHead=*/32,
    /*streamFraction=*/0.85,
    /*vectorFraction=*/0.8,
    /*startSeconds=*/3e-6,
};
static constexpr KernelConstants kBlackwell = {
    /*productFraction=*/0.78, // MAMF: 1745 of 2250
    /*f8Fraction=*/0.98,      // MAMF: 3432.5 of 4500
    /*productStart=*/128,
    /*waveTail=*/0.5,
    /*cacheBytesPerSecond=*/200e9,
    /*convolutionFraction=*/0.80,
    /*attentionFraction=*/0.65,
    /*attentionStart=*/512,
    /*attentionHead=*/32,
    /*streamFraction=*/0.85,
    /*vectorFraction=*/0.8,
    /*startSeconds=*/3e-6,
};

static const DeviceKind kDeviceKinds[] = {
    {"plain", kPlainTiles, kPlainKernels, "rates that are given are sustained"},
    {"volta", kTensorTiles, kVolta, "as ampere; no measurement of its own"},
    {"ampere", kTensorTiles, kAmpere, "ml-engineering MAMF; Zero Bubble Table 9; Korthikanti et al. Table 4; Hetu-Galvatron profiles"},
    {"ada", kTensorTiles, kAda, "as ampere; no measurement of its own"},
    {"hopper", kTensorTiles, kHopper, "ml-engineering MAMF"},
    {"blackwell", kBlackwellTiles, kBlackwell, "ml-engineering MAMF"},
};

//===----------------------------------------------------------------------===//
// Networks
//===----------------------------------------------------------------------===//

static NetworkConstants network(llvm::ArrayRef<std::pair<double N::*, double>> values) {
  NetworkConstants constants;
  for (auto [member, value] : values)
    constants.*member = value;
  return constants;
}

static llvm::ArrayRef<NetworkKind> makeNetworkKinds() {
  // Starts and steps of LL and LL128 begin as in NCCL's tuning model and are fitted with the rest.
  static const NetworkKind kinds[] = {
      {"plain", NetworkConstants(), "rates and seconds that are given are sustained"},
      {"nvlink2",
       network({{&N::lowStart, 6.6e-6},
                {&N::lowStep, 0.6e-6},
                {&N::lowFraction, 0.25},
                {&N::middleStart, 14e-6},
                {&N::middleStep, 1.9e-6},
                {&N::middleFraction, 0.8},
                {&N::simpleStart, 30e-6},
                {&N::simpleStep, 3e-6},
                {&N::simpleFraction, 0.9},
                {&N::exchangeStart, 30e-6},
                {&N::exchangeStep, 3e-6},
                {&N::exchangeFraction, 0.5},
                {&N::pairFraction, 0.16},
                {&N::share2, 0.166},
                {&N::share3, 0.333},
                {&N::share4, 0.63},
                {&N::share5, 0.273},
                {&N::share6, 0.338},
                {&N::share7, 0.645}}),
       "vTrain trace/v100"},
      {"nvlink3",
       network({{&N::lowStart, 6.6e-6},
                {&N::lowStep, 0.6e-6},
                {&N::lowFraction, 0.2},
                {&N::middleStart, 14e-6},
                {&N::middleStep, 1.9e-6},
                {&N::middleFraction, 0.7},
                {&N::simpleStart, 38e-6},
                {&N::simpleStep, 2.9e-6},
                {&N::simpleFraction, 0.76},
                {&N::exchangeStart, 45e-6},
                {&N::exchangeStep, 3e-6},
                {&N::exchangeFraction, 0.67},
                {&N::pairFraction, 0.55}}),
       "vTrain trace/a100; Hetu-Galvatron hardware profile (all-to-all)"},
      {"nvlink4",
       network({{&N::lowStart, 6.6e-6},
                {&N::lowStep, 0.6e-6},
                {&N::lowFraction, 0.2},
                {&N::middleStart, 14e-6},
                {&N::middleStep, 1.9e-6},
                {&N::middleFraction, 0.7},
                {&N::simpleStart, 30e-6},
                {&N::simpleStep, 2.9e-6},
                {&N::simpleFraction, 0.82},
                {&N::exchangeStart, 30e-6},
                {&N::exchangeStep, 2e-6},
                {&N::exchangeFraction, 0.75},
                {&N::pairFraction, 0.86},
                {&N::reductionStart, 25e-6},
                {&N::reductionFraction, 0.69},
                {&N::reductionRamp, 1e-6}}),
       "ml-engineering 8x H200; NVIDIA GTC24 S62129"},
      {"nvlink5",
       network({{&N::lowStart, 6.6e-6},
                {&N::lowStep, 0.6e-6},
                {&N::lowFraction, 0.2},
                {&N::middleStart, 14e-6},
                {&N::middleStep, 1.9e-6},
                {&N::middleFraction, 0.7},
                {&N::simpleStart, 30e-6},
                {&N::simpleStep, 2.9e-6},
                {&N::simpleFraction, 0.76},
                {&N::exchangeStart, 30e-6},
                {&N::exchangeStep, 2e-6},
                {&N::exchangeFraction, 0.7},
                {&N::pairFraction, 0.86},
                {&N::reductionStart, 25e-6},
                {&N::reductionFraction, 0.60},
                {&N::reductionRamp, 1e-6}}),
       "ml-engineering 8x B200"},
      {"pcie",
       network({{&N::lowStart, 6.6e-6},
                {&N::lowStep, 1.0e-6},
                {&N::lowFraction, 0.25},
                {&N::simpleStart, 20e-6},
                {&N::simpleStep, 5.7e-6},
                {&N::simpleFraction, 0.76},
                {&N::exchangeStart, 20e-6},
                {&N::exchangeStep, 5.7e-6},
                {&N::exchangeFraction, 0.6},
                {&N::pairFraction, 0.76}}),
       "NVIDIA GTC24 S62129; starts of NCCL's tuning model"},
      {"hostpcie", // no peer access: through memory of the host
       network({{&N::simpleStart, 25e-6},
                {&N::simpleStep, 12e-6},
                {&N::simpleFraction, 0.4},
                {&N::exchangeStart, 25e-6},
                {&N::exchangeStep, 12e-6},
                {&N::exchangeFraction, 0.4},
                {&N::pairFraction, 0.5}}),
       "two copies of each byte; no measurement of its own"},
      {"infiniband", // and RoCE
       network({{&N::lowStart, 6.6e-6},
                {&N::lowStep, 2.7e-6},
                {&N::lowFraction, 0.25},
                {&N::middleStart, 14e-6},
                {&N::middleStep, 4e-6},
                {&N::middleFraction, 0.8},
                {&N::simpleStart, 30e-6},
                {&N::simpleStep, 14e-6},
                {&N::simpleFraction, 0.96},
                {&N::treeFraction, 0.95},
                {&N::treeStep, 1.0},
                {&N::exchangeStart, 30e-6},
                {&N::exchangeStep, 5e-6},
                {&N::exchangeFraction, 0.8},
                {&N::pairFraction, 0.9},
                {&N::reductionStart, 30e-6},
                {&N::reductionFraction, 0.96},
                {&N::reductionRamp, 1e-6}}),
       "NVIDIA GTC24 S62129; starts of NCCL's tuning model"},
      {"efa",
       network({{&N::lowStart, 30e-6},
                {&N::lowStep, 10e-6},
                {&N::lowFraction, 0.1},
                {&N::middleStart, 50e-6},
                {&N::middleStep, 12e-6},
                {&N::middleFraction, 0.4},
                {&N::simpleStart, 100e-6},
                {&N::simpleStep, 30e-6},
                {&N::simpleFraction, 0.95},
                {&N::treeFraction, 0.95},
                {&N::treeStep, 1.0},
                {&N::exchangeStart, 60e-6},
                {&N::exchangeStep, 10e-6},
                {&N::exchangeFraction, 0.7},
                {&N::pairFraction, 0.8}}),
       "ml-engineering 4x 8 B200"},
      {"tcp",
       network({{&N::simpleStart, 60e-6},
                {&N::simpleStep, 40e-6},
                {&N::simpleFraction, 0.8},
                {&N::exchangeStart, 60e-6},
                {&N::exchangeStep, 40e-6},
                {&N::exchangeFraction, 0.7},
                {&N::pairFraction, 0.8}}),
       "NVIDIA GTC24 S62129 (100 GbE: 10 of 12.5)"},
  };
  return kinds;
}

llvm::ArrayRef<DeviceKind> para::getDeviceKinds() { return kDeviceKinds; }
llvm::ArrayRef<NetworkKind> para::getNetworkKinds() { return makeNetworkKinds(); }

const DeviceKind *para::findDeviceKind(llvm::StringRef name) {
  for (const DeviceKind &kind : getDeviceKinds())
    if (name == kind.name)
      return &kind;
  return nullptr;
}

const NetworkKind *para::findNetworkKind(llvm::StringRef name) {
  for (const NetworkKind &kind : getNetworkKinds())
    if (name == kind.name)
      return &kind;
  return nullptr;
}
