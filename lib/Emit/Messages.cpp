//===- Messages.cpp - Messages as back ends want them ---------------------===//
#include "Internal.h"

#include "para/Lower/Messages.h"

#include <set>

using namespace mlir;
using namespace para;

LogicalResult para::checkProgress(ModuleOp program) {
  std::vector<std::vector<MessageStep>> stages = readMessages(program);
  std::vector<size_t> next(stages.size(), 0);
  std::set<std::tuple<int64_t, int64_t, int64_t>> underWay; // stage that sends, tag and microbatch
  for (bool moved = true; moved;) {
    moved = false;
    for (auto [stage, steps] : llvm::enumerate(stages))
      for (; next[stage] < steps.size(); ++next[stage], moved = true) {
        const MessageStep &step = steps[next[stage]];
        if (step.kind == MessageStep::Send)
          underWay.insert({stage, step.tag, step.microbatch});
        else if (step.kind == MessageStep::Receive ? !underWay.erase({step.peer, step.tag, step.microbatch}) : underWay.count({stage, step.tag, step.microbatch}))
          break;
      }
  }
  for (auto [stage, steps] : llvm::enumerate(stages))
    if (next[stage] < steps.size()) {
      const MessageStep &step = steps[next[stage]];
      std::string what = step.kind == MessageStep::Receive ? "to receive from stage " + std::to_string(step.peer) : "for its message to be taken";
      return emitError(step.op->getLoc()) << "the device program is wrong: stage " << stage << " waits for ever " << what;
    }
  return success();
}

LogicalResult para::checkMessageOrder(ModuleOp program) {
  std::vector<Channel> channels = readChannels(program);
  for (auto &[pair, order] : findOrders(program)) {
    // Messages of each channel, the first that has the tag among those of a pair which list theirs, or else the one that does not.
    auto channelOf = [&, pair = pair](int64_t tag) {
      int64_t rest = -1;
      for (auto [index, channel] : llvm::enumerate(channels))
        if (std::pair(channel.from, channel.to) == pair) {
          if (llvm::is_contained(channel.tags, tag))
            return int64_t(index);
          rest = channel.tags.empty() ? int64_t(index) : rest;
        }
      return rest;
    };
    std::map<int64_t, MessageOrder> byChannel;
    for (auto message : order.sent)
      byChannel[channelOf(message.first)].sent.push_back(message);
    for (auto message : order.received)
      byChannel[channelOf(message.first)].received.push_back(message);
    for (auto &[channel, messages] : byChannel)
      if (channel < 0 || messages.sent != messages.received)
        return program.emitError() << "stage " << pair.second << " does not receive the messages of stage " << pair.first
                                   << " in the order in which they are sent, as NCCL needs it; another --pipeline-schedule may help";
  }
  return success();
}
