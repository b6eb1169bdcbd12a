//===- FusedWork.cpp - Attention and losses of a program's work ---------------===//
#include "WorkCollector.h"

#include <map>

using namespace mlir;
using namespace para;

void WorkCollector::findLoss() {
  if (policy.lossBytes == 0)
    return;
  StringRef name;
  for (auto &[op, node] : nodes)
    if (getPhase(op) == Phase::Forward && !node.isConstant && !node.call && op->getNumResults() == 1 && isa<FloatType>(typeOf(op->getResult(0)).getElementType()) &&
        typeOf(op->getResult(0)).getNumElements() == 1 && llvm::any_of(op->getOperands(), [&](Value operand) { return typeOf(operand).getNumElements() > 1; }))
      name = getNodeName(op->getLoc());
  for (auto &[op, node] : nodes)
    if (!name.empty() && !node.call && getPhase(op) != Phase::Update && getNodeName(op->getLoc()) == name)
      lossOps.insert(op);
  for (Operation *op : lossOps)
    for (Value operand : op->getOperands())
      if (getPhase(op) == Phase::Forward && isMadeByProduct(operand) && typeOf(operand).getNumElements() > lossElements && isa<FloatType>(typeOf(operand).getElementType()))
        lossElements = typeOf(operand).getNumElements();
}

bool WorkCollector::isMadeByProduct(Value value) const {
  Operation *op = rootOf(value).getDefiningOp();
  auto it = op ? nodes.find(op) : nodes.end();
  return it != nodes.end() && isProduct(it->second);
}

bool WorkCollector::isInLoss(Value value) const {
  return !lossOps.empty() && typeOf(value).getNumElements() == lossElements &&
         llvm::all_of(value.getUsers(), [&](Operation *user) { return lossOps.contains(user) || (nodes.count(user) && nodes.find(user)->second.isMove); });
}

void WorkCollector::addLoss() {
  if (lossOps.empty())
    return;
  SegmentWork &work = works.back();
  KernelWork kernel;
  kernel.bytes = policy.lossBytes / 2 * double(lossElements);
  work.forward.kernels.push_back(kernel);
  work.backwardInput.kernels.push_back(kernel);
  work.keptBytes += policy.lossKept * double(lossElements);
  work.temporaryBytes = std::max(work.temporaryBytes, policy.lossTemporary * double(lossElements));
}

std::array<int64_t, 3> WorkCollector::scoreKey(int64_t segment, Value value) {
  RankedTensorType type = typeOf(value);
  return {segment, type.getNumElements(), type.getRank() > 0 ? type.getShape().back() : 1};
}

void WorkCollector::findAttention() {
  for (auto &[op, node] : nodes) {
    if (!isProduct(node) || node.call->lhsBatch.empty())
      continue;
    auto isWeight = [&](Value operand) {
      auto argument = dyn_cast<BlockArgument>(rootOf(operand));
      return routes.contains(operand) || (argument && getArgKind(spmd, argument.getArgNumber()) == "parameter");
    };
    if (llvm::any_of(op->getOperands(), isWeight)) // of experts
      continue;
    int64_t made = typeOf(op->getResult(0)).getNumElements();
    if (made > std::max(typeOf(op->getOperand(0)).getNumElements(), typeOf(op->getOperand(1)).getNumElements()) && getPhase(op) == Phase::Forward)
      scores.insert(scoreKey(stageOf(op), op->getResult(0)));
  }
  if (!policy.fusesAttention)
    return;
  for (auto &[op, node] : nodes) {
    auto has = [&, op = op](Value value) { return scores.count(scoreKey(stageOf(op), value)) != 0; };
    bool touches = llvm::any_of(op->getResults(), has) || llvm::any_of(op->getOperands(), has);
    nodes[op].isInAttention = touches && !(node.call && !isProduct(node)) && getPhase(op) != Phase::Update;
  }
}

bool WorkCollector::isOfScores(Operation *op) const {
  auto has = [&](Value value) { return scores.count(scoreKey(stageOf(op), value)) != 0; };
  return llvm::any_of(op->getOperands(), has) || has(op->getResult(0));
}

void WorkCollector::addAttention() {
  struct Group {
    double flops = 0, bytes = 0;
    int64_t products = 0, batch = 1, m = 0, n = 0, k = 0;
    llvm::SmallPtrSet<void *, 16> seen;
  };
  std::map<std::pair<PhaseWork *, int64_t>, Group> groups;
  std::set<SegmentWork *> masked; // by constants, as what comes later is
  for (auto &[op, node] : nodes)
    if (node.isInAttention && !node.call)
      for (Value operand : op->getOperands())
        if (Operation *made = operand.getDefiningOp(); made && nodes.lookup(made).isConstant && typeOf(operand).getRank() > 1 && typeOf(operand).getShape().take_back(2).front() > 1)
          masked.insert(&workOf(op));
  for (auto &[op, node] : nodes) {
    if (!node.isInAttention || !isProduct(node))
      continue;
    // Gradients of queries, keys and values all belong to one kernel.
    SegmentWork &work = workOf(op);
    PhaseWork *phase = getPhase(op) == Phase::Backward ? &work.backwardInput : &work.forward;
    Group &group = groups[{phase, 0}];
    RankedTensorType lhs = typeOf(op->getOperand(0)), rhs = typeOf(op->getOperand(1)), result = typeOf(op->getResult(0));
    double k = 1, batch = 1;
    for (int64_t d : node.call->lhsContract)
      k *= double(lhs.getDimSize(d));
    for (int64_t d : node.call->lhsBatch)
      batch *= double(lhs.getDimSize(d));
    group.flops += 2.0 * double(result.getNumElements()) * k;
    ++group.products;
    if (result.getNumElements() > std::max(lhs.getNumElements(), rhs.getNumElements())) {
      group.batch = int64_t(batch);
      group.k = int64_t(k);
      group.m = int64_t(double(lhs.getNumElements()) / batch / k);
      group.n = int64_t(double(rhs.getNumElements()) / batch / k);
    }
    for (Value value : op->getOperands())
      if (Value root = rootOf(value); !isScoreLike(value) && group.seen.insert(root.getAsOpaquePointer()).second)
        group.bytes += bytesOf(root);
    if (!isScoreLike(op->getResult(0)))
      group.bytes += bytesOf(op->getResult(0));
  }
  for (auto &[key, group] : groups) {
    KernelWork kernel;
    kernel.kind = KernelWork::Attention;
    bool isMasked = llvm::any_of(masked, [phase = key.first](SegmentWork *work) { return phase == &work->forward || phase == &work->backwardInput; });
    // Of parts of a sequence too: frameworks give a rank one from its begin and one from its end, so that all skip as much.
    kernel.skipped = isMasked && group.m > 0 && group.n % group.m == 0 ? 0.5 : 0;
    kernel.flops = group.flops;
    kernel.bytes = group.bytes;
    kernel.batch = group.batch;
    kernel.m = group.m;
    kernel.n = group.n;
    kernel.k = group.k;
    key.first->kernels.push_back(kernel);
  }
}

bool WorkCollector::isScoreLike(Value value) const {
  Operation *op = value.getDefiningOp();
  auto it = op ? nodes.find(op) : nodes.end();
  if (it == nodes.end() || !it->second.isInAttention)
    return false;
  return !isProduct(it->second) || typeOf(value).getNumElements() > typeOf(op->getOperand(0)).getNumElements();
}

void WorkCollector::addDropout() {
  auto stream = [](PhaseWork &phase, double bytes) {
    KernelWork kernel;
    kernel.bytes = bytes;
    phase.kernels.push_back(kernel);
  };
  for (auto &[op, node] : nodes) {
    if (getPhase(op) != Phase::Forward)
      continue;
    SegmentWork &work = workOf(op);
    double elements = op->getNumResults() == 1 ? double(typeOf(op->getResult(0)).getNumElements()) : 0;
    if (isProduct(node) && !policy.fusesAttention && scores.count(scoreKey(stageOf(op), op->getResult(0))) && !node.call->lhsBatch.empty()) {
      double passed = elements * (2 * double(policy.compute) + 1);
      stream(work.forward, passed);
      stream(work.backwardInput, passed);
      double kept = elements * double(policy.compute + 1);
      work.keptBytes += kept;
      work.scoreBytes += kept;
    } else if (isResidualSum(node)) {
      stream(work.forward, elements);
      stream(work.backwardInput, elements * (2 * double(policy.compute) + 1));
      work.keptBytes += elements;
    }
  }
}

bool WorkCollector::isResidualSum(const WorkNode &node) const {
  Operation *op = node.op;
  auto structured = node.isElement && op->getNumOperands() == 2 ? dyn_cast<StructureOpInterface>(op) : StructureOpInterface();
  if (!structured || opsOfNode.lookup(getNodeName(op->getLoc())) != 1 || !llvm::all_of(structured.getStructure().linearity, [](Linearity linearity) { return linearity == Linearity::Joint; }))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *made = rootOf(operand).getDefiningOp();
    return made && !nodes.find(made)->second.isConstant && typeOf(operand).getRank() > 1 && typeOf(operand).getNumElements() == typeOf(op->getResult(0)).getNumElements();
  });
}
