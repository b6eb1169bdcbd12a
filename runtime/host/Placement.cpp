//===- Placement.cpp - Which cores the ranks of a host run on -----------------===//
#include "Placement.h"

#include <sched.h>
#include <vector>

namespace para::runtime {

void bindToCores(int64_t rank, int64_t ranks, int64_t threads) {
  cpu_set_t allowed, mine;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return;
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed))
      cores.push_back(core);
  if (cores.empty() || ranks * threads % int64_t(cores.size()) != 0)
    return;
  CPU_ZERO(&mine);
  for (int64_t i = 0; i < threads; ++i)
    CPU_SET(cores[size_t((rank * threads + i) % int64_t(cores.size()))], &mine);
  sched_setaffinity(0, sizeof(mine), &mine); // or else it runs where the system likes
}

} // namespace para::runtime
