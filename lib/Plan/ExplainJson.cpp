#include "Explaining.h"

#include "llvm/ADT/STLExtras.h"

using namespace para;

namespace {
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

/// Names of nodes and parameters are bytes; JSON is UTF-8.
std::string clean(llvm::StringRef text) { return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text); }

Object meshOf(const Plan &plan) { return plan.getMeshJson(); }

/// Of a plan that has no price there is no number, rather than 0.
Value numberOf(const RacedPlan &raced, double number) { return raced.isPriced() ? Value(number) : Value(nullptr); }

Object briefOf(const RacedPlan &raced) {
  Object object{{"recipe", raced.plan.recipe},
                {"mesh", meshOf(raced.plan)},
                {"zero", raced.plan.zero},
                {"microbatches", raced.plan.microbatches},
                {"recompute", raced.plan.recompute},
                {"seconds_per_step", numberOf(raced, raced.price.seconds)},
                {"peak_bytes", raced.isPriced() ? Value(int64_t(raced.price.getPeakBytes())) : Value(nullptr)},
                {"fits", raced.fault.empty()}};
  if (!raced.fault.empty())
    object["fault"] = clean(raced.fault);
  return object;
}

Array listItems(llvm::ArrayRef<PeakItem> items) {
  Array list;
  for (const PeakItem &item : items)
    list.push_back(Object{{"name", clean(item.name)}, {"bytes", int64_t(item.bytes)}});
  return list;
}

Array listStages(const Explanation &why) {
  Array stages;
  for (const LayerRow &row : why.stages)
    stages.push_back(Object{{"stage", row.stage},
                            {"chunk", row.chunk},
                            {"layers", Array{int64_t(row.begin), int64_t(row.end)}},
                            {"name", clean(row.name)},
                            {"first_node", clean(why.names[row.begin].first)},
                            {"last_node", clean(why.names[row.end - 1].last)}});
  return stages;
}

Array listCostly(const Explanation &why) {
  Array list;
  for (const LayerCost &cost : why.costly) {
    Array items;
    for (const PlanParts::Item &item : why.parts.segments[cost.segment].items)
      items.push_back(Object{{"name", item.name}, {"count", item.count}, {"seconds", item.seconds}, {"sends", item.sends}});
    list.push_back(Object{{"name", clean(cost.name)},
                          {"layers", cost.count},
                          {"seconds", cost.seconds},
                          {"share", cost.share},
                          {"kept_bytes", int64_t(cost.keptBytes)},
                          {"parts", std::move(items)}});
  }
  return list;
}

Object refusalOf(const Refusal &refusal) {
  Array ways;
  for (const WayOut &way : refusal.ways) {
    Object entry = briefOf(way.plan);
    entry["change"] = way.change;
    entry["saved_bytes"] = int64_t(way.savedBytes);
    entry["slower"] = way.slower;
    ways.push_back(std::move(entry));
  }
  return Object{{"plan", refusal.plan},
                {"stage", refusal.stage},
                {"peak_bytes", int64_t(refusal.bytes)},
                {"room_bytes", int64_t(refusal.room)},
                {"causes", listItems(refusal.causes)},
                {"ways_out", std::move(ways)},
                {"note", refusal.note}};
}
} // namespace

Value para::toJson(const RacedPlan &raced, const SearchOptions &options) {
  const PlanPrice &price = raced.price;
  Array peaks, memory;
  for (const PlanPrice::Memory &stage : price.memory) {
    peaks.push_back(int64_t(stage.getTotal()));
    memory.push_back(Object{{"parameters", int64_t(stage.parameters)},
                            {"gradients", int64_t(stage.gradients)},
                            {"optimizer", int64_t(stage.states)},
                            {"activations", int64_t(stage.activations)},
                            {"gathered", int64_t(stage.gathered)},
                            {"temporary", int64_t(stage.temporary)},
                            {"inputs", int64_t(stage.inputs)},
                            {"reserved", int64_t(stage.reserved)},
                            {"held", int64_t(stage.held)},
                            {"steady", int64_t(stage.getSteady())}});
  }
  Object exposed;
  for (const auto &[kind, seconds] : price.exposed)
    exposed[kind] = seconds;
  Object object{{"seconds_per_step", numberOf(raced, price.seconds)},
                {"samples_per_second", numberOf(raced, price.seconds > 0 ? double(options.request.batch) / price.seconds : 0)},
                {"model_flops_utilization", numberOf(raced, price.getUtilization())},
                {"peak_bytes", nullptr},
                {"memory", nullptr},
                {"breakdown", nullptr},
                {"fits", raced.fault.empty()},
                {"fault", clean(raced.fault)},
                {"lower_bound", numberOf(raced, price.getBound())},
                {"gap", numberOf(raced, price.getGap())},
                {"plan", raced.plan.toJson()}};
  if (raced.isPriced()) {
    object["peak_bytes"] = std::move(peaks);
    object["memory"] = Object{{"stages", std::move(memory)}};
    object["breakdown"] = Object{{"compute", price.compute}, {"exposed", std::move(exposed)}, {"bubble", price.bubble}};
  }
  return object;
}

Value para::toJson(const Explanation &why) {
  Array alternatives, whatIfs;
  for (const Alternative &alternative : why.alternatives) {
    Object entry = alternative.plan ? briefOf(*alternative.plan) : Object();
    entry["name"] = alternative.name;
    entry["reason"] = clean(alternative.reason);
    if (alternative.plan && why.chosen.isPriced()) {
      entry["more_seconds"] = alternative.plan->price.seconds - why.chosen.price.seconds;
      entry["more_bytes"] = int64_t(alternative.plan->price.getPeakBytes() - why.chosen.price.getPeakBytes());
    }
    alternatives.push_back(std::move(entry));
  }
  for (const WhatIf &what : why.whatIfs) {
    Object entry = what.plan ? briefOf(*what.plan) : Object();
    entry["change"] = what.change;
    entry["gain"] = what.gain;
    entry["note"] = what.note;
    whatIfs.push_back(std::move(entry));
  }
  Object object{{"stages", listStages(why)}, {"layers", listCostly(why)}, {"alternatives", std::move(alternatives)}, {"what_ifs", std::move(whatIfs)}};
  if (why.refusal)
    object["refusal"] = refusalOf(*why.refusal);
  if (!why.chosen.isPriced()) {
    object["peak"] = object["certificate"] = nullptr;
    return object;
  }
  object["peak"] = Object{{"stage", why.peak.stage},
                          {"bytes", int64_t(why.peak.bytes)},
                          {"room_bytes", int64_t(why.peak.room)},
                          {"items", listItems(why.peak.items)},
                          {"microbatches_in_flight", why.peak.inFlight},
                          {"activations", listItems(why.peak.layers)}};
  object["certificate"] = Object{{"plans_priced", int64_t(why.certificate.priced)},
                                 {"plans_that_fit", int64_t(why.certificate.fitting)},
                                 {"lower_bound", why.certificate.lowerBound},
                                 {"gap", why.certificate.gap},
                                 {"schedule_verified", why.certificate.scheduleVerified},
                                 {"schedule_actions", why.certificate.actions}};
  return object;
}
