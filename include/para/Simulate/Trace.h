//===- Trace.h - A simulated step as a picture -------------------*- C++ -*-===//
//
// Chrome's trace format, which Perfetto (ui.perfetto.dev) shows: one process a stage, one thread a resource, a counter of its memory; times
// in microseconds. The runtime's --trace writes the same of what has run.
//
// Example: raw_fd_ostream file("step.json", error); writeTrace(file, simulation, {"embedding and blocks 0-3", "blocks 4-7"});
//
//===----------------------------------------------------------------------===//
#ifndef PARA_SIMULATE_TRACE_H
#define PARA_SIMULATE_TRACE_H

#include "para/Simulate/Simulate.h"

#include "llvm/Support/raw_ostream.h"

namespace para {

/// Of a simulation with `keepTimeline`. Stages without a name are numbered.
void writeTrace(llvm::raw_ostream &os, const Simulation &simulation, llvm::ArrayRef<std::string> stageNames = {});

} // namespace para

#endif
