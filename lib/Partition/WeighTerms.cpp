#include "WeighTerms.h"

#include "para/IR/Program.h"

#include "mlir/Analysis/TopologicalSortUtils.h"

using namespace mlir;
using namespace para;

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

SmallVector<BatchTermOpInterface> collectTerms(func::FuncOp main) {
  SmallVector<BatchTermOpInterface> found;
  main.walk([&](BatchTermOpInterface op) { found.push_back(op); });
  return found;
}
} // namespace

TermWeigher::TermWeigher(func::FuncOp main, MeshAttr mesh, const MicrobatchFacts &facts, const llvm::DenseMap<Value, Value> &originals)
    : main(main), facts(facts), originals(originals), microbatches(mesh.getSize(kMicrobatch)), axis(StringAttr::get(main.getContext(), kMicrobatch)) {}

int64_t TermWeigher::getRows() const {
  func::FuncOp function = main;
  auto batch = function->getAttrOfType<IntegerAttr>("para.batch");
  return batch ? batch.getInt() : microbatches;
}

bool TermWeigher::weigh(BatchTermOpInterface term) {
  if (!weighed.insert(term.getTerm()).second)
    return false;
  std::optional<Weight> weight;
  if (typeOf(term->getOperand(0)).getRank() == 0)
    weight = findCount(getElementTypeOrSelf(term->getOperand(0)));
  for (BatchTermOpInterface other : collectTerms(main)) {
    if (other.getTerm() != term.getTerm())
      continue;
    Value mean = buildMean(other, weight, getPhase(other) == Phase::Backward);
    other->replaceAllUsesWith(ValueRange{mean});
    if (getPhase(other) == Phase::Forward)
      passPartial(mean);
  }
  if (weight) // a term may stand before what counts
    sortTopologically(&main.getBody().front());
  return true;
}

/// The elements that another term of the loss counts from data (valid labels), if there is such a term.
std::optional<TermWeigher::Weight> TermWeigher::findCount(Type elementType) {
  for (BatchTermOpInterface term : collectTerms(main)) {
    Operation *ratio = term->getOperand(0).getDefiningOp();
    if (!ratio || ratio->getNumOperands() != 2 || cast<StructureOpInterface>(ratio).getStructure().linearity != SmallVector<Linearity>{Linearity::Alone, Linearity::None})
      continue;
    Operation *count = ratio->getOperand(1).getDefiningOp();
    while (count && getPhase(count) != Phase::Prepare && count->getNumOperands() == 1)
      count = count->getOperand(0).getDefiningOp();
    if (!count || getPhase(count) != Phase::Prepare || getElementTypeOrSelf(count->getResult(0)) != elementType || typeOf(count->getResult(0)).getRank() != 0)
      continue;
    Value clone = count->getResult(0), original = originals.lookup(clone);
    Operation *sum = original ? original.getDefiningOp() : nullptr;
    if (!sum || !facts.isPartial(original) || sum->getNumOperands() != 1)
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
  return std::nullopt;
}

/// The mean of a value over the microbatches, weighted; `ownShare` stops at what a microbatch contributes.
Value TermWeigher::buildMean(Operation *term, const std::optional<Weight> &weight, bool ownShare) {
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
Value TermWeigher::countRows(TensorBuilder &t, Operation *like) {
  bool even = getRows() % microbatches == 0;
  Value rows = t.like(like->getOperand(0), even ? double(getRows() / microbatches) : 1.0);
  adopt(rows, like, {});
  return even ? rows : sumOverRows(t, like, rows, true);
}

Value TermWeigher::sumOverRows(TensorBuilder &t, Operation *like, Value value, bool own) {
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

void TermWeigher::adopt(Value made, Operation *like, OpSplit split) {
  Operation *op = made.getDefiningOp();
  for (StringRef name : {"para.phase", "para.stage"})
    if (Attribute attr = like->getAttr(name))
      op->setAttr(name, attr);
  split.factors.resize(cast<StructureOpInterface>(op).getStructure().factors.size());
  split.annotate(op);
}

/// What was whole is an unfinished sum now; linear ops pass it on.
void TermWeigher::passPartial(Value value) {
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
