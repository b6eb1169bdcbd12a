//===- ScheduleRule.cpp - A stage's actions are the step, once -------------===//
#include "Rules.h"

#include "para/IR/Phases.h"
#include "para/IR/Program.h"
#include "para/IR/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <set>

using namespace mlir;
using namespace para;

// A walk over the function once stands for all microbatches only if each runs each phase of each chunk once, no phase begins before what it
// may read is complete, and a microbatch goes back after it went forward, and makes gradients of weights after that.
LogicalResult para::checkSchedule(func::FuncOp function, MeshAttr mesh) {
  auto schedule = function->getAttrOfType<ArrayAttr>("para.schedule");
  if (!schedule)
    return function.emitError("has no schedule");
  std::map<ChunkPhase, std::set<int64_t>> done;
  int64_t microbatches = mesh.getSize(kMicrobatch);
  for (Attribute entry : schedule) {
    auto pair = dyn_cast<ArrayAttr>(entry);
    auto phase = pair && pair.size() == 2 ? dyn_cast<PhaseAttr>(pair[0]) : PhaseAttr();
    auto microbatch = phase ? dyn_cast<IntegerAttr>(pair[1]) : IntegerAttr();
    if (!microbatch)
      return function.emitError() << "has the action " << entry << ", which is no phase of a microbatch";
    ChunkPhase now = getChunkPhase(phase);
    int64_t m = microbatch.getInt(), count = runsOnce(now.phase) ? 1 : microbatches;
    auto refuse = [&]() { return function.emitError() << "runs " << describePhase(now) << " of microbatch " << m; };
    if (m < 0 || m >= count)
      return refuse() << ", of which there are " << count;
    if (!done[now].insert(m).second)
      return refuse() << " twice";
    // The passes of microbatches take turns; all else is apart.
    for (auto &[other, all] : done) {
      if (precedes(now, other) && !all.empty() && !(isPass(now.phase) && isPass(other.phase)))
        return refuse() << " after " << describePhase(other);
      if (precedes(now, other) && all.count(m))
        return refuse() << " after its " << describePhase(other);
    }
  }
  for (Operation &op : function.getBody().front().without_terminator())
    if (ChunkPhase phase = getChunkPhase(&op); int64_t(done[phase].size()) != (runsOnce(phase.phase) ? 1 : microbatches))
      return op.emitError() << "is in the phase " << describePhase(phase) << ", which does not run for every microbatch";
  return success();
}
