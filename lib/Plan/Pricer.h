//===- Pricer.h - Prices of plans of one model --------------------*- C++ -*-===//
//
// What the race asks: see PlanRace in Search.h. What has been partitioned is kept from plan to plan.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_PLAN_PRICER_H
#define PARA_LIB_PLAN_PRICER_H

#include "para/Plan/Search.h"

namespace para {

class Pricer {
public:
  /// `options` outlive the pricer and may change between two plans; takeMachine() tells of another machine.
  static std::unique_ptr<Pricer> create(mlir::ModuleOp module, llvm::ArrayRef<Segment> segments, const SearchOptions &options);
  virtual ~Pricer() = default;

  virtual PlanPrice estimate(const Plan &plan, bool simulates, std::string &fault, PlanParts *parts = nullptr) = 0;
  /// A forward and a backward pass over the batch, without what is computed again or on several ranks alike: of the model that is not cut.
  virtual double getModelFlops(const Plan &plan) = 0;
  virtual size_t getNumLayers() const = 0;
  virtual void takeMachine() = 0;
  /// Whether the plan, or `anyRows` one like it with other rows, can be priced without partitioning.
  virtual bool isKnown(const Plan &plan, bool anyRows) const = 0;
};

/// Part of each layer such that the costliest of `parts` runs is cheapest: the least bound under which a greedy walk needs no more of them.
/// Every part has a layer where there are as many.
std::vector<int64_t> cutByCost(llvm::ArrayRef<double> costs, int64_t parts);
/// As many blocks in each part; the layer before them and the one behind go with the nearest.
std::vector<int64_t> cutEvenly(int64_t layers, int64_t parts);

/// Part of each layer that most of its nodes have in `stages`, by a sample; parts never go back. A layer of other nodes goes with the one before.
std::vector<int64_t> cutAsGiven(llvm::ArrayRef<Segment> segments, const std::map<std::string, int64_t> &stages, int64_t parts);

/// "products 4096 x 14336 x 4096", "attention: 32 heads, 4096 queries, 4096 keys".
std::string describe(const KernelWork &work);
/// "all-reduce over tensor, 64.0 MiB".
std::string describe(const TrafficWork &work);

} // namespace para

#endif
