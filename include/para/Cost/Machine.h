//===- Machine.h - What a program runs on ------------------------*- C++ -*-===//
//
// Devices and links in seconds, bytes and flops: facts of datasheets, and for each kind of device and link the constants of Constants.h.
// The host is measured once and the numbers are kept in the user's cache (~/.cache/para/host.json).
//
// Ranks are numbered class by class and node by node. Levels go from the inside out: what an NVLink domain joins, a node, a leaf switch,
// all.
//
// Example: Machine::get("a100-80:2x4") is two nodes of four A100 with 80 GB; "a100-80:1x6+h100:1x2" has two classes of devices.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_COST_MACHINE_H
#define PARA_COST_MACHINE_H

#include "para/Cost/Constants.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace para {

/// Plans and machines are for at most this many ranks: products of three sizes stay far from overflow.
constexpr int64_t kMostRanks = 1 << 20;

/// What products are computed in.
enum class CostType { F64, F32, TF32, BF16, F16, F8 };
constexpr int kNumCostTypes = 6;
llvm::StringRef getName(CostType type);
std::optional<CostType> parseCostType(llvm::StringRef name);
int64_t getBytes(CostType type);

/// Facts of one device, as sold: peaks, not what is sustained.
struct Device {
  std::string name;
  std::string kind = "plain"; ///< of Constants.h
  double memoryBytes = 0;
  double memoryBytesPerSecond = 0;
  std::array<double, kNumCostTypes> flops = {}; ///< dense, by CostType; 0: the device has no units for it
  double vectorFlops = 0;
  double launchSeconds = 0; ///< between two kernels that were enqueued
  double multiprocessors = 1;
  double l2Bytes = 0;
  KernelConstants constants;

  /// Peak; a type without units is computed in the next wider one that has some.
  double getFlops(CostType type) const;
  /// Of the kind.
  llvm::ArrayRef<Tile> getTiles() const;
};

/// A level of links, as one device sees it.
struct Level {
  std::string name;
  std::string kind = "plain";      ///< of Constants.h
  int64_t ranks = 1;               ///< joined; the outermost joins all of the machine
  double bytesPerSecond = 0;       ///< of one device, one direction
  double seconds = 0;              ///< of a bare message
  double oversubscription = 1;     ///< of the switches: what devices can send together is so much less
  bool inNetworkReduction = false; ///< NVLS, SHARP
  NetworkConstants constants;
};

/// Consecutive ranks with equal devices.
struct DeviceClass {
  Device device;
  int64_t count = 1;
  std::vector<Level> levels; ///< from the inside out
};

struct Machine {
  std::string name;
  std::vector<DeviceClass> classes;
  double sharedCores = 0; ///< that all ranks compute on in turns; 0: each has a device of its own

  int64_t getNumRanks() const;
  const DeviceClass &getClass(int64_t rank) const;
  const Device &getDevice(int64_t rank) const { return getClass(rank).device; }
  /// Of the smallest device.
  double getMemoryBytes() const;
  /// Ranks that the innermost level joins, of the class where these are fewest.
  int64_t getRanksPerNode() const;
  /// Of a bucket of gradients: so many that the start of a message is lost in it, and no more than let the next be reduced early.
  int64_t getBucketBytes() const;
  /// What the slowest device sustains in large products and from memory: for orders of magnitude. What a kernel takes is told by kernelSeconds().
  double getFlopsPerSecond() const;
  double getMemoryBytesPerSecond() const;
  /// Of one step between two devices: on the innermost level, or on the outermost.
  double getStartSeconds(bool inside) const;
  double getLinkBytesPerSecond(bool inside) const;

  /// This computer with `ranks` ranks that share its cores and memory; measured on first use.
  static Machine getHost(int64_t ranks);
  /// This computer with a rank on each core, measured now whatever is known of it.
  static Machine calibrateHost();
  /// Presets with node counts, or a JSON file; the error lists the presets.
  static llvm::Expected<Machine> get(llvm::StringRef spec);
  llvm::json::Object toJson() const;
  /// Reads what toJson writes, and the short form for one class with one or two levels whose numbers are what is sustained:
  /// {"ranks_per_node": 4, "nodes": 2, "memory_bytes": .., "flops_per_second": .., "memory_bytes_per_second": .., "link_bytes_per_second":
  /// .., "link_seconds": .., "network_bytes_per_second": .., "network_seconds": .., "launch_seconds": ..}.
  static llvm::Expected<Machine> fromJson(const llvm::json::Value &value);
};

} // namespace para

#endif
