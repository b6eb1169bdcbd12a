//===- GroupSiblings.cpp - Kernels that make nothing of one another -------===//
#include "Grouping.h"

#include "IndexMath.h"

#include "para/Lower/Rt.h"

using namespace mlir;
using namespace para;

bool Grouping::readsRows(const Group &group) {
  for (Operation *op : group.ops)
    if (facts.get(op).reduction && !(group.strips && isStripSum(op)))
      for (const OpAccess &access : facts.get(op).accesses)
        if (!isAligned(op, access, group.rows))
          return false;
  return true;
}

void Grouping::joinSiblings() {
  llvm::MapVector<Value, SmallVector<int>> readers;
  for (unsigned g = 0; g < groups.size(); ++g)
    if (!groups[g].opaque && !groups[g].ops.empty())
      for (Value v : inputsOf(groups[g]))
        readers[v].push_back(g);
  for (auto &[v, list] : readers) {
    if (sizeOf(v) < 1024)
      continue;
    for (unsigned i = 0; i < list.size(); ++i)
      for (unsigned j = i + 1; j < list.size(); ++j) {
        Group &x = groups[list[i]], &y = groups[list[j]];
        if (x.ops.empty() || y.ops.empty() || x.rows != y.rows || readsRows(x) != readsRows(y))
          continue;
        int64_t xSize = productOf(facts.get(x.ops.back()).loops), ySize = productOf(facts.get(y.ops.back()).loops);
        if (x.rows == 0 && xSize != ySize)
          continue;
        merge(list[i], list[j]);
      }
  }
  joinColumns();
}

bool Grouping::makesNumbers(const Group &group) {
  auto isNumber = [](Value v) { return sizeOf(v) == 1; };
  return llvm::all_of(group.ops, [&](Operation *op) {
    return !isAccumulate(op) && llvm::all_of(op->getOperands(), isNumber) && llvm::all_of(op->getResults(), isNumber);
  });
}

void Grouping::joinNumbers() {
  // Of arguments alone: they wait for no kernel, and so together they close no circle.
  int first = -1;
  for (unsigned g = 0; g < groups.size(); ++g) {
    if (groups[g].opaque || groups[g].ops.empty() || !makesNumbers(groups[g]) || llvm::any_of(dependencies(g), [&](int d) { return d != first; }))
      continue;
    if (first < 0)
      first = g;
    else
      merge(first, g);
  }
}

void Grouping::joinColumns() {
  // How many calls are in front of each op: kernels between two calls run one after another.
  llvm::DenseMap<Operation *, unsigned> calls;
  unsigned count = 0;
  for (Operation &op : func.getBody().front()) {
    calls[&op] = count;
    count += isa<rt::CallOp>(op);
  }
  SmallVector<int> columns;
  auto sizeOfSums = [&](const Group &group) {
    int64_t size = 0;
    for (Operation *op : group.ops)
      if (facts.get(op).reduction)
        size = std::max(size, productOf(facts.get(op).loops));
    return size;
  };
  for (unsigned g = 0; g < groups.size(); ++g)
    if (!groups[g].opaque && !groups[g].ops.empty() && groups[g].rows && !readsRows(groups[g]))
      columns.push_back(g);
  for (unsigned i = 0; i < columns.size(); ++i)
    for (unsigned j = i + 1; j < columns.size(); ++j) {
      Group &x = groups[columns[i]], &y = groups[columns[j]];
      if (x.ops.empty() || y.ops.empty() || x.rows != y.rows || sizeOfSums(x) != sizeOfSums(y))
        continue;
      if (calls[x.ops.back()] == calls[y.ops.front()])
        merge(columns[i], columns[j]);
    }
}
