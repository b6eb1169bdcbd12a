//===- Graph.h - Streams that are captured ----------------------*- C++ -*-===//
//
// What is enqueued on a stream that is captured does not run: it becomes a node, behind the stream's last one and behind the events that the stream
// waits for. Another stream joins by waiting for an event of the capture, and must be joined again before the end. A launched graph is no part of the
// streams that it was captured from: its nodes run in any order that its edges allow, behind what is before the launch on the launch's stream.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_REHEARSAL_GRAPH_H
#define PARA_RUNTIME_REHEARSAL_GRAPH_H

#include "Machine.h"

#include <set>

namespace para::runtime::rehearsal {

struct Node {
  TaskName name;
  size_t line; ///< of the captured stream that it was enqueued on
  std::set<size_t> behind;
  std::function<std::function<Step()>()> make; ///< what it does, anew for each launch
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<uint32_t> lines; ///< the captured streams' numbers
};

/// A capture that is under way.
struct Capture {
  Stream *origin = nullptr;
  Graph graph;
  std::vector<Stream *> streams; ///< by line
};

/// A graph that can be launched; one launch of it runs behind the other.
struct Executable {
  Graph graph;
  std::vector<Stream *> lines; ///< on which its nodes run
};

/// `isStrict`: calls that may do more than enqueue are errors meanwhile, in any stream.
void beginCapture(Stream *origin, bool isStrict);
/// Ends the rehearsal where a stream has joined and is not joined again.
std::unique_ptr<Graph> endCapture(Stream *origin);
std::unique_ptr<Executable> instantiate(const Graph &graph);
void launch(Executable &executable, Stream *stream);
void destroy(std::unique_ptr<Executable> executable);
/// Ends the rehearsal where a strict capture is under way.
void forbidInCapture(const char *call);

} // namespace para::runtime::rehearsal

#endif
