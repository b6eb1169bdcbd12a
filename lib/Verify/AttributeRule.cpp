//===- AttributeRule.cpp - Attributes and types of ops on parts -----------===//
#include "Rules.h"

using namespace mlir;
using namespace para;

namespace {
constexpr StringLiteral kOffsets[] = {"offsets", "low"};       // of a block in a larger dimension
constexpr StringLiteral kCounts[] = {"groups"};                // of a loop, held against the loop's size with the other loops
constexpr StringLiteral kDescription[] = {"axes", "size", "unit"}; // of the shard, for ops that speak of global coordinates

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Offsets of blocks: block number k begins at k times the block's length, here as there.
bool isSameBlock(Operation *local, Operation *serial, ArrayRef<int64_t> here, ArrayRef<int64_t> there) {
  if (local->getNumOperands() != 1 || serial->getNumOperands() != 1 || here.size() != there.size())
    return false;
  auto whole = typeOf(serial->getOperand(0)), wholeResult = typeOf(serial->getResult(0));
  auto part = typeOf(local->getOperand(0)), partResult = typeOf(local->getResult(0));
  if (whole.getRank() != int64_t(there.size()) || part.getRank() != int64_t(here.size()) || partResult.getRank() != int64_t(here.size()))
    return false;
  for (auto [dim, offset, global] : llvm::enumerate(here, there)) {
    int64_t block = std::min(whole.getDimSize(dim), wholeResult.getDimSize(dim));
    int64_t own = std::min(part.getDimSize(dim), partResult.getDimSize(dim));
    if (block == own ? offset != global : block == 0 || global % block != 0 || offset * block != global * own)
      return false;
  }
  return true;
}
} // namespace

LogicalResult para::checkAttributes(Operation *local, Operation *serial) {
  bool describes = local->hasAttr("axes") || serial->hasAttr("axes");
  auto skip = [&](StringRef name) { return name.starts_with("para.") || (describes && llvm::is_contained(kDescription, name)); };
  for (NamedAttribute attr : serial->getAttrs()) {
    StringRef name = attr.getName();
    if (skip(name))
      continue;
    Attribute own = local->getAttr(name);
    auto here = dyn_cast_if_present<DenseI64ArrayAttr>(own), there = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
    if (llvm::is_contained(kCounts, name) && own)
      continue;
    bool same = here && there && llvm::is_contained(kOffsets, name) ? isSameBlock(local, serial, here, there) : own == attr.getValue();
    if (!same)
      return local->emitError() << "has " << name << " = " << own << " where the serial op's " << attr.getValue() << " was to be kept";
  }
  for (NamedAttribute attr : local->getAttrs())
    if (!skip(attr.getName()) && !serial->hasAttr(attr.getName()))
      return local->emitError() << "has an attribute " << attr.getName().getValue() << " that the serial op does not have";
  return success();
}

LogicalResult para::checkResultTypes(Operation *op, ArrayRef<LocalValue> results) {
  for (auto [index, result] : llvm::enumerate(results)) {
    auto expected = RankedTensorType::get(result.getLocalShape(), typeOf(result.serial).getElementType());
    if (op->getResult(index).getType() != expected)
      return op->emitError() << "result " << index << " has type " << op->getResult(index).getType() << " where its part of "
                             << describeSerial(result.serial) << " has type " << expected;
  }
  return success();
}
