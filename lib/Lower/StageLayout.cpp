//===- StageLayout.cpp - Offsets of a stage's buffers ---------------------===//
#include "StageMemory.h"

#include "para/IR/Program.h"

#include "mlir/IR/Builders.h"

#include <map>
#include <set>

using namespace mlir;
using namespace para;

StageMemory::Holding StageMemory::findHolding(std::optional<int64_t> chunk) {
  std::set<ChunkPhase> phases;
  Holding holding;
  for (auto &[v, where] : places) {
    const Buffer &buffer = buffers[where.buffer];
    if (buffer.place != Place::Slot || !v.getDefiningOp() || (chunk && buffer.chunk != *chunk))
      continue;
    phases.insert(getChunkPhase(v.getDefiningOp()));
    holding.depth = std::max(holding.depth, getDepth(v));
    for (Operation *user : v.getUsers())
      if (!user->hasTrait<OpTrait::IsTerminator>())
        phases.insert(getChunkPhase(user));
  }
  holding.first.assign(microbatches, -1);
  holding.last.assign(microbatches, -1);
  for (auto [i, action] : llvm::enumerate(actions))
    if (phases.count(action.phase) && perMicrobatch(action.phase.phase)) {
      if (holding.first[action.microbatch] < 0)
        holding.first[action.microbatch] = i;
      holding.last[action.microbatch] = i;
    }
  return holding;
}

void StageMemory::assignRings() {
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    Holding holding = findHolding(chunk);
    // With too few two microbatches would hold one of them at a time.
    auto isEnough = [&](int64_t ring) {
      for (int64_t m = 0; m < microbatches; ++m)
        for (int64_t other = m + ring; other < microbatches; other += ring)
          if (holding.first[m] >= 0 && holding.first[other] >= 0 && holding.last[m] >= holding.first[other] && holding.last[other] >= holding.first[m])
            return false;
      return true;
    };
    int64_t ring = std::clamp<int64_t>(holding.depth, 1, microbatches);
    while (ring < microbatches && !isEnough(ring))
      ++ring;
    for (Buffer &buffer : buffers)
      if (buffer.place == Place::Slot && buffer.chunk == chunk)
        buffer.ring = ring;
  }
}

void StageMemory::assignSlots() {
  if (hasRings())
    return assignRings();
  // A microbatch holds a slot from the first segment that writes it to the last that reads it. What is sent from there may be under way for
  // some more microbatches.
  Holding held = findHolding(std::nullopt);
  std::vector<int64_t> freeAt, hadBy; // by slot, the last action that uses it and its microbatch
  std::vector<int64_t> slotOf(microbatches, 0), order;
  for (int64_t m = 0; m < microbatches; ++m)
    if (held.first[m] >= 0)
      order.push_back(m);
  llvm::sort(order, [&](int64_t a, int64_t b) { return held.first[a] < held.first[b]; });
  for (int64_t m : order) {
    size_t slot = 0;
    while (slot < freeAt.size() && (freeAt[slot] >= held.first[m] || hadBy[slot] > m - held.depth))
      ++slot;
    if (slot == freeAt.size())
      freeAt.push_back(0), hadBy.push_back(0);
    freeAt[slot] = held.last[m];
    hadBy[slot] = m;
    slotOf[m] = slot;
  }
  slots = std::max<int64_t>(1, freeAt.size());
  for (StageAction &action : actions)
    action.slot = perMicrobatch(action.phase.phase) ? slotOf[action.microbatch] : 0;
}

void StageMemory::pack() {
  int64_t fixed = 0;
  for (Buffer &buffer : buffers)
    if (buffer.place == Place::Fixed) {
      buffer.offset = fixed;
      fixed += alignBytes(buffer.bytes);
    }
  auto packKind = [&](int64_t base, llvm::function_ref<bool(const Buffer &)> wanted) {
    std::vector<PlannedBuffer> planned;
    std::vector<int> numbers;
    for (auto [i, buffer] : llvm::enumerate(buffers))
      if (wanted(buffer) && buffer.bytes > 0) {
        planned.push_back({buffer.bytes, buffer.first, buffer.last, -1});
        numbers.push_back(i);
      }
    int64_t bytes = planMemory(planned);
    for (auto [plan, number] : llvm::zip_equal(planned, numbers))
      buffers[number].offset = base + plan.offset;
    return bytes;
  };
  if (slots == 1 && !hasRings()) {
    slotBase = fixed;
    slotBytes = 0;
    arenaBytes = fixed + packKind(fixed, [](const Buffer &b) { return b.place != Place::Fixed; });
    return;
  }
  int64_t shared = packKind(fixed, [](const Buffer &b) { return b.place == Place::Step || b.place == Place::Temporary; });
  slotBase = fixed + shared;
  if (hasRings()) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      auto isHere = [&](const Buffer &b) { return b.place == Place::Slot && b.chunk == chunk; };
      int64_t block = packKind(slotBase, isHere), ring = 1;
      for (Buffer &buffer : buffers)
        if (isHere(buffer)) {
          ring = buffer.ring;
          buffer.block = block;
        }
      slotBase += ring * block;
    }
    arenaBytes = slotBase;
    return;
  }
  slotBytes = packKind(slotBase, [](const Buffer &b) { return b.place == Place::Slot; });
  arenaBytes = slotBase + slots * slotBytes;
}

LogicalResult StageMemory::verify() {
  // Runs the schedule op by op and notes when each value of each microbatch is written and last read.
  int64_t now = 0;
  std::map<std::pair<const void *, int64_t>, LiveRange> live;
  auto keyOf = [&](Value v, int64_t microbatch) { // of all microbatches where they have one place
    Place place = buffers[places[v].buffer].place;
    return !v.getDefiningOp() || place == Place::Step || place == Place::Fixed ? -1 : microbatch;
  };
  auto touch = [&](Value v, int64_t microbatch, int64_t slot) {
    const Where &where = places[v];
    const Buffer &buffer = buffers[where.buffer];
    Operation *op = v.getDefiningOp();
    bool isRing = buffer.place == Place::Slot && buffer.ring;
    int64_t number = isRing ? microbatch % buffer.ring : slot;
    int64_t begin = buffer.offset + (buffer.place == Place::Fixed ? 0 : where.offset) + (buffer.place == Place::Slot ? number * (isRing ? buffer.block : slotBytes) : 0);
    int64_t id = where.buffer + (buffer.place == Place::Slot ? number * static_cast<int64_t>(buffers.size()) : 0);
    int64_t bytes = !op || buffer.place == Place::Fixed ? buffer.bytes : bytesOf(v);
    auto [it, fresh] = live.try_emplace({v.getAsOpaquePointer(), keyOf(v, microbatch)}, LiveRange{begin, begin + bytes, now, now, static_cast<int>(id)});
    it->second.last = now;
    if (buffer.place == Place::Fixed)
      it->second.first = 0, it->second.last = INT64_MAX;
  };
  for (BlockArgument v : func.getArguments())
    touch(v, 0, 0);
  for (const StageAction &action : actions) {
    for (Operation &op : func.getBody().front().without_terminator()) {
      ++now;
      if (getChunkPhase(&op) != action.phase)
        continue;
      for (Value v : op.getOperands()) {
        if (v.getDefiningOp() && !live.count({v.getAsOpaquePointer(), keyOf(v, action.microbatch)}))
          return op.emitError("the order of ops is wrong: one reads what is made in a later phase");
        touch(v, action.microbatch, action.slot);
      }
      for (Value v : op.getResults())
        touch(v, action.microbatch, action.slot);
    }
    for (const Copy &copy : copies)
      if (copy.phase == action.phase)
        touch(copy.from, action.microbatch, action.slot);
  }
  std::vector<LiveRange> ranges;
  for (auto &entry : live)
    ranges.push_back(entry.second);
  llvm::stable_sort(ranges, [](const LiveRange &a, const LiveRange &b) { return std::tie(a.first, a.begin, a.buffer) < std::tie(b.first, b.begin, b.buffer); });
  std::string problem = verifyMemory(ranges, arenaBytes);
  if (problem.empty())
    return success();
  return func.emitError() << "the memory plan is wrong: " << problem;
}

rt::AddressAttr StageMemory::addressOf(Where where) {
  const Buffer &buffer = buffers[where.buffer];
  bool slot = slots > 1 && buffer.place == Place::Slot;
  return rt::AddressAttr::get(func.getContext(), buffer.offset + where.offset, buffer.block, slot ? slotBytes : 0, buffer.ring);
}

int64_t StageMemory::getOffset(Where where, const StageAction &action) {
  rt::AddressAttr address = addressOf(where);
  int64_t block = address.getRing() ? action.microbatch % address.getRing() : action.microbatch;
  return address.getOffset() + block * address.getBlock() + action.slot * address.getSlot();
}

void StageMemory::annotate() {
  Builder b(func.getContext());
  llvm::MapVector<Operation *, SmallVector<Attribute>> ofSends;
  for (const Wait &wait : waits)
    ofSends[wait.send].push_back(b.getArrayAttr({getAttr(wait.phase, func.getContext()), b.getI64IntegerAttr(wait.back)}));
  for (auto &[send, list] : ofSends)
    send->setAttr("rt.waits", b.getArrayAttr(list));
  for (BlockArgument v : func.getArguments())
    func.setArgAttr(v.getArgNumber(), "rt.address", addressOf(places[v]));
  for (Operation &op : func.getBody().front().without_terminator()) {
    SmallVector<Attribute> addresses;
    for (Value v : op.getResults())
      addresses.push_back(addressOf(places[v]));
    op.setAttr("rt.addresses", b.getArrayAttr(addresses));
  }
  Operation *terminator = func.getBody().front().getTerminator();
  SmallVector<Attribute> list;
  for (const Copy &copy : copies) {
    rt::AddressAttr from = addressOf(places[copy.from]), to = addressOf(copy.to);
    list.push_back(b.getArrayAttr({getAttr(copy.phase, func.getContext()), from, to, b.getI64IntegerAttr(copy.bytes)}));
  }
  func->setAttr("rt.copies", b.getArrayAttr(list));
  for (unsigned i = 0; i < terminator->getNumOperands(); ++i) {
    auto marked = func.getResultAttrOfType<rt::AddressAttr>(i, "rt.address");
    Where where = marked ? Where{static_cast<int>(marked.getOffset()), marked.getBlock()} : places[terminator->getOperand(i)];
    func.setResultAttr(i, "rt.address", addressOf(where));
  }
  SmallVector<Attribute> sequence;
  for (const StageAction &action : actions)
    sequence.push_back(b.getArrayAttr({getAttr(action.phase, func.getContext()), b.getI64IntegerAttr(action.microbatch), b.getI64IntegerAttr(action.slot)}));
  func->setAttr("rt.actions", b.getArrayAttr(sequence));
  func->setAttr("rt.arena_bytes", b.getI64IntegerAttr(arenaBytes));
  func->setAttr("rt.slots", b.getI64IntegerAttr(slots));
  func->setAttr("rt.slot_bytes", b.getI64IntegerAttr(slotBytes));
}
