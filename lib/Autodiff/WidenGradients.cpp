#include "para/Autodiff/Passes.h"
#include "para/IR/Program.h"
#include "para/Interfaces/Precision.h"
#include "para/Ops/TensorBuilder.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_WIDENGRADIENTSPASS
#include "para/Autodiff/Passes.h.inc"
} // namespace para

namespace {
/// Rounding of a value that is widened again at once, where nobody else sees it, is taken back.
class Widening {
public:
  explicit Widening(MLIRContext *context) : builder(context) {}

  /// A result in f32: what it is made of is widened as far back as it is rounded for nothing.
  void visit(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !getElementTypeOrSelf(value.getType()).isF32() || !value.hasOneUse())
      return;
    PrecisionRule rule = getPrecisionRule(op);
    if (rule == PrecisionRule::Converts && isNarrow(op->getOperand(0).getType())) {
      Operation *rounded = op->getOperand(0).getDefiningOp();
      if (Value wide = widen(op->getOperand(0))) {
        op->getResult(0).replaceAllUsesWith(wide);
        op->erase();
        if (isOpTriviallyDead(rounded))
          rounded->erase();
        visit(wide);
      }
    } else if (rule == PrecisionRule::Moves || rule == PrecisionRule::Arithmetic) {
      for (Value operand : llvm::to_vector(op->getOperands()))
        visit(operand);
    }
  }

private:
  /// The narrow value in f32 and not rounded; null if it cannot be had.
  Value widen(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !value.hasOneUse())
      return {};
    builder.setInsertionPoint(op);
    switch (getPrecisionRule(op)) {
    case PrecisionRule::Converts:
      return getElementTypeOrSelf(op->getOperand(0).getType()).isF32() ? op->getOperand(0) : Value();
    case PrecisionRule::Multiplies:
      return cast<PrecisionOpInterface>(op).accumulatesWide() ? rebuild(op, llvm::to_vector(op->getOperands())) : Value();
    case PrecisionRule::Moves:
    case PrecisionRule::Arithmetic: {
      SmallVector<Value> operands;
      bool isWidened = false;
      for (Value operand : op->getOperands()) {
        Value wide = isNarrow(operand.getType()) ? widen(operand) : Value();
        isWidened |= bool(wide);
        operands.push_back(wide ? wide : operand);
      }
      if (!isWidened)
        return {};
      builder.setInsertionPoint(op);
      for (Value &operand : operands)
        if (isNarrow(operand.getType()))
          operand = TensorBuilder(op->getLoc(), builder).cast(operand, builder.getF32Type());
      return rebuild(op, operands);
    }
    default:
      return {};
    }
  }

  Value rebuild(Operation *op, ArrayRef<Value> operands) {
    builder.setInsertionPoint(op);
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    setFloatElement(copy, builder.getF32Type());
    return copy->getResult(0);
  }

  OpBuilder builder;
};

struct WidenGradientsPass : para::impl::WidenGradientsPassBase<WidenGradientsPass> {
  using WidenGradientsPassBase::WidenGradientsPassBase;

  void runOnOperation() override {
    auto main = getMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    Widening widening(&getContext());
    for (auto [index, operand] : llvm::enumerate(main->getBody().front().getTerminator()->getOpOperands()))
      if (StringRef kind = getResultKind(*main, index); kind == "gradient" || (outputs && kind == "output"))
        widening.visit(operand.get());
  }
};
} // namespace
