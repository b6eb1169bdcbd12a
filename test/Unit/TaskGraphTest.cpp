//===- TaskGraphTest.cpp - Tasks that wait for each other, and circles ----===//
#include "para/Simulate/TaskGraph.h"

#include <gtest/gtest.h>

using namespace para;

namespace {
std::string number(TaskId task) { return "task " + std::to_string(task); }
} // namespace

// Tasks of a resource run in order, resources beside each other, and an order makes a task wait.
TEST(TaskGraph, RunsInOrder) {
  TaskGraph graph(2, 2);
  TaskId produce = graph.add(0, 0, 3), send = graph.add(0, 1, 1), go = graph.add(0, 0, 2), use = graph.add(1, 0, 5), join = graph.add(0, TaskGraph::kNone, 0);
  graph.order(produce, send);
  graph.order(send, use);
  graph.order(go, join);
  graph.order(use, join);
  EXPECT_EQ(llvm::cantFail(graph.run(number)), (std::vector<double>{0, 3, 3, 4, 9}));
  EXPECT_EQ(graph.getPrevious(go), produce);
  EXPECT_EQ(llvm::cantFail(TaskGraph(1, 1).run(number)), std::vector<double>());
}

// A circle is refused with the tasks that make it, also where a resource's order closes it, and where it is long.
TEST(TaskGraph, CirclesAreNamed) {
  TaskGraph graph(2, 1);
  TaskId a = graph.add(0, 0, 1), b = graph.add(1, 0, 1), c = graph.add(1, 0, 1);
  graph.order(a, b);
  graph.order(c, a);
  TaskId behind = graph.add(0, 0, 1); // waits for the circle, is not on it
  graph.order(b, behind);
  EXPECT_EQ(llvm::toString(graph.run(number).takeError()), "tasks wait for each other in a circle: task 0 waits for task 2, which waits for task 1, which waits for the first");
  TaskGraph self(1, 1);
  self.order(self.add(0, 0, 1), 0);
  EXPECT_EQ(llvm::toString(self.run(number).takeError()), "tasks wait for each other in a circle: task 0 waits for itself");
  TaskGraph large(1, 1);
  for (int i = 0; i < 100; ++i)
    large.add(0, 0, 1);
  large.order(99, 0);
  std::string text = llvm::toString(large.run(number).takeError());
  EXPECT_NE(text.find("waits for 92 more, which in the end waits for the first"), std::string::npos) << text;
}
