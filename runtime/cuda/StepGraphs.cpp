//===- StepGraphs.cpp - One launch a step -------------------------------------===//
#include "StepGraphs.h"
#include "Communicators.h"

namespace para::runtime::cuda {

namespace {
constexpr int captureThreadLocal = 1; ///< other threads' calls, as the watch's, are theirs
constexpr unsigned eventWithoutTiming = 2;
} // namespace

StepGraphs::~StepGraphs() {
  for (auto &[key, list] : lists)
    drop(list);
  for (Handle event : events)
    ctx->driver.cuEventDestroy(event);
}

void StepGraphs::drop(List &list) {
  if (list.executable)
    ctx->driver.cuGraphExecDestroy(list.executable);
  list.executable = nullptr;
}

int StepGraphs::join(Handle from, Handle to) {
  int result = success;
  if (eventsUsed == events.size())
    result = ctx->driver.cuEventCreate(&events.emplace_back(nullptr), eventWithoutTiming);
  Handle event = events[eventsUsed++];
  if (result == success)
    result = ctx->driver.cuEventRecord(event, from);
  return result == success ? ctx->driver.cuStreamWaitEvent(to, event, 0) : result;
}

para_status StepGraphs::runCalls(const std::function<para_status()> &enqueue) {
  ++ctx->listRuns;
  if (ctx->timeline)
    ctx->timeline->restart();
  if (ctx->watch)
    ctx->watch->beginList();
  return enqueue();
}

/// False where this cannot be captured; `forbidden` tells why. Nothing has run then.
bool StepGraphs::capture(List &list, const std::function<para_status()> &enqueue) {
  Driver &driver = ctx->driver;
  std::vector<Handle> others(std::begin(ctx->streams) + 1, std::end(ctx->streams));
  ctx->communicators->addStreams(others);
  Handle origin = ctx->streams[0], graph = nullptr;
  int64_t sentBefore = ctx->bytesSent;
  std::string problem;
  auto note = [&](const char *what, int result) {
    if (result != success && problem.empty())
      problem = ctx->driverError(what, result);
  };
  if (int result = driver.cuStreamBeginCapture(origin, captureThreadLocal)) {
    forbidden = ctx->driverError("cuStreamBeginCapture", result);
    return false;
  }
  ctx->captureProblem = &problem; // What fails now is no failure of the run.
  eventsUsed = 0;
  for (Handle stream : others)
    note("cuStreamWaitEvent", join(origin, stream));
  if (runCalls(enqueue) != PARA_OK && problem.empty())
    problem = "a call failed";
  for (Handle stream : others)
    note("cuStreamWaitEvent", join(stream, origin));
  note("cuStreamEndCapture", driver.cuStreamEndCapture(origin, &graph));
  ctx->captureProblem = nullptr;
  list.bytesSent = ctx->bytesSent - sentBefore;
  ctx->bytesSent = sentBefore;
  size_t nodes = 0;
  if (problem.empty())
    note("cuGraphGetNodes", driver.cuGraphGetNodes(graph, nullptr, &nodes));
  if (problem.empty())
    note("cuGraphInstantiate", driver.cuGraphInstantiate(&list.executable, graph, 0));
  if (graph)
    driver.cuGraphDestroy(graph);
  list.nodes = int64_t(nodes);
  list.scratchVersion = ctx->scratchVersion;
  if (ctx->watch)
    list.calls = ctx->watch->calls();
  forbidden = problem;
  return problem.empty();
}

para_status StepGraphs::enqueue(const void *key, const std::function<para_status()> &enqueue) {
  List &list = lists[key];
  if (list.executable && list.scratchVersion != ctx->scratchVersion)
    drop(list); // It would use memory that was given back.
  bool isFirst = list.runs++ == 0;
  lastNodes = 0;
  if (isFirst || !forbidden.empty() || (!list.executable && !capture(list, enqueue)))
    return runCalls(enqueue);
  if (ctx->watch)
    ctx->watch->beginList(list.calls);
  const char *op = "the step";
  ctx->enter(op);
  ctx->ranges.push(op);
  ctx->bytesSent += list.bytesSent;
  lastNodes = list.nodes;
  int result = ctx->driver.cuGraphLaunch(list.executable, ctx->streams[0]);
  ctx->ranges.pop();
  return ctx->check(op, "cuGraphLaunch", result);
}

} // namespace para::runtime::cuda
