#include "para/Plan/Segments.h"

#include "para/IR/Program.h"
#include "para/IR/Sharding.h"
#include "para/Interfaces/Collective.h"
#include "para/Interfaces/Library.h"
#include "para/Interfaces/Relayout.h"
#include "para/Interfaces/Structure.h"

#include "llvm/ADT/EquivalenceClasses.h"

#include <map>
#include <set>

using namespace mlir;
using namespace para;

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
int64_t stageOf(Operation *op) {
  auto stage = op->getAttrOfType<IntegerAttr>("para.stage");
  return stage ? stage.getInt() : 0;
}

/// One op of the walk with what is asked of it again and again.
struct Node {
  Operation *op = nullptr;
  std::optional<LibraryCall> call;
  bool isMove = false;     ///< the same elements under other coordinates
  bool isElement = false;  ///< each result element from elements, no loop
  bool isConstant = false; ///< from no argument
  bool isInAttention = false;
  int64_t level = 0; ///< library calls on the longest way here
};

class Collector {
public:
  Collector(func::FuncOp spmd, int64_t segments, const StoragePolicy &policy) : spmd(spmd), policy(policy), works(segments) {}

  std::vector<SegmentWork> run() {
    for (Operation &op : spmd.getBody().front().without_terminator())
      describe(&op);
    findLoss();
    findWeightGradients();
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
        phase->launches = int64_t(phase->kernels.size());
    return std::move(works);
  }

private:
  double bytesOf(Value value) const {
    RankedTensorType type = typeOf(value);
    bool isFloat = isa<FloatType>(type.getElementType());
    return double(type.getNumElements()) * double(isFloat ? policy.compute : int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8u)));
  }
  SegmentWork &workOf(Operation *op) { return works[std::min<size_t>(stageOf(op), works.size() - 1)]; }
  PhaseWork &phaseOf(Operation *op) {
    SegmentWork &work = workOf(op);
    switch (getPhase(op)) {
    case Phase::Backward: return weightGradients.contains(op) ? work.backwardWeight : work.backwardInput;
    case Phase::Update: return work.update;
    default: return work.forward;
    }
  }

  void describe(Operation *op) {
    Node node;
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

  /// A sum of a product that is used nowhere else and a parameter's rows.
  bool isBias(Operation *op) const {
    Operation *product = op->getOperand(0).getDefiningOp();
    auto it = product ? nodes.find(product) : nodes.end();
    if (it == nodes.end() || !isProduct(it->second) || !it->second.call->lhsBatch.empty() || !op->getOperand(0).hasOneUse())
      return false;
    auto argument = dyn_cast<BlockArgument>(rootOf(op->getOperand(1)));
    return argument && getArgKind(spmd, argument.getArgNumber()) == "parameter" && typeOf(argument).getNumElements() < typeOf(op->getResult(0)).getNumElements() &&
           llvm::all_of(cast<StructureOpInterface>(op).getStructure().linearity, [](Linearity linearity) { return linearity == Linearity::Joint; });
  }

  /// The node that makes a single number of many is the loss; its ops backward have its name, too.
  void findLoss() {
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
  bool isMadeByProduct(Value value) const {
    Operation *op = rootOf(value).getDefiningOp();
    auto it = op ? nodes.find(op) : nodes.end();
    return it != nodes.end() && isProduct(it->second);
  }
  /// What only the loss has, apart from what it is made of.
  bool isInLoss(Value value) const {
    return !lossOps.empty() && typeOf(value).getNumElements() == lossElements &&
           llvm::all_of(value.getUsers(), [&](Operation *user) { return lossOps.contains(user) || (nodes.count(user) && nodes.find(user)->second.isMove); });
  }

  void addLoss() {
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

  /// Backward ops behind which no gradient passes on through a product or to a table.
  void findWeightGradients() {
    for (Operation &op : llvm::reverse(spmd.getBody().front().without_terminator())) {
      if (getPhase(&op) != Phase::Backward || op.use_empty())
        continue;
      bool isWeight = llvm::all_of(op.getUsers(), [&](Operation *user) {
        auto it = nodes.find(user);
        bool passesOn = it != nodes.end() && it->second.call && (isProduct(it->second) || it->second.call->kind == LibraryCall::Convolution || it->second.call->kind == LibraryCall::ScatterAdd);
        return getPhase(user) != Phase::Backward || (!passesOn && weightGradients.contains(user));
      });
      if (isWeight)
        weightGradients.insert(&op);
    }
  }

  bool isProduct(const Node &node) const { return node.call && node.call->kind == LibraryCall::Matmul; }

  /// Scores are what a batched product makes larger than its operands and another such product contracts again. All that has their
  /// elements, in a segment, stays in the kernel.
  static std::array<int64_t, 3> scoreKey(int64_t segment, Value value) {
    RankedTensorType type = typeOf(value);
    return {segment, type.getNumElements(), type.getRank() > 0 ? type.getShape().back() : 1};
  }
  void findAttention() {
    for (auto &[op, node] : nodes) {
      if (!isProduct(node) || node.call->lhsBatch.empty())
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

  /// Where the elements of a value lie: through views.
  Value rootOf(Value value) const {
    while (Operation *op = value.getDefiningOp()) {
      auto it = nodes.find(op);
      if (it == nodes.end() || !it->second.isMove)
        break;
      value = op->getOperand(0);
    }
    return value;
  }

  bool isInMemory(Value value) const { return kept.contains(value) || isWritten(value); }

  /// Whether a kernel writes it: of ops that may be part of others, what others use, or none but those of its pass.
  bool isWritten(Value value) const {
    Operation *op = value.getDefiningOp();
    if (!op)
      return true;
    const Node &node = nodes.find(op)->second;
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

  void addArguments() {
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
        work.parameterElements += addTo(work.parameters, argument, isFloat ? policy.parameter : 8);
        ++work.parameterTensors;
      } else if (kind == "state") {
        addTo(work.states, argument, policy.state);
      } else if (kind == "buffer") {
        addTo(work.parameters, argument, policy.compute);
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

  void addCall(const Node &node) {
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
      if (node.isInAttention)
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
      phase.kernels.push_back(kernel);
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

  void addTraffic(const Node &node, TrafficWork::Kind kind, double bytes, PhaseWork *phase = nullptr) {
    TrafficWork traffic;
    traffic.kind = kind;
    for (StringRef axis : cast<CollectiveOpInterface>(node.op).getCommunicatorAxes())
      traffic.axis += (traffic.axis.empty() ? "" : "+") + axis.str();
    traffic.bytes = bytes;
    traffic.isEarly = llvm::all_of(node.op->getOperands(), [&](Value operand) {
      auto argument = dyn_cast<BlockArgument>(rootOf(operand));
      return argument && getArgKind(spmd, argument.getArgNumber()) != "input";
    });
    (phase ? *phase : phaseOf(node.op)).traffic.push_back(traffic);
  }

  /// One kernel a segment and pass: the work of its products, and what is read and written around them.
  void addAttention() {
    struct Group {
      double flops = 0, bytes = 0;
      int64_t products = 0, batch = 1, m = 0, n = 0, k = 0;
      llvm::SmallPtrSet<void *, 16> seen;
    };
    std::map<std::pair<PhaseWork *, int64_t>, Group> groups;
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
      kernel.flops = group.flops;
      kernel.bytes = group.bytes;
      kernel.batch = group.batch;
      kernel.m = group.m;
      kernel.n = group.n;
      kernel.k = group.k;
      key.first->kernels.push_back(kernel);
    }
  }
  bool isScoreLike(Value value) const {
    Operation *op = value.getDefiningOp();
    auto it = op ? nodes.find(op) : nodes.end();
    if (it == nodes.end() || !it->second.isInAttention)
      return false;
    return !isProduct(it->second) || typeOf(value).getNumElements() > typeOf(op->getOperand(0)).getNumElements();
  }

  /// What is read to make a value of the pass forward again.
  double readSources(Value value, llvm::SmallPtrSet<void *, 8> &seen) {
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

  /// Ops between which nothing need be in memory are one kernel.
  void addStreams() {
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

  /// What the backward pass takes: operands of its calls as they are, all else back to what is kept anyway or in memory in any case.
  void findKept() {
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
      const Node &node = nodes.find(value.getDefiningOp())->second;
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
      const Node &node = nodes.find(op)->second;
      if (!policy.regathers || !node.call || node.call->kind != LibraryCall::AllGather || !isForward(rootOf(op->getOperand(0))))
        continue;
      kept.remove(value);
      kept.insert(rootOf(op->getOperand(0)));
      addTraffic(node, TrafficWork::AllGather, bytesOf(value), &workOf(op).backwardInput);
    }
  }

  void addKept() {
    for (Value value : kept) {
      Operation *op = value.getDefiningOp();
      workOf(op).keptBytes += bytesOf(value);
      if (scores.count(scoreKey(stageOf(op), value)))
        workOf(op).scoreBytes += bytesOf(value);
    }
    for (auto &[op, node] : nodes) // the rows' sums of exponentials
      if (node.isInAttention && isProduct(node) && getPhase(op) == Phase::Forward && isScoreLike(op->getResult(0)))
        workOf(op).keptBytes += 4.0 * double(typeOf(op->getResult(0)).getNumElements()) / double(typeOf(op->getResult(0)).getShape().back());
    for (auto &[op, node] : nodes)
      for (Value result : op->getResults())
        if (!node.isMove && isInMemory(result) && !isScoreLike(result) && !(lossElements > 0 && typeOf(result).getNumElements() == lossElements))
          workOf(op).temporaryBytes = std::max(workOf(op).temporaryBytes, 2 * bytesOf(result));
  }

  void addBoundaries() {
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

  /// Of scores a kernel of its own, whose results and masks are kept; before residual sums a part of theirs, whose masks are kept.
  void addDropout() {
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

  bool isResidualSum(const Node &node) const {
    Operation *op = node.op;
    auto structured = node.isElement && op->getNumOperands() == 2 ? dyn_cast<StructureOpInterface>(op) : StructureOpInterface();
    if (!structured || opsOfNode.lookup(getNodeName(op->getLoc())) != 1 || !llvm::all_of(structured.getStructure().linearity, [](Linearity linearity) { return linearity == Linearity::Joint; }))
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *made = rootOf(operand).getDefiningOp();
      return made && !nodes.find(made)->second.isConstant && typeOf(operand).getRank() > 1 && typeOf(operand).getNumElements() == typeOf(op->getResult(0)).getNumElements();
    });
  }

  func::FuncOp spmd;
  const StoragePolicy &policy;
  std::vector<SegmentWork> works;
  llvm::MapVector<Operation *, Node> nodes;
  llvm::DenseSet<Operation *> weightGradients, lossOps;
  int64_t lossElements = 0;
  llvm::StringMap<int64_t> opsOfNode; ///< of the pass forward, that compute
  llvm::SetVector<Value> kept; ///< from forward to backward
  std::set<std::array<int64_t, 3>> scores; ///< segment, elements and keys of what is shaped as attention scores
};
} // namespace

std::vector<SegmentWork> para::collectWork(func::FuncOp spmd, int64_t segments, const StoragePolicy &policy) {
  return Collector(spmd, segments, policy).run();
}
