#include "para/IR/Phases.h"
#include "para/IR/Program.h"
#include "para/IR/Sharding.h"
#include "para/Interfaces/Collective.h"
#include "para/Schedule/Passes.h"
#include "para/Schedule/Schedule.h"
#include "para/Schedule/WeightGradients.h"

#include <map>
#include <set>

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_SCHEDULEMICROBATCHESPASS
#include "para/Schedule/Passes.h.inc"
} // namespace para

namespace {
/// What of a rank's function the action runs.
ChunkPhase phaseOf(const Action &action) { return {action.part == BackwardPart::Weight ? Phase::Weight : action.phase, isPass(action.phase) ? action.chunk : 0}; }

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
    op->setAttr("para.phase", getAttr({Phase::Weight, getChunkPhase(op).chunk}, op->getContext()));
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
    if (llvm::Error error = checkScheduleName(schedule)) {
      module.emitError() << llvm::toString(std::move(error));
      return signalPassFailure();
    }
    // One rank has no other to wait for: it takes chunk after chunk of a microbatch.
    std::string name = stages == 1 && getScheduleChunks(schedule) > 1 ? std::string("1f1b") : schedule;
    auto made = makeSchedule(name, stages, microbatches);
    assert(made && "its name was checked");
    if (!isPlacedAs(module, *made)) {
      module.emitError() << "has its stages elsewhere than the schedule '" << schedule << "' has them: " << made->getNumVirtualStages() << " stages on " << stages
                         << " ranks, " << made->chunks << " on each";
      return signalPassFailure();
    }
    for (func::FuncOp function : functions)
      for (Operation &op : function.getBody().front())
        if (getChunkPhase(&op).chunk >= made->chunks) {
          op.emitError() << "is in the phase " << describePhase(getChunkPhase(&op)) << ", and the schedule '" << schedule << "' has " << made->chunks
                         << (made->chunks == 1 ? " chunk" : " chunks");
          return signalPassFailure();
        }
    if (stages > 1 && partsBackward(*made)) // alone nobody waits
      for (func::FuncOp function : functions)
        partBackward(function);
    transfers.clear();
    sends.clear();
    for (auto [stage, function] : llvm::enumerate(functions))
      complete(function, microbatches, made->stages[stage]);
    findTransfers(functions, *made);
    deepenTransfers(*made, transfers);
    for (auto [transfer, send] : llvm::zip_equal(transfers, sends))
      if (transfer.depth > 1)
        send->setAttr("depth", Builder(&getContext()).getI64IntegerAttr(transfer.depth));
    if (llvm::Error error = verifySchedule(*made, microbatches, transfers)) {
      module.emitError() << "the schedule '" << schedule << "' is refused: " << llvm::toString(std::move(error));
      return signalPassFailure();
    }
    for (auto [function, actions] : llvm::zip(functions, made->stages)) {
      annotate(function, actions);
      orderOps(function, actions);
    }
  }

  static bool isPlacedAs(ModuleOp module, const Schedule &schedule) {
    SmallVector<StagePlace> places = getPlaces(module);
    bool isSame = int64_t(places.size()) == schedule.getNumVirtualStages();
    for (int64_t stage = 0; isSame && stage < int64_t(places.size()); ++stage)
      isSame = schedule.getPlace(stage) == std::pair(places[stage].rank, places[stage].chunk);
    return isSame;
  }

  /// Puts `prepare` and `setup` before, `update` behind, and leaves out phases without work.
  void complete(func::FuncOp function, int64_t microbatches, std::vector<Action> &actions) {
    std::set<ChunkPhase> phases;
    for (Operation &op : function.getBody().front())
      if (op.hasAttr("para.phase"))
        phases.insert(getChunkPhase(&op));
    std::vector<Action> all;
    if (phases.count({Phase::Prepare}))
      for (int64_t m = 0; m < microbatches; ++m)
        all.push_back({Phase::Prepare, m});
    if (phases.count({Phase::Setup}))
      all.push_back({Phase::Setup, 0});
    for (Action action : actions) {
      bool isParted = phases.count({Phase::Weight, action.chunk});
      if (!isParted && action.part == BackwardPart::Input)
        action.part = BackwardPart::Whole;
      bool isMet = isParted && action.part == BackwardPart::Input; // the gradients of weights follow, with work or without
      if (phases.count(phaseOf(action)) || isMet)
        all.push_back(action);
    }
    if (phases.count({Phase::Update}))
      all.push_back({Phase::Update, 0});
    actions = std::move(all);
  }

  /// What stages of the model send in the passes of microbatches.
  void findTransfers(ArrayRef<func::FuncOp> functions, const Schedule &schedule) {
    // Outside of the microbatches stages talk to and fro; that they do not wait in a circle is shown op by op by the proofs.
    auto isMessage = [](Operation &op) {
      return op.hasAttr("peer") && (getPhase(&op) == Phase::Forward || getPhase(&op) == Phase::Backward) && isa<CollectiveOpInterface>(op);
    };
    std::map<std::pair<int64_t, int64_t>, int64_t> receivers; // stages of the model, by rank and tag
    auto keyOf = [](int64_t rank, Operation &op) { return std::pair(rank, op.getAttrOfType<IntegerAttr>("tag").getInt()); };
    for (auto [rank, function] : llvm::enumerate(functions))
      for (Operation &op : func::FuncOp(function).getBody().front())
        if (isMessage(op) && op.getNumResults() == 1)
          receivers[keyOf(rank, op)] = schedule.getVirtualStage(rank, getChunkPhase(&op).chunk);
    for (auto [rank, function] : llvm::enumerate(functions))
      for (Operation &op : func::FuncOp(function).getBody().front())
        if (isMessage(op) && op.getNumResults() == 0) {
          Operation *made = op.getOperand(0).getDefiningOp();
          int64_t from = schedule.getVirtualStage(rank, getChunkPhase(&op).chunk), peer = op.getAttrOfType<IntegerAttr>("peer").getInt();
          auto to = receivers.find(keyOf(peer, op)); // the proofs say if there is none
          transfers.push_back({from, to == receivers.end() ? peer : to->second, getPhase(&op), 1, getPhase(made ? made : &op)});
          sends.push_back(&op);
        }
  }

  void annotate(func::FuncOp function, ArrayRef<Action> actions) {
    Builder builder(&getContext());
    SmallVector<Attribute> list;
    for (const Action &action : actions)
      list.push_back(builder.getArrayAttr({getAttr(phaseOf(action), &getContext()), builder.getI64IntegerAttr(action.microbatch)}));
    function->setAttr("para.schedule", builder.getArrayAttr(list));
  }

  /// Ops in the order in which a microbatch comes to them, for which chunks take turns.
  void orderOps(func::FuncOp function, ArrayRef<Action> actions) {
    std::map<ChunkPhase, size_t> order;
    for (const Action &action : actions)
      order.insert({phaseOf(action), order.size()});
    SmallVector<Operation *> ops = llvm::map_to_vector(function.getBody().front().without_terminator(), [](Operation &op) { return &op; });
    llvm::stable_sort(ops, [&](Operation *a, Operation *b) { return order[getChunkPhase(a)] < order[getChunkPhase(b)]; });
    Operation *end = function.getBody().front().getTerminator();
    for (Operation *op : ops)
      op->moveBefore(end);
  }

  SmallVector<Transfer> transfers;
  SmallVector<Operation *> sends; ///< of `transfers`, in their order
};
} // namespace
