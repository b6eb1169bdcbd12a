//===- Affinity.cpp - The cores and the memory next to a device ---------------===//
#include "Affinity.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace para::runtime {

namespace {
/// The first line of a file, or nothing.
std::string readLine(const std::string &path) {
  std::string line;
  if (std::FILE *file = std::fopen(path.c_str(), "re")) {
    for (int c; (c = std::fgetc(file)) != EOF && c != '\n';)
      line += char(c);
    std::fclose(file);
  }
  return line;
}
} // namespace

std::vector<int> parseList(const std::string &text) {
  constexpr int64_t most = 1 << 16;
  std::vector<int> list;
  for (const std::string &part : split(text, ',')) {
    size_t dash = part.find('-');
    int64_t first = 0, last = 0;
    if (!parseInteger(part.substr(0, dash), first))
      return {};
    last = first;
    if ((dash != std::string::npos && !parseInteger(part.substr(dash + 1), last)) || first < 0 || last < first || last > most)
      return {};
    for (int64_t i = first; i <= last; ++i)
      list.push_back(int(i));
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

Neighborhood findNeighborhood(const std::string &root, const std::string &busId) {
  std::string id = busId;
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  Neighborhood found;
  int64_t node = -1;
  // A system with one node says -1, as one does that does not know.
  if (!parseInteger(readLine(root + "/bus/pci/devices/" + id + "/numa_node"), node) || node < 0)
    return found;
  found.node = int(node);
  found.cores = parseList(readLine(root + "/devices/system/node/node" + std::to_string(node) + "/cpulist"));
  return found;
}

bool isBound(const std::string &root) {
  std::vector<int> all = parseList(readLine(root + "/devices/system/cpu/online"));
  cpu_set_t mine;
  if (all.empty() || sched_getaffinity(0, sizeof(mine), &mine) != 0)
    return true; // What is not known is not changed.
  return std::any_of(all.begin(), all.end(), [&](int core) { return core < CPU_SETSIZE && !CPU_ISSET(core, &mine); });
}

bool bindTo(const Neighborhood &neighborhood, std::string &said) {
  cpu_set_t before, wanted;
  CPU_ZERO(&wanted);
  if (sched_getaffinity(0, sizeof(before), &before) != 0)
    return false;
  for (int core : neighborhood.cores)
    if (core < CPU_SETSIZE && CPU_ISSET(core, &before))
      CPU_SET(core, &wanted);
  int cores = CPU_COUNT(&wanted);
  if (cores == 0 || sched_setaffinity(0, sizeof(wanted), &wanted) != 0)
    return false;
  said = format("is bound to %d cores of NUMA node %d", cores, neighborhood.node);
  // Preferred, not bound: where the node is full memory comes from the others. (libnuma would be a dependency for one call.)
  constexpr int preferred = 1;
  constexpr size_t bits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask(size_t(neighborhood.node) / bits + 1);
  mask[size_t(neighborhood.node) / bits] |= 1ul << (size_t(neighborhood.node) % bits);
  if (syscall(SYS_set_mempolicy, preferred, mask.data(), mask.size() * bits + 1) == 0)
    said += ", whose memory it takes first";
  return true;
}

} // namespace para::runtime
