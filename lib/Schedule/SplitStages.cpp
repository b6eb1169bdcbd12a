#include "para/IR/Program.h"
#include "para/IR/Sharding.h"
#include "para/Interfaces/Collective.h"
#include "para/Ops/CollectiveBuilder.h"
#include "para/Schedule/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_SPLITSTAGESPASS
#include "para/Schedule/Passes.h.inc"
} // namespace para

namespace {
int64_t getStage(Operation *op) { return op->getAttrOfType<IntegerAttr>("para.stage").getInt(); }

class Splitter {
public:
  Splitter(func::FuncOp spmd, int64_t stages) : spmd(spmd), builder(spmd.getContext()), stages(stages), mappings(stages), functions(stages) {}

  LogicalResult run() {
    markStatic();
    builder.setInsertionPointAfter(spmd);
    for (int64_t stage = 0; stage < stages; ++stage) {
      auto function = func::FuncOp::create(builder, spmd.getLoc(), "stage" + std::to_string(stage), FunctionType::get(spmd.getContext(), {}, {}));
      for (NamedAttribute attr : spmd->getDiscardableAttrs())
        function->setAttr(attr.getName(), attr.getValue());
      function.addEntryBlock();
      OpBuilder::atBlockEnd(&function.getBody().front());
      functions[stage] = function;
    }
    for (BlockArgument argument : spmd.getArguments())
      if (!isShared(argument))
        addArgument(getHome(argument), argument);
    bool parametersSent = false;
    for (Operation &op : spmd.getBody().front().without_terminator()) {
      if (!parametersSent && getPhase(&op) > Phase::Setup) {
        sendParameters();
        parametersSent = true;
      }
      if (getPhase(&op) >= Phase::Backward)
        sendBack();
      place(&op, getStage(&op));
    }
    sendBack();
    return finish();
  }

private:
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

  Value addArgument(int64_t stage, BlockArgument argument) {
    func::FuncOp function = functions[stage];
    unsigned index = function.getNumArguments();
    (void)function.insertArgument(index, argument.getType(), spmd.getArgAttrDict(argument.getArgNumber()), argument.getLoc());
    mappings[stage].map(argument, function.getArgument(index));
    return function.getArgument(index);
  }

  OpBuilder at(int64_t stage) { return OpBuilder::atBlockEnd(&functions[stage].getBody().front()); }

  void mark(Operation *op, Phase phase, int64_t stage) {
    op->setAttr("para.phase", PhaseAttr::get(op->getContext(), phase));
    op->setAttr("para.stage", builder.getI64IntegerAttr(stage));
  }

  /// Sends `value` from the stage that has it.
  Value transfer(Value value, int64_t from, int64_t to, Phase phase, Attribute origin) {
    int64_t tag = tags++;
    OpBuilder sender = at(from), receiver = at(to);
    buildSend(sender, value.getLoc(), mappings[from].lookup(value), to, tag);
    Operation *send = &functions[from].getBody().front().back();
    mark(send, phase, from);
    Value received = buildRecv(receiver, value.getLoc(), value.getType(), from, tag);
    mark(received.getDefiningOp(), phase, to);
    mappings[to].map(value, received);
    return received;
  }

  void sendParameters() {
    for (BlockArgument argument : spmd.getArguments()) {
      if (isShared(argument))
        continue;
      llvm::SmallDenseSet<int64_t> users;
      for (Operation *user : argument.getUsers())
        if (!isa<func::ReturnOp>(user))
          users.insert(getStage(user));
      for (int64_t stage = 0; stage < stages; ++stage)
        if (users.contains(stage) && stage != getHome(argument))
          transfer(argument, getHome(argument), stage, Phase::Setup, {});
    }
  }

  /// The value on `stage`; made there again if it follows from inputs, otherwise it was sent when it was made.
  Value get(Value value, int64_t stage, Phase phase) {
    if (Value found = mappings[stage].lookupOrNull(value))
      return found;
    if (auto argument = dyn_cast<BlockArgument>(value))
      return addArgument(stage, argument);
    Operation *op = value.getDefiningOp();
    assert(statics.contains(value) && "a value that is not static has been sent where it is used");
    clone(op, stage);
    return mappings[stage].lookup(value);
  }

  Operation *clone(Operation *op, int64_t stage) {
    IRMapping local;
    for (Value operand : op->getOperands())
      local.map(operand, get(operand, stage, getPhase(op)));
    OpBuilder here = at(stage);
    Operation *copy = here.clone(*op, local);
    copy->setAttr("para.stage", builder.getI64IntegerAttr(stage));
    for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
      mappings[stage].map(from, to);
    return copy;
  }

  void place(Operation *op, int64_t stage) {
    bool isStatic = op->getNumResults() > 0 && statics.contains(op->getResult(0));
    if (isStatic) { // on every stage that uses it, in program order, so that phases stay in order
      SmallVector<bool> needed(stages, false);
      for (int64_t s = 0; s < stages; ++s)
        if (isNeeded(op, s))
          clone(op, s);
      return;
    }
    clone(op, stage);
    for (Value result : op->getResults()) {
      llvm::SmallDenseSet<int64_t> users;
      for (Operation *user : result.getUsers())
        if (!isa<func::ReturnOp>(user))
          users.insert(getStage(user));
      for (int64_t to = 0; to < stages; ++to)
        if (to != stage && users.contains(to)) {
          if (to < stage && getPhase(op) == Phase::Forward)
            backwards.push_back({result, stage, to});
          else
            transfer(result, stage, to, getPhase(op), {});
        }
    }
  }

  /// What the backward pass of an earlier stage takes from the forward pass of a later one goes with the backward pass: the earlier stage
  /// cannot wait for it before it has sent what the later one needs.
  void sendBack() {
    for (auto [value, from, to] : std::exchange(backwards, {}))
      transfer(value, from, to, Phase::Backward, {});
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
    SmallVector<SmallVector<ProgramResult>> results(stages);
    for (auto [index, result] : llvm::enumerate(getResults(spmd))) {
      auto stage = spmd.getResultAttrOfType<IntegerAttr>(index, "para.stage");
      int64_t home = stage ? stage.getInt() : 0;
      if (auto updates = spmd.getResultAttrOfType<StringAttr>(index, "para.updates"))
        home = getHome(spmd.getArgument(getArgIndex(spmd, updates.getValue())));
      Value local = mappings[home].lookupOrNull(result.value);
      if (!local && (statics.contains(result.value) || isa<BlockArgument>(result.value)))
        local = get(result.value, home, Phase::Update);
      if (!local)
        return emitError(result.value.getLoc()) << "result '" << getResultName(spmd, index) << "' is not made on its stage " << home;
      results[home].push_back({local, result.attributes});
    }
    for (int64_t stage = 0; stage < stages; ++stage) {
      OpBuilder here = at(stage);
      func::ReturnOp::create(here, spmd.getLoc());
      setResults(functions[stage], results[stage]);
    }
    spmd.erase();
    return success();
  }

  func::FuncOp spmd;
  OpBuilder builder;
  int64_t stages, tags = 0;
  std::vector<IRMapping> mappings;
  std::vector<func::FuncOp> functions;
  struct Transfer {
    Value value;
    int64_t from, to;
  };
  std::vector<Transfer> backwards; ///< of the forward pass, to earlier stages
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
    for (Operation &op : spmd.getBody().front().without_terminator()) {
      auto stage = op.getAttrOfType<IntegerAttr>("para.stage");
      if (!stage || stage.getInt() < 0 || stage.getInt() >= mesh.getSize("pipeline") || getPhase(&op) < before) {
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
