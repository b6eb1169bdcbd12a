#include "para/Plan/Segments.h"

#include "para/IR/Program.h"
#include "para/IR/Sharding.h"
#include "para/Interfaces/Collective.h"
#include "para/Interfaces/Library.h"
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
    findWeightGradients();
    findAttention();
    addArguments();
    for (Operation &op : spmd.getBody().front().without_terminator())
      addCall(nodes[&op]);
    addAttention();
    addStreams();
    addKept();
    addBoundaries();
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
    }
    nodes.insert({op, std::move(node)});
  }

  /// Backward ops from which only the update follows.
  void findWeightGradients() {
    for (Operation &op : llvm::reverse(spmd.getBody().front().without_terminator())) {
      if (getPhase(&op) != Phase::Backward || op.use_empty())
        continue;
      bool isWeight = llvm::all_of(op.getUsers(), [&](Operation *user) {
        return user->hasTrait<OpTrait::IsTerminator>() || getPhase(user) == Phase::Update || weightGradients.contains(user);
      });
      if (isWeight)
        weightGradients.insert(&op);
    }
  }

  bool isProduct(const Node &node) const { return node.call && node.call->kind == LibraryCall::Matmul; }

  /// Scores are what a batched product makes larger than its operands and another such product contracts again. All that has their
  /// elements, in a segment, stays in the kernel.
  void findAttention() {
    for (auto &[op, node] : nodes) {
      if (!isProduct(node) || node.call->lhsBatch.empty())
        continue;
      int64_t made = typeOf(op->getResult(0)).getNumElements();
      if (made > std::max(typeOf(op->getOperand(0)).getNumElements(), typeOf(op->getOperand(1)).getNumElements()) && getPhase(op) == Phase::Forward)
        scores.insert({stageOf(op), made});
    }
    if (!policy.fusesAttention)
      return;
    for (auto &[op, node] : nodes) {
      auto has = [&, op = op](Value value) { return scores.count({stageOf(op), typeOf(value).getNumElements()}) != 0; };
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

  bool isInMemory(Value value) const {
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
        work.parameterElements += addTo(work.parameters, argument, isFloat ? policy.compute : 8);
      } else if (kind == "state") {
        addTo(work.states, argument, policy.state);
      } else if (kind == "buffer") {
        addTo(work.parameters, argument, policy.compute);
      } else if (kind == "input") {
        work.inputBytes += bytesOf(argument);
      }
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

  void addTraffic(const Node &node, TrafficWork::Kind kind, double bytes) {
    TrafficWork traffic;
    traffic.kind = kind;
    for (StringRef axis : cast<CollectiveOpInterface>(node.op).getCommunicatorAxes())
      traffic.axis += (traffic.axis.empty() ? "" : "+") + axis.str();
    traffic.bytes = bytes;
    traffic.isEarly = llvm::all_of(node.op->getOperands(), [&](Value operand) {
      auto argument = dyn_cast<BlockArgument>(rootOf(operand));
      return argument && getArgKind(spmd, argument.getArgNumber()) != "input";
    });
    phaseOf(node.op).traffic.push_back(traffic);
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

  /// Ops between which nothing need be in memory are one kernel.
  void addStreams() {
    llvm::EquivalenceClasses<Operation *> classes;
    auto streams = [this](Operation *op) {
      auto it = nodes.find(op);
      return it != nodes.end() && !it->second.call && !it->second.isInAttention && !it->second.isConstant;
    };
    for (auto &[op, node] : nodes) {
      if (!streams(op))
        continue;
      classes.insert(op);
      for (Value operand : op->getOperands())
        if (Operation *made = operand.getDefiningOp(); made && streams(made) && !isInMemory(operand))
          classes.unionSets(op, made);
    }
    llvm::MapVector<Operation *, std::pair<double, llvm::SmallPtrSet<void *, 8>>> groups;
    for (auto &[op, node] : nodes) {
      if (!streams(op))
        continue;
      auto &[bytes, seen] = groups[classes.getLeaderValue(op)];
      for (Value operand : op->getOperands()) {
        Value root = rootOf(operand);
        Operation *made = root.getDefiningOp();
        if ((!made || isInMemory(root)) && (!made || !streams(made) || classes.getLeaderValue(made) != classes.getLeaderValue(op)) &&
            seen.insert(root.getAsOpaquePointer()).second)
          bytes += std::min(bytesOf(root), bytesOf(operand)); // a slice reads a part
      }
      if (node.isMove && llvm::all_of(op->getUsers(), [&](Operation *user) { return nodes.count(user) && nodes.find(user)->second.call; }))
        continue; // becomes strides of the call
      for (Value result : op->getResults())
        if (isInMemory(result) && !node.isMove)
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
  void addKept() {
    llvm::SetVector<Value> kept;
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
      if (node.isElement && !isInMemory(value))
        llvm::append_range(wanted, node.op->getOperands());
      else if (node.isElement && llvm::all_of(node.op->getOperands(), [&](Value operand) { return !isForward(rootOf(operand)) || kept.contains(rootOf(operand)); }))
        continue; // one step from what is there
      else
        kept.insert(value);
    }
    for (Value value : kept) {
      Operation *op = value.getDefiningOp();
      workOf(op).keptBytes += bytesOf(value);
      if (scores.count({stageOf(op), typeOf(value).getNumElements()}))
        workOf(op).scoreBytes += bytesOf(value);
    }
    for (auto &[op, node] : nodes) // the rows' sums of exponentials
      if (node.isInAttention && isProduct(node) && getPhase(op) == Phase::Forward && isScoreLike(op->getResult(0)))
        workOf(op).keptBytes += 4.0 * double(typeOf(op->getResult(0)).getNumElements()) / double(typeOf(op->getResult(0)).getShape().back());
    for (auto &[op, node] : nodes)
      for (Value result : op->getResults())
        if (!node.isMove && isInMemory(result) && !isScoreLike(result))
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

  func::FuncOp spmd;
  const StoragePolicy &policy;
  std::vector<SegmentWork> works;
  llvm::MapVector<Operation *, Node> nodes;
  llvm::DenseSet<Operation *> weightGradients;
  std::set<std::pair<int64_t, int64_t>> scores; ///< segment and elements of what is as large as attention scores
};
} // namespace

std::vector<SegmentWork> para::collectWork(func::FuncOp spmd, int64_t segments, const StoragePolicy &policy) {
  return Collector(spmd, segments, policy).run();
}
