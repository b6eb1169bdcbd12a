#include "UnderWay.h"

#include "OpFacts.h"

#include "para/IR/Phases.h"
#include "para/IR/Program.h"

#include <deque>
#include <map>

using namespace mlir;
using namespace para;

/// Whether it keeps more than it makes, as a reduce-scatter does, and nobody in its segment wants the result but to add it up over microbatches.
static bool waitsLong(rt::CallOp call) {
  auto isLater = [&](Operation *user) { return getChunkPhase(user) != getChunkPhase(call) || isAccumulate(user); };
  return call.getCallee() == "reduce_scatter" && llvm::all_of(call->getUsers(), isLater);
}

static int64_t bytesRead(rt::CallOp call) {
  int64_t bytes = 0;
  for (Value v : call.getInputs())
    bytes += bytesOf(v);
  return bytes;
}

llvm::DenseMap<Operation *, Operation *> para::limitUnderWay(func::FuncOp func) {
  std::map<ChunkPhase, SmallVector<rt::CallOp>> messages;
  for (auto call : func.getBody().front().getOps<rt::CallOp>())
    if (waitsLong(call))
      messages[getChunkPhase(call)].push_back(call);
  llvm::DenseMap<Operation *, Operation *> limits;
  for (auto &[phase, calls] : messages) {
    int64_t largest = 0, bytes = 0;
    for (rt::CallOp call : calls)
      largest = std::max(largest, bytesRead(call));
    std::deque<rt::CallOp> underWay;
    for (rt::CallOp call : calls) {
      for (; bytes > largest; underWay.pop_front()) {
        limits[underWay.front()] = call;
        bytes -= bytesRead(underWay.front());
      }
      underWay.push_back(call);
      bytes += bytesRead(call);
    }
  }
  return limits;
}
