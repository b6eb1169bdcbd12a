//===- Watch.cpp - Communication that does not get on -------------------------===//
#include "Watch.h"
#include "Communicators.h"
#include "core/Environment.h"
#include "core/Thread.h"
#include "rehearsal/Rehearsal.h"

#include <algorithm>
#include <numeric>
#include <unistd.h>

namespace para::runtime::cuda {

namespace {
constexpr uint32_t callsPerTick = 32;
/// NCCL's start takes longer where there are many ranks, and so does a communication's first use, which connects them.
constexpr double startFactor = 6;
} // namespace

Status Watch::start() {
  void *memory = nullptr;
  ticksLane = size_t(numStreams) + ctx->manifest->channels.size();
  if (int result = ctx->driver.cuMemAllocHost(&memory, (ticksLane + 1) * sizeof(uint32_t)))
    return Status::error(ctx->driverError("cuMemAllocHost", result));
  words = static_cast<std::atomic<uint32_t> *>(memory);
  for (size_t i = 0; i <= ticksLane; ++i)
    words[i] = 0;
  for (Handle stream : ctx->streams)
    addLane(stream);
  base.resize(size_t(ctx->manifest->lines()));
  constexpr uint32_t usualNumbers = 4096;
  if (growNumbers(usualNumbers, "the start") != PARA_OK)
    return Status::error("");
  timeoutSeconds = numberOf(Setting::CommunicationTimeout);
  thread = startThread([this] { run(); });
  return Status::success();
}

void Watch::stop() {
  isStopping = true;
  if (thread.joinable())
    thread.join();
}

Watch::~Watch() {
  stop();
  for (Address table : tables)
    ctx->driver.cuMemFree(table);
  if (words)
    ctx->driver.cuMemFreeHost(words);
}

size_t Watch::laneOf(Handle stream) const { return size_t(std::find(lanes.begin(), lanes.end(), stream) - lanes.begin()); }

void Watch::beginList(std::shared_ptr<Calls> known) {
  for (size_t i = 0; i < lanes.size(); ++i)
    words[i] = 0;
  words[ticksLane] = 0;
  std::lock_guard<std::mutex> lock(mutex);
  if (!known) {
    known = std::make_shared<Calls>();
    known->marks.resize(lanes.size());
    known->numbers.resize(base.size());
  }
  ++lists;
  current = std::move(known);
  phase = Phase::Enqueues;
}

void Watch::endList() {
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t line = 0; current && line < base.size(); ++line)
    base[line] += current->numbers[line];
  current = nullptr;
  phase = Phase::Works;
}

para_status Watch::note(size_t lane, uint32_t value, const char *op) {
  if (value >= numbers)
    if (para_status status = growNumbers(value + 1, op))
      return status;
  Handle stream = lane == ticksLane ? ctx->streams[0] : lanes[lane];
  return ctx->check(op, "cuMemcpyDtoHAsync", ctx->driver.cuMemcpyDtoHAsync(words + lane, tables.back() + 4 * Address(value), 4, stream));
}

/// The first run of a list needs as many as all later ones: it is not captured.
para_status Watch::growNumbers(uint32_t atLeast, const char *op) {
  std::vector<uint32_t> list(std::max(atLeast, 2 * numbers));
  std::iota(list.begin(), list.end(), 0u);
  Address made = 0;
  Driver &driver = ctx->driver;
  if (para_status status = ctx->check(op, "cuMemAlloc", driver.cuMemAlloc(&made, list.size() * 4)))
    return status;
  tables.push_back(made);
  numbers = uint32_t(list.size());
  if (para_status status = ctx->check(op, "cuMemcpyHtoDAsync", driver.cuMemcpyHtoDAsync(made, list.data(), list.size() * 4, ctx->streams[2])))
    return status;
  return ctx->check(op, "cuStreamSynchronize", driver.cuStreamSynchronize(ctx->streams[2]));
}

para_status Watch::begin(Handle stream, const Communication &what) {
  size_t lane = laneOf(stream);
  uint32_t mark = 0;
  {
    std::lock_guard<std::mutex> lock(mutex);
    mark = current->marks[lane] += 2;
    current->entries.push_back({what, lane, mark, ++current->numbers[size_t(what.line)]});
    enqueuing = what;
  }
  return note(lane, mark - 1, what.op);
}

para_status Watch::end(Handle stream, const Communication &what) {
  size_t lane = laneOf(stream);
  {
    std::lock_guard<std::mutex> lock(mutex);
    enqueuing.op = nullptr;
  }
  return note(lane, current->marks[lane], what.op);
}

para_status Watch::tick(const char *op) {
  uint32_t ticks = 0;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!current)
      return PARA_OK;
    ticks = ++current->ticks;
  }
  return ticks % callsPerTick == 0 ? note(ticksLane, ticks / callsPerTick, op) : PARA_OK;
}

void noteProgress(para_context *ctx, const char *op) { ctx->watch->tick(op); }

void Watch::run() {
  ctx->driver.cuCtxSetCurrent(ctx->primary);
  double napSeconds = timeoutSeconds > 0 ? std::clamp(timeoutSeconds / 20, 0.005, 0.1) : 0.1;
  double last = nowSeconds();
  while (!isStopping && !failed) {
    usleep(useconds_t(napSeconds * 1e6));
    double now = nowSeconds();
    // A rank that was stopped itself has not waited meanwhile.
    double seconds = std::min(now - last, 5 * napSeconds);
    last = now;
    if (look(seconds) || isStopping)
      return;
  }
}

/// Whether there is nothing left to watch.
bool Watch::look(double seconds) {
  Phase now = phase;
  quietSeconds += seconds;
  if (ctx->world->failedRank() >= 0) {
    failed = true;
    return true;
  }
  if (now == Phase::Enqueues || now == Phase::Waits)
    if (std::string found = ctx->communicators->findError(); !found.empty()) {
      // Whoever saw a rank die tells more of it: let that be first.
      constexpr useconds_t moment = 500000;
      for (useconds_t waited = 0; waited < moment && ctx->world->failedRank() < 0; waited += moment / 10)
        usleep(moment / 10);
      if (ctx->world->failedRank() >= 0)
        return failed = true;
      std::lock_guard<std::mutex> lock(mutex);
      const Calls::Entry *entry = oldest();
      report(entry ? entry->what.op : "the step", found + (entry ? ", while " + nameOf(entry->what) + " was under way" : ""));
      return true;
    }
  uint64_t local = startSteps + (rehearsal::isOn() ? rehearsal::moves() : 0);
  bool connects = false;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (size_t i = 0; i < lanes.size(); ++i)
      local += wordOf(i);
    local += wordOf(ticksLane);
    local += current ? current->entries.size() + current->ticks : 0;
    for (uint64_t done : base)
      local += 4 * done;
    connects = lists == 1 && enqueuing.op && now == Phase::Enqueues;
  }
  connectSeconds = connects && local == localSeen ? connectSeconds + seconds : 0;
  connects = connects && connectSeconds < startFactor * timeoutSeconds;
  bool isWorking = now == Phase::Works && !ctx->world->isWaiting();
  bool gotOn = local != localSeen || isWorking || connects || (rehearsal::isOn() && rehearsal::isBusy());
  localSeen = local;
  publish(gotOn);
  uint64_t total = ctx->world->shareProgress(published);
  if (total != totalSeen)
    quietSeconds = 0;
  totalSeen = total;
  // Where ranks do not know of each other, one may do something of its own for a while.
  double most = timeoutSeconds * (now == Phase::Starts || !ctx->world->sharesProgress() ? startFactor : 1);
  return timeoutSeconds > 0 && quietSeconds > most && reportStuck(quietSeconds);
}

void Watch::publish(bool gotOn) {
  published += gotOn;
  if (!ctx->control)
    return;
  RankBlock &mine = ctx->control->rank(ctx->rank);
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<uint64_t> begun(base);
  for (size_t i = 0; current && i < current->entries.size(); ++i) {
    const Calls::Entry &entry = current->entries[i];
    if (wordOf(entry.lane) + 1 >= entry.mark)
      begun[size_t(entry.what.line)] = std::max(begun[size_t(entry.what.line)], base[size_t(entry.what.line)] + entry.number);
  }
  for (size_t line = 0; line < begun.size(); ++line)
    ctx->control->slot(ctx->rank, int64_t(line)).arrived = begun[line];
  const Calls::Entry *entry = oldest();
  std::string doing = entry ? "waits in " + nameOf(entry->what) + " of '" + entry->what.op + "'" : "";
  doing.resize(sizeof(mine.doing) - 1);
  std::copy(doing.begin(), doing.end(), mine.doing);
}

/// The communication that began first of those that have not ended; null if there is none. Under the mutex.
const Watch::Calls::Entry *Watch::oldest() const {
  for (size_t i = 0; current && i < current->entries.size(); ++i) {
    const Calls::Entry &entry = current->entries[i];
    if (wordOf(entry.lane) + 1 == entry.mark)
      return &entry;
  }
  return nullptr;
}

/// "the all-reduce on 'data' (ranks 0, 1), sequence 3".
std::string Watch::nameOf(const Communication &what) const {
  const Manifest &manifest = *ctx->manifest;
  size_t communicators = manifest.communicators.size();
  std::string name = std::string("the ") + what.kind;
  if (size_t(what.line) >= communicators) {
    auto &[from, to, tags] = manifest.channels[size_t(what.line) - communicators];
    bool isSender = manifest.stageOf(ctx->rank) == from;
    return name + (isSender ? " to stage " + std::to_string(to) : " from stage " + std::to_string(from));
  }
  name += " on '";
  for (size_t i = 0; i < manifest.communicators[size_t(what.line)].size(); ++i)
    name += (i ? " x " : "") + manifest.communicators[size_t(what.line)][i];
  name += "' (ranks ";
  std::vector<int64_t> members = manifest.members(size_t(what.line), ctx->rank);
  constexpr size_t most = 8;
  for (size_t i = 0; i < std::min(most, members.size()); ++i)
    name += (i ? ", " : "") + std::to_string(members[i]);
  return name + (members.size() > most ? " and " + std::to_string(members.size() - most) + " more" : "") + "), sequence " + std::to_string(what.sequence);
}

/// Where a rank is, and if it waits for another one, where that is, and so on.
std::string Watch::whereIsRank(int64_t rank) const {
  std::vector<int64_t> told{ctx->rank};
  std::string said;
  while (rank >= 0 && std::find(told.begin(), told.end(), rank) == told.end()) {
    told.push_back(rank);
    said += (said.empty() ? "" : "; ") + whereIsAlone(rank);
    rank = ctx->control->rank(rank).waitsFor;
  }
  return said;
}

std::string Watch::whereIsAlone(int64_t rank) const {
  const ControlBlock &control = *ctx->control;
  RankBlock &theirs = control.rank(rank);
  std::string doing(theirs.doing, strnlen(theirs.doing, sizeof(theirs.doing)));
  std::string where = "rank " + std::to_string(rank);
  if (hasEnded(theirs.pid))
    return where + " has ended";
  if (isStopped(theirs.pid))
    where += " is stopped by a signal or a debugger, and";
  if (!doing.empty())
    return where + " " + doing;
  int32_t awaited = theirs.waitsFor;
  return where + (awaited >= 0 ? " waits for rank " + std::to_string(awaited) + ", behind its step, " : " is ") + whereIs(control, rank);
}

/// Who of the members has not come to the communication, and where they are.
std::string Watch::whoIsMissing(const Communication &what, uint64_t number) const {
  const Manifest &manifest = *ctx->manifest;
  size_t communicators = manifest.communicators.size();
  std::vector<int64_t> members;
  if (size_t(what.line) < communicators) {
    members = manifest.members(size_t(what.line), ctx->rank);
  } else {
    auto &[from, to, tags] = manifest.channels[size_t(what.line) - communicators];
    std::vector<int64_t> line = manifest.coordinates(ctx->rank);
    int64_t &stage = line[size_t(manifest.axisIndex("pipeline"))];
    stage = stage == from ? to : from;
    members = {manifest.rankOf(line)};
  }
  std::string said;
  int missing = 0;
  constexpr int most = 8;
  for (int64_t rank : members) {
    if (rank == ctx->rank || (ctx->control && ctx->control->slot(rank, what.line).arrived.load() >= number))
      continue;
    if (++missing > most)
      continue;
    said += missing > 1 ? "; " : "";
    std::string host = ctx->world->hostOf(rank);
    said += ctx->control ? whereIsRank(rank) : "rank " + std::to_string(rank) + (host.empty() ? "" : " on host '" + host + "'");
  }
  if (missing > most)
    said += " and " + std::to_string(missing - most) + " more";
  if (!ctx->control)
    return "not come to it, or held up on the way: " + said;
  if (missing == 0)
    said = "all of its ranks have come to it, and what is between them holds it up";
  else
    said = "not come to it: " + said;
  for (int64_t rank = 0; rank < ctx->control->ranks(); ++rank)
    if (rank != ctx->rank && said.find("rank " + std::to_string(rank) + " ") == std::string::npos && isStopped(ctx->control->rank(rank).pid))
      said += "; " + whereIsRank(rank);
  return said;
}

/// Ends the job where something of this rank's is stuck; false where only others can tell what.
bool Watch::reportStuck(double seconds) {
  std::string waited = format(" has waited %.0f s, and nothing gets on; ", seconds);
  std::string hint = std::string(" (") + runtime::nameOf(Setting::CommunicationTimeout) + " sets after how many seconds; 0: never)";
  std::lock_guard<std::mutex> lock(mutex);
  if (phase == Phase::Starts) {
    report("the start", "NCCL has waited for all ranks to come for " + format("%.0f s", seconds) + hint);
    return true;
  }
  if (const Calls::Entry *entry = oldest()) {
    report(entry->what.op, nameOf(entry->what) + waited + whoIsMissing(entry->what, base[size_t(entry->what.line)] + entry->number) + hint);
    return true;
  }
  if (enqueuing.op) {
    uint64_t number = base[size_t(enqueuing.line)] + current->numbers[size_t(enqueuing.line)];
    report(enqueuing.op, "NCCL has not taken " + nameOf(enqueuing) + ", which" + waited + whoIsMissing(enqueuing, number) + hint);
    return true;
  }
  // Whoever is in a communication tells more of it, and is heard first.
  int32_t awaited = ctx->control ? ctx->control->rank(ctx->rank).waitsFor.load() : -1;
  if (awaited < 0)
    return false;
  // One that has not begun may have much to read, or little of a busy machine.
  bool begins = ctx->control->rank(awaited).op[0] == 0 && !isStopped(ctx->control->rank(awaited).pid);
  if (seconds < (begins ? startFactor : 1.5) * timeoutSeconds)
    return false;
  report(ctx->currentOp ? ctx->currentOp : "the start", "this rank, behind its step," + waited + whereIsRank(awaited) + hint);
  return true;
}

void Watch::report(const char *op, const std::string &cause) {
  ctx->tell(op, cause);
  failed = true;
  // NCCL's own end may hang as well.
  std::thread([] {
    sleep(3);
    _exit(1);
  }).detach();
  if (phase != Phase::Starts)
    ctx->communicators->abort();
  ctx->world->declareFailure(1);
  _exit(1);
}

} // namespace para::runtime::cuda
