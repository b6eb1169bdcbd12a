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

Object briefOf(const RacedPlan &raced) {
  Object object{{"recipe", raced.plan.recipe},
                {"mesh", meshOf(raced.plan)},
                {"zero", raced.plan.zero},
                {"microbatches", raced.plan.microbatches},
                {"recompute", raced.plan.recompute},
                {"seconds_per_step", raced.price.seconds},
                {"peak_bytes", int64_t(raced.price.getPeakBytes())},
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

Value para::toJson(const Explanation &why) {
  Array alternatives, whatIfs;
  for (const Alternative &alternative : why.alternatives) {
    Object entry = alternative.plan ? briefOf(*alternative.plan) : Object();
    entry["name"] = alternative.name;
    entry["reason"] = clean(alternative.reason);
    if (alternative.plan) {
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
  if (why.refusal)
    object["refusal"] = refusalOf(*why.refusal);
  return object;
}
