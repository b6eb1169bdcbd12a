//===- Messages.cpp - Point to point by NCCL ----------------------------------===//
#include "Communicators.h"

namespace para::runtime::cuda {

namespace {
constexpr int bytesType = 1, noColor = -1;
constexpr unsigned streamNonBlocking = 1, eventWithoutTiming = 2;
} // namespace

Status Communicators::openChannel(Channel &channel) {
  Driver &driver = ctx->driver;
  int result = driver.cuStreamCreate(&channel.stream, streamNonBlocking);
  for (Handle *event : {&channel.before, &channel.after})
    if (result == success)
      result = driver.cuEventCreate(event, eventWithoutTiming);
  return result == success ? Status::success() : Status::error(ctx->driverError("a channel's stream", result));
}

Status Communicators::createChannels() {
  const auto &channels = ctx->manifest->channels;
  if (channels.empty())
    return Status::success();
  int axis = ctx->manifest->axisIndex("pipeline");
  if (axis < 0)
    return Status::error("the manifest tells of messages between stages, but its mesh has no axis 'pipeline'");
  int64_t stage = ctx->coordinates[size_t(axis)];
  for (size_t i = 0; i < channels.size(); ++i) {
    auto &[from, to, tags] = channels[i];
    bool takesPart = stage == from || stage == to;
    // Ranks that differ in their stage only share a channel: its color is the first stage's rank among them.
    std::vector<int64_t> line = ctx->coordinates;
    line[size_t(axis)] = 0;
    int color = takesPart ? int(ctx->manifest->rankOf(line)) : noColor;
    Channel channel;
    channel.line = int32_t(ctx->manifest->communicators.size() + i);
    int result = nccl.ncclCommSplit(everyone, color, stage == from ? 0 : 1, &channel.handle, nullptr);
    Status status = result == 0 ? Status::success() : Status::error(error("ncclCommSplit", result));
    if (takesPart && !status.failed()) {
      channel.other = stage == from ? 1 : 0;
      status = openChannel(channel);
      ctx->watch->addLane(channel.stream);
      if (ctx->timeline)
        channel.row = ctx->timeline->addRow(stage == from ? "messages to stage " + std::to_string(to) : "messages from stage " + std::to_string(from));
      channel.tags = tags;
      (stage == from ? outgoing[to] : incoming[from]).push_back(channel);
    }
    PARA_TRY(ctx->world->agree(status));
    ctx->watch->finishStartStep();
  }
  return Status::success();
}

Communicators::Channel *Communicators::find(Channels &channels, int32_t axis, int64_t peer, int64_t tag, const char *what, const char *op) {
  auto at = channels.find(peer);
  if (axis == ctx->manifest->axisIndex("pipeline") && at != channels.end()) {
    int64_t ofProgram = tag / ctx->manifest->microbatches;
    Channel *rest = nullptr;
    for (Channel &channel : at->second) {
      if (channel.tags.count(ofProgram))
        return &channel;
      if (channel.tags.empty())
        rest = &channel;
    }
    if (rest)
      return rest;
  }
  ctx->fail(op, std::string(what) + ": the manifest tells of no messages between this stage and stage " + std::to_string(peer));
  return nullptr;
}

para_status Communicators::follow(Channel &channel, int32_t stream, const char *what, const char *op) {
  int result = ctx->driver.cuEventRecord(channel.before, ctx->streams[stream]);
  if (result == success)
    result = ctx->driver.cuStreamWaitEvent(channel.stream, channel.before, 0);
  return ctx->check(op, what, result);
}

para_status Communicators::send(int32_t stream, int32_t axis, int64_t peer, int64_t tag, const void *buffer, int64_t bytes, const char *op) {
  Channel *channel = find(outgoing, axis, peer, tag, "send", op);
  if (!channel)
    return PARA_ERROR;
  // Nothing waits behind it but who waits for the tag.
  if (para_status status = follow(*channel, stream, "send", op))
    return status;
  if (ctx->timeline)
    ctx->timeline->begin(channel->stream);
  if (para_status status = watched(channel->stream, {op, "send", channel->line}, [&] {
        return nccl.ncclSend(buffer, size_t(bytes), bytesType, channel->other, channel->handle, channel->stream);
      }))
    return status;
  if (ctx->timeline)
    ctx->timeline->end(op, "send", channel->row, channel->stream, bytes);
  Driver &driver = ctx->driver;
  para_context::Event &event = sent[tag];
  event.recordedIn = ctx->listRuns;
  int result = success;
  if (!event.handle)
    result = driver.cuEventCreate(&event.handle, eventWithoutTiming);
  if (result == success)
    result = driver.cuEventRecord(event.handle, channel->stream);
  ctx->bytesSent += bytes;
  return ctx->check(op, "send", result);
}

para_status Communicators::receive(int32_t stream, int32_t axis, int64_t peer, int64_t tag, void *buffer, int64_t bytes, const char *op) {
  Channel *channel = find(incoming, axis, peer, tag, "recv", op);
  if (!channel)
    return PARA_ERROR;
  if (para_status status = follow(*channel, stream, "recv", op))
    return status;
  if (ctx->timeline)
    ctx->timeline->begin(channel->stream);
  if (para_status status = watched(channel->stream, {op, "receive", channel->line}, [&] {
        return nccl.ncclRecv(buffer, size_t(bytes), bytesType, channel->other, channel->handle, channel->stream);
      }))
    return status;
  if (ctx->timeline)
    ctx->timeline->end(op, "recv", channel->row, channel->stream, bytes);
  Driver &driver = ctx->driver;
  int result = driver.cuEventRecord(channel->after, channel->stream);
  if (result == success)
    result = driver.cuStreamWaitEvent(ctx->streams[stream], channel->after, 0);
  return ctx->check(op, "recv", result);
}

para_status Communicators::wait(int64_t tag, const char *op) {
  auto at = sent.find(tag);
  // The buffer is free for what is started from here on, on whichever stream.
  for (Handle stream : ctx->streams)
    if (at != sent.end() && at->second.recordedIn == ctx->listRuns)
      if (para_status status = ctx->check(op, "wait", ctx->driver.cuStreamWaitEvent(stream, at->second.handle, 0)))
        return status;
  return PARA_OK;
}

void Communicators::addStreams(std::vector<Handle> &streams) const {
  for (auto *channels : {&outgoing, &incoming})
    for (auto &[peer, ofPeer] : *channels)
      for (const Channel &channel : ofPeer)
        streams.push_back(channel.stream);
}

} // namespace para::runtime::cuda

using namespace para::runtime::cuda;

para_status para_send(para_context *ctx, int32_t stream, int32_t axis, int64_t peer, int64_t tag, const void *buffer,
                      int64_t bytes, const char *op) {
  if (!ctx->isStream(stream))
    return ctx->fail(op, "send: there is no stream " + std::to_string(stream));
  OpScope scope(ctx, stream, op, "send", bytes, true);
  return ctx->communicators->send(stream, axis, peer, tag, buffer, bytes, op);
}

para_status para_recv(para_context *ctx, int32_t stream, int32_t axis, int64_t peer, int64_t tag, void *buffer, int64_t bytes,
                      const char *op) {
  if (!ctx->isStream(stream))
    return ctx->fail(op, "recv: there is no stream " + std::to_string(stream));
  OpScope scope(ctx, stream, op, "recv", bytes, true);
  return ctx->communicators->receive(stream, axis, peer, tag, buffer, bytes, op);
}

para_status para_wait(para_context *ctx, int32_t stream, int64_t tag, const char *op) {
  if (!ctx->isStream(stream))
    return ctx->fail(op, "wait: there is no stream " + std::to_string(stream));
  OpScope scope(ctx, stream, op, "wait");
  return ctx->communicators->wait(tag, op);
}
