//===- ExpandMath.cpp - Transcendental functions by arithmetic ------------===//
#include "MathFunctions.h"

#include "para/Lower/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "para/Lower/Passes.h.inc"
} // namespace para

namespace {
struct ExpandMathPass : public para::impl::ExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() override {
    SmallVector<Operation *> found;
    getOperation()->walk([&](Operation *op) {
      if (isa<math::ExpOp, math::LogOp, math::TanhOp, math::ErfOp, math::SinOp, math::CosOp, math::PowFOp>(op))
        found.push_back(op);
    });
    for (Operation *op : found) {
      ImplicitLocOpBuilder b(op->getLoc(), op);
      Type type = op->getResult(0).getType();
      SmallVector<Value> operands(op->getOperands());
      // Narrow floats are computed as f32.
      bool narrow = getElementTypeOrSelf(type).getIntOrFloatBitWidth() < 32;
      Type wide = b.getF32Type();
      if (auto vector = dyn_cast<VectorType>(type))
        wide = VectorType::get(vector.getShape(), wide);
      if (narrow)
        for (Value &x : operands)
          x = arith::ExtFOp::create(b, wide, x);
      Value result = functions::expand(b, op, operands);
      if (narrow)
        result = arith::TruncFOp::create(b, type, result);
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    }
  }
};
} // namespace
