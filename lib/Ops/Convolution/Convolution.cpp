#include "Convolution/Convolution.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace para;

#define GET_OP_CLASSES
#include "Convolution/Convolution.cpp.inc"

namespace {
/// The three tensors of a convolution, whichever of them an op makes.
struct Parts {
  RankedTensorType input, weight, output;
};

template <typename Op> LogicalResult verifyParts(Op op, Parts parts) {
  if (failed(verifyOneElementType(op, {parts.input, parts.weight, parts.output})))
    return failure();
  int64_t rank = parts.input.getRank(), spatial = rank - 2, groups = op.getGroups();
  if (rank < 3 || rank > 5 || parts.weight.getRank() != rank || parts.output.getRank() != rank)
    return op.emitOpError("needs 1 to 3 spatial dimensions");
  for (ArrayRef<int64_t> list : {op.getStrides(), op.getDilations(), op.getPadLow(), op.getPadHigh()})
    if (int64_t(list.size()) != spatial)
      return op.emitOpError("needs one stride, dilation and padding for each of ") << spatial << " spatial dimensions";
  for (auto [what, list] : {std::pair<StringRef, ArrayRef<int64_t>>{"a stride", op.getStrides()}, {"a dilation", op.getDilations()}, {"padding", op.getPadLow()}, {"padding", op.getPadHigh()}})
    if (failed(verifySteps(op, what, list)))
      return failure();
  if (groups < 1 || groups > kMostSteps || parts.input.getDimSize(1) != groups * parts.weight.getDimSize(1) || parts.weight.getDimSize(0) % groups ||
      parts.output.getDimSize(1) != parts.weight.getDimSize(0) || parts.input.getDimSize(0) != parts.output.getDimSize(0))
    return op.emitOpError("channels, groups and batch do not fit together");
  for (int64_t dim = 0; dim < spatial; ++dim) {
    int64_t stride = op.getStrides()[dim], dilation = op.getDilations()[dim];
    if (stride < 1 || dilation < 1)
      return op.emitOpError("strides and dilations must be positive");
    int64_t reach, padded = parts.input.getDimSize(dim + 2) + op.getPadLow()[dim] + op.getPadHigh()[dim];
    if (llvm::MulOverflow(dilation, parts.weight.getDimSize(dim + 2) - 1, reach) || reach >= padded)
      return op.emitOpError("the window does not fit into spatial dimension ") << dim;
    int64_t out = (padded - reach - 1) / stride + 1;
    if (parts.output.getDimSize(dim + 2) != out)
      return op.emitOpError("spatial dimension ") << dim << " must be " << out;
  }
  return success();
}

Parts partsOf(ConvolutionOp op) { return {op.getInput().getType(), op.getWeight().getType(), op.getType()}; }
Parts partsOf(ConvolutionInputGradOp op) { return {op.getType(), op.getWeight().getType(), op.getCotangent().getType()}; }
Parts partsOf(ConvolutionWeightGradOp op) { return {op.getInput().getType(), op.getType(), op.getCotangent().getType()}; }

/// Factors: batch, channels in and out (with the group as major factor), spatial dimensions whole.
struct PartFactors {
  Structure structure;
  ValueFactors input, weight, output;

  PartFactors(Parts parts, int64_t groups, FactorKind batch, FactorKind channels, FactorKind filters) {
    auto add = [&](int64_t size, FactorKind kind) { return size == 1 ? DimFactors() : DimFactors{structure.addFactor(size, kind)}; };
    DimFactors n = add(parts.input.getDimSize(0), batch), g = add(groups, FactorKind::Parallel);
    DimFactors c = add(parts.weight.getDimSize(1), channels), k = add(parts.weight.getDimSize(0) / groups, filters);
    DimFactors gc = g, gk = g;
    gc.append(c);
    gk.append(k);
    input = {n, gc};
    weight = {gk, c};
    output = {n, gk};
    for (int64_t dim = 2; dim < parts.input.getRank(); ++dim) {
      input.push_back(add(parts.input.getDimSize(dim), FactorKind::Whole));
      weight.push_back(add(parts.weight.getDimSize(dim), FactorKind::Whole));
      output.push_back(add(parts.output.getDimSize(dim), FactorKind::Whole));
    }
    structure.linearity = {Linearity::Alone, Linearity::Alone};
  }
};

double flopsOf(Parts parts) {
  return 2.0 * double(parts.output.getNumElements()) * double(parts.weight.getNumElements()) / double(parts.weight.getDimSize(0));
}

/// A shard has as many groups as its input has channels for them.
template <typename Op> Operation *localConvolution(Op op, OpBuilder &builder, ValueRange operands, TypeRange types, RankedTensorType input, RankedTensorType weight) {
  OperationState state(op.getLoc(), op->getName(), operands, types, op->getAttrs());
  Operation *local = builder.create(state);
  cast<Op>(local).setGroups(input.getDimSize(1) / weight.getDimSize(1));
  return local;
}

RankedTensorType tensorOf(Type type) { return cast<RankedTensorType>(type); }

template <typename Op> Windowing windowingOf(Op op, RankedTensorType weight) {
  return {SmallVector<int64_t>(weight.getShape().drop_front(2)), SmallVector<int64_t>(op.getStrides()),
          SmallVector<int64_t>(op.getDilations()), SmallVector<int64_t>(op.getPadLow()), SmallVector<int64_t>(op.getPadHigh())};
}
} // namespace

LogicalResult ConvolutionOp::verify() { return verifyParts(*this, partsOf(*this)); }
LogicalResult ConvolutionInputGradOp::verify() { return verifyParts(*this, partsOf(*this)); }
LogicalResult ConvolutionWeightGradOp::verify() { return verifyParts(*this, partsOf(*this)); }

// Libraries give weight gradients in the type of their operands only.
PrecisionRule ConvolutionOp::getPrecisionRule() { return PrecisionRule::Multiplies; }
PrecisionRule ConvolutionInputGradOp::getPrecisionRule() { return PrecisionRule::Multiplies; }
PrecisionRule ConvolutionWeightGradOp::getPrecisionRule() { return PrecisionRule::Multiplies; }

double ConvolutionOp::getFlops() { return flopsOf(partsOf(*this)); }
double ConvolutionInputGradOp::getFlops() { return flopsOf(partsOf(*this)); }
double ConvolutionWeightGradOp::getFlops() { return flopsOf(partsOf(*this)); }

Structure ConvolutionOp::getStructure() {
  PartFactors f(partsOf(*this), getGroups(), FactorKind::Parallel, FactorKind::Reduction, FactorKind::Parallel);
  f.structure.operands = {f.input, f.weight};
  f.structure.results = {f.output};
  return f.structure;
}
Structure ConvolutionInputGradOp::getStructure() {
  PartFactors f(partsOf(*this), getGroups(), FactorKind::Parallel, FactorKind::Parallel, FactorKind::Reduction);
  f.structure.operands = {f.output, f.weight};
  f.structure.results = {f.input};
  return f.structure;
}
Structure ConvolutionWeightGradOp::getStructure() {
  PartFactors f(partsOf(*this), getGroups(), FactorKind::Reduction, FactorKind::Parallel, FactorKind::Parallel);
  f.structure.operands = {f.output, f.input};
  f.structure.results = {f.weight};
  return f.structure;
}

Operation *ConvolutionOp::buildLocal(OpBuilder &builder, ValueRange operands, TypeRange types) {
  return localConvolution(*this, builder, operands, types, tensorOf(operands[0].getType()), tensorOf(operands[1].getType()));
}
Operation *ConvolutionInputGradOp::buildLocal(OpBuilder &builder, ValueRange operands, TypeRange types) {
  return localConvolution(*this, builder, operands, types, tensorOf(types[0]), tensorOf(operands[1].getType()));
}
Operation *ConvolutionWeightGradOp::buildLocal(OpBuilder &builder, ValueRange operands, TypeRange types) {
  return localConvolution(*this, builder, operands, types, tensorOf(operands[1].getType()), tensorOf(types[0]));
}

LogicalResult ConvolutionOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  TensorBuilder t(getLoc(), builder);
  Windowing windowing = windowingOf(*this, getWeight().getType());
  gradients[0] = t.convolutionInputGrad(cotangents[0], getWeight(), getInput().getType().getShape(), windowing, getGroups());
  gradients[1] = t.convolutionWeightGrad(cotangents[0], getInput(), getWeight().getType().getShape(), windowing, getGroups());
  return success();
}
LogicalResult ConvolutionInputGradOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  TensorBuilder t(getLoc(), builder);
  Windowing windowing = windowingOf(*this, getWeight().getType());
  gradients[0] = t.convolution(cotangents[0], getWeight(), windowing, getGroups());
  gradients[1] = t.convolutionWeightGrad(getCotangent(), cotangents[0], getWeight().getType().getShape(), windowing, getGroups());
  return success();
}
LogicalResult ConvolutionWeightGradOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  TensorBuilder t(getLoc(), builder);
  Windowing windowing = windowingOf(*this, getType());
  gradients[0] = t.convolution(getInput(), cotangents[0], windowing, getGroups());
  gradients[1] = t.convolutionInputGrad(getCotangent(), cotangents[0], getInput().getType().getShape(), windowing, getGroups());
  return success();
}

void para::registerConvolutionOps(ParaDialect &dialect) {
  dialect.addFamily<
#define GET_OP_LIST
#include "Convolution/Convolution.cpp.inc"
      >();
}
