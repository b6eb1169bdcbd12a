//===- Placement.h - Which cores the ranks of a host run on -----*- C++ -*-===//
#ifndef PARA_RUNTIME_HOST_PLACEMENT_H
#define PARA_RUNTIME_HOST_PLACEMENT_H

#include <cstdint>

namespace para::runtime {

/// Binds the calling rank of `ranks` to cores where several ranks share each, before it starts threads. The system would go by who looks
/// busy, as ranks that wait may do too: it may leave the ranks of one pipeline stage together on a core and those that wait for them on the
/// other. Ranks are numbered stage by stage: in turns over the cores, those of a stage get different ones. Cores that cannot be shared out
/// evenly are left to the system, as are ranks that a launcher has bound already.
void bindToCores(int64_t rank, int64_t ranks, int64_t threads);

} // namespace para::runtime

#endif
