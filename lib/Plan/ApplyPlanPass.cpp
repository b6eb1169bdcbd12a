#include "para/IR/Program.h"
#include "para/Plan/Passes.h"
#include "para/Plan/Plan.h"
#include "para/Schedule/Schedule.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace para {
#define GEN_PASS_DEF_APPLYPLANPASS
#include "para/Plan/Passes.h.inc"
} // namespace para

namespace {
struct ApplyPlanPass : para::impl::ApplyPlanPassBase<ApplyPlanPass> {
  using ApplyPlanPassBase::ApplyPlanPassBase;

  void runOnOperation() override {
    auto main = para::getMain(getOperation());
    para::Plan plan;
    plan.data = data;
    plan.tensor = tensor;
    plan.pipeline = stages;
    plan.microbatches = microbatches;
    plan.schedule = schedule;
    plan.zero = zero;
    plan.recompute = recompute;
    plan.sequenceParallel = sequenceParallel;
    if (!llvm::is_contained(para::getRecomputeNames(), plan.recompute)) {
      getOperation().emitError() << "recompute is '" << plan.recompute << "', which is none of " << llvm::join(para::getRecomputeNames(), ", ");
      return signalPassFailure();
    }
    if (llvm::Error error = para::checkScheduleName(plan.schedule)) {
      getOperation().emitError() << llvm::toString(std::move(error));
      return signalPassFailure();
    }
    if (failed(main) || failed(para::applyPlan(*main, plan)))
      signalPassFailure();
  }
};
} // namespace
