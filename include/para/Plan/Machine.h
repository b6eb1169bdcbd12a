//===- Machine.h - What a program runs on ------------------------*- C++ -*-===//
//
// Devices and links in seconds, bytes and flops. The host is measured once and the numbers are kept in the user's cache
// (~/.cache/para/host.json); presets take published numbers.
//
// Example: Machine::get("a100-80:2x4") is two nodes of four A100 with 80 GB.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PLAN_MACHINE_H
#define PARA_PLAN_MACHINE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <string>

namespace para {

/// Plans and machines are for at most this many ranks: products of three sizes stay far from overflow.
constexpr int64_t kMostRanks = 1 << 20;

struct Machine {
  std::string name;
  int64_t ranksPerNode = 1, nodes = 1;
  double memoryBytes = 0;           ///< of one device
  double flopsPerSecond = 0;        ///< sustained by large products, f32 or the tensor type
  double memoryBytesPerSecond = 0;  ///< streamed
  double linkBytesPerSecond = 0;    ///< one direction, within a node
  double linkSeconds = 0;           ///< start of a message within a node
  double networkBytesPerSecond = 0; ///< one direction and device, between nodes
  double networkSeconds = 0;
  double launchSeconds = 0; ///< start of a kernel

  /// Of a bucket of gradients: so many that the start of a message is lost in it, and no more than let the next be reduced early.
  int64_t getBucketBytes() const;
  int64_t getNumRanks() const { return ranksPerNode * nodes; }
  /// This computer with `ranks` ranks that share its cores and memory; measured on first use.
  static Machine getHost(int64_t ranks);
  /// A preset with a node count, or a JSON file; the error lists the presets.
  static llvm::Expected<Machine> get(llvm::StringRef spec);
  llvm::json::Object toJson() const;
  static llvm::Expected<Machine> fromJson(const llvm::json::Value &value);
};

} // namespace para

#endif
