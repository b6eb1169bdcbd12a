#include "para/Autodiff/Passes.h"
#include "para/Interfaces/Derivative.h"

using namespace mlir;

namespace para {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "para/Autodiff/Passes.h.inc"
} // namespace para

namespace {
struct DecomposePass : para::impl::DecomposePassBase<DecomposePass> {
  void runOnOperation() override {
    SmallVector<para::DecomposableOpInterface> ops;
    getOperation().walk([&](para::DecomposableOpInterface op) { ops.push_back(op); });
    for (auto op : ops) {
      OpBuilder builder(op);
      op->replaceAllUsesWith(op.decompose(builder));
      op->erase();
    }
  }
};
} // namespace
