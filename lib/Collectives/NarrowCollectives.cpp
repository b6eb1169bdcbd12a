#include "para/Collectives/Passes.h"
#include "para/IR/Program.h"
#include "para/Interfaces/Collective.h"
#include "para/Interfaces/Relayout.h"

#include "mlir/IR/OpDefinition.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_NARROWCOLLECTIVESPASS
#include "para/Collectives/Passes.h.inc"
} // namespace para

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
int64_t widthOf(Value value) { return llvm::divideCeil(typeOf(value).getElementTypeBitWidth(), 8u); }
bool isUnary(Operation *op) { return op->hasTrait<OpTrait::Elementwise>() && op->getNumOperands() == 1 && op->getNumResults() == 1; }

/// Whether the op moves elements between ranks or within one, without combining any.
bool isMove(Operation *op) {
  auto relayout = dyn_cast<RelayoutOpInterface>(op);
  if (!relayout || op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  Relayout::Kind kind = relayout.getRelayout().kind;
  return kind == Relayout::AllGather || kind == Relayout::AllToAll || kind == Relayout::Slice || kind == Relayout::View;
}

struct NarrowCollectivesPass : para::impl::NarrowCollectivesPassBase<NarrowCollectivesPass> {
  void runOnOperation() override {
    auto spmd = getOperation().lookupSymbol<func::FuncOp>("spmd");
    if (!spmd)
      return;
    SmallVector<Operation *> ops;
    for (Operation &op : spmd.getBody().front().without_terminator())
      if (isUnary(&op))
        ops.push_back(&op);
    for (Operation *op : ops) {
      if (widthOf(op->getResult(0)) < widthOf(op->getOperand(0)))
        computeFirst(op);
      else if (widthOf(op->getResult(0)) > widthOf(op->getOperand(0)))
        computeWhereUsed(op);
    }
  }

  /// What makes elements narrower happens before they move, if nobody else takes them as they were and a message is among the moves.
  static void computeFirst(Operation *op) {
    SmallVector<Operation *> moves;
    bool sends = false;
    Value source = op->getOperand(0);
    for (Operation *move = source.getDefiningOp(); move && isMove(move) && move->getResult(0).hasOneUse(); move = source.getDefiningOp()) {
      moves.push_back(move);
      sends |= isa<CollectiveOpInterface>(move);
      source = move->getOperand(0);
    }
    if (!sends)
      return;
    while (!isa<CollectiveOpInterface>(moves.back())) { // of elements that are not sent, as many are computed as are used
      source = moves.back()->getResult(0);
      moves.pop_back();
    }
    OpBuilder builder(moves.back());
    Type element = typeOf(op->getResult(0)).getElementType();
    auto copy = [&](Operation *from, Value operand) {
      Operation *made = builder.clone(*from);
      made->setOperand(0, operand);
      RankedTensorType shape = from == op ? typeOf(operand) : typeOf(from->getResult(0));
      made->getResult(0).setType(RankedTensorType::get(shape.getShape(), element));
      return made;
    };
    Operation *first = copy(op, source);
    for (StringRef name : {"para.phase", "para.stage"}) // computed when and where the message is sent
      if (Attribute attr = moves.back()->getAttr(name))
        first->setAttr(name, attr);
    Value value = first->getResult(0);
    for (Operation *move : llvm::reverse(moves))
      value = copy(move, value)->getResult(0);
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
    for (Operation *move : moves)
      move->erase();
  }

  /// What makes elements wider happens on each stage that takes them: the narrow ones are sent.
  static void computeWhereUsed(Operation *op) {
    Attribute home = op->getAttr("para.stage");
    llvm::MapVector<Attribute, Operation *> copies;
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      Attribute stage = use.getOwner()->getAttr("para.stage");
      if (!stage || stage == home)
        continue;
      Operation *&copy = copies[stage];
      if (!copy) {
        OpBuilder builder(op->getContext());
        builder.setInsertionPointAfter(op);
        copy = builder.clone(*op);
        copy->setAttr("para.stage", stage);
      }
      use.set(copy->getResult(0));
    }
    if (op->use_empty())
      op->erase();
  }
};
} // namespace
