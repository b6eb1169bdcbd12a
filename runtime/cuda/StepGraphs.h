//===- StepGraphs.h - One launch a step -------------------------*- C++ -*-===//
//
// A list of actions makes the same calls each time, with the same buffers and without an answer to the host in between. So it is run as a CUDA graph:
// the first time call by call, which makes what libraries make on first use (algorithms, workspaces, connections of ranks), the second time captured,
// and from then on launched. Capture begins on the compute stream; all others join it by an event and are joined again at the end. A list that cannot
// be captured runs call by call, and why() tells what holds it up.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CUDA_STEPGRAPHS_H
#define PARA_RUNTIME_CUDA_STEPGRAPHS_H

#include "Watch.h"

#include <functional>
#include <map>

namespace para::runtime::cuda {

class StepGraphs {
public:
  explicit StepGraphs(para_context *ctx) : ctx(ctx) {}
  ~StepGraphs();
  /// No list is captured from here on, for a reason that goes behind "because".
  void forbid(const std::string &because) { forbidden = because; }
  /// Enqueues what the list does, by `enqueue` or by a launch. Of failures the user was told.
  para_status enqueue(const void *list, const std::function<para_status()> &enqueue);
  /// Nodes of the list that was run last; 0 if it was run call by call.
  int64_t nodes() const { return lastNodes; }
  /// Why lists are not run as graphs; empty if they are.
  const std::string &why() const { return forbidden; }

private:
  struct List {
    int64_t runs = 0, nodes = 0, bytesSent = 0;
    uint64_t scratchVersion = 0; ///< of the scratch memory that the nodes have the addresses of
    Handle executable = nullptr;
    std::shared_ptr<Watch::Calls> calls;
  };
  para_status runCalls(const std::function<para_status()> &enqueue);
  bool capture(List &list, const std::function<para_status()> &enqueue);
  int join(Handle from, Handle to);
  void drop(List &list);
  para_context *ctx;
  std::map<const void *, List> lists;
  std::vector<Handle> events; ///< of joins, made on first use
  size_t eventsUsed = 0;
  std::string forbidden;
  int64_t lastNodes = 0;
};

} // namespace para::runtime::cuda

#endif
