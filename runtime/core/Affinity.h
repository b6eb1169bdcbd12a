//===- Affinity.h - The cores and the memory next to a device ---*- C++ -*-===//
#ifndef PARA_RUNTIME_CORE_AFFINITY_H
#define PARA_RUNTIME_CORE_AFFINITY_H

#include "Status.h"

namespace para::runtime {

/// Where a device is plugged in, as the system tells it.
struct Neighborhood {
  int node = -1;          ///< -1: there is but one, or it is not told
  std::vector<int> cores; ///< of the node, ascending
};

/// Numbers of a list such as "0-3,8,10-11" (a cpulist); empty where the text is none.
std::vector<int> parseList(const std::string &text);

/// `busId` is as PCI has it ("0000:3B:00.0"), `root` where the system's files are (/sys).
Neighborhood findNeighborhood(const std::string &root, const std::string &busId);

/// Whether somebody has bound this process already: it may not run on all cores that the host has.
bool isBound(const std::string &root);

/// Binds this process, before it starts threads, to those of its cores that are the node's, and its memory to the node where there is room. False
/// where it may run on none of them. Says what it did in `said`.
bool bindTo(const Neighborhood &neighborhood, std::string &said);

} // namespace para::runtime

#endif
