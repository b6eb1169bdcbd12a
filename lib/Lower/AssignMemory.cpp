//===- AssignMemory.cpp - Static places for all values --------------------===//
#include "StageMemory.h"

#include "para/Lower/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_ASSIGNMEMORYPASS
#include "para/Lower/Passes.h.inc"
} // namespace para

namespace {
struct AssignMemoryPass : public para::impl::AssignMemoryPassBase<AssignMemoryPass> {
  using AssignMemoryPassBase::AssignMemoryPassBase;
  void runOnOperation() override {
    auto count = getOperation()->getAttrOfType<IntegerAttr>("para.microbatches");
    FactsCache facts;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(StageMemory(func, count ? count.getInt() : 1, facts, /*hasBlocks=*/target != "host").run()))
        return signalPassFailure();
  }
};
} // namespace
