#include "para/IR/Program.h"
#include "para/Ops/TensorBuilder.h"
#include "para/Partition/Passes.h"
#include "para/Partition/Projection.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_SEPARATEMICROBATCHESPASS
#include "para/Partition/Passes.h.inc"
} // namespace para

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

class Separator {
public:
  Separator(func::FuncOp main, MeshAttr mesh) : main(main), mesh(mesh), microbatches(mesh.getSize(kMicrobatch)) {}

  LogicalResult run() {
    if (microbatches > 1) {
      markStatic();
      // Each round changes what the next one sees: a hoisted count is no partial sum any more.
      for (bool changed = true; changed;) {
        changed = false;
        for (Operation &op : llvm::make_early_inc_range(main.getBody().front().without_terminator()))
          if (failed(visit(&op, changed)))
            return failure();
      }
      if (!localNode.empty())
        emitRemark(main.getLoc()) << "'" << localNode << "' takes statistics over the batch: with " << microbatches
                                  << " microbatches they are those of each microbatch, serially and in parallel";
    }
    return resolveCounts();
  }

private:
  /// What follows from inputs and constants alone can be computed before the first microbatch.
  void markStatic() {
    for (BlockArgument argument : main.getArguments())
      if (getArgKind(main, argument.getArgNumber()) == "input" || getArgKind(main, argument.getArgNumber()) == "hyper")
        statics.insert(argument);
    for (Operation &op : main.getBody().front().without_terminator())
      if (llvm::all_of(op.getOperands(), [&](Value operand) { return statics.contains(operand); }))
        statics.insert_range(op.getResults());
  }

  bool isPartial(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || getPhase(op) == Phase::Update)
      return false;
    Structure structure = cast<StructureOpInterface>(op).getStructure();
    OpSplit split = OpSplit::get(op, structure);
    return Projection(structure, mesh).getResult(split, cast<OpResult>(value).getResultNumber()).isPartial(kMicrobatch);
  }

  LogicalResult visit(Operation *op, bool &changed) {
    Phase phase = getPhase(op);
    if (phase != Phase::Forward && phase != Phase::Backward)
      return success();
    Structure structure = cast<StructureOpInterface>(op).getStructure();
    OpSplit split = OpSplit::get(op, structure);
    Projection projection(structure, mesh);
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (!isPartial(value) || projection.getOperand(split, operand.getOperandNumber()).isPartial(kMicrobatch))
        continue;
      Operation *producer = value.getDefiningOp();
      if (getPhase(producer) == Phase::Prepare)
        continue; // hoisted already
      changed = true;
      if (statics.contains(value)) {
        operand.set(prepare(value));
        if (statics.contains(op->getResult(0))) {
          op->setAttr("para.phase", PhaseAttr::get(op->getContext(), Phase::Setup));
          for (OpOperand &other : op->getOpOperands())
            other.set(settle(other.get()));
        }
        continue;
      }
      if (localNode.empty())
        localNode = getNodeName(op->getLoc()).str();
      localize(producer);
    }
    return success();
  }

  /// A static value as the phase `setup` has it: what later phases make (constants) is made again there.
  Value settle(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || getPhase(op) == Phase::Prepare || getPhase(op) == Phase::Setup)
      return value;
    if (Value found = settled.lookup(value))
      return found;
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, settle(operand));
    OpBuilder builder(op);
    Operation *clone = builder.clone(*op, mapping);
    clone->setAttr("para.phase", PhaseAttr::get(op->getContext(), Phase::Setup));
    for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults())) {
      settled[from] = to;
      statics.insert(to);
    }
    return settled[value];
  }

  /// The same value computed in the phase `prepare`, with all that it comes from.
  Value prepare(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || getPhase(op) == Phase::Prepare)
      return value;
    if (Value found = prepared.lookup(value))
      return found;
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, prepare(operand));
    OpBuilder builder(op);
    Operation *clone = builder.clone(*op, mapping);
    clone->setAttr("para.phase", PhaseAttr::get(op->getContext(), Phase::Prepare));
    for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults())) {
      prepared[from] = to;
      statics.insert(to);
    }
    return prepared[value];
  }

  /// Takes the microbatch axis out of the sum that `op` passes on, back to the reductions that make it. The counts by which such
  /// sums are divided count a microbatch too.
  void localize(Operation *op) {
    Structure structure = cast<StructureOpInterface>(op).getStructure();
    OpSplit split = OpSplit::get(op, structure);
    Projection projection(structure, mesh);
    bool passes = llvm::any_of(split.partial, [](Axis axis) { return axis.getValue() == kMicrobatch; });
    SmallVector<Operation *> sources;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      if (passes && projection.getOperand(split, index).isPartial(kMicrobatch) && operand.getDefiningOp())
        sources.push_back(operand.getDefiningOp());
      else
        markCounts(operand);
    }
    llvm::erase_if(split.partial, [](Axis axis) { return axis.getValue() == kMicrobatch; });
    if (projection.getResult(split, 0).isPartial(kMicrobatch))
      split.local.push_back(StringAttr::get(op->getContext(), kMicrobatch));
    op->removeAttr("para.partial_operand");
    split.annotate(op);
    for (Operation *source : sources)
      if (isPartial(source->getResult(0)))
        localize(source);
  }

  void markCounts(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return;
    if (isa<BatchCountOpInterface>(op))
      localCounts.insert(op);
    else if (op->getNumOperands() == 1)
      markCounts(op->getOperand(0));
  }

  /// Counts become constants: of the whole batch, or of a microbatch.
  LogicalResult resolveCounts() {
    SmallVector<BatchCountOpInterface> counts;
    main.walk([&](BatchCountOpInterface op) { counts.push_back(op); });
    for (BatchCountOpInterface count : counts) {
      int64_t elements = 1;
      for (int64_t dim : count.getCountedDims())
        elements *= typeOf(count->getOperand(0)).getDimSize(dim);
      if (localCounts.contains(count)) {
        if (elements % microbatches)
          return count->emitError() << "takes statistics over the batch, and " << microbatches
                                    << " microbatches of it would differ in size: choose a number that divides the batch";
        elements /= microbatches;
      }
      OpBuilder builder(count);
      Value constant = TensorBuilder(count.getLoc(), builder).splat(typeOf(count->getResult(0)), double(elements));
      Operation *op = constant.getDefiningOp();
      for (NamedAttribute attr : count->getDiscardableAttrs())
        if (attr.getName() != "para.split")
          op->setAttr(attr.getName(), attr.getValue());
      count->replaceAllUsesWith(ValueRange{constant});
      count->erase();
    }
    return success();
  }

  func::FuncOp main;
  MeshAttr mesh;
  int64_t microbatches;
  llvm::DenseSet<Value> statics;
  llvm::DenseMap<Value, Value> prepared, settled;
  llvm::DenseSet<Operation *> localCounts;
  std::string localNode;
};

struct SeparateMicrobatchesPass : para::impl::SeparateMicrobatchesPassBase<SeparateMicrobatchesPass> {
  void runOnOperation() override {
    auto main = getMain(getOperation());
    auto mesh = getOperation()->getAttrOfType<MeshAttr>("para.mesh");
    if (failed(main) || !mesh || failed(Separator(*main, mesh).run()))
      signalPassFailure();
  }
};
} // namespace
