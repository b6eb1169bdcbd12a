#include "para/Interfaces/Structure.h"

using namespace mlir;
using namespace para;

#include "para/Interfaces/Structure.cpp.inc"

int Structure::addFactor(int64_t size, FactorKind kind, ReductionKind reduction) {
  factors.push_back({size, kind, reduction});
  return int(factors.size()) - 1;
}

static ArrayRef<int64_t> shapeOf(Type type) { return cast<RankedTensorType>(type).getShape(); }

Structure Structure::elementwise(Operation *op, ArrayRef<Linearity> linearity) {
  Structure structure;
  ValueFactors all;
  for (int64_t size : shapeOf(op->getResult(0).getType())) {
    DimFactors factors;
    if (size != 1)
      factors.push_back(structure.addFactor(size));
    all.push_back(factors);
  }
  structure.operands.append(op->getNumOperands(), all);
  structure.results.append(op->getNumResults(), all);
  structure.linearity.assign(linearity.begin(), linearity.end());
  structure.linearity.resize(op->getNumOperands(), Linearity::None);
  return structure;
}

Structure Structure::permuted(Operation *op, ArrayRef<int64_t> dims, Linearity linearity) {
  Structure structure;
  ArrayRef<int64_t> from = shapeOf(op->getOperand(0).getType());
  ArrayRef<int64_t> to = shapeOf(op->getResult(0).getType());
  ValueFactors operand(from.size()), result(to.size());
  for (auto [dim, size] : llvm::enumerate(to))
    if (size != 1 && !llvm::is_contained(dims, int64_t(dim)))
      result[dim].push_back(structure.addFactor(size));
  for (auto [dim, target] : llvm::enumerate(dims)) {
    if (from[dim] == to[target]) {
      if (from[dim] == 1)
        continue;
      int factor = structure.addFactor(from[dim]);
      operand[dim].push_back(factor);
      result[target].push_back(factor);
      continue;
    }
    // A dimension of size 1 that is repeated is free on the larger side only; any other change of size stays whole.
    if (from[dim] != 1)
      operand[dim].push_back(structure.addFactor(from[dim], FactorKind::Whole));
    if (to[target] != 1)
      result[target].push_back(structure.addFactor(to[target], from[dim] == 1 ? FactorKind::Parallel : FactorKind::Whole));
  }
  structure.operands.push_back(operand);
  structure.results.push_back(result);
  structure.linearity.push_back(linearity);
  return structure;
}

void para::setShardDescription(Operation *local, ArrayAttr axes, int64_t size, int64_t unit) {
  Builder builder(local->getContext());
  local->setAttr("axes", axes);
  local->setAttr("size", builder.getI64IntegerAttr(size));
  local->setAttr("unit", builder.getI64IntegerAttr(unit));
}

double para::detail::getIterationPoints(Operation *op) {
  double points = 1;
  for (const Factor &factor : cast<StructureOpInterface>(op).getStructure().factors)
    points *= double(factor.size);
  return points;
}

double para::detail::getBytesMoved(Operation *op) {
  double bytes = 0;
  auto add = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      bytes += double(tensor.getNumElements()) * ((tensor.getElementTypeBitWidth() + 7) / 8);
  };
  llvm::for_each(op->getOperandTypes(), add);
  llvm::for_each(op->getResultTypes(), add);
  return bytes;
}
