#include "MicrobatchFacts.h"

#include "para/IR/Phases.h"
#include "para/IR/Program.h"

using namespace mlir;
using namespace para;

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool runsPerMicrobatch(Operation *op) { return isPass(getPhase(op)); }

/// Contractions, which sum over loops that two operands share, cost more than reading and are not done twice.
bool isContraction(Operation *op) {
  Structure structure = cast<StructureOpInterface>(op).getStructure();
  for (auto [index, factor] : llvm::enumerate(structure.factors)) {
    int operands = 0;
    for (const ValueFactors &value : structure.operands)
      operands += llvm::any_of(value, [&, f = int(index)](const DimFactors &dim) { return llvm::is_contained(dim, f); });
    if (factor.kind == FactorKind::Reduction && operands > 1)
      return true;
  }
  return false;
}
} // namespace

MicrobatchFacts::MicrobatchFacts(func::FuncOp main, MeshAttr mesh) : main(main), mesh(mesh) {
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    StringRef kind = getArgKind(main, index);
    if (kind == "input" || kind == "hyper" || (kind == "parameter" && !main.getArgAttr(index, "para.trainable")))
      statics.insert(argument);
  }
  // Counts are constants; terms are yet to get their weights.
  for (Operation &op : main.getBody().front().without_terminator())
    if (isa<BatchCountOpInterface>(op) || (llvm::all_of(op.getOperands(), [&](Value operand) { return statics.contains(operand); }) &&
                                           !isContraction(&op) && !isa<BatchTermOpInterface>(op)))
      statics.insert_range(op.getResults());
}

bool MicrobatchFacts::isPreparable(Value value) const {
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!isStatic(next) || (op && getPhase(op) == Phase::Setup))
      return false;
    if (!op || getPhase(op) == Phase::Prepare || !seen.insert(op).second)
      continue;
    if (isa<BatchCountOpInterface>(op))
      continue;
    Structure structure = cast<StructureOpInterface>(op).getStructure();
    OpSplit split = OpSplit::get(op, structure);
    Projection projection(structure, mesh);
    for (OpOperand &operand : op->getOpOperands()) {
      if (isPartial(operand.get()) && !projection.getOperand(split, operand.getOperandNumber()).isPartial(kMicrobatch))
        return false;
      work.push_back(operand.get());
    }
  }
  return true;
}

bool MicrobatchFacts::isSettled(Operation *op) const {
  if (isa<BatchCountOpInterface>(op))
    return true;
  Structure structure = cast<StructureOpInterface>(op).getStructure();
  OpSplit split = OpSplit::get(op, structure);
  Projection projection(structure, mesh);
  for (OpResult result : op->getResults()) {
    Sharding sharding = projection.getResult(split, result.getResultNumber());
    if (!isStatic(result) || sharding.isCut(kMicrobatch) || sharding.isPartial(kMicrobatch))
      return false;
  }
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    Operation *producer = value.getDefiningOp();
    if (projection.getOperand(split, operand.getOperandNumber()).isCut(kMicrobatch))
      return false;
    // A sum is finished if `prepare` made it; anything else must follow from what is the same in all microbatches.
    if (isPartial(value) && getPhase(producer) != Phase::Prepare)
      return false;
    if (producer && getPhase(producer) != Phase::Prepare && getPhase(producer) != Phase::Setup && !isSettled(producer))
      return false;
  }
  return true;
}

bool MicrobatchFacts::hasLocal(Phase phase) const {
  func::FuncOp function = main;
  for (Operation &op : function.getBody().front().without_terminator())
    if (auto axes = op.getAttrOfType<ArrayAttr>("para.local"); axes && getPhase(&op) == phase)
      return true;
  return false;
}

Sharding MicrobatchFacts::getSharding(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op) {
    func::FuncOp function = main;
    auto attr = function.getArgAttrOfType<ShardingAttr>(cast<BlockArgument>(value).getArgNumber(), "para.sharding");
    return attr ? Sharding::get(attr) : Sharding::replicated(typeOf(value).getRank());
  }
  Structure structure = cast<StructureOpInterface>(op).getStructure();
  OpSplit split = OpSplit::get(op, structure);
  return Projection(structure, mesh).getResult(split, cast<OpResult>(value).getResultNumber());
}

bool MicrobatchFacts::isPartial(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && getPhase(op) != Phase::Update && getSharding(value).isPartial(kMicrobatch);
}

void MicrobatchFacts::markVarying() {
  varying.clear();
  for (Operation &op : main.getBody().front().without_terminator()) {
    if (!runsPerMicrobatch(&op))
      continue;
    Structure structure = cast<StructureOpInterface>(&op).getStructure();
    OpSplit split = OpSplit::get(&op, structure);
    bool local = llvm::any_of(split.local, [](Axis axis) { return axis.getValue() == kMicrobatch; });
    if (!local && llvm::none_of(op.getOperands(), [&](Value operand) { return varies(operand); }))
      continue;
    Projection projection(structure, mesh);
    for (OpResult result : op.getResults()) {
      Sharding sharding = projection.getResult(split, result.getResultNumber());
      if (!sharding.isCut(kMicrobatch) && !sharding.isPartial(kMicrobatch))
        varying.insert(result);
    }
  }
}

bool MicrobatchFacts::needsWhole(Operation *op) const {
  if (!runsPerMicrobatch(op))
    return false;
  Structure structure = cast<StructureOpInterface>(op).getStructure();
  OpSplit split = OpSplit::get(op, structure);
  Projection projection(structure, mesh);
  return llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
    Operation *producer = operand.get().getDefiningOp();
    return isPartial(operand.get()) && getPhase(producer) != Phase::Prepare && !projection.getOperand(split, operand.getOperandNumber()).isPartial(kMicrobatch);
  });
}

bool MicrobatchFacts::canPostpone(Operation *op) const {
  llvm::DenseSet<Operation *> seen;
  return canPostpone(op, seen);
}

bool MicrobatchFacts::canPostpone(Operation *op, llvm::DenseSet<Operation *> &seen) const {
  if (!seen.insert(op).second)
    return true;
  Structure structure = cast<StructureOpInterface>(op).getStructure();
  OpSplit split = OpSplit::get(op, structure);
  Projection projection(structure, mesh);
  for (OpOperand &operand : op->getOpOperands())
    if (varies(operand.get()) || projection.getOperand(split, operand.getOperandNumber()).isCut(kMicrobatch))
      return false;
  for (OpOperand &use : op->getUses()) {
    Operation *user = use.getOwner();
    if (user->hasTrait<OpTrait::IsTerminator>()) {
      func::FuncOp function = main;
      // Running statistics are carried from microbatch to microbatch.
      auto updates = function.getResultAttrOfType<StringAttr>(use.getOperandNumber(), "para.updates");
      int argument = updates ? getArgIndex(function, updates.getValue()) : -1;
      if (argument >= 0 && getArgKind(function, argument) == "buffer")
        return false;
    } else if (runsPerMicrobatch(user) && !canPostpone(user, seen)) {
      return false;
    }
  }
  return true;
}

void MicrobatchFacts::visitPostponed(Operation *op, llvm::function_ref<void(Operation *)> visit) const {
  SmallVector<Operation *> work = {op};
  while (!work.empty()) {
    Operation *next = work.pop_back_val();
    if (!runsPerMicrobatch(next) || next->hasTrait<OpTrait::IsTerminator>())
      continue;
    visit(next);
    llvm::append_range(work, next->getUsers());
  }
}
