#include "para/IR/Program.h"
#include "para/IR/Sharding.h"
#include "para/Interfaces/Collective.h"
#include "para/Schedule/Passes.h"
#include "para/Schedule/Schedule.h"
#include "para/Schedule/WeightGradients.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_SCHEDULEMICROBATCHESPASS
#include "para/Schedule/Passes.h.inc"
} // namespace para

namespace {
/// The phase of a stage's function that the action runs.
Phase phaseOf(const Action &action) { return action.part == BackwardPart::Weight ? Phase::Weight : action.phase; }

bool partsBackward(const Schedule &schedule) {
  return llvm::any_of(schedule.stages, [](ArrayRef<Action> actions) { return llvm::any_of(actions, [](const Action &action) { return action.part != BackwardPart::Whole; }); });
}

/// Gives gradients of weights a phase of their own: the heavy ops and what follows from them. What is light stays where its operands are at hand.
void partBackward(func::FuncOp function) {
  Block &block = function.getBody().front();
  llvm::DenseSet<Operation *> weights = findWeightGradients(block), late;
  SmallVector<Operation *> inOrder;
  Operation *next = block.getTerminator();
  for (Operation &op : block.without_terminator()) {
    auto isLate = [&](Value operand) { return operand.getDefiningOp() && late.contains(operand.getDefiningOp()); };
    if (weights.contains(&op) && (isHeavy(&op) || llvm::any_of(op.getOperands(), isLate))) {
      late.insert(&op);
      inOrder.push_back(&op);
    }
    if (getPhase(&op) == Phase::Update && next == block.getTerminator())
      next = &op;
  }
  for (Operation *op : inOrder) {
    op->setAttr("para.phase", PhaseAttr::get(op->getContext(), Phase::Weight));
    op->moveBefore(next);
  }
}

struct ScheduleMicrobatchesPass : para::impl::ScheduleMicrobatchesPassBase<ScheduleMicrobatchesPass> {
  using ScheduleMicrobatchesPassBase::ScheduleMicrobatchesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto mesh = module->getAttrOfType<MeshAttr>("para.mesh");
    int64_t stages = mesh ? mesh.getSize("pipeline") : 1, microbatches = mesh ? mesh.getSize(kMicrobatch) : 1;
    SmallVector<func::FuncOp> functions;
    for (int64_t stage = 0; stage < stages; ++stage) {
      functions.push_back(module.lookupSymbol<func::FuncOp>("stage" + std::to_string(stage)));
      if (!functions.back()) {
        module.emitError() << "has no @stage" << stage << ": para-split-stages comes first";
        return signalPassFailure();
      }
    }
    auto made = makeSchedule(schedule, stages, microbatches);
    if (!made) {
      module.emitError() << llvm::toString(made.takeError());
      return signalPassFailure();
    }
    if (!llvm::is_contained(getCompiledScheduleNames(), StringRef(schedule))) {
      module.emitError() << "no programs are made for the schedule '" << schedule << "' yet; there are programs for " << llvm::join(getCompiledScheduleNames(), ", ");
      return signalPassFailure();
    }
    if (stages > 1 && partsBackward(*made)) // alone nobody waits
      for (func::FuncOp function : functions)
        partBackward(function);
    transfers.clear();
    sends.clear();
    for (auto [stage, function] : llvm::enumerate(functions))
      complete(function, stage, microbatches, made->stages[stage]);
    deepenTransfers(*made, transfers);
    for (auto [transfer, send] : llvm::zip_equal(transfers, sends))
      if (transfer.depth > 1)
        send->setAttr("depth", Builder(&getContext()).getI64IntegerAttr(transfer.depth));
    if (llvm::Error error = verifySchedule(*made, microbatches, transfers)) {
      module.emitError() << "the schedule '" << schedule << "' is refused: " << llvm::toString(std::move(error));
      return signalPassFailure();
    }
    for (auto [function, actions] : llvm::zip(functions, made->stages))
      annotate(function, actions);
  }

  /// Puts `prepare` and `setup` before, `update` behind, leaves out phases without work and collects what the stage sends.
  void complete(func::FuncOp function, int64_t stage, int64_t microbatches, std::vector<Action> &actions) {
    std::set<Phase> phases;
    function.walk([&](Operation *op) {
      if (!op->hasAttr("para.phase"))
        return;
      phases.insert(getPhase(op));
      auto peer = op->getAttrOfType<IntegerAttr>("peer");
      // Outside of the microbatches stages talk to and fro; that they do not wait in a circle is shown op by op by the proofs.
      bool ordered = getPhase(op) == Phase::Forward || getPhase(op) == Phase::Backward;
      if (peer && ordered && op->getNumResults() == 0 && isa<CollectiveOpInterface>(op)) {
        Operation *made = op->getOperand(0).getDefiningOp();
        transfers.push_back({stage, peer.getInt(), getPhase(op), 1, getPhase(made ? made : op)});
        sends.push_back(op);
      }
    });
    std::vector<Action> all;
    if (phases.count(Phase::Prepare))
      for (int64_t m = 0; m < microbatches; ++m)
        all.push_back({Phase::Prepare, m});
    if (phases.count(Phase::Setup))
      all.push_back({Phase::Setup, 0});
    for (Action action : actions) {
      if (!phases.count(Phase::Weight) && action.part == BackwardPart::Input)
        action.part = BackwardPart::Whole;
      bool isMet = phases.count(Phase::Weight) && action.part == BackwardPart::Input; // the gradients of weights follow, with work or without
      if (phases.count(phaseOf(action)) || isMet)
        all.push_back(action);
    }
    if (phases.count(Phase::Update))
      all.push_back({Phase::Update, 0});
    actions = std::move(all);
  }

  void annotate(func::FuncOp function, ArrayRef<Action> actions) {
    Builder builder(&getContext());
    SmallVector<Attribute> list;
    for (const Action &action : actions)
      list.push_back(builder.getArrayAttr({PhaseAttr::get(&getContext(), phaseOf(action)), builder.getI64IntegerAttr(action.microbatch)}));
    function->setAttr("para.schedule", builder.getArrayAttr(list));
  }

  SmallVector<Transfer> transfers;
  SmallVector<Operation *> sends; ///< of `transfers`, in their order
};
} // namespace
