#include "Parts.h"
#include "MinimumCut.h"

#include "para/IR/Program.h"
#include "para/Partition/Projection.h"
#include "para/Partition/Reshard.h"
#include "para/Plan/Plan.h"
#include "para/Schedule/Schedule.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace para;

/// An op of more operations than this for a byte of its result is kept by selective recomputation: a product along 256 elements of f32.
/// Machines compute 10 to 300 operations in the time of moving a byte.
static constexpr double kMostFlopsPerByte = 128;

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

class Chooser {
public:
  Chooser(func::FuncOp main, const Plan &plan, const llvm::DenseMap<Value, Sharding> &shardings)
      : main(main), plan(plan), mesh(plan.getMesh(main.getContext())), shardings(shardings) {}

  LogicalResult run() {
    parts = findParts(main, [&](Value value) { return bytesOf(value); });
    auto schedule = makeSchedule(plan.schedule, plan.pipeline, plan.microbatches);
    if (!schedule)
      return main.emitError() << llvm::toString(schedule.takeError());
    // Where several microbatches wait for their backward pass on the last stage, its last part waits too.
    bool tailWaits = getMicrobatchesInFlightByChunk(*schedule).back() > 1;
    SmallVector<Operation *> ops; // that may be computed again
    for (Operation &op : main.getBody().front().without_terminator())
      if (auto it = parts.of.find(&op); it != parts.of.end() && (tailWaits || it->second + 1 < parts.count) && canRepeat(&op))
        ops.push_back(&op);
    if (plan.recompute == "selective")
      keepLeast(ops);
    for (Operation *op : ops)
      op->setAttr("para.recompute", UnitAttr::get(main.getContext()));
    for (Operation &op : main.getBody().front().without_terminator())
      if (auto it = parts.of.find(&op); it != parts.of.end() && (tailWaits || it->second + 1 < parts.count) && isGathered(&op))
        op.setAttr("para.regather", UnitAttr::get(main.getContext()));
    return success();
  }

private:
  int64_t bytesOf(Value value) {
    auto it = shardings.find(value);
    RankedTensorType type = it == shardings.end() ? typeOf(value) : it->second.getLocalType(typeOf(value), mesh);
    return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8u);
  }

  int64_t bytesOf(Operation *op) {
    int64_t bytes = 0;
    for (Value result : op->getResults())
      bytes += bytesOf(result);
    return bytes;
  }

  /// Whether all that needs the results lies in the op's own layer and stage and in the passes forward and backward. Buffers are
  /// overwritten by the forward pass: what it read there is gone.
  bool canRepeat(Operation *op) {
    if (op->getNumOperands() == 0 || !isa<StructureOpInterface>(op) || !isMemoryEffectFree(op))
      return false;
    for (Value operand : op->getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand); argument && getArgKind(main, argument.getArgNumber()) == "buffer")
        return false;
    for (Operation *user : op->getUsers()) {
      Phase phase = getPhase(user);
      if (user->hasTrait<OpTrait::IsTerminator>() || (phase != Phase::Forward && phase != Phase::Backward))
        return false;
      if (user->getAttr("para.stage") != op->getAttr("para.stage"))
        return false;
      if (phase == Phase::Forward && parts.of.lookup(user) != parts.of.lookup(op) && parts.fromInputs.contains(op->getResult(0)))
        return false;
    }
    return true;
  }

  /// Takes from `ops` what is to be kept: the cheapest set of values from which all that the backward pass takes follows by cheap ops.
  void keepLeast(SmallVector<Operation *> &ops) {
    MinimumCut cut;
    llvm::DenseMap<Operation *, int> nodes;
    for (Operation *op : ops) {
      int node = nodes[op] = cut.addNode(bytesOf(op));
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp(); producer && nodes.contains(producer))
          cut.addEdge(nodes[producer], node);
      if (!isCheap(op))
        cut.addBegin(node);
      if (llvm::any_of(op->getUsers(), [](Operation *user) { return getPhase(user) == Phase::Backward; }))
        cut.addEnd(node);
    }
    std::vector<int> kept = cut.run();
    llvm::erase_if(ops, [&](Operation *op) { return llvm::binary_search(kept, nodes[op]) || !isCheap(op); });
  }

  /// Whether computing the op again costs little for the bytes that it makes, and no message. Products with a weight never do.
  bool isCheap(Operation *op) {
    auto structured = cast<StructureOpInterface>(op);
    Structure structure = structured.getStructure();
    bool isProduct = op->getNumOperands() == 2 && llvm::all_of(structure.linearity, [](Linearity linearity) { return linearity == Linearity::Alone; }) &&
                     llvm::any_of(structure.factors, [](const Factor &factor) { return factor.kind == FactorKind::Reduction; });
    if (isProduct && llvm::any_of(op->getOperands(), [&](Value operand) { return !parts.fromInputs.contains(operand); }))
      return false;
    double bytes = 0; // of all ranks, as the operations are
    for (Type type : op->getResultTypes())
      bytes += double(cast<RankedTensorType>(type).getNumElements() * llvm::divideCeil(cast<RankedTensorType>(type).getElementTypeBitWidth(), 8u));
    return structured.getFlops() <= kMostFlopsPerByte * bytes && !isSent(op);
  }

  /// Whether some op of the forward pass takes a result in a sharding of which `holds` is true: (as it comes out, as it is taken).
  bool anyUse(Operation *op, llvm::function_ref<bool(Value result, const Sharding &from, const Sharding &to)> holds) {
    for (Value result : op->getResults()) {
      auto it = shardings.find(result);
      if (it == shardings.end())
        continue;
      for (OpOperand &use : result.getUses()) {
        auto user = dyn_cast<StructureOpInterface>(use.getOwner());
        if (!user || getPhase(user) != Phase::Forward)
          continue;
        Structure structure = user.getStructure();
        Sharding wanted = Projection(structure, mesh).getOperand(OpSplit::get(user, structure), use.getOperandNumber());
        if (holds(result, it->second, wanted.getCanonical(typeOf(result), mesh)))
          return true;
      }
    }
    return false;
  }

  /// Whether ranks exchange the results before they are used: computed again they would be sent again. What is gathered is gathered again anyway.
  bool isSent(Operation *op) {
    return anyUse(op, [&](Value result, const Sharding &from, const Sharding &to) {
      auto path = findReshardPath(typeOf(result), from, to, mesh);
      return (!path || path->bytes > 0) && !isGather(result, from, to);
    });
  }
  /// Whether more of a result is used than a rank has of it: what was gathered is not kept beside it.
  bool isGathered(Operation *op) {
    return anyUse(op, [&](Value result, const Sharding &from, const Sharding &to) { return isGather(result, from, to); });
  }
  bool isGather(Value result, const Sharding &from, const Sharding &to) {
    RankedTensorType type = typeOf(result);
    return from.partial.empty() && to.getLocalType(type, mesh).getNumElements() > from.getLocalType(type, mesh).getNumElements();
  }

  func::FuncOp main;
  const Plan &plan;
  MeshAttr mesh;
  const llvm::DenseMap<Value, Sharding> &shardings;
  Parts parts;
};
} // namespace

ArrayRef<StringRef> para::getRecomputeNames() {
  static const StringRef names[] = {"none", "selective", "full"};
  return names;
}

LogicalResult para::markRecomputed(func::FuncOp main, const Plan &plan, const llvm::DenseMap<Value, Sharding> &shardings) {
  return plan.recompute == "none" ? success() : Chooser(main, plan, shardings).run();
}
