//===- KeptWork.cpp - What of a program's work lies in memory -----------------===//
#include "WorkCollector.h"

using namespace mlir;
using namespace para;

bool WorkCollector::isWritten(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    return true;
  const WorkNode &node = nodes.find(op)->second;
  if (node.isConstant || (node.isInAttention && !node.call))
    return false;
  if (node.call)
    return !node.isInAttention || llvm::any_of(value.getUsers(), [&](Operation *user) { return nodes.count(user) && !nodes.find(user)->second.isInAttention; });
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto it = nodes.find(user);
    if (getPhase(user) == Phase::Backward && getPhase(op) == Phase::Forward && node.isElement && it != nodes.end() && !it->second.call)
      return false; // made again there
    return it == nodes.end() || it->second.call || it->second.level != node.level || getPhase(user) != getPhase(op) || stageOf(user) != stageOf(op) ||
           (!policy.fusesStreams && getNodeName(user->getLoc()) != getNodeName(op->getLoc()));
  });
}

void WorkCollector::addArguments() {
  auto addTo = [&](Footprint &footprint, BlockArgument argument, int64_t width) {
    auto attr = spmd.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), "para.sharding");
    auto mesh = spmd->getParentOfType<ModuleOp>()->getAttrOfType<MeshAttr>("para.mesh");
    double elements = double(typeOf(argument).getNumElements());
    bool isCut = attr && Sharding::get(attr).isCut("data");
    double data = isCut && mesh ? double(mesh.getSize("data")) : 1;
    (isCut ? footprint.cut : footprint.whole) += elements * data * double(width);
    return elements * data;
  };
  for (BlockArgument argument : spmd.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto home = spmd.getArgAttrOfType<IntegerAttr>(index, "para.stage");
    SegmentWork &work = works[std::min<size_t>(home ? home.getInt() : 0, works.size() - 1)];
    StringRef kind = getArgKind(spmd, index);
    bool isFloat = isa<FloatType>(typeOf(argument).getElementType());
    if (kind == "parameter") {
      double elements = addTo(work.parameters, argument, isFloat ? policy.parameter : 8);
      auto attr = spmd.getArgAttrOfType<ShardingAttr>(index, "para.sharding");
      work.parameterElements += elements;
      work.expertElements += attr && Sharding::get(attr).isCut("expert") ? elements : 0;
      ++work.parameterTensors;
    } else if (kind == "state") {
      addTo(work.states, argument, policy.state);
    } else if (kind == "buffer") {
      addTo(work.buffers, argument, policy.compute);
    } else if (kind == "input") {
      work.inputBytes += bytesOf(argument);
    }
  }
  for (BlockArgument argument : spmd.getArguments()) {
    auto home = spmd.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "para.stage");
    if (getArgKind(spmd, argument.getArgNumber()) != "parameter")
      continue;
    std::set<int64_t> others;
    for (Operation *user : argument.getUsers())
      if (getPhase(user) == Phase::Forward && stageOf(user) != (home ? home.getInt() : 0))
        others.insert(std::min<int64_t>(stageOf(user), int64_t(works.size()) - 1));
    for (int64_t other : others)
      works[other].sharedElements += double(typeOf(argument).getNumElements());
  }
  // A gradient is what an update phase gets of a parameter's shape; it lies as the optimizer's state does.
  for (unsigned r = 0; r < spmd.getNumResults(); ++r) {
    auto updates = spmd.getResultAttrOfType<StringAttr>(r, "para.updates");
    int index = updates ? getArgIndex(spmd, updates.getValue()) : -1;
    if (index < 0 || getArgKind(spmd, index) != "parameter")
      continue;
    auto home = spmd.getArgAttrOfType<IntegerAttr>(index, "para.stage");
    SegmentWork &work = works[std::min<size_t>(home ? home.getInt() : 0, works.size() - 1)];
    addTo(work.gradients, spmd.getArgument(index), policy.gradient);
    if (policy.master)
      addTo(work.states, spmd.getArgument(index), policy.master);
  }
}

double WorkCollector::readSources(Value value, llvm::SmallPtrSet<void *, 8> &seen) {
  double bytes = 0;
  for (Value operand : value.getDefiningOp()->getOperands()) {
    Value root = rootOf(operand);
    if (!seen.insert(root.getAsOpaquePointer()).second)
      continue;
    if (isInMemory(root))
      bytes += std::min(bytesOf(root), bytesOf(operand));
    else if (!nodes.find(root.getDefiningOp())->second.isConstant)
      bytes += readSources(root, seen);
  }
  return bytes;
}

void WorkCollector::findKept() {
  llvm::DenseSet<Value> asked;
  SmallVector<Value> wanted;
  auto isForward = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op && getPhase(op) == Phase::Forward && !nodes.find(op)->second.isConstant;
  };
  for (auto &[op, node] : nodes)
    if (getPhase(op) == Phase::Backward)
      for (Value operand : op->getOperands())
        if (Value root = rootOf(operand); isForward(root)) {
          if (node.call && !(node.isInAttention && isScoreLike(root)))
            kept.insert(root);
          else if (!isScoreLike(root))
            wanted.push_back(root);
        }
  while (!wanted.empty()) {
    Value value = rootOf(wanted.pop_back_val());
    if (!isForward(value) || kept.contains(value) || !asked.insert(value).second || isScoreLike(value))
      continue;
    const WorkNode &node = nodes.find(value.getDefiningOp())->second;
    if (node.isElement && !isWritten(value))
      llvm::append_range(wanted, node.op->getOperands());
    else if (node.isElement && llvm::all_of(node.op->getOperands(), [&](Value operand) { return !isForward(rootOf(operand)) || kept.contains(rootOf(operand)); }))
      continue; // one step from what is there
    else
      kept.insert(value);
  }
  kept.remove_if([&](Value value) { return isInLoss(value); });
  for (Value value : llvm::to_vector(kept)) {
    Operation *op = value.getDefiningOp();
    const WorkNode &node = nodes.find(op)->second;
    if (!policy.regathers || !node.call || node.call->kind != LibraryCall::AllGather || !isForward(rootOf(op->getOperand(0))))
      continue;
    kept.remove(value);
    kept.insert(rootOf(op->getOperand(0)));
    addTraffic(node, TrafficWork::AllGather, bytesOf(value), &workOf(op).backwardInput);
  }
}

void WorkCollector::addKept() {
  auto isOperand = [&](Value value) { // of products alone, which keep it as they take it
    return policy.operand && !isInLoss(value) && llvm::all_of(value.getUsers(), [&](Operation *user) {
      auto it = nodes.find(user);
      return it != nodes.end() && isProduct(it->second) && !it->second.isInAttention && stageOf(user) + 1 < int64_t(works.size());
    });
  };
  for (Value value : kept) {
    Operation *op = value.getDefiningOp();
    workOf(op).keptBytes += bytesOf(value) * (isOperand(value) ? double(policy.operand) / double(policy.compute) : 1);
    if (scores.count(scoreKey(stageOf(op), value)))
      workOf(op).scoreBytes += bytesOf(value);
  }
  for (auto &[op, node] : nodes)
    if (isProduct(node) && getPhase(op) == Phase::Forward && !isScoreLike(op->getResult(0)))
      (isOfScores(op) ? workOf(op).attentionBytes : workOf(op).productBytes) += bytesOf(op->getResult(0));
  for (auto &[op, node] : nodes) // the rows' sums of exponentials
    if (node.isInAttention && isProduct(node) && getPhase(op) == Phase::Forward && isScoreLike(op->getResult(0)))
      workOf(op).keptBytes += 4.0 * double(typeOf(op->getResult(0)).getNumElements()) / double(typeOf(op->getResult(0)).getShape().back());
  for (auto &[op, node] : nodes)
    for (Value result : op->getResults())
      if (!node.isMove && isInMemory(result) && !isScoreLike(result) && !(lossElements > 0 && typeOf(result).getNumElements() == lossElements))
        workOf(op).temporaryBytes = std::max(workOf(op).temporaryBytes, 2 * bytesOf(result));
}

void WorkCollector::addBoundaries() {
  llvm::DenseSet<Value> passed;
  for (auto &[op, node] : nodes) {
    if (getPhase(op) != Phase::Forward || node.isConstant)
      continue;
    for (Value result : op->getResults()) {
      int64_t last = stageOf(op);
      for (Operation *user : result.getUsers())
        if (nodes.count(user) && getPhase(user) == Phase::Forward)
          last = std::max(last, stageOf(user));
      Value root = rootOf(result);
      if (last > stageOf(op) && passed.insert(root).second)
        for (int64_t s = stageOf(op); s < std::min<int64_t>(last, int64_t(works.size()) - 1); ++s)
          works[s].boundaryBytes += std::min(bytesOf(root), bytesOf(result));
    }
  }
}
