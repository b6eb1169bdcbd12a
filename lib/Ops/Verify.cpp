#include "Verify.h"

#include "para/Interfaces/Precision.h"

using namespace mlir;
using namespace para;

LogicalResult para::verifyDim(Operation *op, uint64_t dim, RankedTensorType type) {
  if (dim >= uint64_t(type.getRank()))
    return op->emitOpError("dimension ") << int64_t(dim) << " does not exist in " << type;
  return success();
}

LogicalResult para::verifyDims(Operation *op, ArrayRef<int64_t> dims, RankedTensorType type) {
  int64_t last = -1;
  for (int64_t dim : dims) {
    if (dim <= last || dim >= type.getRank())
      return op->emitOpError("dimensions must ascend and exist in the input");
    last = dim;
  }
  return success();
}

LogicalResult para::verifyOneElementType(Operation *op, TypeRange types) {
  for (Type type : types)
    if (cast<RankedTensorType>(type).getElementType() != cast<RankedTensorType>(types.front()).getElementType())
      return op->emitOpError("element types differ: ") << types.front() << " and " << type;
  return success();
}

LogicalResult para::verifyProductTypes(Operation *op, RankedTensorType lhs, RankedTensorType rhs, RankedTensorType result) {
  bool isWide = isNarrow(lhs) && result.getElementType() == getComputeType(lhs);
  return verifyOneElementType(op, isWide ? TypeRange{lhs, rhs} : TypeRange{lhs, rhs, result});
}

LogicalResult para::verifySameBut(Operation *op, RankedTensorType from, RankedTensorType to, ArrayRef<int64_t> dims) {
  bool fits = from.getRank() == to.getRank() && from.getElementType() == to.getElementType();
  for (int64_t dim = 0; fits && dim < from.getRank(); ++dim)
    fits = from.getDimSize(dim) == to.getDimSize(dim) || llvm::is_contained(dims, dim);
  if (!fits)
    return op->emitOpError("cannot make ") << to << " of " << from;
  return success();
}

LogicalResult para::verifyResult(Operation *op, unsigned number, RankedTensorType expected) {
  if (op->getResult(number).getType() != expected)
    return op->emitOpError("result ") << number << " must be " << expected;
  return success();
}

LogicalResult para::verifyAxes(Operation *op, ArrayAttr axes) {
  for (Attribute axis : axes)
    if (auto name = dyn_cast<StringAttr>(axis); !name || name.getValue().empty())
      return op->emitOpError("needs the name of an axis in place of ") << axis;
  return success();
}

LogicalResult para::verifyShard(Operation *op, ArrayAttr axes, std::optional<uint64_t> size, std::optional<uint64_t> unit) {
  if (failed(verifyAxes(op, axes)))
    return failure();
  if (bool(size) != bool(unit) || (!axes.empty() && !size))
    return op->emitOpError("a shard is told by its axes, a size and a unit");
  if (size && (*size < 1 || *size > uint64_t(kMostSteps) || *unit < 1 || *unit > uint64_t(kMostSteps)))
    return op->emitOpError("size and unit of a shard must be 1 or more");
  return success();
}

LogicalResult para::verifySteps(Operation *op, StringRef what, ArrayRef<int64_t> numbers) {
  for (int64_t number : numbers)
    if (number < -kMostSteps || number > kMostSteps)
      return op->emitOpError(what) << " of " << number << " is too far from zero";
  return success();
}
