//===- Messages.cpp - Messages as NCCL wants them -------------------------===//
#include "Internal.h"

#include "para/Lower/Rt.h"

#include "llvm/Support/JSON.h"

#include <map>

using namespace mlir;
using namespace para;

LogicalResult para::checkMessageOrder(ModuleOp program) {
  llvm::StringMap<rt::SegmentOp> segments;
  for (auto segment : program.getOps<rt::SegmentOp>())
    segments[segment.getSymName()] = segment;
  llvm::Expected<llvm::json::Value> manifest = llvm::json::parse(program->getAttrOfType<StringAttr>("rt.manifest").getValue());
  assert(manifest && "we wrote it");
  int64_t microbatches = manifest->getAsObject()->getInteger("microbatches").value_or(1);
  // Tags from one stage to another, in the order of the schedule.
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> sent, received;
  for (auto [stage, value] : llvm::enumerate(*manifest->getAsObject()->getArray("stages")))
    for (const llvm::json::Value &action : *value.getAsObject()->getArray("actions")) {
      int64_t microbatch = *action.getAsObject()->getInteger("microbatch"), here = stage;
      for (Operation &op : segments[*action.getAsObject()->getString("segment")].getBody().front()) {
        if (auto send = dyn_cast<rt::SendOp>(op))
          sent[{here, send.getPeer()}].push_back(send.getTag() * microbatches + microbatch);
        else if (auto recv = dyn_cast<rt::RecvOp>(op))
          received[{recv.getPeer(), here}].push_back(recv.getTag() * microbatches + microbatch);
      }
    }
  for (auto &[pair, tags] : sent)
    if (tags != received[pair])
      return program.emitError() << "stage " << pair.second << " does not receive the messages of stage " << pair.first
                                 << " in the order in which they are sent, as NCCL needs it; another --pipeline-schedule may help";
  return success();
}
