#include "Composite/Composite.h"
#include "Reduction/Reduction.h"
#include "Shape/Shape.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace para;

namespace {
/// Exporters merge [batch, heads] into one dimension, transpose, and split it again. That is one transpose; told as such, batch and heads
/// can be cut by different axes.
struct MergeTransposeSplit : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp split, PatternRewriter &rewriter) const override {
    auto transpose = split.getInput().getDefiningOp<TransposeOp>();
    auto merge = transpose ? transpose.getInput().getDefiningOp<ReshapeOp>() : ReshapeOp();
    if (!merge)
      return failure();
    Structure structure = merge.getStructure();
    if (llvm::any_of(structure.factors, [](const Factor &factor) { return factor.kind == FactorKind::Whole; }))
      return failure();
    // Each dimension of the merged tensor must consist of whole dimensions of the first.
    SmallVector<int64_t> dimOf(structure.factors.size(), -1);
    for (auto [dim, factors] : llvm::enumerate(structure.operands[0])) {
      if (factors.size() != 1)
        return failure();
      dimOf[factors[0]] = dim;
    }
    SmallVector<int64_t> permutation, shape;
    for (int64_t dim : transpose.getPermutation())
      for (int factor : structure.results[0][dim]) {
        permutation.push_back(dimOf[factor]);
        shape.push_back(structure.factors[factor].size);
      }
    if (split.getType().getShape() != ArrayRef(shape))
      return failure();
    rewriter.replaceOp(split, TensorBuilder(split.getLoc(), rewriter).transpose(merge.getInput(), permutation));
    return success();
  }
};
/// Losses see the rows of all samples as one dimension. Samples and rows can be cut by different axes only while they are two, so that what
/// a loss does with each row happens before they are merged, and sums go over both.
RankedTensorType getRows(Value merged) {
  auto merge = merged.getDefiningOp<ReshapeOp>();
  if (!merge || merge.getType().getRank() != 1 || llvm::count_if(merge.getInput().getType().getShape(), [](int64_t size) { return size > 1; }) < 2)
    return {};
  return merge.getInput().getType();
}

struct CrossEntropyOfMerged : OpRewritePattern<CrossEntropyOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CrossEntropyOp op, PatternRewriter &rewriter) const override {
    auto merge = op.getScores().getDefiningOp<ReshapeOp>();
    auto scores = merge ? merge.getInput().getType() : RankedTensorType();
    if (!merge || op.getType().getRank() != 1 || scores.getRank() < 3 || scores.getShape().back() != op.getScores().getType().getShape().back())
      return failure();
    TensorBuilder t(op.getLoc(), rewriter);
    rewriter.replaceOp(op, t.reshape(t.crossEntropy(merge.getInput(), t.reshape(op.getLabels(), scores.getShape().drop_back())), op.getType().getShape()));
    return success();
  }
};

struct ElementsOfMerged : RewritePattern {
  ElementsOfMerged(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    auto result = op->getNumResults() == 1 && op->getNumOperands() > 0 ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : RankedTensorType();
    if (!op->hasTrait<OpTrait::Elementwise>() || !result || result.getRank() != 1)
      return failure();
    RankedTensorType rows;
    for (Value operand : op->getOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (!type || type.getShape() != result.getShape())
        return failure();
      RankedTensorType own = getRows(operand);
      auto constant = operand.getDefiningOp<ConstantOp>();
      if (!own && !(constant && isa<SplatElementsAttr>(constant.getValue())))
        return failure();
      if (own && rows && own.getShape() != rows.getShape())
        return failure();
      rows = own ? own : rows;
    }
    if (!rows)
      return failure();
    TensorBuilder t(op->getLoc(), rewriter);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(t.reshape(operand, rows.getShape()));
    Operation *split = rewriter.clone(*op);
    split->setOperands(operands);
    split->getResult(0).setType(result.clone(rows.getShape()));
    rewriter.replaceOp(op, t.reshape(split->getResult(0), result.getShape()));
    return success();
  }
};

/// Of sums, and of what counts their terms.
template <typename Op>
struct SumOfMerged : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    RankedTensorType rows = getRows(op.getInput());
    if (!rows || op.getDims() != ArrayRef<int64_t>{0})
      return failure();
    auto merge = op.getInput().template getDefiningOp<ReshapeOp>();
    rewriter.modifyOpInPlace(op, [&] {
      op.getInputMutable().assign(merge.getInput());
      op.setDims(llvm::to_vector(llvm::seq<int64_t>(0, rows.getRank())));
    });
    return success();
  }
};
} // namespace

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeTransposeSplit, CrossEntropyOfMerged, ElementsOfMerged, SumOfMerged<ReduceOp>, SumOfMerged<ExtentOp>>(context);
}
