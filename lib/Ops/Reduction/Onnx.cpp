//===- Onnx.cpp - ONNX reductions -----------------------------------------===//

#include "para/Import/OnnxOp.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace para;

using V = ImportValue;
using B = ImportBuilder;

namespace {
struct Reduction {
  V x;
  SmallVector<int64_t> dims;
  bool keep;
};
} // namespace

/// Operand and dimensions; none after an error. Axes became an operand in version 13 of ReduceSum and 18 of the others.
static std::optional<Reduction> getReduction(OnnxOp &op) {
  V x = op.input(0);
  std::optional<SmallVector<int64_t>> axes = op.axes(op.type() == "ReduceSum" ? 13 : 18);
  if (!x || op.b.hasFailed())
    return std::nullopt;
  Reduction result{x, {}, op.getInt("keepdims", 1) != 0};
  if (!axes || axes->empty()) {
    if (op.getInt("noop_with_empty_axes", 0))
      return result;
    for (int64_t i = 0; i < x.rank(); ++i)
      result.dims.push_back(i);
    return result;
  }
  for (int64_t axis : *axes) {
    if (!op.b.normalizeAxis(axis, x.rank()))
      return std::nullopt;
    if (!llvm::is_contained(result.dims, axis))
      result.dims.push_back(axis);
  }
  return result;
}

template <ReductionKind Kind>
static void importReduce(OnnxOp &op) {
  if (std::optional<Reduction> r = getReduction(op))
    op.result(op.b.reduce(Kind, r->x, r->dims, r->keep));
}

static void importReduceMean(OnnxOp &op) {
  if (std::optional<Reduction> r = getReduction(op))
    op.result(op.b.mean(r->x, r->dims, r->keep));
}

/// Reductions which are a formula over a sum.
template <V (*Before)(B &, V), V (*After)(B &, V)>
static void importFormula(OnnxOp &op) {
  if (std::optional<Reduction> r = getReduction(op))
    op.result(After(op.b, op.b.sum(Before(op.b, r->x), r->dims, r->keep)));
}
static V same(B &, V x) { return x; }
static V square(B &b, V x) { return b.mul(x, x); }
static V absolute(B &b, V x) { return b.abs(x); }
static V root(B &b, V x) { return b.sqrt(x); }
static V logarithm(B &b, V x) { return b.log(x); }

static void importReduceLogSumExp(OnnxOp &op) {
  B &b = op.b;
  std::optional<Reduction> r = getReduction(op);
  if (!r)
    return;
  V highest = b.reduce(ReductionKind::Max, r->x, r->dims, true);
  V sum = b.add(b.log(b.sum(b.exp(b.sub(r->x, highest)), r->dims, true)), highest);
  if (!sum)
    return;
  op.result(r->keep ? sum : b.reshape(sum, b.reduce(ReductionKind::Max, r->x, r->dims, false).shape()));
}

/// A product of the elements along known, few places; shapes are what it is used for.
static void importReduceProd(OnnxOp &op) {
  B &b = op.b;
  std::optional<Reduction> r = getReduction(op);
  if (!r)
    return;
  V x = r->x;
  for (int64_t dim : r->dims) {
    if (x.dim(dim) > 64)
      return void(op.error() << "ReduceProd over " << x.dim(dim) << " elements is not supported");
    V product = b.sliceDim(x, dim, 0, std::min<int64_t>(1, x.dim(dim)));
    for (int64_t i = 1; i < x.dim(dim); ++i)
      product = b.mul(product, b.sliceDim(x, dim, i, 1));
    SmallVector<int64_t> one(x.shape());
    one[dim] = 1;
    x = x.dim(dim) == 0 ? b.splat(x.element(), one, 1) : product;
    if (!x)
      return;
  }
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (r->keep || !llvm::is_contained(r->dims, i))
      shape.push_back(x.dim(i));
  op.result(b.reshape(x, shape));
}

void para::registerReductionOnnx(OnnxRegistry &r) {
  r.add("ReduceSum", 1, importReduce<ReductionKind::Sum>);
  r.add("ReduceMax", 1, importReduce<ReductionKind::Max>);
  r.add("ReduceMin", 1, importReduce<ReductionKind::Min>);
  r.add("ReduceMean", 1, importReduceMean);
  r.add("ReduceProd", 1, importReduceProd);
  r.add("ReduceL1", 1, importFormula<absolute, same>);
  r.add("ReduceL2", 1, importFormula<square, root>);
  r.add("ReduceSumSquare", 1, importFormula<square, same>);
  r.add("ReduceLogSum", 1, importFormula<same, logarithm>);
  r.add("ReduceLogSumExp", 1, importReduceLogSumExp);
}
