#include "para/Simulate/TaskGraph.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace para;

TaskId TaskGraph::add(int64_t rank, int64_t resource, double seconds) {
  assert(std::isfinite(seconds) && seconds >= 0 && "a task takes a number of seconds");
  TaskId task = size();
  tasks.push_back({rank, resource, seconds});
  previous.push_back(-1);
  if (resource != kNone) {
    assert(resource < resources && rank * resources + resource < int64_t(last.size()) && "no such resource");
    previous.back() = std::exchange(last[rank * resources + resource], task);
  }
  return task;
}

void TaskGraph::order(TaskId before, TaskId after) {
  assert(before < size() && after < size() && before >= 0 && after >= 0 && "no such task");
  orders.push_back({before, after});
}

namespace {
/// Names of tasks that wait for each other in a circle; `waits` gives one of those a task waits for that have not run.
llvm::Error nameCircle(TaskId start, int64_t count, llvm::function_ref<TaskId(TaskId)> waits, llvm::function_ref<std::string(TaskId)> describe) {
  TaskId task = start;
  for (int64_t i = 0; i < count; ++i)
    task = waits(task); // on the circle at last
  std::vector<TaskId> circle = {task};
  for (TaskId next = waits(task); next != task; next = waits(next))
    circle.push_back(next);
  std::rotate(circle.begin(), llvm::min_element(circle), circle.end());
  std::string text = "tasks wait for each other in a circle: " + describe(circle.front());
  constexpr size_t most = 8;
  for (size_t i = 1; i < circle.size() && i < most; ++i)
    text += " waits for " + describe(circle[i]) + ", which";
  if (circle.size() > most)
    text += " waits for " + std::to_string(circle.size() - most) + " more, which in the end";
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text + (circle.size() > 1 ? " waits for the first" : " waits for itself"));
}
} // namespace

llvm::Expected<std::vector<double>> TaskGraph::run(llvm::function_ref<std::string(TaskId)> describe) const {
  int64_t count = size();
  // Successors of task i are after[first[i]] up to after[first[i + 1]].
  std::vector<int64_t> first(count + 1, 0), missing(count, 0);
  auto forEachOrder = [&](auto visit) {
    for (auto [before, after] : orders)
      visit(before, after);
    for (TaskId task = 0; task < count; ++task)
      if (previous[task] >= 0)
        visit(previous[task], task);
  };
  forEachOrder([&](TaskId before, TaskId after) { ++first[before + 1], ++missing[after]; });
  for (int64_t i = 0; i < count; ++i)
    first[i + 1] += first[i];
  std::vector<TaskId> after(first[count]);
  std::vector<int64_t> fill(first.begin(), first.end() - 1);
  forEachOrder([&](TaskId before, TaskId task) { after[fill[before]++] = task; });

  std::vector<double> begins(count, 0);
  std::vector<TaskId> ready;
  ready.reserve(count);
  for (TaskId task = 0; task < count; ++task)
    if (missing[task] == 0)
      ready.push_back(task);
  for (size_t done = 0; done < ready.size(); ++done) {
    TaskId task = ready[done];
    double end = begins[task] + tasks[task].seconds;
    for (int64_t i = first[task]; i < first[task + 1]; ++i) {
      begins[after[i]] = std::max(begins[after[i]], end);
      if (--missing[after[i]] == 0)
        ready.push_back(after[i]);
    }
  }
  if (int64_t(ready.size()) == count)
    return begins;
  // Each task that did not run waits for one that did not run either.
  std::vector<TaskId> waitsFor(count, -1);
  forEachOrder([&](TaskId before, TaskId task) {
    if (missing[before] > 0 && waitsFor[task] < 0)
      waitsFor[task] = before;
  });
  TaskId start = llvm::find_if(missing, [](int64_t left) { return left > 0; }) - missing.begin();
  return nameCircle(start, count, [&](TaskId task) { return waitsFor[task]; }, describe);
}
