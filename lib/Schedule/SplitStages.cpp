#include "para/IR/Phases.h"
#include "para/IR/Program.h"
#include "para/IR/Sharding.h"
#include "para/Interfaces/Collective.h"
#include "para/Ops/CollectiveBuilder.h"
#include "para/Schedule/Passes.h"

#include "mlir/IR/IRMapping.h"

#include <map>
#include <set>

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_SPLITSTAGESPASS
#include "para/Schedule/Passes.h.inc"
} // namespace para

namespace {
int64_t getStage(Operation *op) { return op->getAttrOfType<IntegerAttr>("para.stage").getInt(); }

/// Stages are those of the model, of which a rank of the pipeline may have several; functions and values are by rank.
class Splitter {
public:
  Splitter(func::FuncOp spmd, int64_t ranks)
      : spmd(spmd), builder(spmd.getContext()), places(getPlaces(spmd->getParentOfType<ModuleOp>())), ranks(ranks), mappings(ranks), functions(ranks) {}

  LogicalResult run() {
    markStatic();
    builder.setInsertionPointAfter(spmd);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      auto function = func::FuncOp::create(builder, spmd.getLoc(), "stage" + std::to_string(rank), FunctionType::get(spmd.getContext(), {}, {}));
      for (NamedAttribute attr : spmd->getDiscardableAttrs())
        function->setAttr(attr.getName(), attr.getValue());
      function.addEntryBlock();
      OpBuilder::atBlockEnd(&function.getBody().front());
      functions[rank] = function;
    }
    for (BlockArgument argument : spmd.getArguments())
      if (!isShared(argument))
        addArgument(rankOf(getHome(argument)), argument);
    bool parametersSent = false;
    for (Operation &op : spmd.getBody().front().without_terminator()) {
      if (!parametersSent && getPhase(&op) > Phase::Setup) {
        sendParameters();
        parametersSent = true;
      }
      if (getPhase(&op) >= Phase::Backward)
        sendBack();
      if (getPhase(&op) == Phase::Update)
        sendOnce();
      place(&op, getStage(&op));
    }
    sendBack();
    sendOnce();
    return finish();
  }

private:
  int64_t rankOf(int64_t stage) { return places[stage].rank; }

  /// Inputs and the optimizer's numbers are given to every stage.
  bool isShared(BlockArgument argument) {
    StringRef kind = getArgKind(spmd, argument.getArgNumber());
    return kind == "input" || kind == "hyper";
  }
  int64_t getHome(BlockArgument argument) {
    auto stage = spmd.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "para.stage");
    return stage ? stage.getInt() : 0;
  }

  void markStatic() {
    for (BlockArgument argument : spmd.getArguments())
      if (isShared(argument))
        statics.insert(argument);
    for (Operation &op : spmd.getBody().front().without_terminator())
      if (isMemoryEffectFree(&op) && llvm::all_of(op.getOperands(), [&](Value operand) { return statics.contains(operand); }))
        statics.insert_range(op.getResults());
  }

  Value addArgument(int64_t rank, BlockArgument argument) {
    func::FuncOp function = functions[rank];
    unsigned index = function.getNumArguments();
    (void)function.insertArgument(index, argument.getType(), spmd.getArgAttrDict(argument.getArgNumber()), argument.getLoc());
    mappings[rank].map(argument, function.getArgument(index));
    return function.getArgument(index);
  }

  OpBuilder at(int64_t rank) { return OpBuilder::atBlockEnd(&functions[rank].getBody().front()); }

  /// The op, in its rank's program, is part of the stage.
  void mark(Operation *op, Phase phase, int64_t stage) {
    op->setAttr("para.phase", getAttr({phase, isPass(phase) ? places[stage].chunk : 0}, op->getContext()));
    op->setAttr("para.stage", builder.getI64IntegerAttr(rankOf(stage)));
  }

  /// Sends `value` from the stage that has it.
  Value transfer(Value value, int64_t from, int64_t to, Phase phase) {
    int64_t tag = tags++;
    OpBuilder sender = at(rankOf(from)), receiver = at(rankOf(to));
    buildSend(sender, value.getLoc(), mappings[rankOf(from)].lookup(value), rankOf(to), tag);
    mark(&functions[rankOf(from)].getBody().front().back(), phase, from);
    Value received = buildRecv(receiver, value.getLoc(), value.getType(), rankOf(from), tag);
    mark(received.getDefiningOp(), phase, to);
    mappings[rankOf(to)].map(value, received);
    return received;
  }

  /// Stages that use the value up to a phase, in the order of the model.
  std::set<int64_t> getUsers(Value value, Phase last = Phase::Update) {
    std::set<int64_t> users;
    for (Operation *user : value.getUsers())
      if (!isa<func::ReturnOp>(user) && getPhase(user) <= last) {
        users.insert(getStage(user));
        if (isRepeated(user))
          users.merge(getUsers(user->getResult(0), last));
      }
    return users;
  }

  /// At a step's start or end: what is much more than what it is made of, as a broadcast number is, is made again where it is used.
  static bool isRepeated(Operation *op) {
    if (!runsOnce(getPhase(op)) || op->getNumResults() != 1 || op->getNumOperands() == 0 || !isMemoryEffectFree(op) || isa<CollectiveOpInterface>(op))
      return false;
    int64_t taken = 0;
    for (Type type : op->getOperandTypes())
      taken += cast<RankedTensorType>(type).getNumElements();
    return cast<RankedTensorType>(op->getResult(0).getType()).getNumElements() > 2 * taken;
  }

  void sendParameters() {
    for (BlockArgument argument : spmd.getArguments()) {
      if (isShared(argument))
        continue;
      int64_t home = getHome(argument);
      for (int64_t stage : getUsers(argument))
        if (!mappings[rankOf(stage)].contains(argument))
          transfer(argument, home, stage, Phase::Setup);
    }
  }

  /// The value on a rank; made there again for the stage if it follows from inputs, otherwise it was sent when it was made.
  Value get(Value value, int64_t stage) {
    if (Value found = mappings[rankOf(stage)].lookupOrNull(value))
      return found;
    if (auto argument = dyn_cast<BlockArgument>(value))
      return addArgument(rankOf(stage), argument);
    assert(statics.contains(value) && "a value that is not static has been sent where it is used");
    clone(value.getDefiningOp(), stage);
    return mappings[rankOf(stage)].lookup(value);
  }

  void clone(Operation *op, int64_t stage) {
    IRMapping local;
    for (Value operand : op->getOperands())
      local.map(operand, get(operand, stage));
    Operation *copy = at(rankOf(stage)).clone(*op, local);
    mark(copy, getPhase(op), stage);
    for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
      mappings[rankOf(stage)].map(from, to);
  }

  void place(Operation *op, int64_t stage) {
    bool isStatic = op->getNumResults() > 0 && statics.contains(op->getResult(0));
    if (isStatic) { // on every rank that uses it, in program order, so that phases stay in order; for the stage that runs first
      for (int64_t s : getPassOrder(getPhase(op)))
        if (!mappings[rankOf(s)].contains(op->getResult(0)) && isNeeded(op, s))
          clone(op, s);
      return;
    }
    clone(op, stage);
    if (isRepeated(op))
      for (int64_t s : getUsers(op->getResult(0)))
        if (!mappings[rankOf(s)].contains(op->getResult(0)))
          clone(op, s);
    for (Value result : op->getResults()) {
      std::set<int64_t> users = getUsers(result, isPass(getPhase(op)) ? Phase::Weight : Phase::Update);
      bool isForward = getPhase(op) == Phase::Forward;
      if (isPass(getPhase(op)) && !getUsers(result).empty())
        forTheStep.push_back({result, stage});
      for (int64_t to : getPassOrder(getPhase(op)))
        if (users.count(to) && !(isForward && to < stage) && !mappings[rankOf(to)].contains(result))
          transfer(result, stage, to, getPhase(op));
      for (int64_t to : users)
        if (isForward && to < stage && !mappings[rankOf(to)].contains(result))
          backwards.push_back({result, stage, to});
    }
  }

  /// All stages, as a microbatch passes them in the phase.
  SmallVector<int64_t> getPassOrder(Phase phase) {
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, places.size()));
    if (phase == Phase::Backward && int64_t(places.size()) > ranks) // with one stage a rank only the numbers of messages would change
      std::reverse(order.begin(), order.end());
    return order;
  }

  /// What the backward pass of an earlier stage takes from the forward pass of a later one goes with the backward pass: the earlier stage
  /// cannot wait for it before it has sent what the later one needs. Of several on a rank, the last one's backward pass is first.
  void sendBack() {
    std::map<std::pair<int64_t, void *>, int64_t> last;
    for (auto [value, from, to] : backwards)
      if (auto [it, isNew] = last.try_emplace({rankOf(to), value.getAsOpaquePointer()}, to); !isNew)
        it->second = std::max(it->second, to);
    for (auto [value, from, to] : std::exchange(backwards, {}))
      if (last.at({rankOf(to), value.getAsOpaquePointer()}) == to)
        transfer(value, from, to, Phase::Backward);
  }

  /// What passes make and the step's end wants on another rank, as sums over the microbatches are, is sent once.
  void sendOnce() {
    for (auto [value, from] : std::exchange(forTheStep, {}))
      for (int64_t to : getUsers(value))
        if (!mappings[rankOf(to)].contains(value))
          transfer(value, from, to, Phase::Update);
  }

  /// Whether a static op is used on a stage, directly or by other static ops.
  bool isNeeded(Operation *op, int64_t stage) {
    auto [it, inserted] = needs.try_emplace({op, stage}, false);
    if (!inserted)
      return it->second;
    bool needed = false;
    for (Operation *user : op->getUsers()) {
      if (isa<func::ReturnOp>(user))
        needed |= getStage(op) == stage;
      else if (user->getNumResults() > 0 && statics.contains(user->getResult(0)))
        needed |= isNeeded(user, stage);
      else
        needed |= getStage(user) == stage;
    }
    needs[{op, stage}] = needed;
    return needed;
  }

  LogicalResult finish() {
    SmallVector<SmallVector<ProgramResult>> results(ranks);
    for (auto [index, result] : llvm::enumerate(getResults(spmd))) {
      auto stage = spmd.getResultAttrOfType<IntegerAttr>(index, "para.stage");
      int64_t home = stage ? stage.getInt() : 0;
      if (auto updates = spmd.getResultAttrOfType<StringAttr>(index, "para.updates"))
        home = getHome(spmd.getArgument(getArgIndex(spmd, updates.getValue())));
      Value local = mappings[rankOf(home)].lookupOrNull(result.value);
      if (!local && (statics.contains(result.value) || isa<BlockArgument>(result.value)))
        local = get(result.value, home);
      if (!local)
        return emitError(result.value.getLoc()) << "result '" << getResultName(spmd, index) << "' is not made on its stage " << home;
      results[rankOf(home)].push_back({local, result.attributes});
    }
    for (int64_t rank = 0; rank < ranks; ++rank) {
      OpBuilder here = at(rank);
      func::ReturnOp::create(here, spmd.getLoc());
      setResults(functions[rank], results[rank]);
    }
    spmd.erase();
    return success();
  }

  func::FuncOp spmd;
  OpBuilder builder;
  SmallVector<StagePlace> places; ///< by stage
  int64_t ranks, tags = 0;
  std::vector<IRMapping> mappings;
  std::vector<func::FuncOp> functions;
  struct Transfer {
    Value value;
    int64_t from, to;
  };
  std::vector<Transfer> backwards; ///< of the forward pass, to earlier stages
  std::vector<std::pair<Value, int64_t>> forTheStep; ///< with their stages
  llvm::DenseSet<Value> statics;
  llvm::DenseMap<std::pair<Operation *, int64_t>, bool> needs;
};

struct SplitStagesPass : para::impl::SplitStagesPassBase<SplitStagesPass> {
  void runOnOperation() override {
    auto spmd = getOperation().lookupSymbol<func::FuncOp>("spmd");
    auto mesh = getOperation()->getAttrOfType<MeshAttr>("para.mesh");
    if (!spmd || !mesh) {
      getOperation().emitError("has no @spmd: the partition stage comes first");
      return signalPassFailure();
    }
    Phase before = Phase::Prepare;
    int64_t stages = getPlaces(getOperation()).size();
    for (Operation &op : spmd.getBody().front().without_terminator()) {
      auto stage = op.getAttrOfType<IntegerAttr>("para.stage");
      if (!stage || stage.getInt() < 0 || stage.getInt() >= stages || getPhase(&op) < before) {
        op.emitError() << "has no stage of the mesh, or a phase that was over before it";
        return signalPassFailure();
      }
      before = getPhase(&op);
    }
    getOperation()->setAttr("para.microbatches", Builder(&getContext()).getI64IntegerAttr(mesh.getSize(kMicrobatch)));
    if (failed(Splitter(spmd, mesh.getSize("pipeline")).run()))
      signalPassFailure();
  }
};
} // namespace
