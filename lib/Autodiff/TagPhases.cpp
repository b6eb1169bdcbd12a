#include "para/Autodiff/Passes.h"
#include "para/IR/Program.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_TAGPHASESPASS
#include "para/Autodiff/Passes.h.inc"
} // namespace para

namespace {
// Phases live on locations until here, so that common subexpressions of forward and backward are merged: what the backward pass
// computes again becomes the forward op.
struct TagPhasesPass : para::impl::TagPhasesPassBase<TagPhasesPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (op->getDialect() != getContext().getLoadedDialect<ParaDialect>())
        return;
      Phase phase = getMarkedPhase(op->getLoc()).value_or(Phase::Forward);
      op->setAttr("para.phase", PhaseAttr::get(&getContext(), phase));
    });
  }
};
} // namespace
