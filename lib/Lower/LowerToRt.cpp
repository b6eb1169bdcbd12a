//===- LowerToRt.cpp - Segments of device ops -----------------------------===//
#include "Manifest.h"
#include "MergeLaunches.h"
#include "MemoryPlanner.h"
#include "Tiles.h"
#include "UnderWay.h"

#include "para/IR/Phases.h"
#include "para/IR/Program.h"
#include "para/Lower/Messages.h"
#include "para/Lower/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <set>

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_LOWERTORTPASS
#include "para/Lower/Passes.h.inc"
} // namespace para

namespace {
/// Builds the segments of one stage.
class SegmentBuilder {
public:
  SegmentBuilder(ModuleOp module, func::FuncOp func, int64_t stage, SmallVector<ArrayAttr> &communicators, llvm::StringMap<std::string> &kernels, bool merges)
      : module(module), func(func), stage(stage), communicators(communicators), kernels(kernels), merges(merges), b(module.getContext()) {
    auto count = module->getAttrOfType<IntegerAttr>("para.microbatches");
    microbatches = count ? count.getInt() : 1;
  }

  void run() {
    SmallVector<ChunkPhase> phases;
    for (Attribute entry : func->getAttrOfType<ArrayAttr>("rt.actions"))
      if (ChunkPhase phase = getChunkPhase(cast<ArrayAttr>(entry)[0]); !llvm::is_contained(phases, phase))
        phases.push_back(phase);
    if (phases.empty()) { // Nothing is computed, but results may be copies of arguments.
      phases.push_back({Phase::Forward});
      func->setAttr("rt.actions", b.getArrayAttr(b.getArrayAttr({PhaseAttr::get(b.getContext(), Phase::Forward), b.getI64IntegerAttr(0), b.getI64IntegerAttr(0)})));
    }
    auto limits = limitUnderWay(func);
    for (auto call : func.getBody().front().getOps<rt::CallOp>())
      if (Operation *limit = limits.lookup(call))
        awaited[limit].push_back(call);
    for (ChunkPhase phase : phases)
      buildSegment(phase, phase == phases.back(), phases);
  }

private:
  rt::AddressAttr addressOf(Value v, int64_t elements = 0) {
    rt::AddressAttr address;
    if (auto argument = dyn_cast<BlockArgument>(v))
      address = func.getArgAttrOfType<rt::AddressAttr>(argument.getArgNumber(), "rt.address");
    else
      address = cast<rt::AddressAttr>(v.getDefiningOp()->getAttrOfType<ArrayAttr>("rt.addresses")[cast<OpResult>(v).getResultNumber()]);
    int64_t bytes = elements * elementBytes(v.getType());
    return rt::AddressAttr::get(b.getContext(), address.getOffset() + bytes, address.getBlock(), address.getSlot(), address.getRing());
  }

  Operation *make(Location loc, StringRef name, ArrayRef<Attribute> buffers, int64_t stream, ArrayRef<NamedAttribute> more) {
    OperationState state(loc, ("rt." + name).str());
    state.addAttribute("buffers", b.getArrayAttr(buffers));
    state.addAttribute("stream", b.getI64IntegerAttr(stream));
    state.addAttributes(more);
    Operation *op = b.create(state);
    device.push_back({op, {}, /*isBarrier=*/true});
    return op;
  }

  /// What the op that was made last touches.
  void touch(ValueRange inputs, ValueRange outputs) {
    DeviceOp &last = device.back();
    last.isBarrier = false;
    for (auto [values, isWrite] : {std::pair(inputs, false), std::pair(outputs, true)})
      for (Value v : values) {
        rt::AddressAttr address = addressOf(v);
        last.ranges.push_back({address.getOffset(), address.getOffset() + bytesOf(v), isWrite});
        last.isBarrier |= address.getBlock() != 0 || address.getSlot() != 0; // elsewhere for each microbatch
      }
  }
  NamedAttribute number(StringRef name, int64_t value) { return b.getNamedAttr(name, b.getI64IntegerAttr(value)); }

  void buildSegment(ChunkPhase phase, bool isLast, ArrayRef<ChunkPhase> phases) {
    b.setInsertionPoint(func);
    auto segment = rt::SegmentOp::create(b, func.getLoc(), segmentName(stage, phase), stage);
    b.createBlock(&segment.getBody());
    SmallVector<Operation *> ops;
    for (Operation &op : func.getBody().front().without_terminator())
      if (getChunkPhase(&op) == phase)
        ops.push_back(&op);
    perMicrobatch = !runsOnce(phase.phase);
    device.clear();
    // The message before must be gone when what it was sent from is written again (StageMessages.cpp).
    for (auto call : func.getBody().front().getOps<rt::CallOp>())
      if (auto waits = call->getAttrOfType<ArrayAttr>("rt.waits"))
        for (auto wait : waits.getAsRange<ArrayAttr>())
          if (getChunkPhase(wait[0]) == phase)
            make(call.getLoc(), "wait", {}, 1, {number("tag", tagOf(call)), number("back", cast<IntegerAttr>(wait[1]).getInt())});
    pending.clear();
    issued.clear();
    for (Operation *op : ops)
      if (auto call = dyn_cast<rt::CallOp>(op); call && isCollective(call))
        issued[communicatorOf(call)] += messagesOf(call);
    counts = issued;
    issued.clear();
    for (Operation *op : ops) {
      for (Value v : op->getOperands())
        awaitResult(v, op->getLoc());
      for (Operation *message : awaited.lookup(op))
        awaitResult(message->getResult(0), op->getLoc());
      if (auto fused = dyn_cast<rt::FusedOp>(op))
        launch(fused);
      else
        call(cast<rt::CallOp>(op));
    }
    for (auto &[event, loc] : pendingEvents())
      make(loc, "event_wait", {}, 0, number("event", event));
    pending.clear();
    for (Attribute entry : func->getAttrOfType<ArrayAttr>("rt.copies")) {
      auto copy = cast<ArrayAttr>(entry);
      ChunkPhase at = getChunkPhase(copy[0]);
      if (at == phase || (isLast && !llvm::is_contained(phases, at)))
        make(func.getLoc(), "copy", {copy[1], copy[2]}, 0, b.getNamedAttr("bytes", copy[3]));
    }
    if (merges)
      mergeLaunches(device, module);
    for (auto &[communicator, count] : counts)
      sequenceBase[communicator] += count * (perMicrobatch ? microbatches : 1);
  }

  static int64_t messagesOf(rt::CallOp call) { return call->hasAttr("rt.bucket_bytes") ? 1 : call.getInputs().size(); }
  static int64_t tagOf(rt::CallOp call) { return call.getDesc().getAs<IntegerAttr>("tag").getInt(); }
  static bool isCollective(rt::CallOp call) { return call.getDesc().contains("axes") && call.getDesc().contains("reduction"); }

  int64_t communicatorOf(rt::CallOp call) {
    auto axes = call.getDesc().getAs<ArrayAttr>("axes");
    auto it = llvm::find(communicators, axes);
    if (it == communicators.end()) {
      communicators.push_back(axes);
      return communicators.size() - 1;
    }
    return it - communicators.begin();
  }

  void awaitResult(Value v, Location loc) {
    auto it = pending.find(v);
    if (it == pending.end())
      return;
    int64_t event = it->second;
    make(loc, "event_wait", {}, 0, number("event", event));
    pending.remove_if([&](auto &entry) { return entry.second == event; });
  }

  SmallVector<std::pair<int64_t, Location>> pendingEvents() {
    SmallVector<std::pair<int64_t, Location>> result;
    for (auto &[v, event] : pending)
      if (result.empty() || result.back().first != event)
        result.push_back({event, v.getLoc()});
    return result;
  }

  /// The kernel of a fused op: equal bodies are one kernel.
  std::string shareKernel(rt::FusedOp fused) {
    OpBuilder::InsertionGuard keep(b);
    b.setInsertionPoint(func);
    auto kernel = rt::KernelOp::create(b, fused.getLoc(), "kernel", b.getArrayAttr({}), FlatSymbolRefAttr(), IntegerAttr(), IntegerAttr(), IntegerAttr(), IntegerAttr(),
                                       DenseI64ArrayAttr(), ArrayAttr());
    if (Attribute tiles = fused->getAttr(TileSpace::attrName))
      kernel->setAttr(TileSpace::attrName, tiles);
    kernel.getBody().takeBody(fused.getBody());
    std::string text;
    llvm::raw_string_ostream stream(text);
    kernel.getOperation()->print(stream, OpPrintingFlags().useLocalScope());
    auto [it, fresh] = kernels.try_emplace(text, "kernel_" + std::to_string(kernels.size()));
    if (fresh)
      kernel.setSymName(it->second);
    else
      kernel.erase();
    return it->second;
  }

  void launch(rt::FusedOp fused) {
    SmallVector<Attribute> buffers;
    for (Value v : fused.getInputs())
      buffers.push_back(addressOf(v));
    for (Value v : fused.getOutputs())
      buffers.push_back(addressOf(v));
    FactsCache facts; // by op: those of a body go with it
    bool isTiles = fused->hasAttr(TileSpace::attrName); // which take no table of instances
    LaunchKind kind = merges && !isTiles ? describeLaunch(fused, facts) : LaunchKind();
    std::string name = shareKernel(fused);
    make(fused.getLoc(), "launch", buffers, 0, b.getNamedAttr("kernel", FlatSymbolRefAttr::get(b.getContext(), name)));
    touch(fused.getInputs(), fused.getOutputs());
    device.back().key = isTiles ? "" : kind.varies.empty() ? name : kind.text;
    device.back().varies = kind.varies;
    device.back().extent = kind.extent;
  }

  void call(rt::CallOp call) {
    StringRef callee = call.getCallee();
    SmallVector<Attribute> inputs, outputs;
    for (auto [v, offset] : llvm::zip_equal(call.getInputs(), call.getOffsets()))
      inputs.push_back(addressOf(v, offset));
    for (Value v : call.getOutputs())
      outputs.push_back(addressOf(v));
    SmallVector<NamedAttribute> desc(call.getDesc().getValue());
    if (isCollective(call))
      return collective(call, inputs, outputs);
    if (callee == "send" || callee == "recv") {
      int64_t event = nextEvent++;
      make(call.getLoc(), "event_record", {}, 0, number("event", event));
      make(call.getLoc(), "event_wait", {}, 1, number("event", event));
      llvm::erase_if(desc, [](NamedAttribute entry) { return entry.getName() == "depth"; });
      make(call.getLoc(), callee, callee == "send" ? inputs : outputs, 1, desc);
      if (callee == "recv")
        finish(call);
      return;
    }
    if (callee == "convolution") { // The runtime takes x, w, y, whichever is written.
      int64_t kind = call.getDesc().getAs<IntegerAttr>("kind").getInt();
      Attribute first = inputs[0], second = inputs[1], result = outputs[0];
      SmallVector<Attribute> buffers{first, second, result};
      if (kind == 1)
        buffers = {result, second, first};
      else if (kind == 2)
        buffers = {second, result, first};
      make(call.getLoc(), callee, buffers, 0, desc);
      touch(call.getInputs(), call.getOutputs());
      return;
    }
    SmallVector<Attribute> buffers(inputs);
    llvm::append_range(buffers, outputs);
    make(call.getLoc(), callee, buffers, 0, desc);
    touch(call.getInputs(), call.getOutputs());
  }

  /// Marks the results as under way on the communication stream.
  void finish(rt::CallOp call) {
    int64_t event = nextEvent++;
    make(call.getLoc(), "event_record", {}, 1, number("event", event));
    for (Value v : call.getOutputs())
      pending[v] = event;
  }

  void collective(rt::CallOp call, ArrayRef<Attribute> inputs, ArrayRef<Attribute> outputs) {
    bool isBucket = call->hasAttr("rt.bucket_bytes");
    for (auto [in, out, v] : llvm::zip(inputs, outputs, call.getInputs()))
      if (isBucket && in != out)
        make(call.getLoc(), "copy", {in, out}, 0, number("bytes", bytesOf(v)));
    int64_t communicator = communicatorOf(call), event = nextEvent++;
    make(call.getLoc(), "event_record", {}, 0, number("event", event));
    make(call.getLoc(), "event_wait", {}, 1, number("event", event));
    auto issue = [&](Attribute in, Attribute out, int64_t count, int64_t sequence, int64_t step) {
      DictionaryAttr desc = call.getDesc();
      make(call.getLoc(), call.getCallee(), {in, out}, 1,
           {number("communicator", communicator), number("sequence", sequence), number("per_microbatch", step), number("count", count),
            b.getNamedAttr("dtype", desc.get("dtype")), b.getNamedAttr("reduction", desc.get("reduction"))});
    };
    int64_t step = perMicrobatch ? counts[communicator] : 0;
    int64_t sequence = sequenceBase[communicator] + issued[communicator];
    issued[communicator] += messagesOf(call);
    if (auto count = call.getDesc().getAs<IntegerAttr>("count")) {
      issue(inputs[0], outputs[0], count.getInt(), sequence, step);
    } else if (auto bytes = call->getAttrOfType<IntegerAttr>("rt.bucket_bytes")) {
      issue(outputs[0], outputs[0], bytes.getInt() / elementBytes(call.getInputs()[0].getType()), sequence, step);
    } else {
      for (auto [in, out, v] : llvm::zip_equal(inputs, outputs, call.getInputs()))
        issue(in, out, sizeOf(v), sequence++, step);
    }
    finish(call);
  }

  ModuleOp module;
  func::FuncOp func;
  int64_t stage, microbatches, nextEvent = 0;
  bool perMicrobatch = true;
  SmallVector<ArrayAttr> &communicators;
  llvm::StringMap<std::string> &kernels;
  bool merges; ///< launches
  std::vector<DeviceOp> device; ///< of this segment
  llvm::MapVector<Value, int64_t> pending;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> awaited; ///< messages that are waited for before another
  llvm::MapVector<int64_t, int64_t> counts, issued, sequenceBase;
  OpBuilder b;
};

struct LowerToRtPass : public para::impl::LowerToRtPassBase<LowerToRtPass> {
  using LowerToRtPassBase::LowerToRtPassBase;
  /// Kernels all of whose launches have become part of others.
  void eraseUnused() {
    llvm::StringSet<> used;
    getOperation().walk([&](rt::LaunchOp launch) { used.insert(launch.getKernel()); });
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<rt::KernelOp>()))
      if (!used.contains(kernel.getSymName()))
        kernel.erase();
  }

  void runOnOperation() override {
    SmallVector<ArrayAttr> communicators;
    llvm::StringMap<std::string> kernels;
    SmallVector<func::FuncOp> funcs(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp func : funcs)
      if (!func->hasAttr("rt.actions")) {
        func.emitError() << "has no addresses: para-assign-memory comes first";
        return signalPassFailure();
      }
    for (auto [stage, func] : llvm::enumerate(funcs))
      SegmentBuilder(getOperation(), func, stage, communicators, kernels, /*merges=*/target != "host").run();
    eraseUnused();
    SmallVector<Attribute> lists(communicators.begin(), communicators.end());
    if (failed(writeManifest(getOperation(), ArrayAttr::get(&getContext(), lists), target)) || failed(assignChannels(getOperation())))
      return signalPassFailure();
    for (func::FuncOp func : funcs)
      func.erase();
  }
};
} // namespace
