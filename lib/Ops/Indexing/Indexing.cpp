#include "Indexing/Indexing.h"

using namespace mlir;
using namespace para;

#define GET_OP_CLASSES
#include "Indexing/Indexing.cpp.inc"

LogicalResult IndexOp::verify() {
  if (int64_t(getEntries()) < 1) // C1
    return emitOpError("has no entry to point at");
  return success();
}

Structure IndexOp::getStructure() { return Structure::elementwise(*this); }

std::optional<IndexRange> IndexOp::getIndexRange(unsigned) {
  int64_t entries = getEntries();
  return IndexRange{getFromEnd() ? -entries : 0, entries};
}

LogicalResult GatherOp::verify() {
  auto table = getTable().getType(), indices = getIndices().getType();
  if (failed(verifyDim(*this, getDim(), table)) || failed(verifyShard(*this, getAxes(), getSize(), getUnit())))
    return failure();
  SmallVector<int64_t> shape(table.getShape().take_front(getDim()));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, table.getShape().drop_front(getDim() + 1));
  if (getType() != RankedTensorType::get(shape, table.getElementType()))
    return emitOpError("result must be ") << RankedTensorType::get(shape, table.getElementType());
  return success();
}

LogicalResult ScatterAddOp::verify() {
  auto indices = getIndices().getType(), updates = getUpdates().getType();
  int64_t positions = indices.getRank();
  if (failed(verifyOneElementType(*this, {updates, getType()})) || failed(verifyShard(*this, getAxes(), getSize(), getUnit())))
    return failure();
  if (updates.getRank() < positions || updates.getShape().take_front(positions) != indices.getShape() || getType().getRank() < 1 ||
      getType().getShape().drop_front() != updates.getShape().drop_front(positions))
    return emitOpError("needs updates [indices..., width...] and a result [rows, width...]");
  return success();
}

Structure GatherOp::getStructure() {
  Structure structure;
  auto add = [&](int64_t size, FactorKind kind) { return size == 1 ? DimFactors() : DimFactors{structure.addFactor(size, kind)}; };
  ValueFactors table, indices, result;
  for (auto [dim, size] : llvm::enumerate(getTable().getType().getShape())) {
    if (dim == getDim()) {
      // A shard of the rows answers zero for the others: the sum over shards is the row.
      DimFactors rows = add(size, FactorKind::Reduction);
      for (int factor : rows)
        structure.factors[factor].readsPadding = false;
      table.push_back(rows);
      for (int64_t extent : getIndices().getType().getShape()) {
        indices.push_back(add(extent, FactorKind::Parallel));
        result.push_back(indices.back());
      }
      continue;
    }
    table.push_back(add(size, FactorKind::Parallel));
    result.push_back(table.back());
  }
  structure.operands = {table, indices};
  structure.results = {result};
  structure.linearity = {Linearity::Joint, Linearity::None};
  return structure;
}

void GatherOp::describeShard(Operation *local, unsigned factor, ArrayAttr axes, int64_t size, int64_t unit) {
  if (llvm::is_contained(getStructure().operands[0][getDim()], int(factor)))
    setShardDescription(local, axes, size, unit);
}

Structure ScatterAddOp::getStructure() {
  Structure structure;
  auto add = [&](int64_t size, FactorKind kind) { return size == 1 ? DimFactors() : DimFactors{structure.addFactor(size, kind)}; };
  ValueFactors indices, updates, result = {add(getType().getDimSize(0), FactorKind::Parallel)};
  for (int64_t size : getIndices().getType().getShape()) {
    indices.push_back(add(size, FactorKind::Reduction));
    updates.push_back(indices.back());
  }
  for (int64_t size : getType().getShape().drop_front()) {
    result.push_back(add(size, FactorKind::Parallel));
    updates.push_back(result.back());
  }
  structure.operands = {indices, updates};
  structure.results = {result};
  structure.linearity = {Linearity::None, Linearity::Joint};
  return structure;
}

void ScatterAddOp::describeShard(Operation *local, unsigned factor, ArrayAttr axes, int64_t size, int64_t unit) {
  if (llvm::is_contained(getStructure().results[0][0], int(factor)))
    setShardDescription(local, axes, size, unit);
}

PrecisionRule GatherOp::getPrecisionRule() { return PrecisionRule::Looks; }
PrecisionRule ScatterAddOp::getPrecisionRule() { return PrecisionRule::Sums; }

LogicalResult GatherOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  TensorBuilder t(getLoc(), builder);
  int64_t dim = getDim(), positions = getIndices().getType().getRank(), rank = getTable().getType().getRank();
  // Indices first, then the table's other dimensions; the table's dimension comes back to its place afterwards.
  SmallVector<int64_t> forward, back;
  for (int64_t i = 0; i < positions; ++i)
    forward.push_back(dim + i);
  for (int64_t i = 0; i < rank - 1; ++i)
    forward.push_back(i < dim ? i : i + positions);
  for (int64_t i = 0; i < rank; ++i)
    back.push_back(i == dim ? 0 : (i < dim ? i + 1 : i));
  Value updates = t.transpose(cotangents[0], forward);
  gradients[0] = t.transpose(t.scatterAdd(getIndices(), updates, getTable().getType().getDimSize(dim)), back);
  return success();
}

LogicalResult ScatterAddOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  gradients[1] = TensorBuilder(getLoc(), builder).gather(cotangents[0], getIndices(), 0);
  return success();
}

void para::registerIndexingOps(ParaDialect &dialect) {
  dialect.addFamily<
#define GET_OP_LIST
#include "Indexing/Indexing.cpp.inc"
      >();
}
