//===- VerifyEquivalence.cpp - The stages compute what @main computes ------===//
//
// Every value of a stage's program is shown to be a known part of a known value of @main. Coordinates enter only through the axes of
// cuts, so one walk over each stage's function holds for all ranks and all microbatches. `para.origin` is a hint which serial op an op
// is a part of; nothing is believed because of it.
//
//===----------------------------------------------------------------------===//
#include "Rules.h"

#include "para/IR/Program.h"
#include "para/IR/Sharding.h"
#include "para/Verify/Passes.h"

#include <map>

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_VERIFYEQUIVALENCEPASS
#include "para/Verify/Passes.h.inc"
} // namespace para

namespace {
class EquivalenceChecker {
public:
  EquivalenceChecker(ModuleOp module, func::FuncOp program, MeshAttr mesh) : module(module), reference(program.clone()), main(*reference), mesh(mesh) {
    for (Operation &op : main.getBody().front().without_terminator())
      serialOps.push_back(&op);
  }

  LogicalResult run() {
    if (failed(foldRepeats(main)))
      return failure();
    for (int64_t stage = 0; stage < mesh.getSize("pipeline"); ++stage) {
      auto function = module.lookupSymbol<func::FuncOp>("stage" + std::to_string(stage));
      if (!function || function.isExternal() || !function.getBody().hasOneBlock())
        return module.emitError() << "has no program of stage " << stage;
      stages.push_back({function, function.getBody().front().begin()});
      if (failed(checkSchedule(function, mesh)) || failed(addArguments(stage, function)))
        return failure();
    }
    if (failed(walk()))
      return failure();
    return checkResults();
  }

private:
  struct Stage {
    func::FuncOp function;
    Block::iterator next;
  };

  /// The cuts which a sharding declares for a value of @main; reports where it declares none.
  FailureOr<std::vector<Cut>> readSharding(Location loc, ShardingAttr sharding, RankedTensorType type) {
    std::vector<Cut> cuts(type.getRank());
    if (!sharding)
      return cuts;
    if (sharding.getRank() != type.getRank() || !sharding.getPartialAxes().empty())
      return emitError(loc) << "has the sharding " << sharding << ", which is none of a finished " << type;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      auto cut = Cut::read(type.getDimSize(dim), sharding.getAxes(dim), sharding.getUnits()[dim], sharding.getBlocks()[dim], mesh);
      if (!cut)
        return emitError(loc) << "has the sharding " << sharding << ", which does not cut " << type;
      cuts[dim] = *cut;
    }
    return cuts;
  }

  LogicalResult addArguments(int64_t stage, func::FuncOp function) {
    for (BlockArgument argument : function.getArguments()) {
      unsigned index = argument.getArgNumber();
      StringRef name = getArgName(function, index), kind = getArgKind(function, index);
      int number = getArgIndex(main, name);
      if (number < 0 || getArgKind(main, number) != kind)
        return emitError(argument.getLoc()) << "argument '" << name << "' of stage " << stage << " is none of the serial program";
      if (kind != "input" && kind != "hyper" && !owned.try_emplace(name, stage).second)
        return emitError(argument.getLoc()) << "argument '" << name << "' is kept on two stages, of which only one would be updated";
      if (failed(checkFacts(argument.getLoc(), name, main.getArgAttrDict(number), function.getArgAttrDict(index), main.getArgument(number).getType())))
        return failure();
      LocalValue value = LocalValue::whole(main.getArgument(number), {Phase::Prepare});
      auto type = cast<RankedTensorType>(value.serial.getType());
      auto cuts = readSharding(argument.getLoc(), function.getArgAttrOfType<ShardingAttr>(index, "para.sharding"), type);
      auto declared = readSharding(argument.getLoc(), main.getArgAttrOfType<ShardingAttr>(number, "para.sharding"), type);
      if (failed(cuts) || failed(declared))
        return failure();
      if (*cuts != *declared)
        return emitError(argument.getLoc()) << "argument '" << name << "' of stage " << stage << " does not have its declared sharding";
      value.cuts = *cuts;
      if (argument.getType() != RankedTensorType::get(value.getLocalShape(), type.getElementType()))
        return emitError(argument.getLoc()) << "argument '" << name << "' of stage " << stage << " has type " << argument.getType()
                                            << ", which does not follow from its sharding";
      auto phase = getCarryingPhase(function, name);
      if (phase && mesh.getSize(kMicrobatch) > 1) {
        value.varies = true;
        carried[argument] = *phase;
      }
      values[argument] = std::move(value);
    }
    return success();
  }

  /// What @main says of an argument or result is said on its stage too: where its bytes are, what it overwrites.
  LogicalResult checkFacts(Location loc, StringRef name, DictionaryAttr whole, DictionaryAttr part, Type type) {
    for (NamedAttribute fact : whole ? whole.getValue() : ArrayRef<NamedAttribute>())
      if (fact.getName() != "para.sharding" && (!part || part.get(fact.getName()) != fact.getValue()))
        return emitError(loc) << "'" << name << "' does not have the serial program's " << fact.getName().getValue();
    auto global = part ? part.getAs<TypeAttr>("para.global") : TypeAttr();
    if (global && global.getValue() != type)
      return emitError(loc) << "'" << name << "' is said to be " << global << " and is " << type;
    return success();
  }

  /// The phase in which each microbatch overwrites an argument, if one does.
  std::optional<ChunkPhase> getCarryingPhase(func::FuncOp function, StringRef name) {
    for (auto [index, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands())) {
      auto updates = function.getResultAttrOfType<StringAttr>(index, "para.updates");
      if (updates && updates.getValue() == name && getArgKind(function, getArgIndex(function, name)) == "buffer")
        if (Operation *op = value.getDefiningOp(); op && !runsOnce(getPhase(op)))
          return getChunkPhase(op);
    }
    return std::nullopt;
  }

  /// All stages side by side: one waits where it receives what is not sent yet.
  LogicalResult walk() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto [number, stage] : llvm::enumerate(stages))
        while (!stage.next->hasTrait<OpTrait::IsTerminator>()) {
          bool waits = false;
          if (failed(visit(&*stage.next, number, waits)))
            return failure();
          if (waits)
            break;
          ++stage.next;
          moved = true;
        }
    }
    for (const Stage &stage : stages)
      if (!stage.next->hasTrait<OpTrait::IsTerminator>())
        return stage.next->emitError("receives what is never sent to it");
    return success();
  }

  LogicalResult visit(Operation *op, int64_t stage, bool &waits) {
    SmallVector<const LocalValue *> operands;
    auto relayout = dyn_cast<RelayoutOpInterface>(op);
    auto origin = op->getAttrOfType<IntegerAttr>("para.origin");
    std::optional<Relayout> move;
    if (relayout && !origin)
      move = relayout.getRelayout();
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      auto it = values.find(operand);
      if (it == values.end())
        return op->emitError() << "operand " << index << " is made behind it";
      operands.push_back(&it->second);
      if (failed(checkPhase(op, index, it->second)))
        return failure();
    }
    FailureOr<LocalValues> results = failure();
    if (move && (move->kind == Relayout::Send || move->kind == Relayout::Recv))
      return exchange(op, *move, stage, operands, waits);
    if (move)
      results = applyRelayout(op, *move, operands, mesh);
    else if (origin && origin.getInt() >= 0 && origin.getInt() < int64_t(serialOps.size()))
      results = applyCompute(op, serialOps[origin.getInt()], operands, mesh);
    else
      return op->emitError("is a part of no op of the serial program");
    if (failed(results))
      return failure();
    for (auto [result, value] : llvm::zip_equal(op->getResults(), *results)) {
      if (op->hasTrait<OpTrait::ConstantLike>())
        value.phase = {Phase::Prepare}; // is there without being made
      values[result] = std::move(value);
    }
    return success();
  }

  /// Values are there once their phase has made them, and what each microbatch makes serves that microbatch only.
  LogicalResult checkPhase(Operation *op, unsigned index, const LocalValue &value) {
    ChunkPhase now = getChunkPhase(op);
    Phase phase = now.phase;
    if (auto it = carried.find(op->getOperand(index)); it != carried.end() && it->second != now)
      return op->emitError() << "operand " << index << " is overwritten by each microbatch in the phase " << describePhase(it->second)
                             << " and read in another";
    if (value.phase != now && !precedes(value.phase, now))
      return op->emitError() << "operand " << index << " is made in the later phase " << describePhase(value.phase);
    bool complete = phase == Phase::Update || (value.phase.phase == Phase::Prepare && phase != Phase::Prepare);
    if (value.running && !complete)
      return op->emitError() << "operand " << index << " is summed over the microbatches and not complete in the phase " << stringifyPhase(phase);
    if (runsOnce(phase) && (value.varies || value.isCut(kMicrobatch) || value.isPartial(kMicrobatch)))
      return op->emitError() << "operand " << index << " belongs to one microbatch and is used once a step";
    return success();
  }

  LogicalResult exchange(Operation *op, const Relayout &move, int64_t stage, ArrayRef<const LocalValue *> operands, bool &waits) {
    if (move.kind == Relayout::Send) {
      LocalValue value = *operands[0];
      value.phase = getChunkPhase(op);
      if (!messages.try_emplace({stage, move.peer, move.tag}, value).second)
        return op->emitError() << "sends a second message with tag " << move.tag << " to stage " << move.peer;
      return success();
    }
    auto it = messages.find({move.peer, stage, move.tag});
    waits = it == messages.end();
    if (waits)
      return success();
    if (it->second.phase.phase != getPhase(op))
      return op->emitError("receives in another phase than it is sent in");
    LocalValues results = {it->second};
    results[0].phase = getChunkPhase(op);
    if (failed(checkResultTypes(op, results)))
      return failure();
    values[op->getResult(0)] = results[0];
    return success();
  }

  LogicalResult checkResults() {
    std::map<std::pair<StringRef, StringRef>, unsigned> wanted; // kind and name to the number of the result
    for (unsigned index = 0; index < main.getNumResults(); ++index)
      wanted[{getResultKind(main, index), getResultName(main, index)}] = index;
    std::vector<bool> found(main.getNumResults(), false);
    for (auto [number, stage] : llvm::enumerate(stages))
      for (unsigned index = 0; index < stage.function.getNumResults(); ++index) {
        auto it = wanted.find({getResultKind(stage.function, index), getResultName(stage.function, index)});
        Value value = stage.function.getBody().front().getTerminator()->getOperand(index);
        if (it == wanted.end())
          return emitError(value.getLoc()) << "result '" << getResultName(stage.function, index) << "' is none of the serial program";
        if (found[it->second])
          return emitError(value.getLoc()) << "result '" << getResultName(stage.function, index) << "' is made by two stages";
        found[it->second] = true;
        if (failed(checkResult(stage.function, index, value, it->second)))
          return failure();
      }
    for (auto [index, made] : llvm::enumerate(found))
      if (!made)
        return emitError(main.getLoc()) << "result '" << getResultName(main, index) << "' is made by no stage";
    return success();
  }

  LogicalResult checkResult(func::FuncOp function, unsigned index, Value result, unsigned serialIndex) {
    const LocalValue &value = values.find(result)->second;
    StringRef name = getResultName(function, index);
    auto refuse = [&]() { return emitError(result.getLoc()) << "result '" << name << "' is not the serial result: "; };
    Value serial = main.getBody().front().getTerminator()->getOperand(serialIndex);
    auto type = cast<RankedTensorType>(serial.getType());
    if (failed(checkFacts(result.getLoc(), name, main.getResultAttrDict(serialIndex), function.getResultAttrDict(index), type)))
      return failure();
    if (value.serial != serial)
      return refuse() << "it is a part of " << describeSerial(value.serial) << " and not of " << describeSerial(serial);
    if (ArrayRef<int64_t>(value.shape) != type.getShape())
      return refuse() << "it has another shape";
    if (!value.partial.empty())
      return refuse() << "its " << stringifyReductionKind(value.reduction) << " over " << describeAxes(value.partial) << " is never finished";
    auto sharding = readSharding(result.getLoc(), function.getResultAttrOfType<ShardingAttr>(index, "para.sharding"), type);
    if (failed(sharding))
      return failure();
    for (auto [dim, own, declared] : llvm::enumerate(value.cuts, *sharding))
      if (own != declared)
        return refuse() << "dimension " << dim << " is " << own.describe() << " and declared to be " << declared.describe();
    bool isCarried = false;
    if (auto updates = function.getResultAttrOfType<StringAttr>(index, "para.updates")) {
      if (updates != main.getResultAttrOfType<StringAttr>(serialIndex, "para.updates"))
        return refuse() << "it overwrites another argument";
      int argument = getArgIndex(function, updates.getValue());
      if (argument < 0)
        return refuse() << "'" << updates.getValue() << "' is not kept on its stage";
      if (values.find(function.getArgument(argument))->second.cuts != value.cuts)
        return refuse() << "it is cut in another way than '" << updates.getValue() << "', which it overwrites";
      isCarried = getArgKind(function, argument) == "buffer";
    }
    if (value.varies && !isCarried)
      return refuse() << "it is another one in each microbatch";
    if (value.isCut(kMicrobatch) && getResultKind(function, index) != "output")
      return refuse() << "it holds one microbatch alone";
    return success();
  }

  ModuleOp module;
  OwningOpRef<func::FuncOp> reference; ///< @main, in which what is computed again is the first of its kind
  func::FuncOp main;
  MeshAttr mesh;
  std::vector<Operation *> serialOps;
  std::vector<Stage> stages;
  llvm::DenseMap<Value, LocalValue> values;
  llvm::DenseMap<Value, ChunkPhase> carried; // arguments that microbatches overwrite, and in which phase
  std::map<StringRef, int64_t> owned; // arguments that are there once
  std::map<std::tuple<int64_t, int64_t, int64_t>, LocalValue> messages; // from, to, tag
};

struct VerifyEquivalencePass : para::impl::VerifyEquivalencePassBase<VerifyEquivalencePass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto mesh = getOperation()->getAttrOfType<MeshAttr>("para.mesh");
    if (!mesh)
      getOperation().emitError("has no para.mesh: nothing is known of its ranks");
    auto main = getMain(getOperation());
    if (!mesh || failed(main) || failed(EquivalenceChecker(getOperation(), *main, mesh).run()))
      signalPassFailure();
  }
};
} // namespace
