//===- Phases.h - When phases run -------------------------------*- C++ -*-===//
#ifndef PARA_IR_PHASES_H
#define PARA_IR_PHASES_H

#include "para/IR/ParaDialect.h"

namespace para {

/// Whether ops of the phase run once a step and not once a microbatch.
inline bool runsOnce(Phase phase) { return phase == Phase::Setup || phase == Phase::Update; }

/// Whether the phase is a microbatch's way through the model and back: those of several take turns.
inline bool isPass(Phase phase) { return phase == Phase::Forward || phase == Phase::Backward || phase == Phase::Weight; }

} // namespace para

#endif
