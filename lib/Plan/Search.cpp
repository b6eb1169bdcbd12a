#include "Pricer.h"

#include "para/Collectives/Passes.h"
#include "para/Cost/Collective.h"
#include "para/Cost/Kernel.h"
#include "para/IR/Program.h"
#include "para/Partition/Passes.h"
#include "para/Schedule/Schedule.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstring>
#include <map>
#include <set>

using namespace mlir;
using namespace para;

namespace {
CollectiveKind kindOf(TrafficWork::Kind kind) {
  switch (kind) {
  case TrafficWork::AllReduce: return CollectiveKind::AllReduce;
  case TrafficWork::AllGather: return CollectiveKind::AllGather;
  case TrafficWork::ReduceScatter: return CollectiveKind::ReduceScatter;
  case TrafficWork::AllToAll: return CollectiveKind::AllToAll;
  }
  return CollectiveKind::AllReduce;
}

/// What is cut in one way: tensor axis and rows of a microbatch.
struct Variant {
  int64_t tensor = 1, rows = 1;
  std::vector<SegmentWork> works; ///< by segment
  std::vector<SegmentWork> regathered; ///< where what is gathered is not kept, if that is another choice
  std::string fault;
};
/// Seconds of one layer of a segment under a variant and a size of the data axis.
struct LayerSeconds {
  double forward = 0, backwardInput = 0, backwardWeight = 0;
  double forwardTraffic = 0, backwardTraffic = 0; ///< over `tensor`
  double gather = 0, scatter = 0;                 ///< over `data`, in every microbatch: of parameters (ZeRO-3), of gradients (from ZeRO-2 on)
  double hostForward = 0, hostBackward = 0;       ///< of the host, to start all that
};

class Race : public Pricer {
public:
  Race(ModuleOp module, ArrayRef<Segment> segments, const SearchOptions &options)
      : module(module), segments(segments), options(options), device(options.machine.getDevice(0)) {
    for (auto [index, segment] : llvm::enumerate(segments))
      for (int64_t copy = 0; copy < segment.repeat; ++copy)
        layers.push_back(index);
    // Deriving the step may have simplified nodes away.
    for (Operation &op : module.lookupSymbol<func::FuncOp>("main").getBody().front().without_terminator())
      if (getPhase(&op) == Phase::Forward && op.getNumOperands() > 0)
        present.insert({getNodeName(op.getLoc()).str(), getTensorName(op.getLoc()).str()});
  }

  /// Partitions the folded program once for each way to cut a layer.
  const Variant &getVariant(int64_t tensor, int64_t rows, bool sequence, const std::map<std::string, std::string> &shards) {
    auto [it, isNew] = variants.try_emplace({tensor, rows, sequence, shards});
    Variant &variant = it->second;
    if (!isNew)
      return variant;
    variant.tensor = tensor;
    variant.rows = rows;
    Plan plan;
    plan.tensor = tensor;
    plan.sequenceParallel = sequence;
    plan.pipeline = int64_t(segments.size());
    int64_t batch = options.request.batch;
    // Two ranks of `data` show what is cut over it; several microbatches, what is added up.
    plan.data = batch >= 2 * rows ? 2 : 1;
    plan.microbatches = llvm::divideCeil(batch, plan.data * rows);
    for (auto [index, segment] : llvm::enumerate(segments))
      for (const std::string &node : segment.nodes)
        if (present.count(node))
          plan.stages[node] = int64_t(index);
    for (const auto &[name, text] : shards) // of what folding has left
      if (present.count(name) || getArgIndex(module.lookupSymbol<func::FuncOp>("main"), name) >= 0)
        plan.shards[name] = text;
    OwningOpRef<ModuleOp> copy = module.clone();
    ScopedDiagnosticHandler quiet(module.getContext(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error && variant.fault.empty())
        variant.fault = StringRef((getNodeName(diagnostic.getLocation()) + " " + diagnostic.str()).str()).trim().str();
      return success();
    });
    PassManager pm(module.getContext());
    pm.enableVerifier(false);
    buildPartitionPipeline(pm);
    if (failed(applyPlan(copy->lookupSymbol<func::FuncOp>("main"), plan)) || failed(pm.run(*copy))) {
      if (variant.fault.empty())
        variant.fault = "cannot be partitioned";
      return variant;
    }
    auto spmd = copy->lookupSymbol<func::FuncOp>("spmd");
    variant.works = collectWork(spmd, segments.size(), options.storage);
    if (sequence && !options.storage.regathers) {
      StoragePolicy again = options.storage;
      again.regathers = true;
      variant.regathered = collectWork(spmd, segments.size(), again);
    }
    return variant;
  }

  PlanPrice estimate(const Plan &plan, bool simulates, std::string &fault, PlanParts *parts) override {
    PlanPrice price;
    int64_t rows = llvm::divideCeil(options.request.batch, plan.data * plan.microbatches);
    const Variant &variant = getVariant(plan.tensor, rows, plan.sequenceParallel, plan.shards);
    const std::vector<SegmentWork> &works = plan.recompute == "selective" && !variant.regathered.empty() ? variant.regathered : variant.works;
    if (!variant.fault.empty()) {
      fault = variant.fault;
      return price;
    }
    std::vector<LayerSeconds> seconds;
    for (const SegmentWork &work : works)
      seconds.push_back(getSeconds(work, plan));
    const Schedule *schedule = getSchedule(plan, fault);
    if (!schedule)
      return price;
    int64_t chunks = schedule->chunks;
    if (int64_t(layers.size()) < plan.pipeline * chunks) {
      fault = llvm::formatv("has {0} layers, too few for {1} stages", layers.size(), plan.pipeline * chunks).str();
      return price;
    }
    const auto &stages = plan.stages.empty() ? options.request.stages : plan.stages;
    std::vector<int64_t> cut = stages.empty() || chunks > 1 ? cutLayers(seconds, plan.pipeline * chunks) : cutAsGiven(segments, stages, plan.pipeline);
    PipelineCosts costs;
    costs.stages = plan.pipeline;
    costs.chunks = chunks;
    costs.microbatches = plan.microbatches;
    costs.costs.resize(plan.pipeline * chunks);
    std::vector<PlanPrice::Memory> memory(plan.pipeline);
    std::vector<double> kept(plan.pipeline * chunks, 0);
    std::vector<HostSeconds> host(plan.pipeline * chunks);
    auto placeOf = [&](int64_t virtualStage) {
      auto [stage, chunk] = schedule->getPlace(virtualStage);
      return chunk * plan.pipeline + stage;
    };
    for (auto [layer, virtualStage] : llvm::enumerate(cut)) {
      int64_t place = placeOf(virtualStage);
      addLayer(costs.costs[place], host[place], memory[place % plan.pipeline], kept[place], works[layers[layer]], seconds[layers[layer]], plan);
    }
    for (auto [layer, virtualStage] : llvm::enumerate(cut)) { // a table used by the first and the last stage: each has it, and their gradients are added up
      double elements = works[layers[layer]].sharedElements;
      int64_t place = placeOf(virtualStage), first = placeOf(0);
      if (elements == 0 || place % plan.pipeline == first % plan.pipeline)
        continue;
      addShared(memory[place % plan.pipeline], elements, plan);
      if (options.request.train)
        for (int64_t at : {place, first})
          costs.costs[at].updateTraffic += options.execution.slowdown * collectiveSeconds(options.machine, CollectiveKind::AllReduce, elements * double(options.storage.reduced), 2,
                                                                                           plan.tensor * plan.data * (plan.pipeline - 1));
    }
    for (PlanPrice::Memory &stage : memory)
      stage.reserved = device.constants.reservedBytes;
    for (auto [cost, seconds] : llvm::zip_equal(costs.costs, host)) { // the host runs ahead of the device, or the device waits for it
      double pass = options.execution.passSeconds;
      cost.forward += hidden(seconds.forward + pass, cost.forward + cost.forwardTraffic);
      cost.backwardInput += hidden(seconds.backward + pass, cost.backwardInput + cost.backwardWeight + cost.backwardTraffic);
    }
    for (size_t layer = 0; layer + 1 < cut.size(); ++layer)
      if (cut[layer] != cut[layer + 1])
        costs.costs[placeOf(cut[layer])].transfer = collectiveSeconds(options.machine, CollectiveKind::SendReceive, works[layers[layer]].boundaryBytes,
                                                             2, plan.tensor * plan.data);
    for (size_t v = 0; v < costs.costs.size(); ++v)
      costs.costs[v].activationBytes = int64_t(kept[v]);
    const std::vector<int64_t> &inFlight = schedules.find(nameOfSchedule(plan))->second.inFlight;
    if (parts) {
      *parts = {layers, {}, cut, *schedule, costs, inFlight, options.execution.blocksOnSends != 0};
      for (auto [work, ofLayer] : llvm::zip_equal(works, seconds))
        parts->segments.push_back(dissect(work, ofLayer, plan));
    }
    finish(price, plan, *schedule, inFlight, costs, memory, kept, simulates, fault);
    price.flops = getModelFlops(variant, plan);
    price.peakFlops = 0;
    for (const DeviceClass &c : options.machine.classes)
      price.peakFlops += double(c.count) * c.device.getFlops(options.type);
    return price;
  }

  size_t getNumLayers() const override { return layers.size(); }
  void takeMachine() override {
    const Device &other = options.machine.getDevice(0);
    auto facts = [](const Device &d) { return std::tie(d.name, d.kind, d.memoryBytesPerSecond, d.flops, d.vectorFlops, d.launchSeconds, d.multiprocessors, d.l2Bytes); };
    if (facts(device) != facts(other) || std::memcmp(&device.constants, &other.constants, sizeof(KernelConstants)) != 0)
      kernels.clear();
    device = other;
  }
  bool isKnown(int64_t tensor, int64_t rows, bool sequence) const override {
    return llvm::any_of(variants, [&](const auto &entry) {
      auto &[itsTensor, itsRows, itsSequence, itsShards] = entry.first;
      return itsTensor == tensor && (rows == 0 || itsRows == rows) && itsSequence == sequence;
    });
  }

  static std::string nameOfSchedule(const Plan &plan) { return llvm::formatv("{0} {1} {2}", plan.schedule, plan.pipeline, plan.microbatches).str(); }
  const Schedule *getSchedule(const Plan &plan, std::string &fault) {
    auto [it, isNew] = schedules.try_emplace(nameOfSchedule(plan));
    if (isNew) {
      auto made = makeSchedule(plan.schedule, plan.pipeline, plan.microbatches);
      if (made)
        it->second = {std::move(*made), "", {}};
      else
        it->second.fault = llvm::toString(made.takeError());
      it->second.inFlight = getMicrobatchesInFlightByChunk(it->second.schedule);
    }
    fault = it->second.fault;
    return fault.empty() ? &it->second.schedule : nullptr;
  }

private:
  /// A kernel of a variant, which stays where it is: many plans ask for it.
  double runKnown(const KernelWork &work) {
    auto [it, isNew] = kernels.try_emplace(&work, 0);
    if (isNew)
      it->second = run(work);
    return it->second;
  }

  double run(const KernelWork &work) {
    Kernel kernel;
    kernel.kind = work.kind == KernelWork::Product ? Kernel::Product : work.kind == KernelWork::Attention ? Kernel::Attention
                  : work.kind == KernelWork::Convolution ? Kernel::Convolution : Kernel::Streaming;
    kernel.type = options.type == CostType::F8 && (work.kind == KernelWork::Attention || work.batch > 1) ? CostType::BF16 : options.type;
    kernel.flops = work.kind == KernelWork::Attention ? work.flops / options.execution.attention : work.flops;
    kernel.bytes = work.bytes;
    kernel.batch = work.batch;
    kernel.m = work.m;
    kernel.n = work.n;
    kernel.k = work.k;
    return kernelSeconds(options.machine, kernel);
  }
  /// Seconds of a collective over an axis of the plan's mesh: ranks of `tensor` are neighbours, then those of `data`, then stages.
  double send(CollectiveKind kind, StringRef axis, double bytes, const Plan &plan) {
    double slowdown = options.execution.slowdown;
    if (axis == "tensor")
      return slowdown * collectiveSeconds(options.machine, kind, bytes, plan.tensor, 1);
    if (axis == "data")
      return slowdown * collectiveSeconds(options.machine, kind, bytes, plan.data, plan.tensor);
    return slowdown * collectiveSeconds(options.machine, kind, bytes, plan.data * plan.tensor, 1); // over both
  }

  LayerSeconds getSeconds(const SegmentWork &work, const Plan &plan) {
    LayerSeconds seconds;
    auto compute = [&](const PhaseWork &phase) {
      double total = 0;
      for (const KernelWork &kernel : phase.kernels)
        total += runKnown(kernel);
      return total;
    };
    auto traffic = [&](const PhaseWork &phase) {
      double total = 0;
      for (const TrafficWork &message : phase.traffic)
        if (message.axis != "data" || !message.isEarly)
          total += send(kindOf(message.kind), message.axis, message.bytes, plan);
      return total;
    };
    seconds.forward = compute(work.forward);
    seconds.backwardInput = compute(work.backwardInput);
    seconds.backwardWeight = compute(work.backwardWeight);
    seconds.forwardTraffic = traffic(work.forward);
    seconds.backwardTraffic = traffic(work.backwardInput) + traffic(work.backwardWeight);
    if (plan.zero >= 2 && plan.data > 1 && options.request.train)
      seconds.scatter = send(CollectiveKind::ReduceScatter, "data", sentGradientBytes(work), plan);
    if (plan.zero >= 3 && plan.data > 1)
      seconds.gather = send(CollectiveKind::AllGather, "data", work.parameterElements * double(options.storage.gathered), plan);
    const Execution &execution = options.execution;
    double added = 0; // kernels that add up gradients
    if (options.request.train && execution.accumulates > 0 && work.parameterElements > 0 && (plan.microbatches > 1 || options.storage.gradient != options.storage.compute)) {
      KernelWork sum;
      sum.bytes = work.parameterElements / double(plan.zero >= 2 ? plan.data : 1) * double(options.storage.compute + 2 * options.storage.gradient);
      added = plan.zero >= 2 ? 1 : double(work.parameterTensors);
      seconds.backwardWeight += run(sum) + (added - 1) * device.launchSeconds;
    }
    auto messages = [](const PhaseWork &phase) { return double(phase.traffic.size()); };
    seconds.hostForward = double(work.forward.launches) * execution.kernelSeconds + (messages(work.forward) + (seconds.gather > 0)) * execution.messageSeconds;
    seconds.hostBackward = (double(work.backwardInput.launches + work.backwardWeight.launches) + added) * execution.gradientSeconds +
                           (messages(work.backwardInput) + (seconds.gather > 0) + (seconds.scatter > 0)) * execution.messageSeconds;
    return seconds;
  }
  /// What is left of communication beside so much compute.
  static double hidden(double traffic, double compute) { return std::max(0.0, traffic - compute); }
  /// Likewise, where a share of it may be hidden, and what it takes from the compute beside it.
  double exposed(double traffic, double compute, double share) const {
    double beside = std::min(traffic * share, compute);
    return traffic - beside + beside * options.execution.contention;
  }
  double gradientBytes(const SegmentWork &work) { return work.parameterElements * double(options.storage.gradient); }
  double sentGradientBytes(const SegmentWork &work) { return work.parameterElements * double(options.storage.reduced); }
  /// Virtual stages of all layers such that the costliest is cheapest: the least bound under which a greedy walk needs no more stages.
  std::vector<int64_t> cutLayers(ArrayRef<LayerSeconds> seconds, int64_t parts) {
    if (options.request.evenStages && int64_t(layers.size()) >= parts + 2) { // what is before and behind the blocks goes with the nearest
      std::vector<int64_t> cut;
      int64_t blocks = int64_t(layers.size()) - 2;
      for (int64_t i = 0; i < int64_t(layers.size()); ++i)
        cut.push_back(std::clamp<int64_t>(i - 1, 0, blocks - 1) * parts / blocks);
      return cut;
    }
    std::vector<double> costs;
    for (size_t segment : layers) {
      const LayerSeconds &s = seconds[segment];
      costs.push_back(std::max(s.forward + s.backwardInput + s.backwardWeight + s.forwardTraffic + s.backwardTraffic, s.hostForward + s.hostBackward));
    }
    return cutByCost(costs, parts);
  }

  void addShared(PlanPrice::Memory &memory, double elements, const Plan &plan) {
    const StoragePolicy &storage = options.storage;
    double data = double(plan.data);
    memory.parameters += elements * double(storage.parameter) / (plan.zero >= 3 ? data : 1);
    if (!options.request.train)
      return;
    memory.gradients += elements * double(storage.gradient) / (plan.zero >= 2 ? data : 1);
    memory.states += elements * double(storage.master + 2 * storage.state) / (plan.zero >= 1 ? data : 1);
  }

  /// Of the host for a pass of a stage.
  struct HostSeconds {
    double forward = 0, backward = 0;
  };

  void addLayer(StageCost &cost, HostSeconds &host, PlanPrice::Memory &memory, double &kept, const SegmentWork &work, const LayerSeconds &seconds, const Plan &plan) {
    const StoragePolicy &storage = options.storage;
    const Execution &execution = options.execution;
    double data = double(plan.data);
    cost.forward += seconds.forward;
    cost.backwardInput += seconds.backwardInput;
    cost.backwardWeight += seconds.backwardWeight;
    cost.forwardTraffic += seconds.forwardTraffic;
    cost.backwardTraffic += seconds.backwardTraffic;
    bool recomputes = plan.recompute == "full" && options.request.train;
    if (recomputes) {
      cost.backwardInput += seconds.forward;
      cost.backwardTraffic += seconds.forwardTraffic;
    }
    host.forward += seconds.hostForward;
    host.backward += seconds.hostBackward + (recomputes ? seconds.hostForward : 0);
    double backward = seconds.backwardInput + seconds.backwardWeight + (recomputes ? seconds.forward : 0);
    cost.forwardTraffic += exposed(seconds.gather, seconds.forward, execution.gatherOverlap); // a layer ahead
    if (options.request.train)
      cost.backwardTraffic += exposed(seconds.gather + seconds.scatter, backward, execution.gatherOverlap);
    bool dropsScores = plan.recompute == "selective" && options.request.train;
    kept += !options.request.train ? 0 : recomputes ? work.boundaryBytes : dropsScores ? work.keptBytes - work.scoreBytes : work.keptBytes;
    double elements = work.parameterElements, states = work.states.whole + work.states.cut;
    memory.parameters += elements * double(storage.parameter) / (plan.zero >= 3 ? data : 1) + work.buffers.whole + work.buffers.cut;
    memory.inputs += work.inputBytes * double(plan.microbatches);
    memory.temporary = std::max(memory.temporary, work.temporaryBytes + (recomputes ? work.keptBytes : 0));
    if (plan.zero >= 3)
      memory.gathered = std::max(memory.gathered, 2 * elements * double(storage.gathered));
    if (!options.request.train)
      return;
    memory.gradients += gradientBytes(work) / (plan.zero >= 2 ? data : 1);
    memory.states += states / (plan.zero >= 1 ? data : 1);
    if (plan.data > 1) {
      double gradient = plan.zero >= 2 ? 0 : send(plan.zero >= 1 ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, "data", sentGradientBytes(work), plan);
      cost.gradientTraffic += gradient;
      if (plan.zero == 1 || plan.zero == 2)
        cost.gatherTraffic += send(CollectiveKind::AllGather, "data", elements * double(storage.parameter), plan);
    }
    cost.gradientOverlap = execution.gradientOverlap;
    cost.trafficOverlap = execution.trafficOverlap;
    double shared = plan.zero >= 1 ? data : 1;
    KernelWork update;
    update.bytes = (2 * states + gradientBytes(work) + elements * (double(storage.parameter) + execution.updatePasses)) / shared;
    update.flops = 12 * elements / shared;
    cost.update += update.bytes > 0 ? run(update) : 0;
  }

  /// What a layer costs by itself, and of which kernels and messages.
  PlanParts::Layer dissect(const SegmentWork &work, const LayerSeconds &seconds, const Plan &plan) {
    PlanParts::Layer layer;
    HostSeconds host;
    addLayer(layer.cost, host, layer.memory, layer.memory.activations, work, seconds, plan);
    auto add = [&](std::string name, bool sends, double seconds) {
      auto it = llvm::find_if(layer.items, [&](const PlanParts::Item &item) { return item.name == name; });
      if (it == layer.items.end())
        it = layer.items.insert(it, {name, 0, 0, sends});
      it->count += 1;
      it->seconds += seconds;
    };
    auto addPhase = [&](const PhaseWork &phase) {
      for (const KernelWork &kernel : phase.kernels)
        add(describe(kernel), false, run(kernel));
      for (const TrafficWork &message : phase.traffic)
        if (message.axis != "data" || !message.isEarly)
          add(describe(message), true, send(kindOf(message.kind), message.axis, message.bytes, plan));
    };
    bool again = plan.recompute == "full" && options.request.train;
    for (int times = 0; times < (again ? 2 : 1); ++times)
      addPhase(work.forward);
    addPhase(work.backwardInput);
    addPhase(work.backwardWeight);
    const StageCost &cost = layer.cost;
    double sending = cost.forwardTraffic + cost.backwardTraffic, computing = cost.forward + cost.backwardInput + cost.backwardWeight;
    for (const PlanParts::Item &item : layer.items)
      (item.sends ? sending : computing) -= item.seconds;
    if (sending > 1e-9)
      add("messages over data that compute does not hide", true, sending);
    if (computing > 1e-9)
      add("adding up gradients", false, computing);
    llvm::stable_sort(layer.items, [](const PlanParts::Item &a, const PlanParts::Item &b) { return a.seconds > b.seconds; });
    return layer;
  }

  /// Of one microbatch, what its own compute does not hide.
  static double getExposedTraffic(const StageCost &cost) {
    double forward = std::min(cost.forwardTraffic * cost.trafficOverlap, cost.forward), backward = std::min(cost.backwardTraffic * cost.trafficOverlap, cost.backwardInput + cost.backwardWeight);
    return cost.forwardTraffic - forward + cost.backwardTraffic - backward;
  }

  void finish(PlanPrice &price, const Plan &plan, const Schedule &schedule, ArrayRef<int64_t> inFlight, PipelineCosts &costs, std::vector<PlanPrice::Memory> &memory, ArrayRef<double> kept, bool simulates, std::string &fault) {
    std::vector<double> busy(plan.pipeline, 0), once(plan.pipeline, 0);
    double way = 0;
    for (size_t v = 0; v < costs.costs.size(); ++v) {
      const StageCost &cost = costs.costs[v];
      double pass = cost.forward + cost.backwardInput + cost.backwardWeight + getExposedTraffic(cost);
      busy[v % plan.pipeline] += pass;
      once[v % plan.pipeline] += cost.update + cost.gatherTraffic;
      way += pass / double(costs.chunks);
    }
    size_t worst = std::max_element(busy.begin(), busy.end()) - busy.begin();
    price.lowerBound = busy[worst] * double(plan.microbatches);
    double gradient = 0;
    for (const StageCost &cost : costs.costs)
      gradient = std::max(gradient, cost.gradientTraffic - std::min(cost.gradientTraffic * cost.gradientOverlap, cost.backwardInput + cost.backwardWeight));
    price.seconds = price.lowerBound + (way - busy[worst] / double(costs.chunks)) + once[worst] + gradient;
    double exposedOfWorst = -1;
    if (simulates) {
      SimulationOptions how;
      how.blockingTransfers = options.execution.blocksOnSends != 0;
      auto result = simulate(schedule, costs, how);
      if (!result) {
        fault = llvm::toString(result.takeError());
        return;
      }
      price.seconds = result->seconds;
      exposedOfWorst = result->exposed[worst];
    }
    double compute = 0, traffic = 0;
    for (int64_t c = 0; c < costs.chunks; ++c) {
      const StageCost &cost = costs.costs[c * plan.pipeline + worst];
      compute += (cost.forward + cost.backwardInput + cost.backwardWeight) * double(plan.microbatches) + cost.update;
      traffic += getExposedTraffic(cost) * double(plan.microbatches);
      price.exposed["parameters"] += cost.gatherTraffic;
    }
    price.compute = compute;
    price.exposed["within a layer"] = traffic;
    double known = compute + traffic + price.exposed["parameters"];
    price.bubble = std::max(0.0, price.seconds - known);
    if (exposedOfWorst >= 0) { // the simulation knows what no compute hides; what is left of it is the gradients'
      price.exposed["gradients"] = std::max(0.0, exposedOfWorst - traffic - price.exposed["parameters"]);
      price.bubble = std::max(0.0, price.bubble - price.exposed["gradients"]);
    }
    for (int64_t v = 0; v < schedule.getNumVirtualStages(); ++v) {
      auto [stage, chunk] = schedule.getPlace(v);
      memory[stage].activations += kept[chunk * plan.pipeline + stage] * double(inFlight[v]);
    }
    price.memory = std::move(memory);
  }

  /// Of all ranks: a forward and a backward pass over the batch, without what is computed again.
  double getModelFlops(const Variant &variant, const Plan &plan) {
    double flops = 0;
    for (size_t segment : layers)
      for (const PhaseWork *phase : {&variant.works[segment].forward, &variant.works[segment].backwardInput, &variant.works[segment].backwardWeight})
        for (const KernelWork &kernel : phase->kernels)
          flops += kernel.flops;
    return flops * double(plan.tensor) * double(plan.data) * double(plan.microbatches);
  }

  ModuleOp module;
  std::set<std::string> present; ///< nodes of the folded program
  ArrayRef<Segment> segments;
  const SearchOptions &options;
  Device device;
  std::vector<size_t> layers; ///< the model's layers, each by its segment
  std::map<std::tuple<int64_t, int64_t, bool, std::map<std::string, std::string>>, Variant> variants;
  llvm::DenseMap<const KernelWork *, double> kernels; ///< seconds on the device
  struct KnownSchedule {
    Schedule schedule;
    std::string fault;
    std::vector<int64_t> inFlight; ///< by virtual stage
  };
  std::map<std::string, KnownSchedule> schedules; ///< by name, stages and microbatches
};

} // namespace

std::unique_ptr<Pricer> Pricer::create(ModuleOp module, ArrayRef<Segment> segments, const SearchOptions &options) {
  return std::make_unique<Race>(module, segments, options);
}

double PlanPrice::getPeakBytes() const {
  double peak = 0;
  for (const Memory &stage : memory)
    peak = std::max(peak, stage.getTotal());
  return peak;
}
