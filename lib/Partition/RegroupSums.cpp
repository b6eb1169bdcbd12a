#include "para/IR/Phases.h"
#include "para/IR/Program.h"
#include "para/Interfaces/Structure.h"
#include "para/Partition/Passes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_REGROUPSUMSPASS
#include "para/Partition/Passes.h.inc"
} // namespace para

namespace {
int64_t getStage(Value value, int64_t otherwise) {
  Operation *op = value.getDefiningOp();
  auto stage = op ? op->getAttrOfType<IntegerAttr>("para.stage") : IntegerAttr();
  return stage ? stage.getInt() : otherwise;
}

/// A sum of many terms whose order is free: variadic, commutative, and linear in all operands together.
bool isFreeSum(Operation *op) {
  if (op->getNumOperands() < 3 || !op->hasTrait<OpTrait::IsCommutative>())
    return false;
  auto structured = dyn_cast<StructureOpInterface>(op);
  return structured && llvm::all_of(structured.getStructure().linearity, [](Linearity linearity) { return linearity == Linearity::Joint; });
}

struct RegroupSumsPass : para::impl::RegroupSumsPassBase<RegroupSumsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> sums;
    getOperation().walk([&](Operation *op) {
      if (isFreeSum(op))
        sums.push_back(op);
    });
    places = getPlaces(getOperation());
    for (Operation *op : sums)
      regroup(op);
  }

  void regroup(Operation *op) {
    // What runs once a step does so on all stages of a rank together.
    auto groupOf = [&](int64_t stage) { return runsOnce(getPhase(op)) ? places[stage].rank : stage; };
    int64_t own = getStage(op->getResult(0), 0);
    llvm::MapVector<int64_t, SmallVector<Value>> groups;
    for (Value operand : op->getOperands())
      groups[groupOf(getStage(operand, own))].push_back(operand);
    if (groups.size() < 2)
      return;
    OpBuilder builder(op);
    SmallVector<Value> sums;
    for (auto &[group, terms] : groups) {
      if (group == groupOf(own) || terms.size() == 1) {
        llvm::append_range(sums, terms);
        continue;
      }
      OperationState state(op->getLoc(), op->getName(), terms, op->getResultTypes(), op->getAttrs());
      Operation *part = builder.create(state);
      part->setAttr("para.stage", builder.getI64IntegerAttr(getStage(terms.front(), own)));
      part->removeAttr("para.target"); // the terms are finished when they are all together
      sums.push_back(part->getResult(0));
    }
    op->setOperands(sums);
  }

  SmallVector<StagePlace> places;
};
} // namespace
