//===- Channels.cpp - Which messages share a channel ----------------------===//
#include "para/Lower/Messages.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace para;

static llvm::json::Value readManifest(ModuleOp program) {
  return llvm::cantFail(llvm::json::parse(program->getAttrOfType<StringAttr>("rt.manifest").getValue())); // we wrote it
}

std::vector<std::vector<MessageStep>> para::readMessages(ModuleOp program) {
  llvm::StringMap<rt::SegmentOp> segments;
  for (auto segment : program.getOps<rt::SegmentOp>())
    segments[segment.getSymName()] = segment;
  llvm::json::Value manifest = readManifest(program);
  std::vector<std::vector<MessageStep>> stages;
  for (const llvm::json::Value &value : *manifest.getAsObject()->getArray("stages")) {
    auto &steps = stages.emplace_back();
    for (const llvm::json::Value &action : *value.getAsObject()->getArray("actions")) {
      int64_t microbatch = *action.getAsObject()->getInteger("microbatch");
      for (Operation &op : segments[*action.getAsObject()->getString("segment")].getBody().front()) {
        if (auto send = dyn_cast<rt::SendOp>(op))
          steps.push_back({MessageStep::Send, &op, int64_t(send.getTag()), microbatch, int64_t(send.getPeer())});
        else if (auto recv = dyn_cast<rt::RecvOp>(op))
          steps.push_back({MessageStep::Receive, &op, int64_t(recv.getTag()), microbatch, int64_t(recv.getPeer())});
        else if (auto wait = dyn_cast<rt::WaitOp>(op); wait && microbatch >= int64_t(wait.getBack())) // others are for messages of the step before
          steps.push_back({MessageStep::Wait, &op, int64_t(wait.getTag()), microbatch - int64_t(wait.getBack()), -1});
      }
    }
  }
  return stages;
}

std::map<std::pair<int64_t, int64_t>, MessageOrder> para::findOrders(ModuleOp program) {
  std::map<std::pair<int64_t, int64_t>, MessageOrder> orders;
  for (auto [stage, steps] : llvm::enumerate(readMessages(program)))
    for (const MessageStep &step : steps) {
      int64_t here = stage;
      if (step.kind == MessageStep::Send)
        orders[{here, step.peer}].sent.push_back({step.tag, step.microbatch});
      else if (step.kind == MessageStep::Receive)
        orders[{step.peer, here}].received.push_back({step.tag, step.microbatch});
    }
  return orders;
}

std::vector<Channel> para::readChannels(ModuleOp program) {
  std::vector<Channel> channels;
  llvm::json::Value manifest = readManifest(program);
  if (const llvm::json::Array *list = manifest.getAsObject()->getArray("messages"))
    for (const llvm::json::Value &entry : *list) {
      const llvm::json::Array &numbers = *entry.getAsArray();
      Channel &channel = channels.emplace_back(Channel{*numbers[0].getAsInteger(), *numbers[1].getAsInteger(), {}});
      for (size_t i = 2; i < numbers.size(); ++i)
        channel.tags.push_back(*numbers[i].getAsInteger());
    }
  return channels;
}

LogicalResult para::assignChannels(ModuleOp program) {
  std::vector<Channel> channels;
  for (auto &[pair, order] : findOrders(program)) {
    auto keepsOrder = [&, &order = order](ArrayRef<int64_t> tags) {
      auto select = [&](const MessageOrder::List &all) {
        MessageOrder::List some;
        llvm::copy_if(all, std::back_inserter(some), [&](auto &message) { return llvm::is_contained(tags, message.first); });
        return some;
      };
      return select(order.sent) == select(order.received);
    };
    std::vector<std::vector<int64_t>> lanes;
    for (auto [tag, microbatch] : order.sent) {
      if (llvm::any_of(lanes, [tag = tag](ArrayRef<int64_t> lane) { return llvm::is_contained(lane, tag); }))
        continue;
      auto lane = llvm::find_if(lanes, [&, tag = tag](std::vector<int64_t> with) {
        with.push_back(tag);
        return keepsOrder(with);
      });
      if (lane == lanes.end() && (lanes.empty() || keepsOrder({tag})))
        lane = lanes.emplace(lanes.end());
      else if (lane == lanes.end())
        lane = lanes.begin();
      lane->push_back(tag);
    }
    for (auto [index, lane] : llvm::enumerate(lanes))
      channels.push_back({pair.first, pair.second, index == 0 ? std::vector<int64_t>() : lane});
  }
  if (channels.empty())
    return success();
  llvm::json::Array list;
  for (const Channel &channel : channels) {
    llvm::json::Array entry{channel.from, channel.to};
    llvm::append_range(entry, channel.tags);
    list.push_back(std::move(entry));
  }
  llvm::json::Value manifest = readManifest(program);
  (*manifest.getAsObject())["messages"] = std::move(list);
  std::string text;
  llvm::raw_string_ostream(text) << manifest;
  program->setAttr("rt.manifest", StringAttr::get(program.getContext(), text));
  return success();
}
