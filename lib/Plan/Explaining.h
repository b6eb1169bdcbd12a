//===- Explaining.h - Parts of an explanation ---------------------*- C++ -*-===//
#ifndef PARA_LIB_PLAN_EXPLAINING_H
#define PARA_LIB_PLAN_EXPLAINING_H

#include "para/Plan/Explain.h"
#include "para/Plan/Units.h"

namespace para {

/// A request of which only the batch and what the model allows is left: the flags that choose among plans are open.
PlanRequest openRequest(const PlanRequest &request);
bool isOpen(const PlanRequest &request);

/// The canonical recipes and usual mixes; `plans` are of an open race.
std::vector<Alternative> findAlternatives(PlanRace &race, llvm::ArrayRef<RacedPlan> plans, const RacedPlan &chosen);
/// `plans` are of the race that chose.
std::vector<WhatIf> askWhatIf(PlanRace &race, llvm::ArrayRef<RacedPlan> plans, const RacedPlan &chosen, bool isHand);
/// `plans` are of an open race.
Refusal findWaysOut(PlanRace &race, llvm::ArrayRef<RacedPlan> plans, const RacedPlan &refused, bool isHand);

/// The plan with as many data ranks as give it so many ranks, and microbatches of the size they have; none if they do not divide.
std::optional<Plan> widen(Plan plan, int64_t ranks, int64_t batch);
/// The machine with `nodes` more of its last kind of node; none where it does not say how nodes are joined.
std::optional<Machine> addNodes(const Machine &machine, int64_t nodes);
/// With one more device in its only node; none where there are several.
std::optional<Machine> addDevice(const Machine &machine);

/// The items of a stage's memory that are not zero, the largest first.
std::vector<PeakItem> getItems(const PlanPrice::Memory &memory);
int64_t getPeakStage(const PlanPrice &price);

} // namespace para

#endif
