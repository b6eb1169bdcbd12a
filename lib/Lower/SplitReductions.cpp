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

/// Parts of the rows over which columns are summed: as many as keep a GPU busy, each of some rows. One if they should stay whole.
static int64_t partsOfColumns(int64_t rows, int64_t columns) {
  constexpr int64_t busy = 1 << 18, most = 64, shortestColumn = 64;
  int64_t parts = 1;
  for (int64_t p = 2; p <= most && rows / p >= shortestColumn && parts * columns < busy; ++p)
    if (rows % p == 0)
      parts = p;
  return parts;
}

/// Strips of rows that are summed by the kernel that makes the rows or reads them anyway, each by a block: about four blocks for each
/// multiprocessor of a large GPU, else as many as there can be with a few rows each. One if there are too few, or if sums of so many columns
/// would leave too little of a block's memory.
static int64_t stripsOfRows(int64_t rows, int64_t rowBytes) {
  constexpr int64_t busy = 512, fewest = 128, shortestStrip = 8;
  int64_t strips = 1;
  for (int64_t p = fewest; p <= rows / shortestStrip && strips < busy && rowBytes <= mostStripSumBytes; ++p)
    if (rows % p == 0)
      strips = p;
  return strips;
}

/// Whether the reduction is over the leading dimensions of its operand.
static bool isOverRows(const OpFacts &f) {
  unsigned reduced = f.loops.size() - f.resultRank;
  for (auto [i, e] : llvm::enumerate(f.accesses[0].index)) {
    unsigned d = cast<AffineDimExpr>(e).getPosition();
    if (d != (i < reduced ? f.resultRank + i : i - reduced))
      return false;
  }
  return true;
}

namespace {
struct SplitReductionsPass : public para::impl::SplitReductionsPassBase<SplitReductionsPass> {
  using SplitReductionsPassBase::SplitReductionsPassBase;
  void runOnOperation() override {
    FactsCache facts;
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Operation &op : llvm::make_early_inc_range(func.getBody().front())) {
        const OpFacts &f = facts.get(&op);
        if (!f.whole || sizeOf(op.getOperand(0)) < shortest)
          continue;
        int64_t columns = sizeOf(op.getResult(0));
        if (columns == 1)
          split(&op);
        else if (target != "host" && isOverRows(f))
          splitColumns(&op);
      }
  }

  void splitColumns(Operation *op) {
    Value x = op->getOperand(0), result = op->getResult(0);
    int64_t columns = sizeOf(result), rows = sizeOf(x) / columns, strips = stripsOfRows(rows, bytesOf(result));
    int64_t parts = strips > 1 ? strips : partsOfColumns(rows, columns);
    if (parts == 1)
      return;
    Operation *first = replace(op, {parts, rows / parts, columns}, {1}, {0});
    if (strips > 1)
      first->setAttr(stripSumMark, UnitAttr::get(&getContext()));
  }

  void split(Operation *op) {
    Value x = op->getOperand(0);
    unsigned kept;
    SmallVector<int64_t> shape = shapeOfParts(shapeOf(x), kept);
    if (!shape.empty())
      replace(op, shape, llvm::to_vector(llvm::seq<int64_t>(kept, shape.size())), llvm::to_vector(llvm::seq<int64_t>(0, kept)));
  }

  /// By a reduction of the operand in another shape over `first`, which it returns, and one of its result over `second`.
  Operation *replace(Operation *op, ArrayRef<int64_t> shape, ArrayRef<int64_t> first, ArrayRef<int64_t> second) {
    Value x = op->getOperand(0), result = op->getResult(0);
    OpBuilder builder(op);
    TensorBuilder t(op->getLoc(), builder);
    ReductionKind kind = cast<ElementOpInterface>(op).getCombiner();
    Operation *before = op->getPrevNode();
    Value parts = t.reduce(kind, t.reshape(x, shape), first);
    Value whole = t.reshape(t.reduce(kind, parts, second), shapeOf(result));
    if (Attribute phase = op->getAttr("para.phase"))
      for (Operation *made = op->getPrevNode(); made != before; made = made->getPrevNode())
        made->setAttr("para.phase", phase);
    result.replaceAllUsesWith(whole);
    op->erase();
    return parts.getDefiningOp();
  }
};
} // namespace
