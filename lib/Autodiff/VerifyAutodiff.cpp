#include "para/Autodiff/Passes.h"
#include "para/IR/Program.h"
#include "para/Interfaces/Derivative.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_VERIFYAUTODIFFPASS
#include "para/Autodiff/Passes.h.inc"
} // namespace para

namespace {
struct VerifyAutodiffPass : para::impl::VerifyAutodiffPassBase<VerifyAutodiffPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto main = getMain(getOperation());
    if (failed(main) || failed(verify(*main)))
      signalPassFailure();
  }

  LogicalResult verify(func::FuncOp main) {
    WalkResult walk = main.walk([&](Operation *op) -> WalkResult {
      if (isa<DecomposableOpInterface>(op))
        return op->emitOpError("is left after the autodiff stage");
      if (op->getDialect() == getContext().getLoadedDialect<ParaDialect>() && !op->hasAttr("para.phase"))
        return op->emitOpError("has no phase");
      return WalkResult::advance();
    });
    llvm::StringSet<> updated;
    for (unsigned index = 0; index < main.getNumResults(); ++index) {
      auto target = main.getResultAttrOfType<StringAttr>(index, "para.updates");
      if (!target)
        continue;
      int argument = getArgIndex(main, target.getValue());
      if (argument < 0 || main.getArgument(argument).getType() != main.getResultTypes()[index])
        return main.emitError() << "result " << index << " updates '" << target.getValue() << "', which is no argument of its type";
      if (!updated.insert(target.getValue()).second)
        return main.emitError() << "'" << target.getValue() << "' is updated twice";
    }
    return failure(walk.wasInterrupted());
  }
};
} // namespace
