#include "Shape/Shape.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace para;

#define GET_OP_CLASSES
#include "Shape/Shape.cpp.inc"

namespace para {
Operation *materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}
} // namespace para

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto producer = getInput().getDefiningOp<ReshapeOp>()) {
    getInputMutable().assign(producer.getInput());
    return getResult();
  }
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(adaptor.getInput()))
    return splat.resizeSplat(getType());
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (llvm::equal(getPermutation(), llvm::seq<int64_t>(0, getType().getRank())))
    return getInput();
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(adaptor.getInput()))
    return splat.resizeSplat(getType());
  return {};
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(adaptor.getInput()))
    return splat.resizeSplat(getType());
  return {};
}

LogicalResult ConstantOp::verify() {
  if (!isa<DenseElementsAttr, DenseResourceElementsAttr>(getValue()))
    return emitOpError("has a value that is not dense");
  return success();
}

LogicalResult IotaOp::verify() {
  if (failed(verifyDim(*this, getDim(), getType())))
    return failure();
  return verifyShard(*this, getAxes(), getSize(), getUnit());
}

LogicalResult ReshapeOp::verify() {
  if (getInput().getType().getNumElements() != getType().getNumElements())
    return emitOpError("has ") << getInput().getType().getNumElements() << " elements in and " << getType().getNumElements() << " out";
  if (getInput().getType().getElementType() != getType().getElementType())
    return emitOpError("changes the element type");
  return success();
}

LogicalResult TransposeOp::verify() {
  SmallVector<int64_t> sorted(getPermutation());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, getInput().getType().getRank())))
    return emitOpError("permutation is not one of ") << getInput().getType().getRank() << " dimensions";
  auto expected = llvm::map_to_vector(getPermutation(), [&](int64_t dim) { return getInput().getType().getDimSize(dim); });
  if (getType() != RankedTensorType::get(expected, getInput().getType().getElementType()))
    return emitOpError("result type does not follow from the permutation");
  return success();
}

LogicalResult BroadcastOp::verify() {
  auto from = getInput().getType(), to = getType();
  if (int64_t(getDims().size()) != from.getRank() || from.getElementType() != to.getElementType())
    return emitOpError("names ") << getDims().size() << " dimensions for an input of rank " << from.getRank();
  int64_t last = -1;
  for (auto [size, dim] : llvm::zip(from.getShape(), getDims())) {
    if (dim <= last || dim >= to.getRank())
      return emitOpError("dimensions must ascend and exist in the result");
    if (size != 1 && size != to.getDimSize(dim)) // C1
      return emitOpError("size ") << size << " cannot become " << to.getDimSize(dim);
    last = dim;
  }
  return success();
}

LogicalResult SliceOp::verify() {
  auto from = getInput().getType(), to = getType();
  if (from.getRank() != to.getRank() || int64_t(getOffsets().size()) != from.getRank() || int64_t(getStrides().size()) != from.getRank())
    return emitOpError("needs an offset and a stride for each dimension");
  if (failed(verifyOneElementType(*this, {from, to})) || failed(verifySteps(*this, "an offset", getOffsets())) || failed(verifySteps(*this, "a stride", getStrides())))
    return failure();
  for (auto [size, count, offset, stride] : llvm::zip(from.getShape(), to.getShape(), getOffsets(), getStrides())) {
    int64_t last;
    if (llvm::MulOverflow(count - 1, stride, last) || llvm::AddOverflow(offset, last, last))
      return emitOpError("reads elements beyond 2^63");
    if (stride == 0 || (count > 0 && (offset < 0 || offset >= size || last < 0 || last >= size)))
      return emitOpError("reads elements ") << offset << " to " << last << " of " << size;
  }
  return success();
}

LogicalResult PadOp::verify() {
  auto from = getInput().getType(), to = getType();
  if (from.getRank() != to.getRank() || int64_t(getLow().size()) != from.getRank() || int64_t(getInterior().size()) != from.getRank() ||
      llvm::any_of(getInterior(), [](int64_t step) { return step < 1; }))
    return emitOpError("needs padding and a positive step for each dimension");
  if (failed(verifySteps(*this, "padding", getLow())) || failed(verifySteps(*this, "a step", getInterior())))
    return failure();
  auto value = dyn_cast<TypedAttr>(getValue());
  if (!value || !isa<FloatAttr, IntegerAttr>(value) || value.getType() != from.getElementType() || from.getElementType() != to.getElementType())
    return emitOpError("pads with a value of another type");
  return success();
}

LogicalResult ConcatOp::verify() {
  int64_t size = 0;
  if (getInputs().empty())
    return emitOpError("needs an input");
  if (getDim() >= uint64_t(getType().getRank()))
    return emitOpError("dimension ") << getDim() << " does not exist";
  for (Value input : getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    if (type.getRank() != getType().getRank() || type.getElementType() != getType().getElementType())
      return emitOpError("inputs differ in rank or type");
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dim != int64_t(getDim()) && type.getDimSize(dim) != getType().getDimSize(dim))
        return emitOpError("inputs differ in dimension ") << dim;
    size += type.getDimSize(getDim());
  }
  if (size != getType().getDimSize(getDim()))
    return emitOpError("inputs have ") << size << " elements along the dimension, the result " << getType().getDimSize(getDim());
  return success();
}

void para::registerShapeOps(ParaDialect &dialect) {
  dialect.addFamily<
#define GET_OP_LIST
#include "Shape/Shape.cpp.inc"
      >();
}
