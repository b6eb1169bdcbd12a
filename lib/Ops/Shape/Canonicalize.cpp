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
} // namespace

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) { patterns.add<MergeTransposeSplit>(context); }
