#include "Variants.h"

#include "para/IR/Program.h"
#include "para/Partition/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace para;

Variants::Variants(ModuleOp module, ArrayRef<Segment> segments, const SearchOptions &options) : module(module), segments(segments), options(options) {
  // Deriving the step may have simplified nodes away.
  for (Operation &op : module.lookupSymbol<func::FuncOp>("main").getBody().front().without_terminator())
    if (getPhase(&op) == Phase::Forward && op.getNumOperands() > 0)
      present.insert({getNodeName(op.getLoc()).str(), getTensorName(op.getLoc()).str()});
}

Variants::Key Variants::keyOf(const Plan &plan) const {
  int64_t rows = llvm::divideCeil(options.request.batch, plan.getBatchRanks() * plan.microbatches);
  return {plan.tensor, plan.expert, plan.context, rows, plan.sequenceParallel, plan.shards};
}

bool Variants::isKnown(const Plan &plan, bool anyRows) const {
  Key key = keyOf(plan);
  if (!anyRows)
    return variants.count(key);
  key.rows = 0;
  auto it = variants.lower_bound(key);
  if (it == variants.end())
    return false;
  Key found = it->first;
  found.rows = 0;
  return !(key < found) && !(found < key);
}

const Variant &Variants::get(const Plan &wanted) {
  Key key = keyOf(wanted);
  auto [it, isNew] = variants.try_emplace(key);
  Variant &variant = it->second;
  if (!isNew)
    return variant;
  Plan plan;
  plan.tensor = key.tensor;
  plan.expert = key.expert;
  plan.context = key.context;
  plan.sequenceParallel = key.sequence;
  plan.pipeline = int64_t(segments.size());
  int64_t batch = options.request.batch;
  // Two ranks of `data` show what is cut over it; several microbatches, what is added up.
  plan.data = batch >= 2 * key.rows * key.expert ? 2 : 1;
  plan.microbatches = llvm::divideCeil(batch, plan.getBatchRanks() * key.rows);
  for (auto [index, segment] : llvm::enumerate(segments))
    for (const std::string &node : segment.nodes)
      if (present.count(node))
        plan.stages[node] = int64_t(index);
  for (const auto &[name, text] : key.shards) // of what folding has left
    if (present.count(name) || getArgIndex(module.lookupSymbol<func::FuncOp>("main"), name) >= 0)
      plan.shards[name] = text;
  OwningOpRef<ModuleOp> copy = module.clone();
  ScopedDiagnosticHandler quiet(module.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && variant.fault.empty())
      variant.fault = StringRef((getNodeName(diagnostic.getLocation()) + " " + diagnostic.str()).str()).trim().str();
    return success();
  });
  PassManager pm(module.getContext());
  pm.enableVerifier(false);
  buildPartitionPipeline(pm);
  if (failed(applyPlan(copy->lookupSymbol<func::FuncOp>("main"), plan)) || failed(pm.run(*copy))) {
    if (variant.fault.empty())
      variant.fault = "cannot be partitioned";
    return variant;
  }
  auto spmd = copy->lookupSymbol<func::FuncOp>("spmd");
  variant.works = collectWork(spmd, segments.size(), options.storage);
  if (key.sequence && !options.storage.regathers) {
    StoragePolicy again = options.storage;
    again.regathers = true;
    variant.regathered = collectWork(spmd, segments.size(), again);
  }
  return variant;
}
