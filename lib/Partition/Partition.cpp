#include "ReshardEmitter.h"

#include "para/IR/Phases.h"
#include "para/IR/Program.h"
#include "para/Partition/Passes.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_PARTITIONPASS
#include "para/Partition/Passes.h.inc"
} // namespace para

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
int64_t getStage(Operation *op) {
  auto stage = op->getAttrOfType<IntegerAttr>("para.stage");
  return stage ? stage.getInt() : 0;
}

/// One way in which a value lies on the ranks. What a reshard made serves its stage from then on, but for parameters and what the plan
/// marks `para.regather`: what is gathered for the forward pass is gathered again for the backward pass rather than kept.
struct Version {
  Sharding sharding;
  Value local;
  bool original;
  Phase phase;
  int64_t stage;
};

class Partitioner {
public:
  Partitioner(func::FuncOp main, MeshAttr mesh)
      : main(main), mesh(mesh), builder(main.getContext()), microbatches(mesh.getSize(kMicrobatch)),
        emitter(builder, mesh, [this](Operation *op) { tag(op); }), reshards(mesh) {}

  LogicalResult run() {
    builder.setInsertionPointAfter(main);
    spmd = func::FuncOp::create(builder, main.getLoc(), "spmd", FunctionType::get(main.getContext(), {}, {}));
    for (NamedAttribute attr : main->getDiscardableAttrs())
      spmd->setAttr(attr.getName(), attr.getValue());
    builder.setInsertionPointToStart(spmd.addEntryBlock());
    for (BlockArgument argument : main.getArguments())
      addArgument(argument);
    for (Operation &op : main.getBody().front().without_terminator()) {
      if (failed(visit(&op)))
        return failure();
      ++number;
    }
    return finish();
  }

private:
  void tag(Operation *op) {
    op->setAttr("para.phase", PhaseAttr::get(op->getContext(), phase));
    op->setAttr("para.stage", builder.getI64IntegerAttr(stage));
  }

  void addArgument(BlockArgument argument) {
    unsigned index = argument.getArgNumber();
    auto attr = main.getArgAttrOfType<ShardingAttr>(index, "para.sharding");
    Sharding sharding = attr ? Sharding::get(attr) : Sharding::replicated(typeOf(argument).getRank());
    sharding = sharding.getCanonical(typeOf(argument), mesh);
    SmallVector<NamedAttribute> attributes(main.getArgAttrDict(index) ? main.getArgAttrDict(index).getValue() : ArrayRef<NamedAttribute>());
    NamedAttrList list(attributes);
    list.set("para.sharding", sharding.getAttr(argument.getContext()));
    list.set("para.global", TypeAttr::get(argument.getType()));
    (void)spmd.insertArgument(index, sharding.getLocalType(typeOf(argument), mesh), list.getDictionary(argument.getContext()), argument.getLoc());
    auto home = main.getArgAttrOfType<IntegerAttr>(index, "para.stage");
    versions[argument].push_back({sharding, spmd.getArgument(index), true, Phase::Prepare, home ? home.getInt() : 0});
  }

  /// The local value of `value` in the wanted sharding, resharded at the builder's place if need be.
  FailureOr<Value> get(Location loc, Value value, Sharding wanted) {
    RankedTensorType global = typeOf(value);
    wanted = wanted.getCanonical(global, mesh);
    if (failed(accumulate(loc, value, wanted)))
      return failure();
    Operation *maker = value.getDefiningOp();
    bool lasts = maker && !maker->hasAttr("para.regather");
    std::optional<ReshardPath> best;
    const Version *from = nullptr;
    for (const Version &version : versions[value]) {
      bool kept = version.stage == stage && (version.phase == phase || (version.phase < phase && lasts));
      if (!version.original && !kept)
        continue;
      std::optional<ReshardPath> path = reshards.find(global, version.sharding, wanted);
      if (path && (!best || std::make_pair(path->bytes, path->moves.size()) < std::make_pair(best->bytes, best->moves.size()))) {
        best = std::move(path);
        from = &version;
      }
    }
    if (!best)
      return emitError(loc) << "no reshard leads to " << wanted.getAttr(builder.getContext()) << " of a value of type " << global << " from "
                            << versions[value].front().sharding.getAttr(builder.getContext());
    if (from->sharding.isCut(kMicrobatch) && !wanted.isCut(kMicrobatch))
      return emitError(loc) << "needs rows of other microbatches and cannot run in microbatches: use --microbatches 1";
    if (best->moves.empty())
      return from->local;
    Value local = emitter.emit(loc, from->local, global, from->sharding, *best);
    versions[value].push_back({wanted, local, false, phase, stage});
    return local;
  }

  /// A value that each microbatch adds to, asked for outside of the microbatches, is summed over them first.
  LogicalResult accumulate(Location loc, Value value, const Sharding &wanted) {
    Version version = versions[value].front();
    bool prepared = version.phase == Phase::Prepare;
    bool done = prepared ? phase != Phase::Prepare : runsOnce(phase);
    if (microbatches == 1 || runsOnce(version.phase) || !done || isa<BlockArgument>(value))
      return success();
    if (version.sharding.isCut(kMicrobatch))
      return emitError(loc) << "needs the whole batch at once and cannot run in microbatches: use --microbatches 1";
    if (!version.sharding.isPartial(kMicrobatch))
      return success();
    if (version.sharding.reduction != ReductionKind::Sum)
      return emitError(loc) << "takes an extreme over the batch, which cannot be accumulated over microbatches: use --microbatches 1";
    std::swap(phase, version.phase);
    std::swap(stage, version.stage);
    Value sum = buildAccumulate(builder, value.getLoc(), version.local);
    tag(sum.getDefiningOp());
    std::swap(phase, version.phase);
    std::swap(stage, version.stage);
    Sharding sharding = version.sharding;
    sharding.removePartial(kMicrobatch);
    // From here on this is the value; what a microbatch adds is of no further use.
    versions[value] = {{sharding, sum, true, prepared ? Phase::Setup : phase, version.stage}};
    if (prepared) { // what all microbatches share is brought into place once, before the first of them
      llvm::SaveAndRestore<Phase> restore(phase, Phase::Setup);
      Sharding once = wanted; // which part of it a microbatch takes is for the microbatch
      for (DimSharding &dim : once.dims)
        llvm::erase(dim.axes, builder.getStringAttr(kMicrobatch));
      return retarget(value, once);
    }
    return success();
  }

  LogicalResult visit(Operation *op) {
    auto structured = dyn_cast<StructureOpInterface>(op);
    if (!structured)
      return op->emitOpError("does not tell its structure and cannot be partitioned");
    phase = getPhase(op);
    stage = getStage(op);
    Structure structure = structured.getStructure();
    OpSplit split = OpSplit::get(op, structure);
    Projection projection(structure, mesh);
    SmallVector<Value> operands;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      Sharding wanted = projection.getOperand(split, index);
      auto local = get(op->getLoc(), operand, wanted);
      if (failed(local))
        return failure();
      operands.push_back(maskPadding(op, structure, split, projection, index, *local));
    }
    SmallVector<Type> types;
    SmallVector<Sharding> shardings;
    for (auto [index, result] : llvm::enumerate(op->getResults())) {
      shardings.push_back(projection.getResult(split, index));
      types.push_back(shardings.back().getLocalType(typeOf(result), mesh));
    }
    Operation *local = structured.buildLocal(builder, operands, types);
    for (NamedAttribute attr : op->getDiscardableAttrs())
      local->setAttr(attr.getName(), attr.getValue());
    for (StringRef served : {"para.split", "para.partial_operand", "para.local", "para.target", "para.recompute", "para.regather"})
      local->removeAttr(served);
    auto repeats = op->getAttrOfType<IntegerAttr>("para.repeats"); // what is computed again is a part of the same op
    local->setAttr("para.origin", repeats ? repeats : builder.getI64IntegerAttr(number));
    for (auto [index, factor] : llvm::enumerate(split.factors))
      if (!factor.axes.empty())
        structured.describeShard(local, index, builder.getArrayAttr(SmallVector<Attribute>(factor.axes.begin(), factor.axes.end())),
                                 structure.factors[index].size, factor.unit);
    for (auto [index, result] : llvm::enumerate(op->getResults()))
      versions[result] = {{shardings[index].getCanonical(typeOf(result), mesh), local->getResult(index), true, phase, stage}};
    if (auto target = op->getAttrOfType<ShardingAttr>("para.target"))
      return retarget(op->getResult(0), Sharding::get(target));
    return success();
  }

  /// Brings a value into its planned sharding where it is made; the original is of no further use.
  LogicalResult retarget(Value value, Sharding target) {
    if (!runsOnce(phase) && versions[value].front().sharding.isPartial(kMicrobatch))
      target.addPartial(builder.getStringAttr(kMicrobatch));
    auto local = get(value.getLoc(), value, target);
    if (failed(local))
      return failure();
    versions[value] = {{target.getCanonical(typeOf(value), mesh), *local, true, phase, stage}};
    return success();
  }

  /// An operand whose padding a reduction would read gets the reduction's identity there.
  Value maskPadding(Operation *op, const Structure &structure, const OpSplit &split, Projection &projection, unsigned index, Value local) {
    RankedTensorType global = typeOf(op->getOperand(index));
    for (auto [dim, factors] : llvm::enumerate(structure.operands[index])) {
      DimSharding cut = projection.project(factors, split);
      if (cut.axes.empty() || !cut.hasPadding(global.getDimSize(dim), mesh))
        continue;
      for (int factor : factors) {
        const Factor &f = structure.factors[factor];
        if (f.kind != FactorKind::Reduction || !f.readsPadding || split.factors[factor].axes.empty())
          continue;
        local = emitter.mask(op->getLoc(), local, global, cut, dim, f.reduction);
      }
    }
    return local;
  }

  LogicalResult finish() {
    bool trains = llvm::any_of(llvm::seq<unsigned>(0, main.getNumResults()), [&](unsigned i) { return getResultKind(main, i) == "update"; });
    SmallVector<ProgramResult> results;
    for (auto [index, result] : llvm::enumerate(getResults(main))) {
      Version version = versions[result.value].front();
      phase = trains ? Phase::Update : Phase::Forward;
      stage = version.stage;
      Sharding wanted = version.sharding;
      wanted.partial.clear();
      auto updates = main.getResultAttrOfType<StringAttr>(index, "para.updates");
      if (updates) {
        unsigned argument = getArgIndex(main, updates.getValue());
        wanted = versions[main.getArgument(argument)].front().sharding;
        if (getArgKind(main, argument) == "buffer") // carried from microbatch to microbatch
          phase = version.phase;
      } else if (getResultKind(main, index) == "output" && typeOf(result.value).getRank() == 0) {
        wanted = Sharding::replicated(0);
      }
      auto local = get(result.value.getLoc(), result.value, wanted);
      if (failed(local))
        return failure();
      NamedAttrList list(result.attributes);
      list.set("para.sharding", wanted.getCanonical(typeOf(result.value), mesh).getAttr(builder.getContext()));
      list.set("para.global", TypeAttr::get(result.value.getType()));
      list.set("para.stage", builder.getI64IntegerAttr(stage));
      results.push_back({*local, list.getDictionary(builder.getContext())});
    }
    func::ReturnOp::create(builder, main.getLoc());
    setResults(spmd, results);
    sortByPhase();
    return success();
  }

  /// What partitioning adds stands where it was asked for; phases are put in their order, each keeping its own.
  void sortByPhase() {
    Block &block = spmd.getBody().front();
    SmallVector<Operation *> ops = llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
    llvm::stable_sort(ops, [](Operation *a, Operation *b) { return getPhase(a) < getPhase(b); });
    for (Operation *op : ops)
      op->moveBefore(block.getTerminator());
  }

  func::FuncOp main, spmd;
  MeshAttr mesh;
  OpBuilder builder;
  int64_t microbatches;
  ReshardEmitter emitter;
  ReshardFinder reshards;
  llvm::DenseMap<Value, std::vector<Version>> versions;
  Phase phase = Phase::Forward;
  int64_t stage = 0, number = 0;
};

struct PartitionPass : para::impl::PartitionPassBase<PartitionPass> {
  void runOnOperation() override {
    auto main = getMain(getOperation());
    auto mesh = getOperation()->getAttrOfType<MeshAttr>("para.mesh");
    if (failed(main))
      return signalPassFailure();
    if (!mesh) {
      getOperation().emitError("has no para.mesh: the plan stage comes first");
      return signalPassFailure();
    }
    if (failed(Partitioner(*main, mesh).run()))
      signalPassFailure();
  }
};
} // namespace
