#include "para/Partition/SeparateMicrobatches.h"
#include "WeighTerms.h"

#include "para/IR/Program.h"
#include "para/Partition/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_SEPARATEMICROBATCHESPASS
#include "para/Partition/Passes.h.inc"
} // namespace para

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
void setPhase(Operation *op, Phase phase) { op->setAttr("para.phase", PhaseAttr::get(op->getContext(), phase)); }

class Separator {
public:
  Separator(func::FuncOp main, MeshAttr mesh)
      : main(main), mesh(mesh), facts(main, mesh), weigher(main, mesh, facts, originals), microbatches(mesh.getSize(kMicrobatch)),
        axis(StringAttr::get(main.getContext(), kMicrobatch)) {}

  FailureOr<std::string> run() {
    if (microbatches > 1) {
      // Each round changes what the next one sees: a hoisted count is no partial sum any more.
      for (bool changed = true; changed;) {
        changed = false;
        facts.markVarying();
        for (Operation &op : llvm::make_early_inc_range(main.getBody().front().without_terminator()))
          changed |= visit(&op);
      }
      if (failed(checkMeaning()))
        return failure();
      postpone();
    }
    for (BatchTermOpInterface term : collect<BatchTermOpInterface>()) { // what is still used means the same in microbatches
      term->replaceAllUsesWith(ValueRange{term->getOperand(0)});
      term->erase();
    }
    resolveCounts();
    return localNode;
  }

private:
  template <typename Op>
  SmallVector<Op> collect() {
    SmallVector<Op> found;
    main.walk([&](Op op) { found.push_back(op); });
    return found;
  }

  /// Returns whether anything was changed.
  bool visit(Operation *op) {
    Phase phase = getPhase(op);
    if (phase != Phase::Forward && phase != Phase::Backward)
      return false;
    if (auto term = dyn_cast<BatchTermOpInterface>(op)) {
      if (phase == Phase::Backward || !facts.varies(op->getOperand(0)) || !weigher.weigh(term))
        return false;
      facts.markVarying(); // what follows from the term varies no more
      return true;
    }
    Structure structure = cast<StructureOpInterface>(op).getStructure();
    OpSplit split = OpSplit::get(op, structure);
    Projection projection(structure, mesh);
    // What a microbatch computes from its own statistics is its own throughout the forward pass.
    bool own = phase == Phase::Forward && llvm::any_of(op->getOperands(), [&](Value operand) { return facts.varies(operand); }) &&
               llvm::none_of(op->getResults(), [&](OpResult result) { return projection.getResult(split, result.getResultNumber()).isCut(kMicrobatch); });
    bool changed = false;
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (!facts.isPartial(value) || (!own && projection.getOperand(split, operand.getOperandNumber()).isPartial(kMicrobatch)))
        continue;
      Operation *producer = value.getDefiningOp();
      if (getPhase(producer) == Phase::Prepare)
        continue; // hoisted already
      if (canHoist(value)) {
        changed = true;
        operand.set(hoist(value));
        continue;
      }
      if (!own && facts.canPostpone(op))
        continue;
      if (facts.isStatic(value))
        refused = refused ? refused : op;
      changed = true;
      if (localNode.empty()) {
        localNode = getNodeName(op->getLoc()).empty() ? std::string("the loss") : getNodeName(op->getLoc()).str();
        localOp = op;
      }
      localize(producer);
    }
    if (changed && facts.isSettled(op)) // computed once, of data alone
      moveToSetup(op);
    return changed;
  }

  /// Statistics of data that take statistics of data would need the batch twice; those that only the backward pass takes would be of
  /// another loss than the one which is reported.
  LogicalResult checkMeaning() {
    if (!refused && localOp && !weigher.hasWeighed() && !facts.hasLocal(Phase::Forward))
      refused = localOp;
    if (!refused)
      return success();
    return refused->emitError() << "needs the whole batch at once and cannot run in microbatches: use --microbatches 1";
  }

  /// What waits for a finished sum runs once all microbatches are done.
  void postpone() {
    for (Operation &op : main.getBody().front().without_terminator())
      if (facts.needsWhole(&op) && facts.canPostpone(&op))
        facts.visitPostponed(&op, [](Operation *later) { setPhase(later, Phase::Update); });
  }

  void moveToSetup(Operation *op) {
    setPhase(op, Phase::Setup);
    for (OpOperand &operand : op->getOpOperands())
      operand.set(settle(operand.get()));
  }

  /// A value as the phase `setup` has it: what later phases make (constants) is made again there.
  Value settle(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || getPhase(op) == Phase::Prepare || getPhase(op) == Phase::Setup)
      return value;
    return cloneInto(Phase::Setup, value, settled, [&](Value operand) { return settle(operand); });
  }

  /// The same value computed in the phase `prepare`, with all that it comes from.
  Value prepare(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || getPhase(op) == Phase::Prepare)
      return value;
    return cloneInto(Phase::Prepare, value, prepared, [&](Value operand) { return prepare(operand); });
  }

  Value cloneInto(Phase phase, Value value, llvm::DenseMap<Value, Value> &clones, llvm::function_ref<Value(Value)> map) {
    if (Value found = clones.lookup(value))
      return found;
    Operation *op = value.getDefiningOp();
    OpBuilder builder(op);
    Operation *clone;
    if (auto count = dyn_cast<BatchCountOpInterface>(op)) { // of the whole batch
      Value constant = TensorBuilder(op->getLoc(), builder).like(value, double(countElements(count)));
      TermWeigher::adopt(constant, op, {});
      clone = constant.getDefiningOp();
    } else {
      IRMapping mapping;
      for (Value operand : op->getOperands())
        mapping.map(operand, map(operand));
      clone = builder.clone(*op, mapping);
    }
    setPhase(clone, phase);
    for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults())) {
      clones[from] = to;
      originals[to] = from;
      facts.addStatic(to);
    }
    return clones[value];
  }

  /// Whether an unfinished sum is one of data alone, or made of such linearly: it can be finished before the first microbatch.
  bool canHoist(Value value) {
    if (facts.isPreparable(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (!op || getPhase(op) == Phase::Prepare)
      return false;
    Structure structure = cast<StructureOpInterface>(op).getStructure();
    OpSplit split = OpSplit::get(op, structure);
    Projection projection(structure, mesh);
    return llvm::is_contained(split.partial, axis) && llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
             return facts.varies(operand.get()) ? false : !projection.getOperand(split, operand.getOperandNumber()).isPartial(kMicrobatch) || canHoist(operand.get());
           });
  }

  /// The value with its sums finished; who passes them on unfinished keeps the value that there was.
  Value hoist(Value value) {
    if (facts.isPreparable(value))
      return prepare(value);
    Operation *op = value.getDefiningOp();
    Structure structure = cast<StructureOpInterface>(op).getStructure();
    OpSplit split = OpSplit::get(op, structure);
    Projection projection(structure, mesh);
    OpBuilder builder(op);
    Operation *finished = builder.clone(*op);
    for (OpOperand &operand : finished->getOpOperands())
      if (projection.getOperand(split, operand.getOperandNumber()).isPartial(kMicrobatch))
        operand.set(hoist(operand.get()));
    split.partial.clear(); // over all axes
    split.partialOperand = -1;
    finished->removeAttr("para.partial_operand");
    split.annotate(finished);
    finished->moveAfter(op);
    return finished->getResult(cast<OpResult>(value).getResultNumber());
  }

  /// Takes the microbatch axis out of the sum that `op` passes on, back to the reductions that make it. The counts by which such
  /// sums are divided count a microbatch too.
  void localize(Operation *op) {
    Structure structure = cast<StructureOpInterface>(op).getStructure();
    OpSplit split = OpSplit::get(op, structure);
    Projection projection(structure, mesh);
    bool passes = llvm::is_contained(split.partial, axis);
    SmallVector<Operation *> sources;
    for (OpOperand &operand : op->getOpOperands()) {
      if (passes && projection.getOperand(split, operand.getOperandNumber()).isPartial(kMicrobatch) && operand.get().getDefiningOp())
        sources.push_back(operand.get().getDefiningOp());
      else
        markCounts(operand.get());
    }
    llvm::erase(split.partial, axis);
    if (split.partial.empty())
      split.partialOperand = -1;
    if (projection.getResult(split, 0).isPartial(kMicrobatch))
      split.local.push_back(axis);
    op->removeAttr("para.partial_operand");
    split.annotate(op);
    for (Operation *source : sources)
      if (facts.isPartial(source->getResult(0)))
        localize(source);
  }

  /// The derivative of a mean divides by the same op as the mean itself: both then count a microbatch.
  void markCounts(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return;
    if (isa<BatchCountOpInterface>(op))
      localCounts.insert(op);
    else if (op->getNumOperands() == 1)
      markCounts(op->getOperand(0));
  }

  static int64_t countElements(BatchCountOpInterface count) {
    int64_t elements = 1;
    for (int64_t dim : count.getCountedDims())
      elements *= typeOf(count->getOperand(0)).getDimSize(dim);
    return elements;
  }

  /// Counts become constants: of the whole batch, or of a microbatch where all are of one size; else each counts its own rows.
  void resolveCounts() {
    for (BatchCountOpInterface count : collect<BatchCountOpInterface>()) {
      Value input = count->getOperand(0);
      Sharding sharding = facts.getSharding(input);
      int64_t elements = countElements(count), rows = weigher.getRows();
      bool local = localCounts.contains(count) &&
                   llvm::any_of(count.getCountedDims(), [&](int64_t dim) { return llvm::is_contained(sharding.dims[dim].axes, axis); });
      OpBuilder builder(count);
      TensorBuilder t(count.getLoc(), builder);
      Value result = count->getResult(0);
      bool even = rows % microbatches == 0;
      double whole = local ? double(elements) / double(even ? microbatches : rows) : double(elements);
      Value found = t.like(result, whole);
      TermWeigher::adopt(found, count, {});
      result.replaceAllUsesWith(local && !even ? weigher.sumOverRows(t, count, found, true) : found);
      count->erase();
    }
  }

  func::FuncOp main;
  MeshAttr mesh;
  MicrobatchFacts facts;
  llvm::DenseMap<Value, Value> prepared, settled, originals;
  TermWeigher weigher;
  int64_t microbatches;
  Axis axis;
  llvm::DenseSet<Operation *> localCounts;
  std::string localNode;
  Operation *localOp = nullptr, *refused = nullptr;
};

struct SeparateMicrobatchesPass : para::impl::SeparateMicrobatchesPassBase<SeparateMicrobatchesPass> {
  void runOnOperation() override {
    auto main = getMain(getOperation());
    auto mesh = getOperation()->getAttrOfType<MeshAttr>("para.mesh");
    if (failed(main) || !mesh)
      return signalPassFailure();
    FailureOr<std::string> local = separateMicrobatches(*main, mesh);
    if (failed(local))
      return signalPassFailure();
    if (local->empty())
      return;
    auto batch = (*main)->getAttrOfType<IntegerAttr>("para.batch");
    int64_t microbatches = mesh.getSize(kMicrobatch);
    if (batch && int64_t(llvm::divideCeil(batch.getInt(), microbatches)) * (microbatches - 1) >= batch.getInt()) {
      emitError(main->getLoc()) << "'" << *local << "' takes statistics over the batch, and the last of " << microbatches << " microbatches has none of the "
                                << batch.getInt() << " samples: use fewer (--microbatches)";
      return signalPassFailure();
    }
    emitRemark(main->getLoc()) << "'" << *local << "' takes statistics over the batch: with " << microbatches
                               << " microbatches they are those of each microbatch, serially and in parallel";
  }
};
} // namespace

FailureOr<std::string> para::separateMicrobatches(func::FuncOp main, MeshAttr mesh) { return Separator(main, mesh).run(); }
