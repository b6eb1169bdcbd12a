//===- Constants.h - What kernels and links sustain ---------------*- C++ -*-===//
//
// What datasheets do not say: how much of a peak is sustained, and what it takes to start. One table for each kind of device and each kind
// of link (lib/Cost/Constants.cpp), fitted to published measurements by tools/fit; nothing here belongs to a model or to a paper. Every
// constant has a key, a unit and a meaning, which JSON files and `para-cost --constants` use.
//
// Example: findNetworkKind("nvlink3")->constants.simpleFraction is the share of NVLink 3 that long rings sustain.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_COST_CONSTANTS_H
#define PARA_COST_CONSTANTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace para {

/// A number of `T` as tables and files have it, and between what it is for a machine of any make.
template <typename T> struct Field {
  const char *key;
  double T::*member;
  double least, most;
  const char *unit;
  const char *meaning;
  bool isSwitch() const { return llvm::StringRef(unit) == "0 or 1"; }
};

/// Of a kind of device.
struct KernelConstants {
  double productFraction = 1;     ///< of peak flops, in products of many full waves
  double f8Fraction = 1;          ///< of that, where elements have 8 bits
  double unalignedFraction = 1;   ///< of a product's rate, where rows of a matrix are no multiple of 128 bytes
  double oddFraction = 1;         ///< of a product's rate, where rows of a matrix are no multiple of 16 bytes
  double productStart = 0;        ///< filling and draining of a tile's pipeline, counted as so many steps of the reduction
  double waveTail = 0;            ///< of a last wave's idle multiprocessors, the part that is lost
  double cacheBytesPerSecond = 0; ///< from the second level cache into one multiprocessor, with multicast; 0: no bound
  double convolutionFraction = 1; ///< of a product's rate
  double attentionFraction = 1;   ///< of peak flops, in fused attention over long sequences with wide heads
  double attentionStart = 0;      ///< keys whose time the start of a block of queries takes
  double attentionHead = 0;       ///< width of a head at which softmax takes as long as the products
  double streamFraction = 1;      ///< of the memory's rate
  double vectorFraction = 1;      ///< of peak vector flops
  double hostFactor = 1;          ///< seconds of the host beside it, against that of ampere
  double reservedBytes = 0;       ///< of memory, by libraries for products and the like
  double startSeconds = 0;        ///< from the first to the last multiprocessor at work, and back, for any kernel
};

/// Of a kind of link. NCCL has three protocols; "low" and "middle" are its LL and LL128.
struct NetworkConstants {
  double lowStart = 0, lowStep = 0, lowFraction = 0;          ///< once, each step, of the link's rate; a fraction of 0: there is none
  double middleStart = 0, middleStep = 0, middleFraction = 0; ///< likewise
  double simpleStart = 0, simpleStep = 0, simpleFraction = 1; ///< likewise
  double simpleRamp = 0;                                      ///< chunks in flight: adds 2 sqrt(ramp * time of the bytes)
  double overlap = 1;                                         ///< steps s and bytes b take (s^p + b^p)^(1/p): 1 is one after the other
  double treeFraction = 1;                                    ///< of a ring's fraction that a tree sustains
  double treeStep = 1;                                        ///< a tree's step in steps of a ring
  double exchangeStart = 0, exchangeStep = 0;                 ///< all-to-all and sends: once, for each peer
  double exchangeFraction = 1;                                ///< all-to-all: of the link's rate
  double pairFraction = 1;                                    ///< of the link's rate between two devices alone
  double reductionStart = 0, reductionFraction = 0;           ///< in the network: once, of the link's rate
  double levelByLevel = 1;                                    ///< 1: all-reduce scatters inside, reduces outside, gathers inside where that is best
  double reductionRamp = 0;                                   ///< as simpleRamp
  /// Of a device's links, those which a ring of so many members uses, where links are wired rather than switched.
  double share2 = 1, share3 = 1, share4 = 1, share5 = 1, share6 = 1, share7 = 1, share8 = 1;
};

struct Tile {
  int64_t m, n;
};

struct DeviceKind {
  const char *name;
  llvm::ArrayRef<Tile> tiles; ///< of the result that a block of a product makes
  KernelConstants constants;
  const char *source;
};

struct NetworkKind {
  const char *name;
  NetworkConstants constants;
  const char *source;
};

llvm::ArrayRef<Field<KernelConstants>> getKernelFields();
llvm::ArrayRef<Field<NetworkConstants>> getNetworkFields();
llvm::ArrayRef<DeviceKind> getDeviceKinds();
llvm::ArrayRef<NetworkKind> getNetworkKinds();
/// Null if there is none.
const DeviceKind *findDeviceKind(llvm::StringRef name);
const NetworkKind *findNetworkKind(llvm::StringRef name);

} // namespace para

#endif
