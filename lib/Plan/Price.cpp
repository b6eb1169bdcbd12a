#include "para/Plan/Price.h"
#include "para/Cost/Kernel.h"
#include "para/IR/Phases.h"
#include "para/IR/Program.h"
#include "para/IR/Sharding.h"
#include "para/Interfaces/Collective.h"
#include "para/Interfaces/Library.h"
#include "para/Interfaces/Precision.h"
#include "para/Interfaces/Structure.h"
#include "para/Lower/Kernels.h"
#include "para/Plan/Segments.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>

using namespace mlir;
using namespace para;

namespace {
int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * llvm::divideCeil(tensor.getElementTypeBitWidth(), 8u);
}

struct Segment {
  double compute = 0, communication = 0;
  SmallVector<std::pair<int64_t, ChunkPhase>> receivesFrom; ///< what these stages send in these phases of the same microbatch
  SmallVector<int64_t> joins;        ///< what these have when all their passes are over: gradients of tied parameters
};

/// A kernel or call as the host runs it.
double getSeconds(const Device &device, const FormedKernel &formed) {
  CostType type = formed.width == 8 ? CostType::F64 : formed.width == 2 ? CostType::BF16 : CostType::F32;
  Kernel kernel = formed.kind == FormedKernel::Product ? Kernel::product(type, formed.m, formed.n, formed.k, formed.batch) : Kernel();
  kernel.type = type;
  kernel.bytes = formed.bytes;
  kernel.flops = formed.kind == FormedKernel::Fused ? formed.work : formed.flops;
  if (formed.kind == FormedKernel::Convolution)
    kernel.kind = Kernel::Convolution;
  double seconds = kernelSeconds(device, kernel);
  if (formed.summedBytes > 0) // a product waits for what it adds to, and writes it again
    seconds += kernelSeconds(device, Kernel::streaming(2 * formed.summedBytes));
  return seconds;
}

class StagePricer {
public:
  /// `senders`: when what a stage sends under a tag is sent.
  using Senders = std::map<std::pair<int64_t, int64_t>, ChunkPhase>;
  StagePricer(func::FuncOp function, MeshAttr mesh, const Machine &machine, const Senders &senders) : function(function), mesh(mesh), machine(machine), senders(senders) {}

  /// `formed`: the kernels of the program if they are known; or else they are guessed from the ops.
  void run(const std::vector<FormedKernel> *formed) {
    for (Operation &op : function.getBody().front().without_terminator()) {
      add(&op);
      chunks = std::max(chunks, getChunkPhase(&op).chunk + 1);
    }
    if (formed)
      addKernels(*formed);
    else
      addKernels();
    countMemory();
  }

  std::map<ChunkPhase, Segment> segments;
  int64_t peakBytes = 0, stateBytes = 0;
  double flops = 0;
  /// Bytes sent by one execution of each phase.
  std::map<ChunkPhase, double> sent;

private:
  int64_t communicatorSize(CollectiveOpInterface op) {
    int64_t size = 1;
    for (StringRef axis : op.getCommunicatorAxes())
      size *= mesh.getSize(axis);
    return size;
  }

  /// Bytes that a rank copies where ranks share memory (runtime/host/SharedCommunicator.cpp, Messages.cpp): each read and written once.
  static double getCopiedBytes(Operation *op, double sent, double n) {
    auto library = dyn_cast<LibraryOpInterface>(op);
    std::optional<LibraryCall> call = library ? library.getLibraryCall() : std::nullopt;
    switch (call ? call->kind : LibraryCall::AllToAll) {
    case LibraryCall::AllReduce: return sent * n / (2 * (n - 1)); // reads its piece of all inputs, writes it into all outputs
    case LibraryCall::ReduceScatter: return sent * (n + 1) / (2 * (n - 1)); // likewise into one
    case LibraryCall::Send: return 0; // the receiver fetches it
    case LibraryCall::Recv: return double(bytesOf(op->getResult(0).getType()));
    default: return sent;
    }
  }

  void add(Operation *op) {
    Segment &segment = segments[getChunkPhase(op)];
    if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
      int64_t n = communicatorSize(collective);
      Type type = op->getNumOperands() ? op->getOperand(0).getType() : op->getResult(0).getType();
      double width = double(llvm::divideCeil(cast<RankedTensorType>(type).getElementTypeBitWidth(), 8u));
      double bytes = collective.getSentElements(n) * width;
      sent[getChunkPhase(op)] += bytes;
      bool pointToPoint = collective.getCommunicatorAxes().empty();
      // The tensor axis varies fastest over ranks: what fits into a node stays there.
      bool inside = (pointToPoint ? mesh.getNumRanks() : n) <= machine.getRanksPerNode();
      double start = machine.getStartSeconds(inside);
      double rate = machine.getLinkBytesPerSecond(inside);
      double steps = double(pointToPoint ? 1 : n - 1);
      if (machine.getDevice(0).kind == "processor" && (pointToPoint || n > 1)) {
        bytes = getCopiedBytes(op, bytes, double(n));
        steps = pointToPoint ? 1 : 2; // all meet before and after
      }
      segment.communication += start * steps + bytes / rate;
      bool ordered = getPhase(op) == Phase::Forward || getPhase(op) == Phase::Backward; // elsewhere stages talk to and fro
      if (auto peer = op->getAttrOfType<IntegerAttr>("peer"); peer && op->getNumResults() == 1) {
        if (ordered)
          segment.receivesFrom.push_back({peer.getInt(), senders.at({peer.getInt(), op->getAttrOfType<IntegerAttr>("tag").getInt()})});
        else if (getPhase(op) == Phase::Update)
          segment.joins.push_back(peer.getInt());
      }
      return;
    }
    auto structured = dyn_cast<StructureOpInterface>(op);
    if (!structured)
      return;
    flops += structured.getFlops();
  }

  bool isDouble() {
    return llvm::any_of(function.getArguments(), [&](BlockArgument argument) {
      return getArgKind(function, argument.getArgNumber()) == "parameter" && cast<RankedTensorType>(argument.getType()).getElementType().isF64();
    });
  }

  /// Whether products are of 16-bit floats, as some op's operands then are.
  bool isNarrow() {
    return llvm::any_of(function.getBody().front(), [](Operation &op) { return llvm::any_of(op.getOperandTypes(), para::isNarrow); });
  }

  void addKernels(const std::vector<FormedKernel> &formed) {
    for (const FormedKernel &kernel : formed)
      if (kernel.kind != FormedKernel::Collective && kernel.kind != FormedKernel::Message)
        segments[kernel.phase].compute += getSeconds(machine.getDevice(0), kernel);
  }

  /// The kernels that the ops become.
  void addKernels() {
    const Device &device = machine.getDevice(0);
    StoragePolicy storage;
    CostType type = isDouble() ? CostType::F64 : isNarrow() ? CostType::BF16 : CostType::F32;
    if (type == CostType::F64)
      storage.compute = storage.gradient = storage.state = 8;
    if (type == CostType::BF16)
      storage.compute = 2;
    std::vector<SegmentWork> works = collectChunks(storage);
    auto seconds = [&](const PhaseWork &phase) {
      double total = 0;
      for (const KernelWork &work : phase.kernels) {
        Kernel kernel;
        kernel.kind = getKernelKind(work.kind);
        kernel.type = type;
        kernel.flops = work.flops;
        kernel.bytes = work.bytes;
        kernel.batch = work.batch, kernel.m = work.m, kernel.n = work.n, kernel.k = work.k;
        total += kernelSeconds(device, kernel);
      }
      return total;
    };
    for (auto [chunk, work] : llvm::enumerate(works)) {
      int64_t c = chunk;
      segments[{Phase::Forward, c}].compute += seconds(work.forward);
      segments[{Phase::Backward, c}].compute += seconds(work.backwardInput);
      segments[getLastPass(c)].compute += seconds(work.backwardWeight);
      segments[{Phase::Update}].compute += seconds(work.update);
    }
  }

  /// The work of each chunk.
  std::vector<SegmentWork> collectChunks(const StoragePolicy &storage) {
    if (chunks == 1)
      return collectWork(function, 1, storage);
    auto module = function->getParentOfType<ModuleOp>();
    OwningOpRef<ModuleOp> copy = module.clone();
    auto byChunk = copy->lookupSymbol<func::FuncOp>(function.getName());
    Builder builder(function.getContext());
    for (Operation &op : byChunk.getBody().front())
      op.setAttr("para.stage", builder.getI64IntegerAttr(getChunkPhase(&op).chunk));
    SmallVector<StagePlace> places = getPlaces(module);
    for (unsigned index = 0; index < byChunk.getNumArguments(); ++index)
      if (auto home = byChunk.getArgAttrOfType<IntegerAttr>(index, "para.stage"))
        byChunk.setArgAttr(index, "para.stage", builder.getI64IntegerAttr(places[home.getInt()].chunk));
    return collectWork(byChunk, chunks, storage);
  }

  /// The phase that ends a microbatch's way through a chunk.
  ChunkPhase getLastPass(int64_t chunk) {
    ChunkPhase weight = {Phase::Weight, chunk};
    bool isParted = llvm::any_of(function.getBody().front(), [&](Operation &op) { return getChunkPhase(&op) == weight; });
    return isParted ? weight : ChunkPhase{Phase::Backward, chunk};
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
    int64_t microbatches = mesh.getSize(kMicrobatch);
    SmallVector<int64_t> now(chunks, 0), inFlight(chunks, 1);
    SmallVector<ChunkPhase> lastPasses = llvm::map_to_vector(llvm::seq(chunks), [&](int64_t chunk) { return getLastPass(chunk); });
    for (auto [phase, microbatch] : readSchedule(function)) {
      now[phase.chunk] += phase.phase == Phase::Forward ? 1 : phase == lastPasses[phase.chunk] ? -1 : 0;
      inFlight[phase.chunk] = std::max(inFlight[phase.chunk], now[phase.chunk]);
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
        ChunkPhase made = getChunkPhase(&op), used = last && last->hasAttr("para.phase") ? getChunkPhase(last) : made;
        bool returned = last && isa<func::ReturnOp>(last);
        bool passes = made != used && isPass(made.phase) && isPass(used.phase);
        if (passes && op.getNumOperands() > 0) {
          kept += bytesOf(result.getType()) * inFlight[made.chunk];
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
    peakBytes += stateBytes + kept + step + most;
  }

  func::FuncOp function;
  MeshAttr mesh;
  const Machine &machine;
  const Senders &senders;
  int64_t chunks = 1; ///< of the model
};

/// A stage while its schedule runs.
struct StageRun {
  SmallVector<ScheduledPhase> actions;
  double compute = 0, communication = 0, sent = 0; ///< all of the step
  size_t next = 0;
  bool isRunning = false;
  double left = 0, finish = 0; ///< seconds of the action that runs, on a core of its own; when the last one ended

  /// All passes forward and backward are over.
  bool hasPassed() const {
    return llvm::none_of(ArrayRef(actions).drop_front(next), [](const ScheduledPhase &action) { return isPass(action.phase.phase); });
  }
};

/// How many of a stage's ranks run on each core: runtime/host/Placement.cpp binds ranks that share cores. Where they cannot be shared out
/// evenly the system places them, which test/Execution/predict.py has found to come to the same. Ranks have a thread each.
std::vector<double> countOnCores(int64_t stage, int64_t ranksOfStage, int64_t cores) {
  std::vector<double> places(cores, 0);
  for (int64_t i = 0; i < ranksOfStage; ++i)
    places[(stage * ranksOfStage + i) % cores] += 1;
  return places;
}

/// An action starts when its stage is free and what it receives has been sent. Ranks that wait sleep; those that do not share their cores.
void runSchedule(std::vector<StageRun> &runs, std::vector<StagePricer> &pricers, int64_t ranksOfStage, double sharedCores) {
  int64_t stages = int64_t(runs.size()), cores = int64_t(sharedCores);
  std::vector<std::vector<double>> places;
  for (int64_t stage = 0; stage < stages && cores > 0; ++stage)
    places.push_back(countOnCores(stage, ranksOfStage, cores));
  std::set<std::tuple<int64_t, ChunkPhase, int64_t>> finished;
  for (double now = 0;;) {
    for (int64_t stage = 0; stage < stages; ++stage) {
      StageRun &run = runs[stage];
      if (run.isRunning || run.next == run.actions.size())
        continue;
      auto [phase, microbatch] = run.actions[run.next];
      Segment &segment = pricers[stage].segments[phase];
      run.isRunning = true;
      for (auto [from, sent] : segment.receivesFrom)
        run.isRunning &= finished.count({from, sent, microbatch}) > 0;
      for (int64_t from : segment.joins)
        run.isRunning &= runs[from].hasPassed();
      run.left = segment.compute + segment.communication;
    }
    std::vector<double> load(cores, 0);
    for (int64_t stage = 0; stage < stages; ++stage)
      for (int64_t core = 0; core < cores && runs[stage].isRunning; ++core)
        load[core] += places[stage][core];
    // A stage is as fast as its slowest rank.
    auto getSlowdown = [&](int64_t stage) {
      double most = 1;
      for (int64_t core = 0; core < cores; ++core)
        if (places[stage][core] > 0)
          most = std::max(most, load[core]);
      return most;
    };
    double step = std::numeric_limits<double>::infinity();
    for (int64_t stage = 0; stage < stages; ++stage)
      if (runs[stage].isRunning)
        step = std::min(step, runs[stage].left * getSlowdown(stage));
    if (std::isinf(step))
      return;
    now += step;
    for (int64_t stage = 0; stage < stages; ++stage) {
      StageRun &run = runs[stage];
      if (!run.isRunning)
        continue;
      double slowdown = getSlowdown(stage);
      bool ends = run.left * slowdown <= step * (1 + 1e-12);
      run.left -= step / slowdown;
      if (!ends)
        continue;
      finished.insert({stage, run.actions[run.next].phase, run.actions[run.next].microbatch});
      run.isRunning = false;
      run.finish = now;
      ++run.next;
    }
  }
}
} // namespace

Price para::priceProgram(ModuleOp module, const Machine &machine) {
  Price price;
  auto mesh = module->getAttrOfType<MeshAttr>("para.mesh");
  int64_t stages = mesh.getSize("pipeline");
  // The host's kernels are known before they are made; what other devices' constants are fitted to counts ops.
  FailureOr<FormedKernels> formed = failure();
  if (machine.getDevice(0).kind == "processor")
    formed = formKernels(module);
  StagePricer::Senders senders;
  for (int64_t stage = 0; stage < stages; ++stage)
    for (Operation &op : module.lookupSymbol<func::FuncOp>("stage" + std::to_string(stage)).getBody().front())
      if (auto tag = op.getAttrOfType<IntegerAttr>("tag"); tag && op.getNumResults() == 0)
        senders[{stage, tag.getInt()}] = getChunkPhase(&op);
  std::vector<StagePricer> pricers;
  std::vector<StageRun> runs(stages);
  for (int64_t stage = 0; stage < stages; ++stage) {
    auto function = module.lookupSymbol<func::FuncOp>("stage" + std::to_string(stage));
    pricers.emplace_back(function, mesh, machine, senders);
    pricers.back().run(succeeded(formed) ? &(*formed)[function.getName()] : nullptr);
    for (const ScheduledPhase &entry : readSchedule(function)) {
      ChunkPhase phase = entry.phase;
      runs[stage].actions.push_back(entry);
      runs[stage].compute += pricers[stage].segments[phase].compute;
      runs[stage].communication += pricers[stage].segments[phase].communication;
      runs[stage].sent += pricers[stage].sent[phase];
    }
  }
  runSchedule(runs, pricers, mesh.getNumRanks() / stages, machine.sharedCores);
  int64_t busiest = 0;
  for (int64_t stage = 0; stage < stages; ++stage) {
    if (runs[stage].compute + runs[stage].communication > runs[busiest].compute + runs[busiest].communication)
      busiest = stage;
    price.secondsPerStep = std::max(price.secondsPerStep, runs[stage].finish);
    price.peakBytes.push_back(pricers[stage].peakBytes);
    price.stateBytes.push_back(pricers[stage].stateBytes);
    price.bytesSent = std::max(price.bytesSent, int64_t(runs[stage].sent + 0.5));
    price.flops += pricers[stage].flops * double(mesh.getNumRanks() / stages);
  }
  price.computeSeconds = runs[busiest].compute;
  price.exposedSeconds = runs[busiest].communication;
  price.bubbleSeconds = std::max(0.0, price.secondsPerStep - runs[busiest].compute - runs[busiest].communication);
  return price;
}
