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
    {"unaligned_fraction", &K::unalignedFraction, 0.01, 1, "of a product's rate", "where rows of a matrix are no multiple of 128 bytes"},
    {"odd_fraction", &K::oddFraction, 0.01, 1, "of a product's rate", "where rows of a matrix are no multiple of 16 bytes"},
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
    {"host_factor", &K::hostFactor, 0.01, 10, "", "seconds of the host beside it, against ampere's"},
    {"reserved_bytes", &K::reservedBytes, 0, 1e11, "bytes", "workspaces of libraries for products"},
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
    {"overlap", &N::overlap, 1, 16, "exponent", "seconds s of steps and b of bytes take (s^p + b^p)^(1/p); 1: one after the other"},
    {"tree_fraction", &N::treeFraction, 0.01, 2, "of a ring's rate", "trees"},
    {"tree_step", &N::treeStep, 0, 100, "of a ring's step", "each level of a tree"},
    {"exchange_start", &N::exchangeStart, 0, 1, "seconds", "all-to-all and sends: once"},
    {"exchange_step", &N::exchangeStep, 0, 1, "seconds", "all-to-all: each peer"},
    {"exchange_fraction", &N::exchangeFraction, 0.01, 1, "of the link's rate", "all-to-all"},
    {"pair_fraction", &N::pairFraction, 0.01, 1, "of the link's rate", "one peer alone"},
    {"level_by_level", &N::levelByLevel, 0, 1, "0 or 1", "collectives scatter inside, go on outside and gather inside where that is best"},
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

// What ampere has is fitted by tools/fit where a line does not say otherwise, rates of products and streams by tools/fit-runs: layers that
// are measured alone (Zero Bubble, Korthikanti) are up to 10 % slower than those of whole runs elsewhere. Its products in training sustain
// 0.93 of the most that any shape achieves ("MAMF" of ml-engineering); of kinds where only that most is known, 0.9 of it is taken.
static constexpr double kOfMost = 0.9;

static constexpr KernelConstants kAmpere = [] {
  KernelConstants c;
  c.productFraction = 0.81; // fit-runs has 0.76 to 0.81, kernels alone 0.81 (Zero Bubble, T_W); MAMF: 271.2 of 312
  // Whole runs of BLOOM with rows of 3600 bytes (fit-runs); "Matrix Multiplication Background", NVIDIA: multiples of 128 bytes on A100.
  // Other kinds take it over without a measurement.
  c.unalignedFraction = 0.59;
  c.oddFraction = 0.4; // fit-runs: heads of 50257 tokens
  c.productStart = 32;
  c.waveTail = 1;
  c.cacheBytesPerSecond = 50e9; // not measured: somewhat more than half of 64 bytes a clock
  c.convolutionFraction = 0.8;  // not measured
  c.attentionFraction = 0.66;   // FlashAttention-2 (arXiv:2307.08691): up to 73 % forward and 63 % backward, which is 5/7 of the flops
  c.attentionStart = 256;       // not measured: shorter sequences are slower, as the figures there show
  c.attentionHead = 16;         // likewise
  c.streamFraction = 0.735; // fit-runs
  c.vectorFraction = 0.8; // not measured
  c.reservedBytes = 68 << 20;
  c.startSeconds = 3e-6;  // not measured: a ramp of all multiprocessors and a latency of memory each way
  return c;
}();

/// As ampere; not measured. Its products lose as much of the peak and its fused attention more.
static constexpr KernelConstants kVolta = [] {
  KernelConstants c = kAmpere;
  c.productFraction = 0.72;
  c.cacheBytesPerSecond = 27e9;
  c.convolutionFraction = 0.75;
  c.attentionFraction = 0.4;
  return c;
}();

static constexpr KernelConstants kAda = [] {
  KernelConstants c = kAmpere;
  c.f8Fraction = 0.95;
  return c;
}();

static constexpr KernelConstants kHopper = [] {
  KernelConstants c = kAmpere;
  c.productFraction = kOfMost * 794.5 / 989;    // MAMF of H100
  c.streamFraction = 0.82;                      // fit-runs, with that
  c.hostFactor = 0.8;                           // processors of a later generation; not measured alone
  c.reservedBytes = 96 << 20;
  c.f8Fraction = 1428 / 1979.0 / (794.5 / 989); // MAMF of H100 (1402.6) and H200 (1453.4)
  c.cacheBytesPerSecond = 110e9;                // not measured: clusters share what they read
  c.attentionFraction = 0.6, c.attentionStart = 512,
  c.attentionHead = 32; // FlashAttention-3 and cuDNN (arXiv:2407.08608): up to 75 % forward and 57 % backward
  return c;
}();

static constexpr KernelConstants kBlackwell = [] {
  KernelConstants c = kHopper;
  c.productFraction = kOfMost * 1745 / 2250;      // MAMF of B200
  c.f8Fraction = 3432.5 / 4500 / (1745 / 2250.0); // likewise
  c.cacheBytesPerSecond = 200e9;                  // not measured: pairs of multiprocessors share a tile
  // Exponentials are as fast as hopper's, products twice (FlashAttention-4, arXiv:2603.05451): cuDNN has about 60 % forward and 40 % backward.
  c.attentionFraction = 0.45;
  return c;
}();

/// Peaks a ninth higher than B200's, of which less is sustained.
static constexpr KernelConstants kGraceBlackwell = [] {
  KernelConstants c = kBlackwell;
  c.productFraction = kOfMost * 1822 / 2500;      // MAMF of GB200
  c.f8Fraction = 3615.6 / 5000 / (1822 / 2500.0); // likewise
  return c;
}();

/// Exponentials twice as fast ("Inside NVIDIA Blackwell Ultra", NVIDIA blog 2025).
static constexpr KernelConstants kBlackwellUltra = [] {
  KernelConstants c = kBlackwell;
  c.attentionFraction = kHopper.attentionFraction;
  return c;
}();

/// Cores of x86 with oneDNN and our vector kernels, against the peak that Host.cpp measures; by test/Execution/predict.py.
static constexpr KernelConstants kProcessor = [] {
  KernelConstants c;
  c.productFraction = 1;
  c.productStart = 10;
  c.convolutionFraction = 0.87;
  c.cacheBytesPerSecond = 45e9; // until it is measured
  c.streamFraction = 1;
  c.vectorFraction = 0.75;
  c.startSeconds = 2e-7;
  return c;
}();

static const DeviceKind kDeviceKinds[] = {
    {"plain", kPlainTiles, kPlainKernels, "rates that are given are sustained"},
    {"processor", kPlainTiles, kProcessor, "this project's kernels, test/Execution/predict.py"},
    {"volta", kTensorTiles, kVolta, "as ampere; no measurement of its own"},
    {"ampere", kTensorTiles, kAmpere, "ml-engineering MAMF; Zero Bubble Table 9; Korthikanti et al. Table 4; Hetu-Galvatron profiles"},
    {"ada", kTensorTiles, kAda, "as ampere; no measurement of its own"},
    {"hopper", kTensorTiles, kHopper, "ml-engineering MAMF"},
    {"blackwell", kBlackwellTiles, kBlackwell, "ml-engineering MAMF"},
    {"graceblackwell", kBlackwellTiles, kGraceBlackwell, "ml-engineering MAMF"},
    {"blackwellultra", kBlackwellTiles, kBlackwellUltra, "as blackwell; no measurement of its own"},
};

//===----------------------------------------------------------------------===//
// Networks
//===----------------------------------------------------------------------===//

// Fitted by tools/fit unless a line says otherwise. That NCCL does not go level by level is what rates between nodes show: they are those
// of rings through all devices, where adapters are slow too (Hetu-Galvatron: 16.2 GB/s of 4 ranks on 2 nodes with 8.1 GB/s a device).

static constexpr NetworkConstants kPlainLinks = {};

/// A hybrid cube mesh: the rings that there are depend on the members.
static constexpr NetworkConstants kNvlink2 = [] {
  NetworkConstants c;
  c.lowStart = 9.29e-6, c.lowStep = 1.22e-6, c.lowFraction = 0.158;
  c.middleStart = 13.6e-6, c.middleStep = 10.3e-6, c.middleFraction = 0.459;
  c.simpleStart = 20.9e-6, c.simpleStep = 17.8e-6, c.simpleFraction = 0.895, c.simpleRamp = 0.0122e-6;
  c.overlap = 4.73;
  c.share2 = 0.169, c.share3 = 0.339, c.share4 = 0.638, c.share5 = 0.275, c.share6 = 0.343, c.share7 = 0.647;
  c.exchangeStart = 45e-6, c.exchangeStep = 3e-6, c.exchangeFraction = 0.5; // as nvlink3, at the share of four members
  c.pairFraction = 0.15;                                                    // one link of six
  return c;
}();

static constexpr NetworkConstants kNvlink3 = [] {
  NetworkConstants c;
  c.lowStart = 8.59e-6, c.lowStep = 3.64e-6, c.lowFraction = 0.0951;
  c.middleStart = 31.5e-6, c.middleStep = 6.82e-6, c.middleFraction = 0.548;
  c.simpleStart = 15.8e-6, c.simpleStep = 16.8e-6, c.simpleFraction = 0.799, c.simpleRamp = 3.63e-6;
  c.overlap = 4.97;
  c.share2 = 0.863, c.share3 = 0.925, c.share4 = 0.971, c.share5 = 0.973, c.share6 = 0.987, c.share7 = 0.98;
  c.exchangeStart = 74.1e-6, c.exchangeStep = 3.78e-6, c.exchangeFraction = 0.654, c.pairFraction = 0.539;
  return c;
}();

static constexpr NetworkConstants kNvlink4 = [] {
  NetworkConstants c;
  c.lowStart = 4.91e-6, c.lowStep = 1.54e-6, c.lowFraction = 0.254;
  c.middleStart = 14.5e-6, c.middleStep = 2.99e-6, c.middleFraction = 0.53;
  c.simpleFraction = 0.804;
  c.pairFraction = 0.863;
  c.overlap = 3.53;
  c.reductionStart = 60.9e-6, c.reductionFraction = 0.684, c.reductionRamp = 0.153e-6;
  c.simpleStart = 30e-6, c.simpleStep = 2.9e-6;                             // about as nvlink3: only large messages are known without NVLS
  c.exchangeStart = 50e-6, c.exchangeStep = 2e-6, c.exchangeFraction = 0.7; // likewise
  return c;
}();

static constexpr NetworkConstants kNvlink5 = [] {
  NetworkConstants c = kNvlink4; // but for large messages
  c.simpleFraction = 0.764, c.reductionFraction = 0.613;
  return c;
}();

static constexpr NetworkConstants kPcie = [] {
  NetworkConstants c;
  c.lowStart = 6.6e-6, c.lowStep = 1e-6, c.lowFraction = 0.25;             // NCCL's tuning model
  c.simpleStart = 8.4e-6, c.simpleStep = 5.7e-6, c.simpleFraction = 0.762; // likewise; the fraction is of GTC24 S62129
  c.exchangeStart = 20e-6, c.exchangeStep = 5.7e-6, c.exchangeFraction = 0.6, c.pairFraction = 0.762; // not measured
  return c;
}();

/// Without access to peers each byte is copied to the host and back. Not measured.
static constexpr NetworkConstants kHostPcie = [] {
  NetworkConstants c;
  c.simpleStart = 25e-6, c.simpleStep = 12e-6, c.simpleFraction = 0.4;
  c.exchangeStart = 25e-6, c.exchangeStep = 12e-6, c.exchangeFraction = 0.4, c.pairFraction = 0.5;
  return c;
}();

/// And RoCE.
static constexpr NetworkConstants kInfiniband = [] {
  NetworkConstants c;
  c.lowStart = 6.6e-6, c.lowStep = 2.7e-6, c.lowFraction = 0.25;        // NCCL's tuning model
  c.middleStart = 14e-6, c.middleStep = 4e-6, c.middleFraction = 0.6;   // likewise
  c.simpleStart = 30e-6, c.simpleStep = 14e-6, c.simpleFraction = 0.96; // likewise; the fraction is of GTC24 S62129
  c.treeFraction = 0.95;
  c.exchangeStart = 30e-6, c.exchangeStep = 5e-6, c.exchangeFraction = 0.8, c.pairFraction = 0.9; // not measured
  c.reductionStart = 30e-6, c.reductionFraction = 0.96;                                           // as without
  c.levelByLevel = 0;
  return c;
}();

static constexpr NetworkConstants kEfa = [] {
  NetworkConstants c;
  c.lowStart = 12.8e-6, c.lowStep = 10.1e-6, c.lowFraction = 0.044;
  c.middleStart = 58e-6, c.middleStep = 3.16e-6, c.middleFraction = 0.177;
  c.simpleStart = 60.6e-6, c.simpleStep = 49.9e-6, c.simpleFraction = 0.962;
  c.treeFraction = 0.929;
  c.exchangeStart = 60e-6, c.exchangeStep = 10e-6, c.exchangeFraction = 0.7, c.pairFraction = 0.8; // not measured
  c.levelByLevel = 0;
  return c;
}();

static constexpr NetworkConstants kTcp = [] {
  NetworkConstants c;
  c.simpleStart = 60e-6, c.simpleStep = 40e-6, c.simpleFraction = 0.8; // GTC24 S62129: 10 of 12.5 GB/s; the rest is not measured
  c.exchangeStart = 60e-6, c.exchangeStep = 40e-6, c.exchangeFraction = 0.7, c.pairFraction = 0.8;
  c.levelByLevel = 0;
  return c;
}();

static const NetworkKind kNetworkKinds[] = {
    {"plain", kPlainLinks, "rates and seconds that are given are sustained"},
    {"nvlink2", kNvlink2, "vTrain trace/v100"},
    {"nvlink3", kNvlink3, "vTrain trace/a100; exchange: Hetu-Galvatron hardware profile"},
    {"nvlink4", kNvlink4, "ml-engineering, 8 H200"},
    {"nvlink5", kNvlink5, "ml-engineering, 8 B200; starts as nvlink4"},
    {"pcie", kPcie, "NVIDIA GTC24 S62129; NCCL src/graph/tuning.cc"},
    {"hostpcie", kHostPcie, "not measured"},
    {"infiniband", kInfiniband, "NVIDIA GTC24 S62129; NCCL src/graph/tuning.cc"},
    {"efa", kEfa, "ml-engineering, 4 nodes of 8 B200"},
    {"tcp", kTcp, "NVIDIA GTC24 S62129"},
};

llvm::ArrayRef<DeviceKind> para::getDeviceKinds() { return kDeviceKinds; }
llvm::ArrayRef<NetworkKind> para::getNetworkKinds() { return kNetworkKinds; }

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
