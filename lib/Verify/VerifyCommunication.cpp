#include "para/IR/Phases.h"
#include "para/IR/Program.h"
#include "para/IR/Sharding.h"
#include "para/Interfaces/Collective.h"
#include "para/Verify/Passes.h"

#include <map>
#include <set>

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_VERIFYCOMMUNICATIONPASS
#include "para/Verify/Passes.h.inc"
} // namespace para

namespace {
struct Message {
  Operation *op;
  int64_t stage, peer, tag, depth;
  bool sends;
  ChunkPhase phase, written; ///< in which the message goes, in which its buffer is written
  Type type;
};

// Ranks of a stage run one program, so that the members of a communicator issue the same sequence as long as its axes stay inside of
// the stage; what is left to show is that the stages' programs fit together. Ranks that differ in other coordinates are alike.
class CommunicationChecker {
public:
  CommunicationChecker(ModuleOp module, MeshAttr mesh) : module(module), mesh(mesh), stages(mesh.getSize("pipeline")) {}

  LogicalResult run() {
    for (int64_t stage = 0; stage < stages; ++stage) {
      auto function = module.lookupSymbol<func::FuncOp>("stage" + std::to_string(stage));
      if (!function || !function->hasAttr("para.schedule"))
        return module.emitError() << "has no scheduled program of stage " << stage;
      functions.push_back(function);
      for (Operation &op : function.getBody().front().without_terminator())
        if (failed(collect(&op, stage)))
          return failure();
    }
    return failure(failed(matchMessages()) || failed(runAll()));
  }

private:
  LogicalResult collect(Operation *op, int64_t stage) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (!collective)
      return success();
    std::set<StringRef> axes;
    for (StringRef axis : collective.getCommunicatorAxes()) {
      if (axis == "pipeline" || axis == kMicrobatch || !axes.insert(axis).second)
        return op->emitOpError() << "communicates over the axis '" << axis << "', whose ranks do not run this program";
      if (mesh.getSize(axis) < 2)
        return op->emitOpError() << "communicates over the axis '" << axis << "', which the mesh does not have";
    }
    auto peer = op->getAttrOfType<IntegerAttr>("peer");
    if (!axes.empty())
      return success();
    auto tag = op->getAttrOfType<IntegerAttr>("tag");
    if (!peer || !tag)
      return op->emitOpError("is a collective without axes");
    bool sends = op->getNumResults() == 0;
    auto depth = op->getAttrOfType<IntegerAttr>("depth");
    if (sends && (!depth || depth.getInt() < 1 || depth.getInt() > std::max<int64_t>(1, mesh.getSize(kMicrobatch))))
      return op->emitOpError("has a depth that is no number of microbatches");
    messages[stage].push_back({op, stage, peer.getInt(), tag.getInt(), sends ? depth.getInt() : 0, sends, getChunkPhase(op),
                               sends && op->getOperand(0).getDefiningOp() ? getChunkPhase(op->getOperand(0).getDefiningOp()) : getChunkPhase(op), sends ? op->getOperand(0).getType() : op->getResult(0).getType()});
    return success();
  }

  LogicalResult matchMessages() {
    std::map<std::tuple<int64_t, int64_t, int64_t>, const Message *> sent, received; // from, to, tag
    for (auto &[stage, list] : messages)
      for (const Message &message : list) {
        if (message.peer < 0 || message.peer >= stages || message.peer == stage)
          return message.op->emitOpError() << "names stage " << message.peer << " as its peer";
        auto key = message.sends ? std::tuple(stage, message.peer, message.tag) : std::tuple(message.peer, stage, message.tag);
        if (!(message.sends ? sent : received).insert({key, &message}).second)
          return message.op->emitOpError() << "uses tag " << message.tag << " twice";
      }
    for (auto &[key, message] : sent) {
      auto it = received.find(key);
      if (it == received.end())
        return message->op->emitOpError() << "is received by no op of stage " << message->peer;
      if (it->second->type != message->type || it->second->phase.phase != message->phase.phase)
        return it->second->op->emitOpError() << "receives " << it->second->type << " where " << message->type << " is sent, or in another phase";
    }
    for (auto &[key, message] : received)
      if (!sent.count(key))
        return message->op->emitOpError() << "is sent by no op of stage " << message->peer;
    return success();
  }

  /// Runs all stages: a receive waits for its message, a send does not wait. Whoever cannot go on waits for ever.
  LogicalResult runAll() {
    struct Event {
      const Message *message;
      int64_t microbatch;
      bool frees; ///< waits until the message of `depth` microbatches before has been taken, whose buffer is written again
    };
    std::vector<std::vector<Event>> events(stages);
    for (int64_t stage = 0; stage < stages; ++stage)
      for (auto [phase, microbatch] : readSchedule(functions[stage])) {
        for (const Message &message : messages[stage])
          if (message.written == phase && message.sends && microbatch >= message.depth)
            events[stage].push_back({&message, microbatch - message.depth, true});
        for (const Message &message : messages[stage])
          if (message.phase == phase)
            events[stage].push_back({&message, microbatch, false});
      }
    std::multiset<std::tuple<int64_t, int64_t, int64_t, int64_t>> underWay; // from, to, tag, microbatch
    std::vector<size_t> next(stages, 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (int64_t stage = 0; stage < stages; ++stage)
        while (next[stage] < events[stage].size()) {
          auto [message, microbatch, frees] = events[stage][next[stage]];
          if (frees) {
            if (underWay.count({stage, message->peer, message->tag, microbatch}))
              break;
          } else if (message->sends) {
            underWay.insert({stage, message->peer, message->tag, microbatch});
          } else {
            auto it = underWay.find({message->peer, stage, message->tag, microbatch});
            if (it == underWay.end())
              break;
            underWay.erase(it);
          }
          ++next[stage];
          moved = true;
        }
    }
    for (int64_t stage = 0; stage < stages; ++stage)
      if (next[stage] < events[stage].size()) {
        auto [message, microbatch, frees] = events[stage][next[stage]];
        return message->op->emitOpError() << "of microbatch " << microbatch << " on stage " << stage << " waits for ever for stage " << message->peer;
      }
    if (!underWay.empty())
      return module.emitError("sends messages that nobody receives");
    return success();
  }

  ModuleOp module;
  MeshAttr mesh;
  int64_t stages;
  std::vector<func::FuncOp> functions;
  std::map<int64_t, std::vector<Message>> messages;
};

struct VerifyCommunicationPass : para::impl::VerifyCommunicationPassBase<VerifyCommunicationPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto mesh = getOperation()->getAttrOfType<MeshAttr>("para.mesh");
    if (!mesh || failed(CommunicationChecker(getOperation(), mesh).run()))
      signalPassFailure();
  }
};
} // namespace
