//===- SplitReductions.cpp - Long sums in parts ---------------------------===//
#include "OpFacts.h"

#include "IndexMath.h"

#include "para/Lower/Passes.h"
#include "para/Ops/TensorBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "para/Lower/Passes.h.inc"
} // namespace para

/// A shorter one is not worth more than one thread.
static constexpr int64_t shortest = 1 << 15;
/// Parts: enough for many threads, few against what they combine.
static constexpr int64_t fewestParts = 64, shortestPart = 256;

/// The shape that the operand takes so that all but its first `kept` dimensions are combined first; empty if there is none.
static SmallVector<int64_t> shapeOfParts(ArrayRef<int64_t> shape, unsigned &kept) {
  int64_t size = productOf(shape), parts = 1;
  for (kept = 0; kept < shape.size() && parts < fewestParts; ++kept)
    parts *= shape[kept];
  if (parts >= fewestParts && size / parts >= shortestPart)
    return SmallVector<int64_t>(shape);
  kept = 1;
  for (parts = 1024; parts >= fewestParts; --parts)
    if (size % parts == 0)
      return {parts, size / parts};
  return {};
}

namespace {
struct SplitReductionsPass : public para::impl::SplitReductionsPassBase<SplitReductionsPass> {
  void runOnOperation() override {
    FactsCache facts;
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Operation &op : llvm::make_early_inc_range(func.getBody().front())) {
        const OpFacts &f = facts.get(&op);
        if (f.whole && sizeOf(op.getResult(0)) == 1 && sizeOf(op.getOperand(0)) >= shortest)
          split(&op);
      }
  }

  void split(Operation *op) {
    Value x = op->getOperand(0), result = op->getResult(0);
    unsigned kept;
    SmallVector<int64_t> shape = shapeOfParts(shapeOf(x), kept);
    if (shape.empty())
      return;
    OpBuilder builder(op);
    TensorBuilder t(op->getLoc(), builder);
    ReductionKind kind = cast<ElementOpInterface>(op).getCombiner();
    Operation *before = op->getPrevNode();
    Value parts = t.reduce(kind, t.reshape(x, shape), llvm::to_vector(llvm::seq<int64_t>(kept, shape.size())));
    Value whole = t.reshape(t.reduce(kind, parts, llvm::to_vector(llvm::seq<int64_t>(0, kept))), shapeOf(result));
    if (Attribute phase = op->getAttr("para.phase"))
      for (Operation *made = op->getPrevNode(); made != before; made = made->getPrevNode())
        made->setAttr("para.phase", phase);
    result.replaceAllUsesWith(whole);
    op->erase();
  }
};
} // namespace
