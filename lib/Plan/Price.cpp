#include "para/Plan/Price.h"
#include "para/Cost/Kernel.h"
#include "para/IR/Program.h"
#include "para/IR/Sharding.h"
#include "para/Interfaces/Collective.h"
#include "para/Interfaces/Structure.h"
#include "para/Plan/Segments.h"

#include <map>

using namespace mlir;
using namespace para;

namespace {
int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * llvm::divideCeil(tensor.getElementTypeBitWidth(), 8u);
}

struct Segment {
  double compute = 0, communication = 0;
  SmallVector<int64_t> receivesFrom;
};

class StagePricer {
public:
  StagePricer(func::FuncOp function, MeshAttr mesh, const Machine &machine) : function(function), mesh(mesh), machine(machine) {}

  void run() {
    for (Operation &op : function.getBody().front().without_terminator())
      add(&op);
    addKernels();
    countMemory();
  }

  std::map<Phase, Segment> segments;
  int64_t peakBytes = 0, stateBytes = 0;
  double flops = 0;
  /// Bytes sent by one execution of each phase.
  std::map<Phase, double> sent;

private:
  int64_t communicatorSize(CollectiveOpInterface op) {
    int64_t size = 1;
    for (StringRef axis : op.getCommunicatorAxes())
      size *= mesh.getSize(axis);
    return size;
  }

  void add(Operation *op) {
    Segment &segment = segments[getPhase(op)];
    if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
      int64_t n = communicatorSize(collective);
      Type type = op->getNumOperands() ? op->getOperand(0).getType() : op->getResult(0).getType();
      double width = double(llvm::divideCeil(cast<RankedTensorType>(type).getElementTypeBitWidth(), 8u));
      double bytes = collective.getSentElements(n) * width;
      sent[getPhase(op)] += bytes;
      bool pointToPoint = collective.getCommunicatorAxes().empty();
      // The tensor axis varies fastest over ranks: what fits into a node stays there.
      bool inside = (pointToPoint ? mesh.getNumRanks() : n) <= machine.getRanksPerNode();
      double start = machine.getStartSeconds(inside);
      double rate = machine.getLinkBytesPerSecond(inside);
      segment.communication += start * double(pointToPoint ? 1 : n - 1) + bytes / rate;
      bool ordered = getPhase(op) == Phase::Forward || getPhase(op) == Phase::Backward; // elsewhere stages talk to and fro
      if (auto peer = op->getAttrOfType<IntegerAttr>("peer"); peer && ordered && op->getNumResults() == 1)
        segment.receivesFrom.push_back(peer.getInt());
      return;
    }
    auto structured = dyn_cast<StructureOpInterface>(op);
    if (!structured)
      return;
    flops += structured.getFlops();
  }

  /// The kernels that the ops become.
  void addKernels() {
    const Device &device = machine.getDevice(0);
    StoragePolicy storage;
    bool isDouble = llvm::any_of(function.getArguments(), [&](BlockArgument argument) {
      return getArgKind(function, argument.getArgNumber()) == "parameter" && cast<RankedTensorType>(argument.getType()).getElementType().isF64();
    });
    if (isDouble)
      storage.compute = storage.gradient = storage.state = 8;
    std::vector<SegmentWork> works = collectWork(function, 1, storage);
    auto seconds = [&](const PhaseWork &phase) {
      double total = 0;
      for (const KernelWork &work : phase.kernels) {
        Kernel kernel;
        kernel.kind = getKernelKind(work.kind);
        kernel.type = isDouble ? CostType::F64 : CostType::F32;
        kernel.flops = work.flops;
        kernel.bytes = work.bytes;
        kernel.batch = work.batch, kernel.m = work.m, kernel.n = work.n, kernel.k = work.k;
        total += kernelSeconds(device, kernel);
      }
      return total;
    };
    segments[Phase::Forward].compute += seconds(works[0].forward);
    segments[Phase::Backward].compute += seconds(works[0].backwardInput) + seconds(works[0].backwardWeight);
    segments[Phase::Update].compute += seconds(works[0].update);
  }

  static Kernel::Kind getKernelKind(KernelWork::Kind kind) {
    switch (kind) {
    case KernelWork::Product: return Kernel::Product;
    case KernelWork::Convolution: return Kernel::Convolution;
    case KernelWork::Attention: return Kernel::Attention;
    case KernelWork::Stream: break;
    }
    return Kernel::Streaming;
  }

  /// Persistent values, values kept from forward to backward for each microbatch in flight, and the most that one pass over the
  /// program holds besides.
  void countMemory() {
    int64_t microbatches = mesh.getSize(kMicrobatch), inFlight = 0, now = 0;
    for (Attribute entry : function->getAttrOfType<ArrayAttr>("para.schedule")) {
      Phase phase = cast<PhaseAttr>(cast<ArrayAttr>(entry)[0]).getValue();
      now += phase == Phase::Forward ? 1 : phase == Phase::Backward ? -1 : 0;
      inFlight = std::max(inFlight, now);
    }
    for (BlockArgument argument : function.getArguments()) {
      StringRef kind = getArgKind(function, argument.getArgNumber());
      int64_t bytes = bytesOf(argument.getType());
      if (kind == "input")
        peakBytes += bytes * microbatches;
      else
        stateBytes += bytes;
    }
    int64_t kept = 0, step = 0, live = 0, most = 0;
    llvm::DenseMap<Operation *, SmallVector<Value>> dies;
    for (Operation &op : function.getBody().front().without_terminator()) {
      for (Value result : op.getResults()) {
        Operation *last = nullptr;
        for (Operation *user : result.getUsers())
          if (!last || last->isBeforeInBlock(user))
            last = user;
        Phase made = getPhase(&op), used = last && last->hasAttr("para.phase") ? getPhase(last) : made;
        bool returned = last && isa<func::ReturnOp>(last);
        if (made == Phase::Forward && used == Phase::Backward && op.getNumOperands() > 0) {
          kept += bytesOf(result.getType());
        } else if (made != used || returned) {
          step += returned ? 0 : bytesOf(result.getType());
        } else if (last) {
          live += bytesOf(result.getType());
          dies[last].push_back(result);
        }
      }
      most = std::max(most, live);
      for (Value value : dies.lookup(&op))
        live -= bytesOf(value.getType());
    }
    peakBytes += stateBytes + kept * std::max<int64_t>(1, inFlight) + step + most;
  }

  func::FuncOp function;
  MeshAttr mesh;
  const Machine &machine;
};
} // namespace

Price para::priceProgram(ModuleOp module, const Machine &machine) {
  Price price;
  auto mesh = module->getAttrOfType<MeshAttr>("para.mesh");
  int64_t stages = mesh.getSize("pipeline");
  std::vector<StagePricer> pricers;
  std::vector<SmallVector<std::pair<Phase, int64_t>>> actions(stages);
  for (int64_t stage = 0; stage < stages; ++stage) {
    auto function = module.lookupSymbol<func::FuncOp>("stage" + std::to_string(stage));
    pricers.emplace_back(function, mesh, machine);
    pricers.back().run();
    for (Attribute entry : function->getAttrOfType<ArrayAttr>("para.schedule"))
      actions[stage].push_back({cast<PhaseAttr>(cast<ArrayAttr>(entry)[0]).getValue(), cast<IntegerAttr>(cast<ArrayAttr>(entry)[1]).getInt()});
  }
  // Run the schedule: an action starts when its stage is free and what it receives has been sent.
  std::map<std::tuple<int64_t, Phase, int64_t>, double> finished;
  std::vector<double> free(stages, 0), compute(stages, 0), communication(stages, 0), sent(stages, 0);
  std::vector<size_t> next(stages, 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t stage = 0; stage < stages; ++stage)
      while (next[stage] < actions[stage].size()) {
        auto [phase, microbatch] = actions[stage][next[stage]];
        Segment &segment = pricers[stage].segments[phase];
        double start = free[stage];
        bool ready = true;
        for (int64_t from : segment.receivesFrom) {
          auto it = finished.find({from, phase, microbatch});
          ready &= it != finished.end();
          if (ready)
            start = std::max(start, it->second);
        }
        if (!ready)
          break;
        free[stage] = start + segment.compute + segment.communication;
        compute[stage] += segment.compute;
        communication[stage] += segment.communication;
        sent[stage] += pricers[stage].sent[phase];
        finished[{stage, phase, microbatch}] = free[stage];
        ++next[stage];
        moved = true;
      }
  }
  int64_t busiest = 0;
  for (int64_t stage = 0; stage < stages; ++stage) {
    if (compute[stage] + communication[stage] > compute[busiest] + communication[busiest])
      busiest = stage;
    price.secondsPerStep = std::max(price.secondsPerStep, free[stage]);
    price.peakBytes.push_back(pricers[stage].peakBytes);
    price.stateBytes.push_back(pricers[stage].stateBytes);
    price.bytesSent = std::max(price.bytesSent, int64_t(sent[stage] + 0.5));
    price.flops += pricers[stage].flops * double(mesh.getNumRanks() / stages);
  }
  if (machine.sharedCores > 0) { // what all ranks compute is done by so many cores, whoever waits for whom
    double all = 0;
    for (double seconds : compute)
      all += seconds * double(mesh.getNumRanks() / stages);
    price.secondsPerStep = std::max(price.secondsPerStep, all / machine.sharedCores);
  }
  price.computeSeconds = compute[busiest];
  price.exposedSeconds = communication[busiest];
  price.bubbleSeconds = std::max(0.0, price.secondsPerStep - compute[busiest] - communication[busiest]);
  return price;
}
