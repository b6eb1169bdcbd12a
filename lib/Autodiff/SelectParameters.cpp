#include "para/Autodiff/Passes.h"
#include "para/IR/Program.h"
#include "para/Support/Spec.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_SELECTPARAMETERSPASS
#include "para/Autodiff/Passes.h.inc"
} // namespace para

namespace {
struct SelectParametersPass : para::impl::SelectParametersPassBase<SelectParametersPass> {
  using SelectParametersPassBase::SelectParametersPassBase;

  void runOnOperation() override {
    auto main = getMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    if (failed(apply(*main, trainable, /*selects=*/true)) || failed(apply(*main, freeze, /*selects=*/false)))
      return signalPassFailure();
  }

  LogicalResult apply(func::FuncOp main, ArrayRef<std::string> texts, bool selects) {
    if (texts.empty())
      return success();
    auto patterns = Patterns::parse(llvm::join(texts, "|"));
    if (!patterns)
      return getOperation().emitError() << llvm::toString(patterns.takeError());
    bool matched = false;
    for (unsigned index = 0; index < main.getNumArguments(); ++index) {
      if (getArgKind(main, index) != "parameter")
        continue;
      bool hit = patterns->match(getArgName(main, index));
      matched |= hit;
      bool floating = isa<FloatType>(cast<RankedTensorType>(main.getArgument(index).getType()).getElementType());
      if (selects && hit && !floating)
        return getOperation().emitError() << "parameter '" << getArgName(main, index) << "' is not of a float type and cannot be trained";
      if (selects && hit)
        main.setArgAttr(index, "para.trainable", UnitAttr::get(&getContext()));
      else if (selects || hit)
        main.removeArgAttr(index, "para.trainable");
    }
    if (matched)
      return success();
    InFlightDiagnostic error = getOperation().emitError() << "no parameter matches '" << llvm::join(texts, "|") << "'; there are:";
    for (unsigned index = 0; index < main.getNumArguments(); ++index)
      if (getArgKind(main, index) == "parameter")
        error << " " << getArgName(main, index);
    return error;
  }
};
} // namespace
