//===- TaskGraph.h - Tasks that wait for each other --------------*- C++ -*-===//
//
// What ranks do, as tasks of known length. A resource of a rank (its compute units, a communicator, a link) runs one task at a time in the
// order in which they were added, like a stream of a GPU; resources run beside each other. A task begins when the one before it on its
// resource and all its predecessors have ended. Times are sums and maxima of the given ones: the same tasks give the same bits.
//
// Ranks that do the same at the same time (replicas of a stage) need one representative only: a collective among them takes its seconds,
// which depend on their number, on the representative.
//
// Example: two stages, one message.
//   TaskGraph graph(/*ranks=*/2, /*resources=*/2);
//   TaskId produce = graph.add(0, kCompute, 3), send = graph.add(0, kLink, 1), use = graph.add(1, kCompute, 3);
//   graph.order(produce, send);
//   graph.order(send, use);                     // run() gives 0, 3, 4
//
//===----------------------------------------------------------------------===//
#ifndef PARA_SIMULATE_TASKGRAPH_H
#define PARA_SIMULATE_TASKGRAPH_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace para {

using TaskId = int64_t;

struct Task {
  int64_t rank, resource;
  double seconds;
};

class TaskGraph {
public:
  /// The resource of tasks that use none: they begin when their predecessors have ended.
  static constexpr int64_t kNone = -1;

  TaskGraph(int64_t ranks, int64_t resources) : resources(resources), last(ranks * resources, -1) {}

  /// A task behind all others of the same rank and resource. Seconds are finite and not negative.
  TaskId add(int64_t rank, int64_t resource, double seconds);
  /// `after` begins when `before` has ended, or later.
  void order(TaskId before, TaskId after);

  int64_t size() const { return int64_t(tasks.size()); }
  const Task &operator[](TaskId task) const { return tasks[task]; }
  /// The task before this one on its resource, or -1.
  TaskId getPrevious(TaskId task) const { return previous[task]; }

  /// When each task begins. Takes time linear in tasks and orders. Where tasks wait for each other in a circle the error names them.
  llvm::Expected<std::vector<double>> run(llvm::function_ref<std::string(TaskId)> describe) const;

private:
  int64_t resources;
  std::vector<Task> tasks;
  std::vector<TaskId> previous;                  ///< of each task, on its resource
  std::vector<TaskId> last;                      ///< of each rank's resource
  std::vector<std::pair<TaskId, TaskId>> orders; ///< before, after
};

} // namespace para

#endif
