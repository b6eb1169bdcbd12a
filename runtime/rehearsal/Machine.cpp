//===- Machine.cpp - Streams, events, and who runs next -----------------------===//
#include "Machine.h"
#include "Rehearsal.h"

#include <cassert>
#include <chrono>

namespace para::runtime::rehearsal {

Machine &machine() {
  static Machine *made = new Machine; // never destroyed: a handler may ask for it at the end
  return *made;
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

void Machine::enqueue(Stream *stream, const char *what, const char *detail, std::function<Step()> run) {
  TaskName name{rankOf().op(), what, detail, stream->number, ++stream->count};
  names.push_back(name);
  stream->queue.push_back({name, TaskId(names.size() - 1), hostClock, false, std::move(run)});
}

void Machine::enqueue(Stream *stream, const char *what, const char *detail, std::function<void()> run) {
  enqueue(stream, what, detail, std::function<Step()>([run = std::move(run)] {
            run();
            return Step::Done;
          }));
}

void Machine::record(Stream *stream, Event *event) {
  auto made = std::make_shared<Recording>();
  event->last = made;
  enqueue(stream, "record", nullptr, std::function<void()>([this, made] {
            made->isDone = true;
            made->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
            made->clock = clock();
          }));
}

void Machine::wait(Stream *stream, Event *event) {
  if (!event->last)
    fail(rankOf().op(), text("stream %u waits for an event that was never recorded: a GPU would not wait at all", stream->number));
  enqueue(stream, "wait", nullptr, std::function<Step()>([this, awaited = event->last] {
            if (!awaited->isDone)
              return Step::Waits;
            clock().join(awaited->clock);
            return Step::Done;
          }));
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
    Step result = task.run();
    memory.viewer = nullptr;
    memory.running = nullptr;
    if (result == Step::Waits)
      continue;
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
