//===- Machine.h - Streams, events, and who runs next -----------*- C++ -*-===//
//
// Streams are queues. Nothing runs when it is enqueued; when the host waits or asks, one task after another does, of a stream whose head
// can run, chosen by the seed: at random, in bursts, or with one stream as far ahead or as far behind as the events allow.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_REHEARSAL_MACHINE_H
#define PARA_RUNTIME_REHEARSAL_MACHINE_H

#include "Memory.h"

#include <atomic>
#include <deque>
#include <functional>
#include <set>
#include <unordered_map>

namespace para::runtime::rehearsal {

enum class Step { Done, Moved, Waits };

struct Task {
  TaskName name;
  TaskId id;
  std::shared_ptr<const Clock> host; ///< what the host knew when it enqueued it
  bool isBegun = false;
  std::function<Step()> run;
};

/// What an event's recording stands for; a wait keeps the one that was the last when it was enqueued.
struct Recording {
  bool isDone = false;
  double seconds = 0;
  Clock clock; ///< when it is done
};

struct Capture;

struct Stream {
  uint32_t number = 0, count = 0;
  bool isDestroyed = false, isStrict = false;
  std::shared_ptr<Capture> capture; ///< null: what is enqueued runs
  std::set<size_t> frontier;        ///< nodes of the capture that the next one is behind
  Clock clock; ///< of the task that has begun last
  std::deque<Task> queue;
  uint64_t rank = 0; ///< the lowest goes first, where the seed wants an order
};

struct Event {
  bool hasTime = false;
  std::shared_ptr<Recording> last; ///< null before it was recorded, and when that was in a capture
  std::weak_ptr<Capture> capture;
  bool isCaptured = false;
  std::set<size_t> nodes; ///< of the capture
};

class Machine {
public:
  Machine();
  Stream *createStream();
  void destroyStream(Stream *stream);
  Event *createEvent(bool hasTime);
  void destroyEvent(Event *event);
  /// The handles as what they are; the rehearsal ends where they are not.
  Stream *streamOf(void *handle, const char *what);
  Event *eventOf(void *handle, const char *what);

  /// `make` gives what is to be done, once; of a node of a graph for each launch.
  void enqueue(Stream *stream, const char *what, const char *detail, std::function<std::function<Step()>()> make);
  /// For what is done in one go, and is the same each time.
  void enqueue(Stream *stream, const char *what, const char *detail, std::function<void()> run);
  /// A task under a name that it has already.
  void push(Stream *stream, TaskName name, std::function<Step()> run);
  std::shared_ptr<Recording> record(Stream *stream);
  void wait(Stream *stream, std::shared_ptr<Recording> awaited);
  void record(Stream *stream, Event *event);
  void wait(Stream *stream, Event *event);
  /// The host waits until the stream is empty.
  void finish(Stream *stream);
  /// Some tasks run; whether the stream is empty.
  bool ask(Stream *stream);
  void finishAll();

  Viewer host() const { return {0, -1, hostClock.get(), &names}; }
  /// Of the task that runs; what is joined to it is known to those behind it.
  Clock &clock() { return *runningClock; }
  Memory memory;
  /// What moves() and isBusy() tell.
  std::atomic<uint64_t> moves{0};
  std::atomic<double> runsSince{0}; ///< 0 between tasks
  /// Called when no task can go on: others' ranks must. Set by the communicators.
  std::function<void()> pause;
  /// Called before a task first runs, and after each run that went on.
  std::function<void()> begins, moved;
  /// Called when the host has found its stream empty.
  std::function<void()> rests;

private:
  bool step(Stream *awaited);
  void awaitOthers();
  std::vector<Stream *> order(Stream *awaited);
  std::vector<std::unique_ptr<Stream>> streams;
  std::unordered_map<void *, std::unique_ptr<Event>> events;
  std::vector<TaskName> names;
  void learn(const Clock &clock);
  std::shared_ptr<const Clock> hostClock = std::make_shared<Clock>();
  Clock *runningClock = nullptr;
  enum class Manner { Random, Ordered, Bursts, Late } manner;
  Stream *burst = nullptr;
};

Machine &machine();
inline Memory &memory() { return machine().memory; }

} // namespace para::runtime::rehearsal

#endif
