#include "Shape/Shape.h"

using namespace mlir;
using namespace para;

LogicalResult ReshapeOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  gradients[0] = TensorBuilder(getLoc(), builder).reshape(cotangents[0], getInput().getType().getShape());
  return success();
}

LogicalResult TransposeOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    inverse[from] = to;
  gradients[0] = TensorBuilder(getLoc(), builder).transpose(cotangents[0], inverse);
  return success();
}

LogicalResult BroadcastOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  TensorBuilder t(getLoc(), builder);
  SmallVector<int64_t> summed;
  for (auto [dim, size] : llvm::enumerate(getType().getShape())) {
    auto it = llvm::find(getDims(), int64_t(dim));
    if (it == getDims().end() || (getInput().getType().getDimSize(it - getDims().begin()) == 1 && size != 1))
      summed.push_back(dim);
  }
  gradients[0] = t.reshape(t.reduceSum(cotangents[0], summed), getInput().getType().getShape());
  return success();
}

LogicalResult SliceOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  TensorBuilder t(getLoc(), builder);
  auto shape = getInput().getType().getShape();
  SmallVector<int64_t> low, high, interior, start(shape.size(), 0), flip(shape.size(), 1);
  SmallVector<int64_t> flipOffsets(shape.size(), 0);
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t count = getType().getDimSize(dim), stride = getStrides()[dim], offset = getOffsets()[dim];
    if (stride < 0) { // read backwards: turn the cotangent round first
      flip[dim] = -1;
      flipOffsets[dim] = count - 1;
      offset += (count - 1) * stride;
      stride = -stride;
    }
    low.push_back(offset);
    interior.push_back(stride);
    high.push_back(size - offset - ((count - 1) * stride + 1));
  }
  Value g = cotangents[0];
  if (llvm::is_contained(flip, -1))
    g = t.slice(g, flipOffsets, getType().getShape(), flip);
  gradients[0] = t.pad(g, low, high, 0.0, interior);
  return success();
}

LogicalResult PadOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  TensorBuilder t(getLoc(), builder);
  if (llvm::any_of(getLow(), [](int64_t low) { return low < 0; }))
    return emitOpError("with negative padding has no gradient: slice first");
  for (auto [size, low, step, result] : llvm::zip(getInput().getType().getShape(), getLow(), getInterior(), getType().getShape()))
    if (low + (size - 1) * step >= result)
      return emitOpError("with negative padding has no gradient: slice first");
  gradients[0] = t.slice(cotangents[0], getLow(), getInput().getType().getShape(), getInterior());
  return success();
}

LogicalResult ConcatOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  TensorBuilder t(getLoc(), builder);
  SmallVector<int64_t> offsets(getType().getRank(), 0);
  for (auto [number, input] : llvm::enumerate(getInputs())) {
    auto type = cast<RankedTensorType>(input.getType());
    gradients[number] = t.slice(cotangents[0], offsets, type.getShape());
    offsets[getDim()] += type.getDimSize(getDim());
  }
  return success();
}

PrecisionRule ReshapeOp::getPrecisionRule() { return PrecisionRule::Moves; }
PrecisionRule TransposeOp::getPrecisionRule() { return PrecisionRule::Moves; }
PrecisionRule BroadcastOp::getPrecisionRule() { return PrecisionRule::Moves; }
PrecisionRule SliceOp::getPrecisionRule() { return PrecisionRule::Moves; }
PrecisionRule PadOp::getPrecisionRule() { return PrecisionRule::Moves; }
PrecisionRule ConcatOp::getPrecisionRule() { return PrecisionRule::Moves; }
