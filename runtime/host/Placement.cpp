//===- Placement.cpp - Which cores the ranks of a host run on -----------------===//
#include "Placement.h"

#include <sched.h>

namespace para::runtime {

void bindToCores(const Manifest &manifest, int64_t rank, int64_t threads) {
  cpu_set_t allowed, mine;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return;
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed))
      cores.push_back(core);
  int64_t ranks = 1, stage = manifest.stageOf(rank), place = stage;
  for (const MeshAxis &axis : manifest.mesh)
    ranks *= axis.size;
  if (cores.empty() || ranks * threads % int64_t(cores.size()) != 0)
    return;
  for (int64_t other = 0; other < rank; ++other)
    place += manifest.stageOf(other) == stage;
  CPU_ZERO(&mine);
  for (int64_t i = 0; i < threads; ++i)
    CPU_SET(cores[size_t((place * threads + i) % int64_t(cores.size()))], &mine);
  sched_setaffinity(0, sizeof(mine), &mine); // or else it runs where the system likes
}

} // namespace para::runtime
