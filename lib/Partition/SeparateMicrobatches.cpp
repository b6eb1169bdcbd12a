#include "para/Partition/SeparateMicrobatches.h"
#include "MicrobatchFacts.h"

#include "para/IR/Program.h"
#include "para/Ops/TensorBuilder.h"
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

class Separator {
public:
  Separator(func::FuncOp main, MeshAttr mesh)
      : main(main), mesh(mesh), facts(main, mesh), microbatches(mesh.getSize(kMicrobatch)), axis(StringAttr::get(main.getContext(), kMicrobatch)) {}

  std::string run() {
    if (microbatches > 1) {
      // Each round changes what the next one sees: a hoisted count is no partial sum any more.
      for (bool changed = true; changed;) {
        changed = false;
        facts.markVarying();
        for (Operation &op : llvm::make_early_inc_range(main.getBody().front().without_terminator()))
          changed |= visit(&op);
      }
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
    if (auto term = dyn_cast<BatchTermOpInterface>(op))
      return phase == Phase::Forward && facts.varies(op->getOperand(0)) && weigh(term);
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
      if (facts.isStatic(value)) {
        changed = true;
        operand.set(prepare(value));
        if (facts.isStatic(op->getResult(0))) {
          setPhase(op, Phase::Setup);
          for (OpOperand &other : op->getOpOperands())
            other.set(settle(other.get()));
        }
        continue;
      }
      if (!own && facts.canPostpone(op))
        continue;
      changed = true;
      if (localNode.empty())
        localNode = getNodeName(op->getLoc()).empty() ? std::string("the loss") : getNodeName(op->getLoc()).str();
      localize(producer);
    }
    return changed;
  }

  static void setPhase(Operation *op, Phase phase) { op->setAttr("para.phase", PhaseAttr::get(op->getContext(), phase)); }

  /// What waits for a finished sum runs once all microbatches are done.
  void postpone() {
    for (Operation &op : main.getBody().front().without_terminator())
      if (facts.needsWhole(&op) && facts.canPostpone(&op))
        facts.visitPostponed(&op, [](Operation *later) { setPhase(later, Phase::Update); });
  }

  /// A static value as the phase `setup` has it: what later phases make (constants) is made again there.
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
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, map(operand));
    OpBuilder builder(op);
    Operation *clone = builder.clone(*op, mapping);
    setPhase(clone, phase);
    for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults())) {
      clones[from] = to;
      facts.addStatic(to);
    }
    return clones[value];
  }

  /// Takes the microbatch axis out of the sum that `op` passes on, back to the reductions that make it. The counts by which such
  /// sums are divided count a microbatch too.
  void localize(Operation *op) {
    Structure structure = cast<StructureOpInterface>(op).getStructure();
    OpSplit split = OpSplit::get(op, structure);
    Projection projection(structure, mesh);
    bool passes = llvm::is_contained(split.partial, axis);
    SmallVector<Operation *> sources;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      if (passes && projection.getOperand(split, index).isPartial(kMicrobatch) && operand.getDefiningOp())
        sources.push_back(operand.getDefiningOp());
      else
        markCounts(operand);
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

  void markCounts(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return;
    if (isa<BatchCountOpInterface>(op))
      localCounts.insert(op);
    else if (op->getNumOperands() == 1)
      markCounts(op->getOperand(0));
  }

  /// A term of the loss that each microbatch has for itself: their mean; and its cotangent with the same weight.
  bool weigh(BatchTermOpInterface term) {
    if (!weighed.insert(term.getTerm()).second)
      return false;
    std::optional<Weight> weight;
    if (typeOf(term->getOperand(0)).getRank() == 0)
      weight = findCount(getElementTypeOrSelf(term->getOperand(0)));
    for (BatchTermOpInterface other : collect<BatchTermOpInterface>()) {
      if (other.getTerm() != term.getTerm())
        continue;
      Value mean = buildMean(other, weight, getPhase(other) == Phase::Backward);
      other->replaceAllUsesWith(ValueRange{mean});
      if (getPhase(other) == Phase::Forward)
        passPartial(mean);
    }
    facts.markVarying(); // what follows from the term varies no more
    return true;
  }

  int64_t getRows() {
    auto batch = main->getAttrOfType<IntegerAttr>("para.batch");
    return batch ? batch.getInt() : microbatches;
  }

  /// What a mean over all microbatches weighs them by: the elements that another term of the loss counts from data (valid labels), if
  /// there is such a term; the sum over a microbatch, and over the batch.
  struct Weight {
    Value own, all;
  };
  std::optional<Weight> findCount(Type elementType) {
    for (BatchTermOpInterface term : collect<BatchTermOpInterface>()) {
      Operation *ratio = term->getOperand(0).getDefiningOp();
      if (!ratio || ratio->getNumOperands() != 2 || cast<StructureOpInterface>(ratio).getStructure().linearity != SmallVector<Linearity>{Linearity::Alone, Linearity::None})
        continue;
      Operation *count = ratio->getOperand(1).getDefiningOp();
      while (count && getPhase(count) != Phase::Prepare && count->getNumOperands() == 1)
        count = count->getOperand(0).getDefiningOp();
      if (!count || getPhase(count) != Phase::Prepare || getElementTypeOrSelf(count->getResult(0)) != elementType || typeOf(count->getResult(0)).getRank() != 0)
        continue;
      for (auto [original, clone] : prepared) {
        Operation *sum = original.getDefiningOp();
        if (clone != count->getResult(0) || !facts.isPartial(original) || sum->getNumOperands() != 1)
          continue;
        OpSplit split = OpSplit::get(sum, cast<StructureOpInterface>(sum).getStructure());
        if (llvm::is_contained(split.partial, axis))
          continue;
        OpBuilder builder(sum);
        Operation *own = builder.clone(*sum);
        split.local.push_back(axis);
        split.annotate(own);
        return Weight{own->getResult(0), clone};
      }
    }
    return std::nullopt;
  }

  /// The mean of a value over the microbatches, weighted; `ownShare` stops at what a microbatch contributes.
  Value buildMean(Operation *term, const std::optional<Weight> &weight, bool ownShare) {
    OpBuilder builder(term);
    TensorBuilder t(term->getLoc(), builder);
    Value value = term->getOperand(0), divisor;
    if (weight) {
      value = t.mul(value, weight->own);
      adopt(value, term, {});
      divisor = weight->all;
      if (!ownShare) { // shared out to the microbatch's rows, whose sum it is again
        value = t.div(value, countRows(t, term));
        adopt(value, term, {});
      }
    } else {
      divisor = t.like(value, double(getRows()));
      adopt(divisor, term, {});
    }
    Value sum = weight && ownShare ? value : sumOverRows(t, term, value, ownShare), mean = t.div(sum, divisor);
    OpSplit passing;
    if (!ownShare) {
      passing.partial = {axis};
      passing.partialOperand = 0;
    }
    adopt(mean, term, passing);
    return mean;
  }

  /// The number of rows of a microbatch.
  Value countRows(TensorBuilder &t, Operation *like) {
    bool even = getRows() % microbatches == 0;
    Value rows = t.like(like->getOperand(0), even ? double(getRows() / microbatches) : 1.0);
    adopt(rows, like, {});
    return even ? rows : sumOverRows(t, like, rows, true);
  }

  /// `value` once for every row of the batch, summed: over a microbatch's own rows, or (an unfinished sum) over all.
  Value sumOverRows(TensorBuilder &t, Operation *like, Value value, bool own) {
    SmallVector<int64_t> shape = {getRows()}, dims;
    for (auto [dim, size] : llvm::enumerate(typeOf(value).getShape())) {
      shape.push_back(size);
      dims.push_back(dim + 1);
    }
    Value spread = t.broadcast(value, shape, dims), sum = t.reduceSum(spread, {0});
    adopt(spread, like, {});
    OpSplit split;
    split.factors.push_back({{axis}, 1, 1});
    if (own)
      split.local = {axis};
    adopt(sum, like, split);
    return sum;
  }

  /// Gives a new op the phase and stage of `like`, and its split.
  static void adopt(Value made, Operation *like, OpSplit split) {
    Operation *op = made.getDefiningOp();
    for (StringRef name : {"para.phase", "para.stage"})
      if (Attribute attr = like->getAttr(name))
        op->setAttr(name, attr);
    split.factors.resize(cast<StructureOpInterface>(op).getStructure().factors.size());
    split.annotate(op);
  }

  /// What was whole is an unfinished sum now; linear ops pass it on.
  void passPartial(Value value) {
    for (Operation *user : llvm::to_vector(value.getUsers())) {
      if (getPhase(user) != Phase::Forward || !isa<StructureOpInterface>(user))
        continue;
      Structure structure = cast<StructureOpInterface>(user).getStructure();
      OpSplit split = OpSplit::get(user, structure);
      bool joint = true;
      int alone = -1, partials = 0;
      for (auto [index, operand] : llvm::enumerate(user->getOperands())) {
        bool partial = facts.isPartial(operand);
        partials += partial;
        joint &= structure.linearity[index] == Linearity::Joint && partial;
        if (partial && structure.linearity[index] == Linearity::Alone)
          alone = index;
      }
      bool single = partials == 1 && alone >= 0 && (split.partial.empty() || split.partialOperand == alone);
      if ((!joint && !single) || llvm::is_contained(split.partial, axis) || (joint && split.partialOperand >= 0))
        continue;
      split.partial.push_back(axis);
      llvm::sort(split.partial, [](Axis a, Axis b) { return a.getValue() < b.getValue(); });
      if (single)
        split.partialOperand = alone;
      split.annotate(user);
      passPartial(user->getResult(0));
    }
  }

  /// Counts become constants: of the whole batch, or of a microbatch where all are of one size; else each counts its own rows.
  void resolveCounts() {
    for (BatchCountOpInterface count : collect<BatchCountOpInterface>()) {
      Value input = count->getOperand(0);
      Sharding sharding = facts.getSharding(input);
      int64_t elements = 1;
      bool local = false;
      for (int64_t dim : count.getCountedDims()) {
        elements *= typeOf(input).getDimSize(dim);
        local |= localCounts.contains(count) && llvm::is_contained(sharding.dims[dim].axes, axis);
      }
      OpBuilder builder(count);
      TensorBuilder t(count.getLoc(), builder);
      Value result = count->getResult(0);
      bool even = getRows() % microbatches == 0;
      double whole = local ? double(elements) / double(even ? microbatches : getRows()) : double(elements);
      Value found = t.like(result, whole);
      adopt(found, count, {});
      result.replaceAllUsesWith(local && !even ? sumOverRows(t, count, found, true) : found);
      count->erase();
    }
  }

  func::FuncOp main;
  MeshAttr mesh;
  MicrobatchFacts facts;
  int64_t microbatches;
  Axis axis;
  llvm::DenseMap<Value, Value> prepared, settled;
  llvm::DenseSet<Operation *> localCounts;
  llvm::DenseSet<uint64_t> weighed;
  std::string localNode;
};

struct SeparateMicrobatchesPass : para::impl::SeparateMicrobatchesPassBase<SeparateMicrobatchesPass> {
  void runOnOperation() override {
    auto main = getMain(getOperation());
    auto mesh = getOperation()->getAttrOfType<MeshAttr>("para.mesh");
    if (failed(main) || !mesh)
      return signalPassFailure();
    std::string local = separateMicrobatches(*main, mesh);
    if (local.empty())
      return;
    auto batch = (*main)->getAttrOfType<IntegerAttr>("para.batch");
    int64_t microbatches = mesh.getSize(kMicrobatch);
    if (batch && int64_t(llvm::divideCeil(batch.getInt(), microbatches)) * (microbatches - 1) >= batch.getInt()) {
      emitError(main->getLoc()) << "'" << local << "' takes statistics over the batch, and the last of " << microbatches << " microbatches has none of the "
                                << batch.getInt() << " samples: use fewer (--microbatches)";
      return signalPassFailure();
    }
    emitRemark(main->getLoc()) << "'" << local << "' takes statistics over the batch: with " << microbatches << " microbatches they are those of each microbatch, serially and in parallel";
  }
};
} // namespace

std::string para::separateMicrobatches(func::FuncOp main, MeshAttr mesh) { return Separator(main, mesh).run(); }
