#include "WorkCollector.h"

#include "para/Schedule/WeightGradients.h"

#include "llvm/ADT/EquivalenceClasses.h"

#include <map>

using namespace mlir;
using namespace para;

std::vector<SegmentWork> WorkCollector::run() {
  for (Operation &op : spmd.getBody().front().without_terminator())
    describe(&op);
  findLoss();
  weightGradients = findWeightGradients(spmd.getBody().front());
  findRoutes();
  findAttention();
  addArguments();
  for (Operation &op : spmd.getBody().front().without_terminator())
    addCall(nodes[&op]);
  addAttention();
  findKept();
  addStreams();
  addKept();
  addBoundaries();
  addLoss();
  if (policy.dropout)
    addDropout();
  for (SegmentWork &work : works)
    for (PhaseWork *phase : {&work.forward, &work.backwardInput, &work.backwardWeight, &work.update})
      for (const KernelWork &kernel : phase->kernels)
        phase->launches += kernel.launches;
  return std::move(works);
}

double WorkCollector::bytesOf(Value value) const {
  if (routes.contains(value))
    return 0;
  RankedTensorType type = typeOf(value);
  bool isFloat = isa<FloatType>(type.getElementType());
  return double(type.getNumElements()) * double(isFloat ? policy.compute : int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8u)));
}

PhaseWork &WorkCollector::phaseOf(Operation *op) {
  SegmentWork &work = workOf(op);
  switch (getPhase(op)) {
  case Phase::Weight: return work.backwardWeight;
  case Phase::Backward: return weightGradients.contains(op) ? work.backwardWeight : work.backwardInput;
  case Phase::Update: return work.update;
  default: return work.forward;
  }
}

void WorkCollector::describe(Operation *op) {
  WorkNode node;
  node.op = op;
  if (auto library = dyn_cast<LibraryOpInterface>(op))
    node.call = library.getLibraryCall();
  node.isConstant = !node.call;
  for (Value operand : op->getOperands()) {
    auto it = operand.getDefiningOp() ? nodes.find(operand.getDefiningOp()) : nodes.end();
    node.isConstant &= it != nodes.end() && it->second.isConstant;
    if (it != nodes.end())
      node.level = std::max(node.level, it->second.level + (it->second.call ? 1 : 0));
  }
  if (auto structured = dyn_cast<StructureOpInterface>(op); structured && !node.call) {
    Structure structure = structured.getStructure();
    node.isElement = llvm::none_of(structure.factors, [](const Factor &factor) { return factor.kind != FactorKind::Parallel; });
    node.isMove = node.isElement && op->getNumOperands() == 1 && structure.linearity[0] == Linearity::Joint &&
                  typeOf(op->getOperand(0)).getElementType() == typeOf(op->getResult(0)).getElementType();
    if (op->getNumOperands() == 1 && op->getNumResults() == 1 && structure.linearity.size() == 1 && structure.linearity[0] == Linearity::Joint &&
        llvm::none_of(structure.factors, [](const Factor &factor) { return factor.kind == FactorKind::Reduction; }) &&
        typeOf(op->getResult(0)).getNumElements() < typeOf(op->getOperand(0)).getNumElements()) // a part of it
      node.isMove = node.isElement = true;
  }
  if (node.isElement && op->getNumOperands() == 2 && op->getNumResults() == 1 && isBias(op)) // the end of the product before
    node.isMove = true;
  if (isa<RelayoutOpInterface>(op) && !node.call && op->getNumOperands() == 1) // takes its part of what is there
    node.isMove = node.isElement = true;
  if (getPhase(op) == Phase::Forward && !node.isMove && !node.isConstant)
    ++opsOfNode[getNodeName(op->getLoc())];
  nodes.insert({op, std::move(node)});
}

bool WorkCollector::isBias(Operation *op) const {
  Operation *product = op->getOperand(0).getDefiningOp();
  auto it = product ? nodes.find(product) : nodes.end();
  if (it == nodes.end() || !isProduct(it->second) || !it->second.call->lhsBatch.empty() || !op->getOperand(0).hasOneUse())
    return false;
  auto argument = dyn_cast<BlockArgument>(rootOf(op->getOperand(1)));
  return argument && getArgKind(spmd, argument.getArgNumber()) == "parameter" && typeOf(argument).getNumElements() < typeOf(op->getResult(0)).getNumElements() &&
         llvm::all_of(cast<StructureOpInterface>(op).getStructure().linearity, [](Linearity linearity) { return linearity == Linearity::Joint; });
}

Value WorkCollector::rootOf(Value value) const {
  while (Operation *op = value.getDefiningOp()) {
    auto it = nodes.find(op);
    if (it == nodes.end() || !it->second.isMove)
      break;
    value = op->getOperand(0);
  }
  return value;
}

void WorkCollector::addCall(const WorkNode &node) {
  Operation *op = node.op;
  if (!node.call)
    return;
  PhaseWork &phase = phaseOf(op);
  auto width = [&](ValueRange values) {
    double bytes = 0;
    for (Value value : values)
      bytes += bytesOf(value);
    return bytes;
  };
  switch (node.call->kind) {
  case LibraryCall::Matmul: {
    if (node.isInAttention || addRoute(op, phase))
      return;
    KernelWork kernel;
    kernel.kind = KernelWork::Product;
    RankedTensorType lhs = typeOf(op->getOperand(0)), rhs = typeOf(op->getOperand(1));
    int64_t k = 1, batch = 1;
    for (int64_t d : node.call->lhsContract)
      k *= lhs.getDimSize(d);
    for (int64_t d : node.call->lhsBatch)
      batch *= lhs.getDimSize(d);
    kernel.k = k;
    kernel.batch = batch;
    kernel.m = lhs.getNumElements() / std::max<int64_t>(1, k * batch);
    kernel.n = rhs.getNumElements() / std::max<int64_t>(1, k * batch);
    kernel.flops = 2.0 * double(batch) * double(kernel.m) * double(kernel.n) * double(k);
    kernel.bytes = width(op->getOperands()) + width(op->getResults());
    kernel.isOfScores = isOfScores(op);
    kernel.launches = kernel.isOfScores ? 1 : batch;
    kernel.isWide = kernel.isOfScores || &workOf(op) == &works.back();
    if (policy.operand && !kernel.isWide)
      kernel.bytes += double(policy.operand - policy.compute) / double(policy.compute) * width(op->getOperands());
    phase.kernels.push_back(kernel);
    if (policy.operand && !kernel.isWide && !weightGradients.contains(op))
      for (Value operand : op->getOperands())
        addCast(phase, operand, kernel.launches);
    return;
  }
  case LibraryCall::Convolution: {
    KernelWork kernel;
    kernel.kind = KernelWork::Convolution;
    kernel.flops = cast<StructureOpInterface>(op).getFlops();
    kernel.bytes = width(op->getOperands()) + width(op->getResults());
    phase.kernels.push_back(kernel);
    return;
  }
  case LibraryCall::ScatterAdd: {
    KernelWork kernel;
    kernel.bytes = width(op->getOperands()) + width(op->getResults());
    phase.kernels.push_back(kernel);
    return;
  }
  case LibraryCall::AllReduce: addTraffic(node, TrafficWork::AllReduce, width(op->getOperands())); return;
  case LibraryCall::AllGather: addTraffic(node, TrafficWork::AllGather, width(op->getResults())); return;
  case LibraryCall::ReduceScatter: addTraffic(node, TrafficWork::ReduceScatter, width(op->getOperands())); return;
  case LibraryCall::AllToAll: addTraffic(node, TrafficWork::AllToAll, width(op->getOperands())); return;
  default: return;
  }
}

void WorkCollector::addCast(PhaseWork &phase, Value operand, int64_t matrices) {
  Operation *made = rootOf(operand).getDefiningOp();
  auto it = made ? nodes.find(made) : nodes.end();
  if (it == nodes.end()) // parameters are narrowed once a step
    return;
  KernelWork kernel;
  kernel.bytes = bytesOf(operand);
  kernel.launches = matrices;
  if (policy.rescales)
    phase.kernels.push_back(kernel);
  else if (!it->second.call && !it->second.isInAttention && matrices == 1)
    return;
  kernel.bytes *= 1 + 2 * double(policy.operand) / double(policy.compute);
  phase.kernels.push_back(kernel);
}

void WorkCollector::addTraffic(const WorkNode &node, TrafficWork::Kind kind, double bytes, PhaseWork *phase) {
  TrafficWork traffic;
  traffic.kind = kind;
  for (StringRef axis : cast<CollectiveOpInterface>(node.op).getCommunicatorAxes())
    traffic.axis += (traffic.axis.empty() ? "" : "+") + axis.str();
  traffic.bytes = bytes;
  traffic.isEarly = llvm::all_of(node.op->getOperands(), [&](Value operand) {
    auto argument = dyn_cast<BlockArgument>(rootOf(operand));
    return argument && getArgKind(spmd, argument.getArgNumber()) != "input";
  });
  if (kind == TrafficWork::AllToAll)
    traffic.copies = getCopies(node.op);
  (phase ? *phase : phaseOf(node.op)).traffic.push_back(traffic);
}

void WorkCollector::addStreams() {
  llvm::EquivalenceClasses<Operation *> classes;
  auto streams = [this](Operation *op) {
    auto it = nodes.find(op);
    return it != nodes.end() && !it->second.call && !it->second.isInAttention && !it->second.isConstant && !lossOps.contains(op);
  };
  for (auto &[op, node] : nodes) {
    if (!streams(op))
      continue;
    classes.insert(op);
    for (Value operand : op->getOperands())
      if (Operation *made = operand.getDefiningOp(); made && streams(made) && !isInMemory(operand) && getPhase(made) == getPhase(op) && stageOf(made) == stageOf(op))
        classes.unionSets(op, made);
  }
  llvm::MapVector<Operation *, std::pair<double, llvm::SmallPtrSet<void *, 8>>> groups;
  for (auto &[op, node] : nodes) {
    if (!streams(op))
      continue;
    if (node.isMove)
      continue; // strides of what takes it, which reads its root
    auto &[bytes, seen] = groups[classes.getLeaderValue(op)];
    for (Value operand : op->getOperands()) {
      Value root = rootOf(operand);
      Operation *made = root.getDefiningOp();
      if ((!made || isInMemory(root)) && (!made || !streams(made) || classes.getLeaderValue(made) != classes.getLeaderValue(op)) &&
          seen.insert(root.getAsOpaquePointer()).second)
        bytes += std::min(bytesOf(root), bytesOf(operand)); // a slice reads a part
      else if (made && !isInMemory(root) && getPhase(made) == Phase::Forward && getPhase(op) == Phase::Backward)
        bytes += readSources(root, seen);
    }
    for (Value result : op->getResults())
      if (isInMemory(result))
        bytes += bytesOf(result);
  }
  for (auto &[leader, group] : groups) {
    if (group.first < 1)
      continue;
    KernelWork kernel;
    kernel.bytes = group.first;
    phaseOf(leader).kernels.push_back(kernel);
  }
}

std::vector<SegmentWork> para::collectWork(func::FuncOp spmd, int64_t segments, const StoragePolicy &policy) {
  return WorkCollector(spmd, segments, policy).run();
}
