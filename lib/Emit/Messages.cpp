//===- Messages.cpp - Messages as NCCL wants them -------------------------===//
#include "Internal.h"

#include "para/Lower/Rt.h"

#include "llvm/Support/JSON.h"

#include <map>
#include <set>

using namespace mlir;
using namespace para;

namespace {
struct Step {
  Operation *op; ///< a send, a receive or a wait
  int64_t tag, peer;
};
} // namespace

/// What each stage does in a step, in the order of the schedule; tags are the runtime's.
static std::vector<std::vector<Step>> readSteps(ModuleOp program) {
  llvm::StringMap<rt::SegmentOp> segments;
  for (auto segment : program.getOps<rt::SegmentOp>())
    segments[segment.getSymName()] = segment;
  llvm::Expected<llvm::json::Value> manifest = llvm::json::parse(program->getAttrOfType<StringAttr>("rt.manifest").getValue());
  assert(manifest && "we wrote it");
  int64_t microbatches = manifest->getAsObject()->getInteger("microbatches").value_or(1);
  std::vector<std::vector<Step>> stages;
  for (const llvm::json::Value &value : *manifest->getAsObject()->getArray("stages")) {
    auto &steps = stages.emplace_back();
    for (const llvm::json::Value &action : *value.getAsObject()->getArray("actions")) {
      int64_t microbatch = *action.getAsObject()->getInteger("microbatch");
      for (Operation &op : segments[*action.getAsObject()->getString("segment")].getBody().front()) {
        if (auto send = dyn_cast<rt::SendOp>(op))
          steps.push_back({&op, int64_t(send.getTag()) * microbatches + microbatch, int64_t(send.getPeer())});
        else if (auto recv = dyn_cast<rt::RecvOp>(op))
          steps.push_back({&op, int64_t(recv.getTag()) * microbatches + microbatch, int64_t(recv.getPeer())});
        else if (auto wait = dyn_cast<rt::WaitOp>(op); wait && microbatch >= int64_t(wait.getBack())) // others are for messages of the step before
          steps.push_back({&op, int64_t(wait.getTag()) * microbatches + microbatch - int64_t(wait.getBack()), -1});
      }
    }
  }
  return stages;
}

LogicalResult para::checkProgress(ModuleOp program) {
  std::vector<std::vector<Step>> stages = readSteps(program);
  std::vector<size_t> next(stages.size(), 0);
  std::set<std::pair<int64_t, int64_t>> underWay; // stage that sends and tag
  for (bool moved = true; moved;) {
    moved = false;
    for (auto [stage, steps] : llvm::enumerate(stages))
      for (; next[stage] < steps.size(); ++next[stage], moved = true) {
        const Step &step = steps[next[stage]];
        if (isa<rt::SendOp>(step.op))
          underWay.insert({stage, step.tag});
        else if (isa<rt::RecvOp>(step.op) ? !underWay.erase({step.peer, step.tag}) : underWay.count({stage, step.tag}))
          break;
      }
  }
  for (auto [stage, steps] : llvm::enumerate(stages))
    if (next[stage] < steps.size()) {
      const Step &step = steps[next[stage]];
      std::string what = isa<rt::RecvOp>(step.op) ? "to receive from stage " + std::to_string(step.peer) : "for its message to be taken";
      return emitError(step.op->getLoc()) << "the device program is wrong: stage " << stage << " waits for ever " << what;
    }
  return success();
}

LogicalResult para::checkMessageOrder(ModuleOp program) {
  // Tags from one stage to another, in the order of the schedule.
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> sent, received;
  for (auto [stage, steps] : llvm::enumerate(readSteps(program)))
    for (const Step &step : steps) {
      int64_t here = stage;
      if (isa<rt::SendOp>(step.op))
        sent[{here, step.peer}].push_back(step.tag);
      else if (isa<rt::RecvOp>(step.op))
        received[{step.peer, here}].push_back(step.tag);
    }
  for (auto &[pair, tags] : sent)
    if (tags != received[pair])
      return program.emitError() << "stage " << pair.second << " does not receive the messages of stage " << pair.first
                                 << " in the order in which they are sent, as NCCL needs it; another --pipeline-schedule may help";
  return success();
}
