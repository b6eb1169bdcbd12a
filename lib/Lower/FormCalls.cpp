//===- FormCalls.cpp - Runtime calls over tensors -------------------------===//
#include "Calls.h"

#include "para/IR/Program.h"
#include "para/Lower/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_FORMCALLSPASS
#include "para/Lower/Passes.h.inc"
} // namespace para

namespace {
struct FormCallsPass : public para::impl::FormCallsPassBase<FormCallsPass> {
  using FormCallsPassBase::FormCallsPassBase;
  void runOnOperation() override {
    bool failed = false;
    for (auto func : getOperation().getOps<func::FuncOp>())
      failed |= mlir::failed(CallBuilder(getOperation(), func, /*onGpu=*/target != "host").run());
    if (failed)
      signalPassFailure();
  }
};
} // namespace
