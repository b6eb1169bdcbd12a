#include "para/Autodiff/Passes.h"
#include "para/IR/Program.h"
#include "para/Interfaces/Precision.h"
#include "para/Ops/TensorBuilder.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_PLACEROUNDINGSPASS
#include "para/Autodiff/Passes.h.inc"
} // namespace para

namespace {
bool isF32(Value value) { return getElementTypeOrSelf(value.getType()).isF32(); }
bool isCast(Operation *op) { return op && getPrecisionRule(op) == PrecisionRule::Converts; }
bool isRounding(Operation *op) { return isCast(op) && isF32(op->getOperand(0)) && isNarrow(op->getResult(0).getType()); }
bool isWidening(Operation *op) { return isCast(op) && isNarrow(op->getOperand(0).getType()) && isF32(op->getResult(0)); }
Phase phaseOf(Operation *op) { return getMarkedPhase(op->getLoc()).value_or(Phase::Forward); }

struct PlaceRoundingsPass : para::impl::PlaceRoundingsPassBase<PlaceRoundingsPass> {
  void runOnOperation() override {
    auto main = getMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    Block &body = main->getBody().front();
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
      computeWide(&op);
    SmallVector<Operation *> roundings;
    for (Operation &op : body.without_terminator())
      if (isRounding(&op))
        roundings.push_back(&op);
    llvm::for_each(roundings, roundForAll);
    for (Operation *rounding : roundings)
      rounding->removeAttr("para.apart");
    llvm::for_each(roundings, dropIfUnseen);
  }

  /// Arithmetic on narrow values, of derivative rules, is f32 between casts.
  void computeWide(Operation *op) {
    PrecisionRule rule = getPrecisionRule(op);
    auto narrow = [](Value value) { return isNarrow(value.getType()); };
    if ((rule != PrecisionRule::Arithmetic && rule != PrecisionRule::Sums) || (llvm::none_of(op->getOperands(), narrow) && llvm::none_of(op->getResults(), narrow)))
      return;
    OpBuilder builder(op);
    TensorBuilder t(op->getLoc(), builder);
    for (OpOperand &operand : op->getOpOperands())
      if (narrow(operand.get()))
        operand.set(t.cast(operand.get(), builder.getF32Type()));
    SmallVector<Type> types(op->getResultTypes());
    setFloatElement(op, builder.getF32Type());
    builder.setInsertionPointAfter(op);
    for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
      if (isNarrow(type)) {
        Value rounded = t.cast(result, getElementTypeOrSelf(type));
        result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
      }
  }

  /// What was made of narrow values and is stored narrow is the rounded number for all who use it: it is stored once, and one number under
  /// every plan. Sums stay what they are for those who do not need them narrow, and so does what the model itself declares f32.
  static void roundForAll(Operation *rounding) {
    Value wide = rounding->getOperand(0);
    Operation *op = wide.getDefiningOp();
    bool isOfNarrow = op && getPrecisionRule(op) == PrecisionRule::Arithmetic &&
                      llvm::any_of(op->getOperands(), [](Value operand) { return isWidening(operand.getDefiningOp()); });
    if (!isOfNarrow || wide.hasOneUse() || rounding->hasAttr("para.apart"))
      return;
    OpBuilder builder(rounding->getContext());
    rounding->moveAfter(op);
    builder.setInsertionPointAfter(rounding);
    Value widened = TensorBuilder(rounding->getLoc(), builder).cast(rounding->getResult(0), builder.getF32Type());
    wide.replaceUsesWithIf(widened, [&](OpOperand &use) { return !isRounding(use.getOwner()); });
  }

  /// A value that goes nowhere but into the arithmetic of one op is not stored, and so not rounded.
  static void dropIfUnseen(Operation *rounding) {
    Value narrow = rounding->getResult(0);
    SmallVector<Operation *> widenings(narrow.getUsers());
    llvm::SetVector<Operation *> users;
    for (Operation *user : widenings) {
      if (!isWidening(user))
        return;
      users.insert(user->user_begin(), user->user_end());
    }
    if (users.size() != 1 || phaseOf(users.front()) != phaseOf(rounding) || users.front()->hasTrait<OpTrait::IsTerminator>())
      return;
    for (Operation *widening : widenings) {
      widening->getResult(0).replaceAllUsesWith(rounding->getOperand(0));
      widening->erase();
    }
    rounding->erase();
  }
};
} // namespace
