#include "para/Partition/Projection.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace para;

void OpSplit::annotate(Operation *op) const {
  Builder builder(op->getContext());
  Sharding sharding = Sharding::replicated(factors.size());
  for (auto [dim, factor] : llvm::zip(sharding.dims, factors)) {
    dim.axes = factor.axes;
    dim.unit = factor.unit;
    dim.blocks = factor.blocks;
  }
  sharding.partial = partial;
  op->setAttr("para.split", sharding.getAttr(op->getContext()));
  if (partialOperand >= 0)
    op->setAttr("para.partial_operand", builder.getI64IntegerAttr(partialOperand));
  if (!local.empty())
    op->setAttr("para.local", builder.getArrayAttr(SmallVector<Attribute>(local.begin(), local.end())));
}

OpSplit OpSplit::get(Operation *op, const Structure &structure) {
  OpSplit split;
  split.factors.resize(structure.factors.size());
  auto attr = op->getAttrOfType<ShardingAttr>("para.split");
  if (!attr)
    return split;
  Sharding sharding = Sharding::get(attr);
  for (auto [factor, dim] : llvm::zip(split.factors, sharding.dims))
    factor = {dim.axes, dim.unit, dim.blocks};
  split.partial = sharding.partial;
  if (auto operand = op->getAttrOfType<IntegerAttr>("para.partial_operand"))
    split.partialOperand = operand.getInt();
  if (auto axes = op->getAttrOfType<ArrayAttr>("para.local"))
    for (Attribute axis : axes)
      split.local.push_back(cast<StringAttr>(axis));
  return split;
}

bool Projection::isSingled(int factor, const FactorSplit &split) const {
  int64_t pieces = 1;
  for (Axis axis : split.axes)
    pieces *= mesh.getSize(axis);
  return pieces == structure.factors[factor].size && split.unit == 1 && split.blocks == 1;
}

DimSharding Projection::project(const DimFactors &factors, const OpSplit &split) const {
  int64_t before = 1;
  DimSharding result;
  for (auto [place, factor] : llvm::enumerate(factors)) {
    const FactorSplit &cut = split.factors[factor];
    bool goesOn = before == 1 || !result.axes.empty(); // behind factors that are cut into single elements
    if (!cut.axes.empty() && (result.axes.empty() || cut.blocks == 1)) {
      int64_t after = 1;
      for (int other : llvm::drop_begin(factors, place + 1))
        after *= structure.factors[other].size;
      int64_t blocks = result.axes.empty() ? before * cut.blocks : 1;
      result.axes.append(cut.axes.begin(), cut.axes.end());
      result = {result.axes, cut.unit * after, blocks};
      if (!goesOn || blocks != 1 || !isSingled(factor, cut))
        return result;
    } else if (!result.axes.empty() && structure.factors[factor].size != 1) {
      return result;
    }
    before *= structure.factors[factor].size;
  }
  return result;
}

bool Projection::canBeCut(const DimFactors &factors, const OpSplit &split) const {
  bool isOpen = true, any = false;
  for (int factor : factors) {
    const FactorSplit &cut = split.factors[factor];
    if (!cut.axes.empty()) {
      if (any && (!isOpen || cut.blocks != 1))
        return false;
      isOpen &= isSingled(factor, cut);
      any = true;
    } else {
      isOpen &= structure.factors[factor].size == 1;
    }
  }
  return true;
}

llvm::SmallVector<Projection::Lifted> Projection::liftAll(const DimFactors &factors, const DimSharding &sharding) const {
  if (auto single = lift(factors, sharding))
    return {*single};
  llvm::SmallVector<Lifted> lifted;
  DimSharding rest = sharding;
  ArrayRef<int> left = factors;
  while (!rest.axes.empty() && !left.empty() && rest.blocks == 1) {
    if (auto last = lift(DimFactors(left), rest)) {
      lifted.push_back(*last);
      return lifted;
    }
    // The first axes cut the first factor into single elements.
    FactorSplit split;
    int64_t pieces = 1, size = structure.factors[left.front()].size;
    while (!rest.axes.empty() && pieces < size) {
      pieces *= mesh.getSize(rest.axes.front());
      split.axes.push_back(rest.axes.front());
      rest.axes.erase(rest.axes.begin());
    }
    if (pieces != size)
      return {};
    if (!split.axes.empty())
      lifted.push_back({left.front(), split});
    left = left.drop_front();
  }
  return rest.axes.empty() ? lifted : llvm::SmallVector<Lifted>();
}

std::optional<Projection::Lifted> Projection::lift(const DimFactors &factors, const DimSharding &sharding) const {
  if (sharding.axes.empty())
    return std::nullopt;
  int64_t total = 1, pieces = 1;
  for (int factor : factors)
    total *= structure.factors[factor].size;
  for (Axis axis : sharding.axes)
    pieces *= mesh.getSize(axis);
  bool even = !sharding.hasPadding(total, mesh);
  int64_t before = 1;
  for (auto [place, factor] : llvm::enumerate(factors)) {
    int64_t size = structure.factors[factor].size;
    int64_t after = total / before / size;
    // The factor which the dimension's blocks begin in: they are blocks of the factor, or single elements of those before it.
    int64_t inner = sharding.blocks % before ? 0 : sharding.blocks / before;
    if (inner == 1 || (inner > 1 && inner < size && size % inner == 0)) {
      // Equal pieces can be told in any unit that divides them; others only in their own.
      if (even && (size / inner % pieces) == 0)
        return Lifted{factor, {sharding.axes, 1, inner}};
      if (sharding.unit % after == 0 && size / inner % (sharding.unit / after) == 0)
        return Lifted{factor, {sharding.axes, sharding.unit / after, inner}};
      return std::nullopt;
    }
    before *= size;
  }
  return std::nullopt;
}

Sharding Projection::getOperand(const OpSplit &split, unsigned number) const {
  const ValueFactors &factors = structure.operands[number];
  Sharding sharding = Sharding::replicated(factors.size());
  for (auto [dim, dimFactors] : llvm::zip(sharding.dims, factors))
    dim = project(dimFactors, split);
  Linearity linearity = structure.linearity[number];
  bool passes = split.partialOperand >= 0 ? split.partialOperand == int(number) : linearity == Linearity::Joint;
  if (passes)
    for (Axis axis : split.partial)
      sharding.addPartial(axis);
  return sharding;
}

Sharding Projection::getResult(const OpSplit &split, unsigned number) const {
  const ValueFactors &factors = structure.results[number];
  Sharding sharding = Sharding::replicated(factors.size());
  for (auto [dim, dimFactors] : llvm::zip(sharding.dims, factors))
    dim = project(dimFactors, split);
  for (Axis axis : split.partial)
    sharding.addPartial(axis);
  for (auto [factor, cut] : llvm::zip(structure.factors, split.factors))
    if (factor.kind == FactorKind::Reduction)
      for (Axis axis : cut.axes) {
        if (llvm::is_contained(split.local, axis))
          continue;
        sharding.addPartial(axis);
        sharding.reduction = factor.reduction;
      }
  return sharding;
}

OpSplit Projection::getSplit(const Lifted &lifted) const {
  OpSplit split;
  split.factors.resize(structure.factors.size());
  split.factors[lifted.factor] = lifted.split;
  return split;
}

llvm::SmallVector<Projection::Outcome> Projection::getOutcomes(const Lifted &lifted) const {
  OpSplit split = getSplit(lifted);
  llvm::SmallVector<Outcome> outcomes;
  for (auto [result, dims] : llvm::enumerate(structure.results))
    for (auto [dim, factors] : llvm::enumerate(dims))
      if (llvm::is_contained(factors, lifted.factor))
        outcomes.push_back({unsigned(result), unsigned(dim), project(factors, split)});
  return outcomes;
}
