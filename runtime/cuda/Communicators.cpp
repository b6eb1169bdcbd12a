//===- Communicators.cpp - Collectives by NCCL --------------------------------===//
#include "Communicators.h"
#include "core/Environment.h"

#include <algorithm>

namespace para::runtime::cuda {

namespace {
/// Values of nccl.h by element type; -1 where NCCL has none.
int typeOf(int32_t dtype) {
  switch (dtype) {
  case PARA_I8: return 0;
  case PARA_U8:
  case PARA_BOOL: return 1;
  case PARA_I32: return 2;
  case PARA_I64: return 4;
  case PARA_F16: return 6;
  case PARA_F32: return 7;
  case PARA_F64: return 8;
  case PARA_BF16: return 9;
  }
  return -1;
}
constexpr int bytesType = 1;

int reductionOf(int32_t reduction) { return reduction == PARA_SUM ? 0 : reduction == PARA_MAX ? 2 : 3; }

const char *nameOf(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce: return "all-reduce";
  case CollectiveKind::AllGather: return "all-gather";
  case CollectiveKind::ReduceScatter: return "reduce-scatter";
  case CollectiveKind::AllToAll: return "all-to-all";
  }
  return "collective";
}
} // namespace

std::string Communicators::error(const char *what, int result) const {
  const char *last = nccl.ncclGetLastError(everyone);
  return std::string("NCCL: ") + what + ": " + nccl.ncclGetErrorString(result) + (last && *last ? std::string(" (") + last + ")" : "");
}

para_status Communicators::check(const char *op, const char *what, int result) {
  return result == 0 ? PARA_OK : ctx->fail(op, error(what, result));
}

Status Communicators::load() { return ctx->world->size() == 1 ? Status::success() : ctx->world->agree(loadNccl(nccl)); }

int Communicators::allocateArena() {
  size_t bytes = size_t(std::max<int64_t>(ctx->arenaBytes, 256));
  bool isWanted = ctx->world->size() > 1 && isOn(Setting::RegisterBuffers);
  void *made = nullptr;
  if (isWanted && nccl.ncclMemAlloc && nccl.ncclMemFree && nccl.ncclMemAlloc(&made, bytes) == 0) {
    arenaIsNccls = true;
    ctx->arena = Address(reinterpret_cast<uintptr_t>(made));
    return success;
  }
  return ctx->driver.cuMemAlloc(&ctx->arena, bytes);
}

void Communicators::freeArena() {
  if (!ctx->arena)
    return;
  if (arenaIsNccls)
    nccl.ncclMemFree(reinterpret_cast<void *>(uintptr_t(ctx->arena)));
  else
    ctx->driver.cuMemFree(ctx->arena);
  ctx->arena = 0;
}

/// Registered memory is read and written in place by devices and switches that could not else. What cannot be registered is copied, as without.
void Communicators::registerArena() {
  if (!isOn(Setting::RegisterBuffers))
    whyUnregistered = std::string(runtime::nameOf(Setting::RegisterBuffers)) + "=0";
  else if (!nccl.ncclCommRegister || !nccl.ncclCommDeregister)
    whyUnregistered = "this NCCL is older than 2.19";
  if (!whyUnregistered.empty())
    return;
  forEach([&](Handle handle) {
    if (handle == everyone) // Nothing goes over it.
      return;
    Handle registration = nullptr;
    int result = nccl.ncclCommRegister(handle, reinterpret_cast<void *>(uintptr_t(ctx->arena)), size_t(ctx->arenaBytes), &registration);
    if (result == 0)
      registrations.push_back({handle, registration});
    else
      whyUnregistered = error("ncclCommRegister", result);
  });
}

void Communicators::deregisterArena() {
  for (auto [handle, registration] : registrations)
    nccl.ncclCommDeregister(handle, registration);
  registrations.clear();
}

std::string Communicators::registrationText() const {
  if (ctx->world->size() == 1)
    return "";
  std::string why = whyUnregistered.empty() ? "" : " (" + whyUnregistered + ")";
  return format("has its arena registered with %zu communicators", registrations.size()) + why;
}

Status Communicators::create() {
  World &world = *ctx->world;
  if (world.size() == 1) {
    groups.resize(ctx->manifest->communicators.size());
    return Status::success();
  }
  NcclId id{};
  int result = world.rank() == 0 ? nccl.ncclGetUniqueId(&id) : 0;
  PARA_TRY(world.agree(result == 0 ? Status::success() : Status::error(error("ncclGetUniqueId", result))));
  PARA_TRY(world.broadcast(&id, sizeof(id)));
  result = nccl.ncclCommInitRank(&everyone, int(world.size()), id, int(world.rank()));
  PARA_TRY(world.agree(result == 0 ? Status::success() : Status::error(error("ncclCommInitRank", result))));
  ctx->watch->finishStartStep();
  for (size_t i = 0; i < ctx->manifest->communicators.size(); ++i) {
    Group group;
    PARA_TRY(createGroup(ctx->manifest->members(i, ctx->rank), group));
    groups.push_back(group);
    ctx->watch->finishStartStep();
  }
  PARA_TRY(createChannels());
  registerArena();
  return Status::success();
}

Status Communicators::createGroup(const std::vector<int64_t> &members, Group &group) {
  // Members are numbered as the manifest orders them; groups of one rank need nothing, and then all groups are of one.
  group.size = int64_t(members.size());
  if (group.size == 1)
    return Status::success();
  int color = int(*std::min_element(members.begin(), members.end()));
  int key = int(std::find(members.begin(), members.end(), ctx->rank) - members.begin());
  int result = nccl.ncclCommSplit(everyone, color, key, &group.handle, nullptr);
  return ctx->world->agree(result == 0 ? Status::success() : Status::error(error("ncclCommSplit", result)));
}

/// All of NCCL's communicators, that of all ranks last.
template <typename Visit> void Communicators::forEach(Visit visit) const {
  for (const Group &group : groups)
    if (group.handle)
      visit(group.handle);
  for (auto *channels : {&outgoing, &incoming})
    for (auto &[peer, ofPeer] : *channels)
      for (const Channel &channel : ofPeer)
        visit(channel.handle);
  if (everyone)
    visit(everyone);
}

void Communicators::abort() {
  if (!isAborted.exchange(true))
    forEach([&](Handle handle) { nccl.ncclCommAbort(handle); });
}

Communicators::~Communicators() {
  bool isBroken = ctx->world->failedRank() >= 0 || (ctx->watch && ctx->watch->hasFailed());
  if (isBroken)
    abort();
  else
    deregisterArena();
  if (!isBroken)
    forEach([&](Handle handle) { nccl.ncclCommDestroy(handle); });
  for (auto *channels : {&outgoing, &incoming})
    for (auto &[peer, ofPeer] : *channels)
      for (const Channel &channel : ofPeer) {
        for (Handle event : {channel.before, channel.after})
          if (event)
            ctx->driver.cuEventDestroy(event);
        if (channel.stream)
          ctx->driver.cuStreamDestroy(channel.stream);
      }
  for (auto &[tag, event] : sent)
    ctx->driver.cuEventDestroy(event.handle);
  freeArena();
}

std::string Communicators::findError() const {
  constexpr int inProgress = 7;
  std::string said;
  forEach([&](Handle handle) {
    int found = 0, result = nccl.ncclCommGetAsyncError(handle, &found);
    result = result ? result : found == inProgress ? 0 : found;
    if (result && said.empty())
      said = error("found while it ran", result);
  });
  return said;
}

int Communicators::allToAll(const Group &group, Handle queue, const void *in, void *out, int64_t bytes) {
  int result = nccl.ncclGroupStart();
  for (int64_t i = 0; i < group.size && result == 0; ++i) {
    result = nccl.ncclSend(static_cast<const char *>(in) + i * bytes, size_t(bytes), bytesType, int(i), group.handle, queue);
    if (result == 0)
      result = nccl.ncclRecv(static_cast<char *>(out) + i * bytes, size_t(bytes), bytesType, int(i), group.handle, queue);
  }
  int ended = nccl.ncclGroupEnd();
  return result ? result : ended;
}

para_status Communicators::run(CollectiveKind kind, int32_t stream, int32_t communicator, int32_t sequence, const void *in, void *out,
                               int64_t count, int32_t dtype, int32_t reduction, const char *op) {
  if (communicator < 0 || size_t(communicator) >= groups.size())
    return ctx->fail(op, "the manifest has no communicator " + std::to_string(communicator));
  if (!ctx->isStream(stream) || dtype < 0 || dtype > PARA_BOOL)
    return ctx->fail(op, "a collective on no stream or of no element type");
  const Group &group = groups[size_t(communicator)];
  int64_t bytes = count * elementBytes(DType(dtype));
  OpScope scope(ctx, stream, op, nameOf(kind), bytes);
  ctx->sequence = sequence;
  if (group.size == 1)
    return in == out ? PARA_OK : para_copy(ctx, stream, out, in, bytes, op);
  Handle queue = ctx->streams[stream];
  bool reduces = kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter;
  int type = typeOf(dtype);
  if (reduces && type < 0)
    return ctx->fail(op, std::string(nameOf(kind)) + ": NCCL does not add " + dtypeName(DType(dtype)));
  int64_t others = group.size - 1;
  ctx->bytesSent += kind == CollectiveKind::AllReduce ? 2 * others * bytes / group.size : others * bytes;
  return watched(queue, {op, nameOf(kind), communicator, sequence}, [&] {
    switch (kind) {
    case CollectiveKind::AllReduce: return nccl.ncclAllReduce(in, out, size_t(count), type, reductionOf(reduction), group.handle, queue);
    case CollectiveKind::AllGather: return nccl.ncclAllGather(in, out, size_t(bytes), bytesType, group.handle, queue);
    case CollectiveKind::ReduceScatter: return nccl.ncclReduceScatter(in, out, size_t(count), type, reductionOf(reduction), group.handle, queue);
    case CollectiveKind::AllToAll: break;
    }
    return allToAll(group, queue, in, out, bytes);
  });
}

} // namespace para::runtime::cuda

using para::runtime::cuda::CollectiveKind;

para_status para_all_reduce(para_context *ctx, int32_t stream, int32_t communicator, int32_t sequence, const void *in, void *out,
                            int64_t count, int32_t dtype, int32_t reduction, const char *op) {
  return ctx->communicators->run(CollectiveKind::AllReduce, stream, communicator, sequence, in, out, count, dtype, reduction, op);
}
para_status para_all_gather(para_context *ctx, int32_t stream, int32_t communicator, int32_t sequence, const void *in, void *out,
                            int64_t count, int32_t dtype, const char *op) {
  return ctx->communicators->run(CollectiveKind::AllGather, stream, communicator, sequence, in, out, count, dtype, PARA_SUM, op);
}
para_status para_reduce_scatter(para_context *ctx, int32_t stream, int32_t communicator, int32_t sequence, const void *in,
                                void *out, int64_t count, int32_t dtype, int32_t reduction, const char *op) {
  return ctx->communicators->run(CollectiveKind::ReduceScatter, stream, communicator, sequence, in, out, count, dtype, reduction, op);
}
para_status para_all_to_all(para_context *ctx, int32_t stream, int32_t communicator, int32_t sequence, const void *in, void *out,
                            int64_t count, int32_t dtype, const char *op) {
  return ctx->communicators->run(CollectiveKind::AllToAll, stream, communicator, sequence, in, out, count, dtype, PARA_SUM, op);
}
