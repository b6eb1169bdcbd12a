//===- Placement.h - Which cores the ranks of a host run on -----*- C++ -*-===//
#ifndef PARA_RUNTIME_HOST_PLACEMENT_H
#define PARA_RUNTIME_HOST_PLACEMENT_H

#include "core/Manifest.h"

namespace para::runtime {

/// Binds the calling rank to cores where several ranks share each, before it starts threads. The system would go by who looks busy, as ranks
/// that wait do too: it may leave the ranks of one pipeline stage together on a core and those that wait for them on the other. Ranks of a
/// stage get different cores, and each next stage begins one further. Cores that cannot be shared out evenly are left to the system.
void bindToCores(const Manifest &manifest, int64_t rank, int64_t threads);

} // namespace para::runtime

#endif
