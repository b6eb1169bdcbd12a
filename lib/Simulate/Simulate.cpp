#include "para/Simulate/Simulate.h"
#include "para/Simulate/TaskGraph.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace para;

namespace {
using Resource = SimulatedResource;
using Kind = SimulatedKind;

llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

llvm::Error check(const Schedule &schedule, const PipelineCosts &costs) {
  if (int64_t(schedule.stages.size()) != costs.stages || schedule.chunks != costs.chunks)
    return fail("the schedule has " + llvm::Twine(schedule.stages.size()) + " stages of " + llvm::Twine(schedule.chunks) + " chunks, the costs are for " +
                llvm::Twine(costs.stages) + " of " + llvm::Twine(costs.chunks));
  if (int64_t(costs.costs.size()) != costs.stages * costs.chunks)
    return fail("there are costs of " + llvm::Twine(costs.costs.size()) + " virtual stages; there are " + llvm::Twine(costs.stages * costs.chunks));
  for (auto [index, cost] : llvm::enumerate(costs.costs)) {
    auto refuse = [&, i = int64_t(index)](llvm::StringRef name, llvm::StringRef what) {
      return fail("chunk " + llvm::Twine(i / costs.stages) + " of stage " + llvm::Twine(i % costs.stages) + ": '" + name + "' is not " + what);
    };
    for (auto [name, seconds] : std::initializer_list<std::pair<const char *, double>>{
             {"forward", cost.forward}, {"backwardInput", cost.backwardInput}, {"backwardWeight", cost.backwardWeight}, {"forwardTraffic", cost.forwardTraffic},
             {"backwardTraffic", cost.backwardTraffic}, {"transfer", cost.transfer}, {"gradientTraffic", cost.gradientTraffic}, {"updateTraffic", cost.updateTraffic},
             {"update", cost.update}, {"gatherTraffic", cost.gatherTraffic}})
      if (!std::isfinite(seconds) || seconds < 0)
        return refuse(name, "a number of seconds");
    for (auto [name, share] : std::initializer_list<std::pair<const char *, double>>{{"trafficOverlap", cost.trafficOverlap}, {"gradientOverlap", cost.gradientOverlap}})
      if (!(share >= 0 && share <= 1))
        return refuse(name, "a share from 0 to 1");
    for (auto [name, bytes] : std::initializer_list<std::pair<const char *, int64_t>>{
             {"activationBytes", cost.activationBytes}, {"fixedBytes", cost.fixedBytes}, {"temporaryBytes", cost.temporaryBytes}})
      if (bytes < 0)
        return refuse(name, "a number of bytes");
    if (cost.activationBytesHeld && (*cost.activationBytesHeld < 0 || *cost.activationBytesHeld > cost.activationBytes))
      return refuse("activationBytesHeld", "a part of 'activationBytes'");
  }
  for (const auto &actions : schedule.stages)
    for (const Action &action : actions)
      if (action.phase != Phase::Forward && action.phase != Phase::Backward)
        return fail("forward and backward passes are simulated; the schedule has the phase " + stringifyPhase(action.phase));
  return verifySchedule(schedule, costs.microbatches, {});
}

/// Makes the tasks of a step, runs them and reads off what there is to know.
class Simulator {
public:
  Simulator(const Schedule &schedule, const PipelineCosts &costs, const SimulationOptions &options)
      : schedule(schedule), costs(costs), options(options), graph(costs.stages, kNumSimulatedResources), messages(2 * schedule.getNumVirtualStages() * costs.microbatches) {}

  llvm::Expected<Simulation> run() {
    for (int64_t stage = 0; stage < costs.stages; ++stage)
      addPasses(stage);
    orderMessages();
    for (int64_t stage = 0; stage < costs.stages; ++stage)
      addReductions(stage);
    if (options.updatesWaitForAll) {
      everyone = addNone(0, Kind::UpdateTraffic, 0);
      for (const Stage &stage : stages)
        for (const auto &reduced : stage.reduced)
          graph.order(reduced.second, everyone);
    }
    for (int64_t stage = 0; stage < costs.stages; ++stage)
      addUpdates(stage);
    auto begins = graph.run([this](TaskId task) { return describe(task); });
    if (!begins)
      return begins.takeError();
    return summarize(*begins);
  }

private:
  struct Label {
    Kind kind;
    int32_t chunk, microbatch;
  };
  /// A message to a virtual stage: the task that sends it and those that wait for it.
  struct Message {
    TaskId sent = -1;
    llvm::SmallVector<TaskId, 3> waiting;
  };
  struct Pass {
    const Action *action;
    TaskId compute, done;
  };
  struct Stage {
    std::vector<Pass> passes;
    TaskId done = -1;                                    ///< what the next pass waits for
    std::vector<TaskId> lastGradient;                    ///< of each chunk: the share of the reduction that runs beside its last pass, or -1
    std::vector<std::pair<int64_t, TaskId>> reduced;     ///< chunks in the order of their last passes, and when their gradients are there
  };

  TaskId add(int64_t stage, Resource resource, double seconds, Kind kind, int64_t chunk, int64_t microbatch) {
    labels.push_back({kind, int32_t(chunk), int32_t(microbatch)});
    return graph.add(stage, int64_t(resource), seconds);
  }

  /// Only waits.
  TaskId addNone(int64_t stage, Kind kind, int64_t chunk) {
    labels.push_back({kind, int32_t(chunk), -1});
    return graph.add(stage, TaskGraph::kNone, 0);
  }

  Message &getMessage(int64_t virtualStage, Phase phase, int64_t microbatch) {
    return messages[(2 * virtualStage + (phase == Phase::Backward)) * costs.microbatches + microbatch];
  }

  /// Seconds between neighbours of the model; the costs are those of the first of them.
  double getTransfer(int64_t from, int64_t to) const {
    auto [stage, chunk] = schedule.getPlace(std::min(from, to));
    return schedule.getPlace(from).first == schedule.getPlace(to).first ? 0 : costs.get(stage, chunk).transfer;
  }

  void addPasses(int64_t index) {
    Stage &stage = stages.emplace_back();
    stage.lastGradient.assign(costs.chunks, -1);
    const auto &actions = schedule.stages[index];
    std::vector<int64_t> lastPass(costs.chunks, -1);
    for (auto [i, action] : llvm::enumerate(actions))
      if (action.phase == Phase::Backward && action.part != BackwardPart::Input)
        lastPass[action.chunk] = int64_t(i);
    for (auto [i, action] : llvm::enumerate(actions))
      addPass(index, stage, action, lastPass[action.chunk] == int64_t(i));
  }

  void addPass(int64_t index, Stage &stage, const Action &action, bool isLastOfChunk) {
    const StageCost &cost = costs.get(index, action.chunk);
    bool forward = action.phase == Phase::Forward, weight = action.part == BackwardPart::Weight;
    Kind kind = forward ? Kind::Forward : weight ? Kind::BackwardWeight : action.part == BackwardPart::Input ? Kind::BackwardInput : Kind::Backward;
    double seconds = forward ? cost.forward : weight ? cost.backwardWeight : cost.backwardInput + (kind == Kind::Backward ? cost.backwardWeight : 0);
    double traffic = forward ? cost.forwardTraffic : weight ? 0 : cost.backwardTraffic, beside = traffic * cost.trafficOverlap;
    auto addHere = [&](Resource resource, double seconds, Kind kind) { return add(index, resource, seconds, kind, action.chunk, action.microbatch); };

    // What begins together: the compute, traffic beside it, and gradients of the layers that this pass is done with first.
    llvm::SmallVector<TaskId, 3> begin = {addHere(Resource::Compute, seconds, kind)};
    TaskId compute = begin[0], done = compute, before = graph.getPrevious(compute);
    if (beside > 0)
      begin.push_back(addHere(Resource::Collectives, beside, Kind::Traffic));
    if (double share = cost.gradientTraffic * cost.gradientOverlap; isLastOfChunk && share > 0) {
      stage.lastGradient[action.chunk] = add(index, Resource::Gradients, share, Kind::GradientTraffic, action.chunk, -1);
      begin.push_back(stage.lastGradient[action.chunk]);
    }
    for (TaskId task : begin) {
      if (before >= 0 && task != compute)
        graph.order(before, task);
      if (stage.done >= 0 && stage.done != before)
        graph.order(stage.done, task);
    }
    if (traffic > 0) { // the rest, behind both
      done = addHere(Resource::Collectives, traffic - beside, Kind::Traffic);
      graph.order(compute, done);
    }
    stage.done = done;

    int64_t here = schedule.getVirtualStage(index, action.chunk), next = here + (forward ? 1 : -1), count = schedule.getNumVirtualStages();
    if (!weight) {
      getMessage(here, action.phase, action.microbatch).waiting = begin;
      if (next >= 0 && next < count) {
        TaskId sent = done;
        if (double transfer = getTransfer(here, next); transfer > 0) {
          sent = addHere(options.blockingTransfers ? Resource::Compute : forward ? Resource::Send : Resource::SendBack, transfer, Kind::Send);
          graph.order(done, sent);
          if (options.blockingTransfers)
            stage.done = sent;
        }
        getMessage(next, action.phase, action.microbatch).sent = sent;
      }
    }
    stage.passes.push_back({&action, compute, done});
    if (isLastOfChunk)
      stage.reduced.push_back({action.chunk, done});
  }

  void orderMessages() {
    for (const Message &message : messages)
      for (TaskId task : message.waiting)
        if (message.sent >= 0)
          graph.order(message.sent, task);
  }

  /// What of the gradients' reductions has to wait until the passes are over.
  void addReductions(int64_t index) {
    Stage &stage = stages[index];
    for (auto &[chunk, reduced] : stage.reduced) {
      const StageCost &cost = costs.get(index, chunk);
      if (cost.gradientTraffic == 0)
        continue;
      double seconds = cost.gradientTraffic * (1 - cost.gradientOverlap);
      TaskId rest = seconds > 0 ? add(index, Resource::Gradients, seconds, Kind::GradientTraffic, chunk, -1) : addNone(index, Kind::GradientTraffic, chunk);
      graph.order(reduced, rest);
      if (stage.lastGradient[chunk] >= 0)
        graph.order(stage.lastGradient[chunk], rest);
      if (seconds > 0)
        graph.order(stage.done, rest);
      reduced = rest;
    }
  }

  void addUpdates(int64_t index) {
    for (auto [chunk, reduced] : stages[index].reduced) {
      const StageCost &cost = costs.get(index, chunk);
      TaskId ready = reduced;
      auto follow = [&, c = chunk](Resource resource, double seconds, Kind kind) {
        if (seconds == 0)
          return;
        TaskId task = add(index, resource, seconds, kind, c, -1);
        graph.order(ready, task);
        if (everyone >= 0)
          graph.order(everyone, task);
        ready = task;
      };
      follow(Resource::Collectives, cost.updateTraffic, Kind::UpdateTraffic);
      follow(Resource::Compute, cost.update, Kind::Update);
      follow(Resource::Gradients, cost.gatherTraffic, Kind::GatherTraffic);
    }
  }

  std::string describe(TaskId task) const {
    static constexpr const char *names[] = {"forward", "backward", "backward (activations)", "backward (weights)", "traffic", "sending",
                                            "reduction of gradients", "traffic before the update", "update", "gathering of parameters"};
    const Label &label = labels[task];
    std::string text = names[int(label.kind)];
    if (label.microbatch >= 0)
      text += " of microbatch " + std::to_string(label.microbatch);
    if (costs.chunks > 1)
      text += " of chunk " + std::to_string(label.chunk);
    return text + " on stage " + std::to_string(graph[task].rank);
  }

  Simulation summarize(const std::vector<double> &begins) {
    Simulation result;
    std::vector<std::vector<TaskId>> ofStage(costs.stages);
    for (TaskId task = 0; task < graph.size(); ++task)
      if (graph[task].resource != TaskGraph::kNone)
        ofStage[graph[task].rank].push_back(task);
    auto endOf = [&](TaskId task) { return begins[task] + graph[task].seconds; };
    for (auto &tasks : ofStage) {
      double begin = tasks.empty() ? 0 : begins[tasks.front()], end = begin;
      for (TaskId task : tasks) {
        begin = std::min(begin, begins[task]);
        end = std::max(end, endOf(task));
      }
      result.begin.push_back(begin);
      result.end.push_back(end);
      result.seconds = std::max(result.seconds, end);
    }
    std::vector<int64_t> inFlight = getMicrobatchesInFlightByChunk(schedule);
    for (int64_t chunk = 0; chunk < costs.chunks; ++chunk)
      for (int64_t stage = 0; stage < costs.stages; ++stage)
        result.inFlight.push_back(inFlight[schedule.getVirtualStage(stage, chunk)]);
    for (int64_t stage = 0; stage < costs.stages; ++stage) {
      auto &tasks = ofStage[stage];
      llvm::stable_sort(tasks, [&](TaskId a, TaskId b) { return begins[a] < begins[b]; });
      double compute = 0, busy = 0, until = 0;
      for (TaskId task : tasks) {
        bool computes = graph[task].resource == int64_t(Resource::Compute);
        if (computes && labels[task].kind != Kind::Send)
          compute += graph[task].seconds;
        if (!computes && labels[task].kind == Kind::Send)
          continue; // beside what the stage does
        busy += std::max(0.0, endOf(task) - std::max(until, begins[task]));
        until = std::max(until, endOf(task));
      }
      result.compute.push_back(compute);
      result.exposed.push_back(std::max(0.0, busy - compute));
      result.bubble.push_back(std::max(0.0, result.seconds - compute - result.exposed.back()));
      result.peakBytes.push_back(measureMemory(stage, begins, result));
      if (!options.keepTimeline)
        continue;
      llvm::stable_sort(tasks, [&](TaskId a, TaskId b) { return graph[a].resource < graph[b].resource; });
      for (TaskId task : tasks)
        if (graph[task].seconds > 0)
          result.timeline.push_back({stage, labels[task].chunk, labels[task].microbatch, Resource(graph[task].resource), labels[task].kind, begins[task], graph[task].seconds});
    }
    return result;
  }

  int64_t measureMemory(int64_t stage, const std::vector<double> &begins, Simulation &result) {
    int64_t fixed = 0, temporary = 0, now = 0, most = 0;
    for (int64_t chunk = 0; chunk < costs.chunks; ++chunk) {
      fixed += costs.get(stage, chunk).fixedBytes;
      temporary = std::max(temporary, costs.get(stage, chunk).temporaryBytes);
    }
    auto note = [&](double seconds, int64_t change) {
      now += change;
      most = std::max(most, now);
      if (options.keepTimeline && change != 0)
        result.memory.push_back({stage, seconds, fixed + now});
    };
    if (options.keepTimeline)
      result.memory.push_back({stage, 0, fixed});
    for (const Pass &pass : stages[stage].passes) {
      const StageCost &cost = costs.get(stage, pass.action->chunk);
      int64_t held = cost.activationBytesHeld.value_or(cost.activationBytes);
      double end = begins[pass.done] + graph[pass.done].seconds;
      if (pass.action->phase == Phase::Forward)
        note(begins[pass.compute], cost.activationBytes);
      else if (pass.action->part == BackwardPart::Whole)
        note(end, -cost.activationBytes);
      else
        note(end, pass.action->part == BackwardPart::Input ? held - cost.activationBytes : -held);
    }
    return fixed + most + temporary;
  }

  const Schedule &schedule;
  const PipelineCosts &costs;
  const SimulationOptions &options;
  TaskGraph graph;
  std::vector<Label> labels; ///< of the graph's tasks
  std::vector<Stage> stages;
  std::vector<Message> messages; ///< [virtual stage, forward or backward, microbatch]
  TaskId everyone = -1;          ///< has run when all gradients are reduced, if updates wait for that
};
} // namespace

double Simulation::getSpan() const {
  double span = 0;
  for (auto [from, to] : llvm::zip_equal(begin, end))
    span = std::max(span, to - from);
  return span;
}

double Simulation::getBubbleRate(double span) const {
  double most = compute.empty() ? 0 : *llvm::max_element(compute);
  return span > 0 ? (span - most) / span : 0;
}

llvm::Expected<Simulation> para::simulate(const Schedule &schedule, const PipelineCosts &costs, const SimulationOptions &options) {
  if (llvm::Error error = check(schedule, costs))
    return std::move(error);
  return Simulator(schedule, costs, options).run();
}
