//===- Order.cpp - What a device program puts in order ---------------------===//
#include "Order.h"

#include "para/Lower/Rt.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace para;
using namespace para::test;

namespace {
using Before = std::set<Call>;

int64_t get(Operation *op, StringRef name) { return op->getAttrOfType<IntegerAttr>(name).getInt(); }

/// One rank of a stage.
class Walker {
public:
  Walker(int64_t microbatches, std::map<Call, Before> &order) : microbatches(microbatches), order(order) {}

  void visit(Operation *op, int64_t microbatch) {
    Before &stream = streams[get(op, "stream")];
    if (isa<rt::EventRecordOp>(op)) {
      events[get(op, "event")] = stream;
    } else if (isa<rt::EventWaitOp>(op)) {
      join(stream, events[get(op, "event")]);
    } else if (isa<rt::WaitOp>(op)) {
      int64_t back = get(op, "back"), before = back == 0 ? microbatch : microbatch - back;
      if (before < 0)
        before = microbatch + (microbatches - 1 - microbatch) / back * back;
      for (int64_t i : {0, 1, 2})
        join(streams[i], sent[get(op, "tag") * microbatches + before]);
    } else if (isa<rt::SendOp, rt::RecvOp>(op)) {
      // A channel of its own, behind what the stream has; a receiver's stream waits for it.
      Before &channel = channels[{isa<rt::SendOp>(op), get(op, "peer")}];
      join(channel, stream);
      touch(op, channel);
      if (isa<rt::SendOp>(op))
        sent[get(op, "tag") * microbatches + microbatch] = channel;
      else
        join(stream, channel);
    } else {
      touch(op, stream);
    }
  }

  /// The host waits for everything.
  void endStep() {
    Before all;
    for (auto &[number, stream] : streams)
      join(all, stream);
    for (auto &[key, channel] : channels)
      join(all, channel);
    for (auto &[number, stream] : streams)
      stream = all;
    for (auto &[key, channel] : channels)
      channel = all;
  }

private:
  static void join(Before &to, const Before &from) { to.insert(from.begin(), from.end()); }
  void touch(Operation *op, Before &stream) {
    Call call{op, counts[op]++};
    order[call] = stream;
    stream.insert(call);
  }
  int64_t microbatches;
  std::map<Call, Before> &order;
  std::map<Operation *, int64_t> counts;
  std::map<int64_t, Before> streams{{0, {}}, {1, {}}, {2, {}}}, events, sent;
  std::map<std::pair<bool, int64_t>, Before> channels;
};
} // namespace

std::map<Call, std::set<Call>> para::test::findOrder(ModuleOp program) {
  llvm::StringMap<rt::SegmentOp> segments;
  for (auto segment : program.getOps<rt::SegmentOp>())
    segments[segment.getSymName()] = segment;
  auto manifest = llvm::cantFail(llvm::json::parse(program->getAttrOfType<StringAttr>("rt.manifest").getValue()));
  std::map<Call, Before> order;
  for (const llvm::json::Value &stage : *manifest.getAsObject()->getArray("stages")) {
    Walker walker(manifest.getAsObject()->getInteger("microbatches").value_or(1), order);
    for (int step = 0; step < 2; ++step) {
      for (const llvm::json::Value &action : *stage.getAsObject()->getArray("actions"))
        for (Operation &op : segments[*action.getAsObject()->getString("segment")].getBody().front())
          walker.visit(&op, *action.getAsObject()->getInteger("microbatch"));
      walker.endStep();
    }
  }
  return order;
}
