//===- GroupStrips.cpp - Sums over rows beside what is done with them -----===//
//
// The gradient of a bias is a sum over the rows of what another kernel stores or reads. There it costs no reading: a block goes through a
// strip of rows and adds up, by column, what it has of each.
//
//===----------------------------------------------------------------------===//
#include "Grouping.h"

#include "para/Lower/Rt.h"

using namespace mlir;
using namespace para;

bool Grouping::joinStripSum(int sum, int host) {
  Operation *op = groups[sum].ops.front();
  int64_t alone = std::exchange(groups[sum].rows, rowsOf(op));
  groups[sum].strips = stripsOf(op);
  if (merge(host, sum))
    return true;
  groups[sum].rows = alone;
  groups[sum].strips = 0;
  return false;
}

SmallVector<int> Grouping::readersOf(Value v, Operation *sum) {
  llvm::SetVector<int> found;
  for (Operation *user : v.getUsers())
    if (int g = find(user); g >= 0 && !groups[g].opaque && user != sum && (groups[g].rows == 0 || groups[g].rows == rowsOf(sum)))
      found.insert(g);
  SmallVector<int> result(found.begin(), found.end());
  // Those with rows read all of each before they store; then the nearest, for what it reads may still be in cache.
  auto rank = [&](int g) {
    int64_t distance = int64_t(position[groups[g].ops.back()]) - int64_t(position[sum]);
    return std::pair(groups[g].rows == 0, std::abs(distance));
  };
  llvm::stable_sort(result, [&](int a, int b) { return rank(a) < rank(b); });
  return result;
}

void Grouping::joinStripSums() {
  for (Operation &op : func.getBody().front()) {
    int own = find(&op);
    if (own < 0 || !isStripSum(&op) || groups[own].ops.size() != 1)
      continue;
    Value x = op.getOperand(0);
    int made = x.getDefiningOp() ? find(x.getDefiningOp()) : -1;
    if (made >= 0 && groups[made].opaque)
      made = -1;
    bool isForOthers = made >= 0 && llvm::any_of(groups[made].ops, [&](Operation *member) {
                         return llvm::any_of(member->getUsers(), [&](Operation *user) { return find(user) != made && find(user) != own; });
                       });
    if (isForOthers) {
      joinStripSum(own, made);
      continue;
    }
    // What makes the sum's terms and nothing else goes with it to a kernel that reads the same.
    SmallVector<int> hosts;
    for (Value v : made >= 0 ? inputsOf(groups[made]) : SmallVector<Value>{x})
      if (2 * sizeOf(v) >= sizeOf(x))
        llvm::append_range(hosts, readersOf(v, &op));
    for (int host : hosts)
      if (host != own && host != made && (made < 0 || merge(host, made))) {
        joinStripSum(own, host);
        break;
      }
  }
}
