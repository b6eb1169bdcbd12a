#include "para/IR/Program.h"
#include "para/Plan/Passes.h"
#include "para/Plan/Plan.h"

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
    plan.zero = zero;
    if (failed(main) || failed(para::applyPlan(*main, plan)))
      signalPassFailure();
  }
};
} // namespace
