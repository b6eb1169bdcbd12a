//===- Machine.cpp - Streams, events, and who runs next -----------------------===//
#include "Graph.h"
#include "Rehearsal.h"

#include "core/Status.h"

#include <algorithm>
#include <cassert>

namespace para::runtime::rehearsal {

Machine &machine() {
  static Machine *made = new Machine; // never destroyed: a handler may ask for it at the end
  return *made;
}

uint64_t moves() { return machine().moves; }
bool isBusy() { // a task that only looks whether others have come is none
  constexpr double whileSeconds = 0.02;
  double since = machine().runsSince;
  return since > 0 && nowSeconds() - since > whileSeconds;
}

Machine::Machine() : names(1), manner(Manner(seed() % 4)) {}

Stream *Machine::createStream() {
  streams.push_back(std::make_unique<Stream>());
  streams.back()->number = uint32_t(streams.size() - 1);
  streams.back()->rank = random();
  return streams.back().get();
}

void Machine::destroyStream(Stream *stream) { stream->isDestroyed = true; }

Event *Machine::createEvent(bool hasTime) {
  auto made = std::make_unique<Event>();
  made->hasTime = hasTime;
  Event *event = made.get();
  events[event] = std::move(made);
  return event;
}

void Machine::destroyEvent(Event *event) { events.erase(event); }

Stream *Machine::streamOf(void *handle, const char *what) {
  for (auto &stream : streams)
    if (stream.get() == handle && !stream->isDestroyed)
      return stream.get();
  fail(rankOf().op(), std::string(what) + ": there is no such stream");
}

Event *Machine::eventOf(void *handle, const char *what) {
  auto at = events.find(handle);
  if (at == events.end())
    fail(rankOf().op(), std::string(what) + ": there is no such event");
  return at->second.get();
}

void Machine::push(Stream *stream, TaskName name, std::function<Step()> run) {
  name.stream = stream->number;
  name.position = ++stream->count;
  names.push_back(name);
  stream->queue.push_back({name, TaskId(names.size() - 1), hostClock, false, std::move(run)});
}

void Machine::enqueue(Stream *stream, const char *what, const char *detail, std::function<std::function<Step()>()> make) {
  TaskName name{rankOf().op(), what, detail, stream->number, 0, stream->number};
  if (!stream->capture)
    return push(stream, name, make());
  Capture &capture = *stream->capture;
  size_t line = size_t(std::find(capture.streams.begin(), capture.streams.end(), stream) - capture.streams.begin());
  capture.graph.nodes.push_back({name, line, stream->frontier, std::move(make)});
  stream->frontier = {capture.graph.nodes.size() - 1};
}

void Machine::enqueue(Stream *stream, const char *what, const char *detail, std::function<void()> run) {
  std::function<Step()> step = [run = std::move(run)] {
    run();
    return Step::Done;
  };
  enqueue(stream, what, detail, std::function<std::function<Step()>()>([step = std::move(step)] { return step; }));
}

std::shared_ptr<Recording> Machine::record(Stream *stream) {
  auto made = std::make_shared<Recording>();
  push(stream, {rankOf().op(), "record", nullptr, 0, 0, stream->number}, [this, made] {
    made->isDone = true;
    made->seconds = nowSeconds();
    made->clock = clock();
    return Step::Done;
  });
  return made;
}

void Machine::record(Stream *stream, Event *event) {
  event->isCaptured = bool(stream->capture);
  event->capture = stream->capture;
  event->nodes = stream->frontier;
  event->last = stream->capture ? nullptr : record(stream);
}

void Machine::wait(Stream *stream, std::shared_ptr<Recording> awaited) {
  push(stream, {rankOf().op(), "wait", nullptr, 0, 0, stream->number}, [this, awaited = std::move(awaited)] {
    if (!awaited->isDone)
      return Step::Waits;
    clock().join(awaited->clock);
    return Step::Done;
  });
}

void Machine::wait(Stream *stream, Event *event) {
  if (!event->isCaptured && !event->last)
    fail(rankOf().op(), text("stream %u waits for an event that was never recorded: a GPU would not wait at all", stream->number));
  if (!event->isCaptured && stream->capture)
    fail(rankOf().op(), text("stream %u, which is captured, waits for an event that was recorded outside of the capture", stream->number));
  if (!event->isCaptured)
    return wait(stream, event->last);
  std::shared_ptr<Capture> capture = event->capture.lock();
  if (!capture)
    fail(rankOf().op(), text("stream %u waits for an event of a capture that has ended", stream->number));
  if (!stream->capture) { // It joins.
    stream->capture = capture;
    capture->streams.push_back(stream);
    capture->graph.lines.push_back(stream->number);
  } else if (stream->capture != capture) {
    fail(rankOf().op(), text("stream %u waits for an event of another capture", stream->number));
  }
  stream->frontier.insert(event->nodes.begin(), event->nodes.end());
}

void Machine::learn(const Clock &clock) {
  auto joined = std::make_shared<Clock>(*hostClock);
  joined->join(clock);
  hostClock = std::move(joined);
}

std::vector<Stream *> Machine::order(Stream *awaited) {
  std::vector<Stream *> list;
  for (auto &stream : streams)
    if (!stream->queue.empty())
      list.push_back(stream.get());
  switch (manner) {
  case Manner::Ordered: // each stream as far ahead of the next as it can be
    std::sort(list.begin(), list.end(), [](Stream *x, Stream *y) { return x->rank < y->rank; });
    break;
  case Manner::Late: // only what the host waits for, and what that waits for
    std::sort(list.begin(), list.end(), [&](Stream *x, Stream *y) { return std::pair(x != awaited, x->rank) < std::pair(y != awaited, y->rank); });
    break;
  case Manner::Bursts:
  case Manner::Random:
    for (size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[random() % i]);
    if (manner == Manner::Bursts && random() % 32 != 0)
      if (auto at = std::find(list.begin(), list.end(), burst); at != list.end())
        std::rotate(list.begin(), at, at + 1);
    break;
  }
  return list;
}

bool Machine::step(Stream *awaited) {
  for (Stream *stream : order(awaited)) {
    Task &task = stream->queue.front();
    if (!task.isBegun) {
      stream->clock.join(*task.host);
      stream->clock.set(stream->number, task.name.position);
      task.isBegun = true;
      if (begins)
        begins(); // it may take long, and others are not to think that nobody moves
    }
    runningClock = &stream->clock;
    Viewer viewer{task.id, -1, runningClock, &names};
    memory.viewer = &viewer;
    memory.running = &task.name;
    runsSince = nowSeconds();
    Step result = task.run();
    runsSince = 0;
    memory.viewer = nullptr;
    memory.running = nullptr;
    if (result == Step::Waits)
      continue;
    ++moves;
    if (moved)
      moved();
    if (result == Step::Done)
      stream->queue.pop_front();
    burst = stream;
    return true;
  }
  return false;
}

void Machine::awaitOthers() {
  assert(pause && "a wait is for what was enqueued before it: only messages of other ranks can hold everything up");
  pause();
}

void Machine::finish(Stream *stream) {
  while (!stream->queue.empty())
    if (!step(stream))
      awaitOthers();
  learn(stream->clock);
  if (rests)
    rests();
}

bool Machine::ask(Stream *stream) {
  for (uint64_t left = 1 + random() % 256; left > 0 && !stream->queue.empty(); --left)
    if (!step(stream)) {
      awaitOthers();
      break;
    }
  if (!stream->queue.empty())
    return false;
  learn(stream->clock);
  if (rests)
    rests();
  return true;
}

void Machine::finishAll() {
  for (auto &stream : streams)
    finish(stream.get());
}

} // namespace para::runtime::rehearsal
