#include "HostQueue.h"
#include "LayerSeconds.h"
#include "Pricer.h"
#include "Variants.h"

#include "para/Collectives/Passes.h"
#include "para/Cost/Collective.h"
#include "para/Cost/Kernel.h"
#include "para/IR/Program.h"
#include "para/Schedule/Schedule.h"

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

class Race : public Pricer {
public:
  Race(ModuleOp module, ArrayRef<Segment> segments, const SearchOptions &options)
      : variants(module, segments, options), segments(segments), options(options), device(options.machine.getDevice(0)) {
    for (auto [index, segment] : llvm::enumerate(segments))
      for (int64_t copy = 0; copy < segment.repeat; ++copy)
        layers.push_back(index);
  }

  PlanPrice estimate(const Plan &plan, bool simulates, std::string &fault, PlanParts *parts) override {
    PlanPrice price;
    const Variant &variant = variants.get(plan);
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
      fault = llvm::formatv("has {0} layer{1}, too few for {2} stages", layers.size(), layers.size() == 1 ? "" : "s", plan.pipeline * chunks).str();
      return price;
    }
    const auto &stages = plan.stages.empty() ? options.request.stages : plan.stages;
    std::vector<int64_t> cut = stages.empty() || chunks > 1 ? cutLayers(seconds, plan.pipeline * chunks) : cutAsGiven(segments, stages, plan.pipeline);
    const std::vector<int64_t> &inFlight = schedules.find(nameOfSchedule(plan))->second.inFlight;
    bool tailWaits = !inFlight.empty() && inFlight.back() > 1; // as markRecomputed() has it: what follows at once is not computed again
    PipelineCosts costs;
    costs.stages = plan.pipeline;
    costs.chunks = chunks;
    costs.microbatches = plan.microbatches;
    costs.costs.resize(plan.pipeline * chunks);
    std::vector<PlanPrice::Memory> memory(plan.pipeline);
    std::vector<double> kept(plan.pipeline * chunks, 0);
    std::vector<SegmentWork> reduced(plan.pipeline * chunks);
    std::vector<HostQueue> host(plan.pipeline * chunks);
    auto placeOf = [&](int64_t virtualStage) {
      auto [stage, chunk] = schedule->getPlace(virtualStage);
      return chunk * plan.pipeline + stage;
    };
    for (auto [layer, virtualStage] : llvm::enumerate(cut)) {
      int64_t place = placeOf(virtualStage);
      bool isTail = layer + 1 == cut.size() && !tailWaits;
      addLayer(costs.costs[place], host[place], memory[place % plan.pipeline], kept[place], works[layers[layer]], seconds[layers[layer]], plan, isTail);
      reduced[place].parameterElements += works[layers[layer]].parameterElements;
      reduced[place].expertElements += works[layers[layer]].expertElements;
    }
    for (auto [cost, work] : llvm::zip_equal(costs.costs, reduced))
      if (cost.gradientTraffic > 0 && options.execution.gradientOverlap == 0) // when all passes are over, as one message
        cost.gradientTraffic = sendParameters(plan.zero >= 1 ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, work, sentGradientBytes(work), plan);
    for (auto [layer, virtualStage] : llvm::enumerate(cut)) { // a table used by the first and the last stage: each has it, and their gradients are added up
      double elements = works[layers[layer]].sharedElements;
      int64_t place = placeOf(virtualStage), first = placeOf(0);
      if (elements == 0 || place % plan.pipeline == first % plan.pipeline)
        continue;
      addShared(memory[place % plan.pipeline], elements, plan);
      if (options.request.train)
        for (int64_t at : {place, first})
          costs.costs[at].updateTraffic += options.execution.slowdown * collectiveSeconds(options.machine, CollectiveKind::AllReduce, elements * double(options.storage.reduced), 2,
                                                                                           plan.tensor * plan.getReplicas() * (plan.pipeline - 1));
    }
    for (PlanPrice::Memory &stage : memory)
      stage.reserved = device.constants.reservedBytes + options.execution.workspaceBytes;
    for (auto [cost, queue] : llvm::zip_equal(costs.costs, host)) { // the host runs ahead of the device, or the device waits for it
      cost.forward += queue.getForwardWait(options.execution);
      cost.backwardInput += queue.getBackwardWait(options.execution);
    }
    for (size_t layer = 0; layer + 1 < cut.size(); ++layer)
      if (cut[layer] != cut[layer + 1]) {
        double bytes = works[layers[layer]].boundaryBytes;
        costs.costs[placeOf(cut[layer])].transfer = collectiveSeconds(options.machine, CollectiveKind::SendReceive, bytes, 2, plan.tensor * plan.getReplicas());
        memory[placeOf(cut[layer + 1]) % plan.pipeline].held += options.execution.heldBoundaries * bytes + options.execution.heldBytes;
      }
    for (size_t v = 0; v < costs.costs.size(); ++v)
      costs.costs[v].activationBytes = int64_t(kept[v]);
    if (parts) {
      *parts = {layers, {}, cut, *schedule, costs, inFlight, options.execution.blocksOnSends != 0};
      for (auto [work, ofLayer] : llvm::zip_equal(works, seconds))
        parts->segments.push_back(dissect(work, ofLayer, plan, !tailWaits && &work == &works[layers.back()]));
    }
    finish(price, plan, *schedule, costs, memory, kept, simulates, fault);
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
  bool isKnown(const Plan &plan, bool anyRows) const override { return variants.isKnown(plan, anyRows); }

  double getModelFlops(const Plan &plan) override {
    Plan whole;
    whole.data = plan.getBatchRanks();
    whole.microbatches = plan.microbatches;
    const Variant &variant = variants.get(whole);
    if (!variant.fault.empty())
      return 0;
    double flops = 0;
    for (size_t segment : layers)
      for (const PhaseWork *phase : {&variant.works[segment].forward, &variant.works[segment].backwardInput, &variant.works[segment].backwardWeight})
        for (const KernelWork &kernel : phase->kernels)
          flops += kernel.flops;
    return flops * double(plan.getBatchRanks()) * double(plan.microbatches);
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
    kernel.type = options.type == CostType::F8 && (work.kind == KernelWork::Attention || work.isWide) ? CostType::BF16 : options.type;
    kernel.flops = work.flops * (1 - work.skipped) / (work.kind == KernelWork::Attention ? options.execution.attention : 1);
    kernel.bytes = work.bytes;
    kernel.batch = work.batch;
    kernel.m = work.m;
    kernel.n = work.n;
    kernel.k = work.k;
    return kernelSeconds(options.machine, kernel);
  }
  /// Seconds of a collective over axes of the plan's mesh, "data+context": of several the nearest neighbours say how far apart ranks are.
  double send(CollectiveKind kind, StringRef axes, double bytes, const Plan &plan, double copies = 1) {
    int64_t ranks = 1, stride = 1, inner = 1;
    SmallVector<StringRef, 4> names;
    axes.split(names, '+');
    for (const PlanAxis &axis : llvm::reverse(getPlanAxes())) {
      if (int64_t size = plan.*axis.size; size > 1 && llvm::is_contained(names, axis.name)) {
        stride = ranks == 1 ? inner : stride;
        ranks *= size;
      }
      inner *= plan.*axis.size;
    }
    return options.execution.slowdown * collectiveSeconds(options.machine, kind, bytes, ranks, stride, copies);
  }
  double send(const TrafficWork &message, const Plan &plan) {
    return send(kindOf(message.kind), message.axis, message.bytes, plan, options.execution.sendsOnce > 0 ? std::max(1.0, message.copies) : 1);
  }

  /// Parameters that are replicated alike: so much of all, on how many ranks, over which axes.
  struct Replicas {
    double share;
    int64_t ranks;
    const char *axes;
  };
  static std::array<Replicas, 2> getReplicas(const SegmentWork &work, const Plan &plan) {
    double experts = work.parameterElements > 0 ? work.expertElements / work.parameterElements : 0;
    return {Replicas{1 - experts, plan.getReplicas(), "data+expert+context"}, Replicas{experts, plan.data * plan.context, "data+context"}};
  }
  /// What is left on a rank of what ZeRO cuts from that level on.
  static double getLeft(const SegmentWork &work, const Plan &plan, int level) {
    double left = 0;
    for (const Replicas &replicas : getReplicas(work, plan))
      left += replicas.share / double(plan.zero >= level ? replicas.ranks : 1);
    return left;
  }
  /// Of something that all parameters take part in.
  double sendParameters(CollectiveKind kind, const SegmentWork &work, double bytes, const Plan &plan) {
    double seconds = 0;
    for (const Replicas &replicas : getReplicas(work, plan))
      if (replicas.share > 0)
        seconds += send(kind, replicas.axes, bytes * replicas.share, plan);
    return seconds;
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
          total += send(message, plan) + options.execution.joinSeconds;
      return total;
    };
    seconds.forward = compute(work.forward);
    for (const KernelWork &kernel : work.forward.kernels)
      (kernel.kind == KernelWork::Attention || kernel.isOfScores ? seconds.attention : kernel.kind == KernelWork::Stream ? seconds.streams : seconds.products) += runKnown(kernel);
    seconds.backwardInput = compute(work.backwardInput);
    seconds.backwardWeight = compute(work.backwardWeight);
    seconds.forwardTraffic = traffic(work.forward);
    seconds.backwardTraffic = traffic(work.backwardInput) + traffic(work.backwardWeight);
    auto exchange = [&](const PhaseWork &phase) {
      double total = 0;
      for (const TrafficWork &message : phase.traffic)
        total += message.copies > 0 ? send(message, plan) : 0;
      return total;
    };
    seconds.forwardExchange = exchange(work.forward);
    seconds.backwardExchange = exchange(work.backwardInput) + exchange(work.backwardWeight);
    if (plan.zero >= 2 && options.request.train)
      seconds.scatter = sendParameters(CollectiveKind::ReduceScatter, work, sentGradientBytes(work), plan);
    if (plan.zero >= 3)
      seconds.gather = sendParameters(CollectiveKind::AllGather, work, work.parameterElements * double(options.storage.gathered), plan);
    const Execution &execution = options.execution;
    double added = 0; // kernels that add up gradients
    if (options.request.train && execution.accumulates > 0 && work.parameterElements > 0 && (plan.microbatches > 1 || options.storage.gradient != options.storage.compute)) {
      KernelWork sum;
      sum.bytes = work.parameterElements * getLeft(work, plan, 2) * double(options.storage.compute + 2 * options.storage.gradient);
      added = plan.zero >= 2 ? 1 : double(work.parameterTensors);
      seconds.backwardWeight += run(sum) + (added - 1) * device.launchSeconds;
    }
    auto messages = [](const PhaseWork &phase) { return double(phase.traffic.size()); };
    double host = device.constants.hostFactor;
    seconds.hostForward = host * (double(work.forward.launches) * execution.kernelSeconds + (messages(work.forward) + (seconds.gather > 0)) * execution.messageSeconds);
    seconds.hostBackward = host * ((double(work.backwardInput.launches + work.backwardWeight.launches) + added) * execution.gradientSeconds +
                           (messages(work.backwardInput) + (seconds.gather > 0) + (seconds.scatter > 0)) * execution.messageSeconds);
    return seconds;
  }
  /// What is left of communication beside so much compute, of which it may hide a share, and what it takes from that compute.
  double exposed(double traffic, double compute, double share) const {
    double beside = std::min(traffic * share, compute);
    return traffic - beside + beside * options.execution.contention;
  }
  double gradientBytes(const SegmentWork &work) { return work.parameterElements * double(options.storage.gradient); }
  double sentGradientBytes(const SegmentWork &work) { return work.parameterElements * double(options.storage.reduced); }
  /// Virtual stages of all layers such that the costliest is cheapest: the least bound under which a greedy walk needs no more stages.
  std::vector<int64_t> cutLayers(ArrayRef<LayerSeconds> seconds, int64_t parts) {
    if (options.request.evenStages && int64_t(layers.size()) >= parts + 2)
      return cutEvenly(int64_t(layers.size()), parts);
    std::vector<double> costs;
    for (size_t segment : layers) {
      const LayerSeconds &s = seconds[segment];
      costs.push_back(std::max(s.forward + s.backwardInput + s.backwardWeight + s.forwardTraffic + s.backwardTraffic, s.hostForward + s.hostBackward));
    }
    return cutByCost(costs, parts);
  }

  void addShared(PlanPrice::Memory &memory, double elements, const Plan &plan) {
    const StoragePolicy &storage = options.storage;
    double replicas = double(plan.getReplicas());
    memory.parameters += elements * double(storage.parameter) / (plan.zero >= 3 ? replicas : 1);
    if (!options.request.train)
      return;
    memory.gradients += elements * double(storage.gradient) / (plan.zero >= 2 ? replicas : 1);
    memory.states += elements * double(storage.master + 2 * storage.state) / (plan.zero >= 1 ? replicas : 1);
  }

  void addLayer(StageCost &cost, HostQueue &host, PlanPrice::Memory &memory, double &kept, const SegmentWork &work, const LayerSeconds &seconds, const Plan &plan, bool isTail) {
    const StoragePolicy &storage = options.storage;
    const Execution &execution = options.execution;
    StageCost before = cost;
    cost.forward += seconds.forward;
    cost.backwardInput += seconds.backwardInput;
    cost.backwardWeight += seconds.backwardWeight;
    cost.forwardTraffic += seconds.forwardTraffic;
    cost.backwardTraffic += seconds.backwardTraffic;
    bool recomputes = plan.recompute == "full" && options.request.train && !isTail;
    bool repeatsStreams = plan.recompute == "selective" && execution.streamsAgain > 0 && options.request.train && !isTail;
    double again = recomputes ? execution.layersAgain * seconds.forward : repeatsStreams ? seconds.getAgain(execution) : 0;
    cost.backwardInput += again;
    if (recomputes)
      cost.backwardTraffic += execution.layersAgain * seconds.forwardTraffic;
    double backward = seconds.backwardInput + seconds.backwardWeight + again;
    cost.forwardTraffic += exposed(seconds.gather, seconds.forward, execution.gatherOverlap); // a layer ahead
    if (options.request.train)
      cost.backwardTraffic += exposed(seconds.gather + seconds.scatter, backward, execution.gatherOverlap);
    auto getTraffic = [](const StageCost &of) { return of.forwardTraffic + of.backwardTraffic; };
    double forwardSent = cost.forwardTraffic - before.forwardTraffic, backwardSent = cost.backwardTraffic - before.backwardTraffic;
    auto getBeside = [&](double sent, double exchanged) { return execution.trafficOverlap * (sent - exchanged) + execution.exchangeOverlap * exchanged; };
    double forwardBeside = getBeside(forwardSent, seconds.forwardExchange);
    double backwardBeside = getBeside(backwardSent, seconds.backwardExchange + (recomputes ? execution.layersAgain * seconds.forwardExchange : 0));
    if (getTraffic(cost) > 0) // the mean of all messages so far
      cost.trafficOverlap = std::clamp((before.trafficOverlap * getTraffic(before) + forwardBeside + backwardBeside) / getTraffic(cost), 0.0, 1.0);
    auto getSeconds = [&](double compute, double sent, double beside) { return compute + sent - std::min(beside, compute); };
    host.add(seconds.hostForward, getSeconds(seconds.forward, forwardSent, forwardBeside), seconds.hostBackward + (seconds.forward > 0 ? seconds.hostForward * again / seconds.forward : 0),
             getSeconds(backward, backwardSent, backwardBeside));
    double keeps = plan.recompute == "selective" ? work.keptBytes - work.scoreBytes : work.keptBytes;
    if (recomputes)
      keeps += execution.layersAgain * (work.boundaryBytes - keeps);
    if (repeatsStreams)
      keeps = work.boundaryBytes + (1 - execution.attentionAgain) * work.attentionBytes + (1 - execution.productsAgain) * work.productBytes;
    kept += options.request.train ? keeps : 0;
    double elements = work.parameterElements, states = work.states.whole + work.states.cut;
    memory.parameters += elements * double(storage.parameter) * getLeft(work, plan, 3) + work.buffers.whole + work.buffers.cut;
    memory.inputs += work.inputBytes * double(plan.microbatches);
    memory.temporary = std::max(memory.temporary, work.temporaryBytes + (recomputes ? work.keptBytes : 0));
    if (plan.zero >= 3)
      memory.gathered = std::max(memory.gathered, 2 * elements * double(storage.gathered));
    if (!options.request.train)
      return;
    memory.gradients += gradientBytes(work) * getLeft(work, plan, 2);
    memory.states += states * getLeft(work, plan, 1);
    if (plan.zero <= 1)
      cost.gradientTraffic += sendParameters(plan.zero == 1 ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, work, sentGradientBytes(work), plan);
    if (plan.zero == 1 || plan.zero == 2)
      cost.gatherTraffic += sendParameters(CollectiveKind::AllGather, work, elements * double(storage.parameter), plan);
    cost.gradientOverlap = execution.gradientOverlap;
    double left = getLeft(work, plan, 1);
    KernelWork update;
    update.bytes = (2 * states + gradientBytes(work) + elements * (double(storage.parameter) + execution.updatePasses)) * left;
    update.flops = 12 * elements * left;
    cost.update += update.bytes > 0 ? run(update) : 0;
  }

  /// What a layer costs by itself, and of which kernels and messages.
  PlanParts::Layer dissect(const SegmentWork &work, const LayerSeconds &seconds, const Plan &plan, bool isTail) {
    PlanParts::Layer layer;
    HostQueue host;
    addLayer(layer.cost, host, layer.memory, layer.memory.activations, work, seconds, plan, isTail);
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
          add(describe(message), true, send(message, plan));
    };
    bool again = plan.recompute == "full" && options.request.train && !isTail;
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

  void finish(PlanPrice &price, const Plan &plan, const Schedule &schedule, PipelineCosts &costs, std::vector<PlanPrice::Memory> &memory, ArrayRef<double> kept, bool simulates, std::string &fault) {
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
    for (auto [stage, held] : llvm::zip_equal(memory, getMostHeld(schedule, kept, options.execution.allocates > 0)))
      stage.activations += held;
    price.memory = std::move(memory);
  }

  Variants variants;
  ArrayRef<Segment> segments;
  const SearchOptions &options;
  Device device;
  std::vector<size_t> layers; ///< the model's layers, each by its segment
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
