//===- Lowering.cpp - Elements and calls of gathers and scatters ----------===//
#include "Indexing/Indexing.h"

using namespace mlir;
using namespace para;

static SmallVector<StringRef> names(ArrayAttr axes) {
  SmallVector<StringRef> result;
  for (Attribute axis : axes)
    result.push_back(cast<StringAttr>(axis).getValue());
  return result;
}

Value IndexOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  ImplicitLocOpBuilder &b = emitter.b;
  Value x = emitter.operand(0, index);
  if (!getFromEnd())
    return x;
  Type type = getType().getElementType();
  int64_t entries = getEntries();
  Value isNegative = scalar::compare(b, Comparison::Less, x, emitter.constantInteger(type, 0));
  return arith::SelectOp::create(b, isNegative, scalar::add(b, x, emitter.constantInteger(type, entries)), x);
}

Value GatherOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  ImplicitLocOpBuilder &b = emitter.b;
  Type i64 = b.getI64Type();
  int64_t dim = getDim(), positions = getIndices().getType().getRank();
  SmallVector<Coordinate> table(index.take_front(dim));
  Value row = scalar::cast(b, emitter.operand(1, index.slice(dim, positions)), i64);
  Value rows = emitter.constantInteger(i64, getTable().getType().getDimSize(dim));
  if (!getAxes().empty()) {
    SmallVector<StringRef> axes = names(getAxes());
    row = arith::SubIOp::create(b, row, emitter.shardBegin(axes, getSize().value_or(0), getUnit().value_or(1)));
    rows = emitter.shardValid(axes, getSize().value_or(0), getUnit().value_or(1));
  }
  // Unsigned: a negative row is larger than any size.
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row, rows);
  // Rows of other ranks would lie where there is no memory, and there masked loads, harmless as they are, take a thousand times as long.
  if (!getAxes().empty())
    row = arith::SelectOp::create(b, inside, row, emitter.constantInteger(i64, 0));
  table.push_back({getAffineConstantExpr(0, b.getContext()), row});
  llvm::append_range(table, index.drop_front(dim + positions));
  return emitter.guarded(inside, [&] { return emitter.operand(0, table); },
                         emitter.constant(getType().getElementType(), 0.0));
}

SmallVector<int64_t> ScatterAddOp::getReductionExtents() { return SmallVector<int64_t>(getIndices().getType().getShape()); }

Value ScatterAddOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  ImplicitLocOpBuilder &b = emitter.b;
  SmallVector<Coordinate> at(index.drop_front(getType().getRank()));
  Value row = scalar::cast(b, emitter.operand(0, at), b.getI64Type());
  if (!getAxes().empty())
    row = arith::SubIOp::create(b, row, emitter.shardBegin(names(getAxes()), getSize().value_or(0), getUnit().value_or(1)));
  Value here = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, row, emitter.position(index[0]));
  llvm::append_range(at, index.slice(1, getType().getRank() - 1));
  return emitter.guarded(here, [&] { return emitter.operand(1, at); }, emitter.constant(getType().getElementType(), 0.0));
}

std::optional<LibraryCall> ScatterAddOp::getLibraryCall() {
  Type type = getType().getElementType(), index = getIndices().getType().getElementType();
  if (type != getUpdates().getType().getElementType() || !(type.isF32() || type.isF64()) || !(index.isInteger(32) || index.isInteger(64)))
    return std::nullopt;
  LibraryCall call{LibraryCall::ScatterAdd};
  call.shardAxes = names(getAxes());
  call.shardSize = getSize().value_or(0);
  call.shardUnit = getUnit().value_or(1);
  return call;
}
