//===- Messages.cpp - Point to point in shared memory -------------------------===//
//
// A sender posts where a message lies in its arena; the receiver copies it from there and marks it as taken. Nothing is
// copied twice and a send never waits: what finds no free entry is posted while waiting for something else.
//
//===----------------------------------------------------------------------===//
#include "Messages.h"

#include "Threads.h"

#include <algorithm>

using namespace para::runtime;

namespace para::runtime {

namespace {
class SharedMessages : public Messages {
public:
  explicit SharedMessages(para_context *ctx) : ctx(ctx) {}
  para_status send(int64_t peer, int64_t tag, const char *buffer, int64_t bytes, const char *op) override;
  para_status receive(int64_t peer, int64_t tag, char *buffer, int64_t bytes, const char *op) override;
  para_status wait(int64_t tag, const char *op) override;
  para_status waitForAll(const char *op) override;

private:
  struct Outgoing {
    int64_t peer, tag, offset, bytes;
    uint64_t order;
    PostedMessage *entry; ///< null: not posted yet
  };
  /// A message taken before it was asked for.
  struct Early {
    int64_t peer, tag;
    std::vector<char> bytes;
  };
  bool post(Outgoing &message);
  void progress();
  /// When the peer has filled its table with messages that are not wanted yet, the oldest is taken aside.
  void makeRoom(int64_t peer, PostedMessage *entries);
  para_context *ctx;
  std::vector<Outgoing> outgoing;
  std::vector<Early> early;
  uint64_t nextOrder = 1;
};
} // namespace

bool SharedMessages::post(Outgoing &message) {
  PostedMessage *entries = ctx->control->messages(ctx->rank, message.peer);
  for (int64_t i = 0; i < messagesPerPair; ++i) {
    if (entries[i].state.load(std::memory_order_acquire) != PostedMessage::Free)
      continue;
    entries[i].tag = message.tag;
    entries[i].offset = message.offset;
    entries[i].bytes = message.bytes;
    entries[i].order = message.order;
    entries[i].state.store(PostedMessage::Posted, std::memory_order_release);
    message.entry = &entries[i];
    ctx->control->ring(message.peer);
    return true;
  }
  return false;
}

void SharedMessages::progress() {
  for (size_t i = 0; i < outgoing.size();) {
    Outgoing &message = outgoing[i];
    if (message.entry && message.entry->state.load(std::memory_order_acquire) == PostedMessage::Taken) {
      message.entry->state.store(PostedMessage::Free, std::memory_order_release);
      outgoing.erase(outgoing.begin() + std::ptrdiff_t(i));
      continue;
    }
    // In order: what follows a message that finds no entry is not posted before it.
    if (!message.entry && !post(message))
      return;
    ++i;
  }
}

para_status SharedMessages::send(int64_t peer, int64_t tag, const char *buffer, int64_t bytes, const char *op) {
  if (buffer < ctx->arena || buffer + bytes > ctx->arena + ctx->arenaBytes)
    return ctx->fail(op, "send: the buffer is not in the arena");
  progress();
  // Behind messages that found no entry it waits too: equal tags are taken in order.
  bool mustQueue = std::any_of(outgoing.begin(), outgoing.end(), [](const Outgoing &other) { return !other.entry; });
  outgoing.push_back({peer, tag, buffer - ctx->arena, bytes, nextOrder++, nullptr});
  if (!mustQueue)
    post(outgoing.back());
  ctx->bytesSent += bytes;
  return PARA_OK;
}

/// The oldest message of a pair that `wanted` accepts.
template <typename Wanted> static PostedMessage *oldest(PostedMessage *entries, Wanted wanted) {
  PostedMessage *found = nullptr;
  for (int64_t i = 0; i < messagesPerPair; ++i)
    if (entries[i].state.load(std::memory_order_acquire) == PostedMessage::Posted && wanted(entries[i]) &&
        (!found || entries[i].order < found->order))
      found = &entries[i];
  return found;
}

void SharedMessages::makeRoom(int64_t peer, PostedMessage *entries) {
  for (int64_t i = 0; i < messagesPerPair; ++i)
    if (entries[i].state.load(std::memory_order_acquire) != PostedMessage::Posted)
      return;
  PostedMessage *entry = oldest(entries, [](const PostedMessage &) { return true; });
  const char *from = ctx->peerArenas[size_t(peer)] + entry->offset;
  early.push_back({peer, entry->tag, std::vector<char>(from, from + entry->bytes)});
  entry->state.store(PostedMessage::Taken, std::memory_order_release);
  ctx->control->ring(peer);
}

para_status SharedMessages::receive(int64_t peer, int64_t tag, char *buffer, int64_t bytes, const char *op) {
  PostedMessage *entries = ctx->control->messages(peer, ctx->rank), *found = nullptr;
  auto kept = std::find_if(early.begin(), early.end(),
                           [&](const Early &message) { return message.peer == peer && message.tag == tag; });
  bool isEarly = kept != early.end();
  bool isAlive = isEarly || waitUntil(ctx, peer, op, [&] {
    found = oldest(entries, [&](const PostedMessage &entry) { return entry.tag == tag; });
    if (!found) {
      makeRoom(peer, entries);
      progress();
    }
    return found != nullptr;
  });
  if (!isAlive)
    return PARA_PEER_FAILED;
  int64_t sent = isEarly ? int64_t(kept->bytes.size()) : found->bytes;
  if (sent != bytes)
    return ctx->fail(op, format("rank %lld sends %lld bytes with tag %lld where %lld are expected", (long long)peer,
                                (long long)sent, (long long)tag, (long long)bytes));
  const char *from = isEarly ? kept->bytes.data() : ctx->peerArenas[size_t(peer)] + found->offset;
  parallelFor(ctx->threads, bytes, 1 << 19, [&](int64_t begin, int64_t end) {
    std::memcpy(buffer + begin, from + begin, size_t(end - begin));
  });
  if (isEarly) {
    early.erase(kept);
  } else {
    found->state.store(PostedMessage::Taken, std::memory_order_release);
    ctx->control->ring(peer);
  }
  return PARA_OK;
}

para_status SharedMessages::wait(int64_t tag, const char *op) {
  auto isUnderWay = [&](const Outgoing &message) { return message.tag == tag; };
  auto at = std::find_if(outgoing.begin(), outgoing.end(), isUnderWay);
  if (at == outgoing.end())
    return PARA_OK;
  bool isAlive = waitUntil(ctx, at->peer, op, [&] {
    progress();
    return std::none_of(outgoing.begin(), outgoing.end(), isUnderWay);
  });
  return isAlive ? PARA_OK : PARA_PEER_FAILED;
}

para_status SharedMessages::waitForAll(const char *op) {
  if (outgoing.empty())
    return PARA_OK;
  bool isAlive = waitUntil(ctx, outgoing[0].peer, op, [&] {
    progress();
    return outgoing.empty();
  });
  return isAlive ? PARA_OK : PARA_PEER_FAILED;
}

std::unique_ptr<Messages> createMessages(para_context *ctx) {
  if (!ctx->control)
    return makeMpiMessages(ctx);
  return std::make_unique<SharedMessages>(ctx);
}

} // namespace para::runtime

/// The rank at `peer` on `axis`, or -1.
static int64_t peerRank(para_context *ctx, int32_t axis, int64_t peer) {
  const Manifest &manifest = *ctx->manifest;
  if (axis < 0 || size_t(axis) >= manifest.mesh.size() || peer < 0 || peer >= manifest.mesh[size_t(axis)].size)
    return -1;
  std::vector<int64_t> coordinates = ctx->coordinates;
  coordinates[size_t(axis)] = peer;
  return manifest.rankOf(coordinates);
}

para_status para_send(para_context *ctx, int32_t stream, int32_t axis, int64_t peer, int64_t tag, const void *buffer,
                      int64_t bytes, const char *op) {
  OpScope scope(ctx, stream, op, "send", bytes);
  int64_t to = peerRank(ctx, axis, peer);
  if (to < 0 || to == ctx->rank)
    return ctx->fail(op, "send: there is no peer " + std::to_string(peer) + " on that axis");
  return ctx->messages->send(to, tag, static_cast<const char *>(buffer), bytes, op);
}

para_status para_recv(para_context *ctx, int32_t stream, int32_t axis, int64_t peer, int64_t tag, void *buffer,
                      int64_t bytes, const char *op) {
  OpScope scope(ctx, stream, op, "recv", bytes);
  int64_t from = peerRank(ctx, axis, peer);
  if (from < 0 || from == ctx->rank)
    return ctx->fail(op, "recv: there is no peer " + std::to_string(peer) + " on that axis");
  return ctx->messages->receive(from, tag, static_cast<char *>(buffer), bytes, op);
}

para_status para_wait(para_context *ctx, int32_t stream, int64_t tag, const char *op) {
  OpScope scope(ctx, stream, op, "wait");
  return ctx->messages->wait(tag, op);
}
