//===- StageMessages.cpp - When what was sent may be written over ---------===//
#include "StageMemory.h"

#include "para/IR/Program.h"

using namespace mlir;
using namespace para;

static auto sendsOf(func::FuncOp func) {
  return llvm::make_filter_range(func.getBody().front().getOps<rt::CallOp>(), [](rt::CallOp call) { return call.getCallee() == "send"; });
}

static int64_t depthOf(rt::CallOp send) { return send.getDesc().getAs<IntegerAttr>("depth").getInt(); }

int64_t StageMemory::getDepth(Value v) {
  int64_t depth = 0;
  for (Operation *user : v.getUsers())
    if (auto call = dyn_cast<rt::CallOp>(user); call && call.getCallee() == "send")
      depth = std::max(depth, depthOf(call));
  return depth;
}

int64_t StageMemory::getDistance(Value v) {
  const Buffer &buffer = buffers[places[v].buffer];
  if (buffer.block)
    return buffer.ring ? buffer.ring : microbatches;
  if (buffer.place != Place::Slot)
    return 1;
  int64_t distance = microbatches;
  std::vector<int64_t> hadBy(slots, -1);
  for (const StageAction &action : actions)
    if (action.phase == getChunkPhase(v.getDefiningOp())) {
      int64_t before = std::exchange(hadBy[action.slot], action.microbatch);
      if (before >= 0)
        distance = std::min(distance, action.microbatch - before);
    }
  return distance;
}

void StageMemory::placeWaits() {
  // Waiting any earlier than for the very bytes could close a circle: under 1F1B a stage may run backward passes before its message is taken.
  for (rt::CallOp send : sendsOf(func)) {
    Value v = send.getInputs()[0];
    if (Operation *made = v.getDefiningOp()) {
      ChunkPhase phase = getChunkPhase(made);
      waits.push_back({send, phase, perMicrobatch(phase.phase) ? getDistance(v) : 0});
      continue;
    }
    // An argument is written where its update is made.
    Operation *terminator = func.getBody().front().getTerminator();
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (auto updates = func.getResultAttrOfType<StringAttr>(i, "para.updates"); updates && func.getArgument(getArgIndex(func, updates.getValue())) == v) {
        Operation *made = terminator->getOperand(i).getDefiningOp();
        waits.push_back({send, made ? getChunkPhase(made) : ChunkPhase{Phase::Update}, 0});
      }
  }
}

LogicalResult StageMemory::checkMessages() {
  // Of what stages agreed on how far messages may be behind, no less is kept here: else one might wait for ever.
  for (Wait &wait : waits)
    if (wait.back > 0 && wait.back < depthOf(wait.send))
      return emitError(wait.send->getLoc()) << "the memory plan is wrong: " << depthOf(wait.send) << " messages may be under way, and what the first is sent from is written after "
                                   << wait.back << " microbatches";
  // Runs the schedule op by op: nothing is written that a message may still be read from. A wait is for a message that was sent before it.
  struct Message {
    Operation *send;
    int64_t microbatch, begin, end;
  };
  std::vector<Message> underWay;
  for (const StageAction &action : actions) {
    auto write = [&](Where where, int64_t bytes, Location loc) -> LogicalResult {
      int64_t begin = getOffset(where, action);
      for (const Message &message : underWay)
        if (begin < message.end && message.begin < begin + bytes)
          return emitError(loc) << "the memory plan is wrong: in " << describePhase(action.phase) << " of microbatch " << action.microbatch << " writes over the message of '"
                                << getNodeName(message.send->getLoc()) << "' of microbatch " << message.microbatch << ", which is not waited for";
      return success();
    };
    for (const Wait &wait : waits)
      if (wait.phase == action.phase)
        llvm::erase_if(underWay, [&](const Message &message) { return message.send == wait.send && message.microbatch == action.microbatch - wait.back; });
    for (Operation &op : func.getBody().front().without_terminator()) {
      if (getChunkPhase(&op) != action.phase)
        continue;
      for (Value v : op.getResults())
        if (failed(write(places[v], bytesOf(v), op.getLoc())))
          return failure();
      if (auto call = dyn_cast<rt::CallOp>(op); call && call.getCallee() == "send") {
        int64_t begin = getOffset(places[call.getInputs()[0]], action) + call.getOffsets()[0] * elementBytes(call.getInputs()[0].getType());
        underWay.push_back({call, action.microbatch, begin, begin + call.getDesc().getAs<IntegerAttr>("bytes").getInt()});
      }
    }
    for (const Copy &copy : copies)
      if (copy.phase == action.phase && failed(write(copy.to, copy.bytes, copy.from.getLoc())))
        return failure();
  }
  return success();
}
