#include "MinimumCut.h"

#include <algorithm>
#include <cassert>

using namespace para;

static constexpr int64_t kUnbounded = int64_t(1) << 60;

void MinimumCut::join(int from, int to, int64_t capacity) {
  adjacent[from].push_back(int(edges.size()));
  edges.push_back({to, capacity});
  adjacent[to].push_back(int(edges.size()));
  edges.push_back({from, 0});
}

int MinimumCut::addNode(int64_t price) {
  int node = int(prices.size());
  prices.push_back(price);
  adjacent.resize(adjacent.size() + 2);
  join(in(node), out(node), price < 0 ? kUnbounded : price);
  return node;
}

void MinimumCut::addEdge(int from, int to) { join(out(from), in(to), kUnbounded); }
void MinimumCut::addBegin(int node) { join(0, in(node), kUnbounded); }
void MinimumCut::addEnd(int node) { join(out(node), 1, kUnbounded); }

bool MinimumCut::findLevels() {
  levels.assign(adjacent.size(), -1);
  std::vector<int> queue = {0};
  levels[0] = 0;
  for (size_t i = 0; i < queue.size(); ++i)
    for (int edge : adjacent[queue[i]])
      if (edges[edge].rest > 0 && levels[edges[edge].to] < 0) {
        levels[edges[edge].to] = levels[queue[i]] + 1;
        queue.push_back(edges[edge].to);
      }
  return levels[1] >= 0;
}

/// Sends up to `most` from `at` to the end along rising levels; the way is kept on a stack of its own, for programs are long.
int64_t MinimumCut::push(int at, int64_t most) {
  std::vector<int> way;
  while (at != 1) {
    bool moved = false;
    for (; next[at] < adjacent[at].size(); ++next[at]) {
      const Edge &edge = edges[adjacent[at][next[at]]];
      if (edge.rest > 0 && levels[edge.to] == levels[at] + 1) {
        way.push_back(adjacent[at][next[at]]);
        at = edge.to;
        moved = true;
        break;
      }
    }
    if (moved)
      continue;
    if (way.empty())
      return 0;
    at = edges[way.back() ^ 1].to; // a dead end: back, and on to the next edge
    way.pop_back();
    ++next[at];
  }
  for (int edge : way)
    most = std::min(most, edges[edge].rest);
  for (int edge : way) {
    edges[edge].rest -= most;
    edges[edge ^ 1].rest += most;
  }
  return most;
}

std::vector<int> MinimumCut::run() {
  while (findLevels()) {
    next.assign(adjacent.size(), 0);
    while (int64_t sent = push(0, kUnbounded)) {
      assert(sent < kUnbounded / 2 && "a way without a price joins begin and end");
      (void)sent;
    }
  }
  // What still reaches the end lies behind the set.
  std::vector<bool> behind(adjacent.size(), false);
  std::vector<int> stack = {1};
  behind[1] = true;
  while (!stack.empty()) {
    int at = stack.back();
    stack.pop_back();
    for (int edge : adjacent[at])
      if (int from = edges[edge].to; edges[edge ^ 1].rest > 0 && !behind[from]) {
        behind[from] = true;
        stack.push_back(from);
      }
  }
  std::vector<int> result;
  for (int node = 0; node < int(prices.size()); ++node)
    if (!behind[in(node)] && behind[out(node)])
      result.push_back(node);
  return result;
}
