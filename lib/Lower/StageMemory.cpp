//===- StageMemory.cpp - Which values share places ------------------------===//
#include "StageMemory.h"

#include "IndexMath.h"
#include "Tiles.h"

#include "para/IR/Program.h"

#include <functional>
#include <set>

using namespace mlir;
using namespace para;

/// Bytes that are rather copied into a bucket than sent by themselves.
static constexpr int64_t mostCopied = 64 << 10;
/// What is made once a step and is smaller has bytes of its own: sums of rows of gradients, say, a small part of the parameters.
/// Larger ones, parts of new parameters that are to be gathered, as long as they are not too much together.
static constexpr int64_t mostUnshared = 256 << 10, mostUpdatesTogether = 256 << 20;
/// Likewise of parts of sums in the backward pass, and of all of these together: they are there when activations no longer are.
static constexpr int64_t mostParts = 16 << 20, mostPartsTogether = 256 << 20;

StageMemory::StageMemory(func::FuncOp func, int64_t microbatches, FactsCache &facts, bool hasBlocks)
    : func(func), microbatches(microbatches), facts(facts), hasBlocks(hasBlocks), limits(limitUnderWay(func)) {}

LogicalResult StageMemory::run() {
  int64_t now = 0;
  for (Operation &op : func.getBody().front())
    time[&op] = now++;
  readSchedule();
  placeArguments();
  placeResults();
  placeValues();
  assignSlots();
  pack();
  placeWaits();
  if (failed(checkMessages()) || failed(verify()))
    return failure();
  annotate();
  return success();
}

void StageMemory::readSchedule() {
  std::set<ChunkPhase> present;
  for (Operation &op : func.getBody().front().without_terminator()) {
    present.insert(getChunkPhase(&op));
    chunks = std::max(chunks, getChunkPhase(&op).chunk + 1);
  }
  auto add = [&](ChunkPhase phase, int64_t microbatch) {
    if (present.count(phase))
      actions.push_back({phase, microbatch});
  };
  if (func->hasAttr("para.schedule")) {
    for (const ScheduledPhase &entry : para::readSchedule(func))
      add(entry.phase, entry.microbatch);
    return;
  }
  for (int64_t m = 0; m < microbatches; ++m)
    add({Phase::Prepare}, m);
  add({Phase::Setup}, 0);
  for (int64_t m = 0; m < microbatches; ++m) {
    add({Phase::Forward}, m);
    add({Phase::Backward}, m);
  }
  add({Phase::Update}, 0);
}

int StageMemory::newBuffer(Place place, int64_t bytes, int64_t first, int64_t last) {
  buffers.push_back({place, bytes, first, last});
  return buffers.size() - 1;
}

void StageMemory::makeRing(int number, int64_t depth) {
  if (depth < 2)
    return;
  Buffer &buffer = buffers[number];
  buffer.ring = depth;
  buffer.block = alignBytes(buffer.bytes);
  buffer.bytes = depth * buffer.block;
}

int64_t StageMemory::completionOf(rt::CallOp call) {
  Operation *limit = limits.lookup(call);
  int64_t wanted = limit ? time[limit] : INT64_MAX, end = time[call];
  for (Value result : call.getResults())
    for (Operation *user : result.getUsers())
      if (getChunkPhase(user) == getChunkPhase(call))
        wanted = std::min(wanted, time[user]);
  for (Operation *op = call; op && !op->hasTrait<OpTrait::IsTerminator>() && getChunkPhase(op) == getChunkPhase(call); op = op->getNextNode())
    end = time[op];
  return std::min(wanted, end);
}

int64_t StageMemory::getFirst(Operation *op, int64_t depth) {
  return depth && microbatches > 1 && ChunkPhase{Phase::Forward} < getChunkPhase(op) ? 0 : time[op];
}

int64_t StageMemory::lastUse(Value v) {
  if (getDepth(v))
    return time[func.getBody().front().getTerminator()];
  if (hasRings() && v.getDefiningOp() && isUsedElsewhere(v)) // whose passes come before or after those of the value's own, not in the order of ops
    return time[func.getBody().front().getTerminator()];
  int64_t last = v.getDefiningOp() ? time[v.getDefiningOp()] : 0;
  for (Operation *user : v.getUsers())
    last = std::max(last, time[user]);
  // A collective runs beside the kernels until its result is wanted, or its segment ends.
  auto extend = [&](Operation *op) {
    auto call = dyn_cast_or_null<rt::CallOp>(op);
    if (call && (call.getDesc().contains("reduction") || call.getCallee() == "recv"))
      last = std::max(last, completionOf(call));
  };
  for (Operation *user : v.getUsers())
    extend(user);
  extend(v.getDefiningOp());
  return last;
}

bool StageMemory::isStacked(DictionaryAttr attributes) {
  auto sharding = attributes ? attributes.getAs<ShardingAttr>("para.sharding") : nullptr;
  if (microbatches == 1 || !sharding)
    return false;
  for (int64_t d = 0; d < sharding.getRank(); ++d)
    if (llvm::is_contained(sharding.getAxes(d), "microbatch"))
      return true;
  return false;
}

void StageMemory::placeArguments() {
  for (BlockArgument v : func.getArguments()) {
    bool stacked = getArgKind(func, v.getArgNumber()) == "input";
    int64_t bytes = bytesOf(v);
    int b = newBuffer(Place::Fixed, stacked ? bytes * microbatches : bytes, 0, 0);
    buffers[b].block = stacked && microbatches > 1 ? bytes : 0;
    places[v] = {b, 0};
  }
}

/// The value inside of a fused body that an operand of the op is, and how it is read there.
bool StageMemory::writesInPlace(Operation *op, Value v, unsigned result) {
  if (!llvm::is_contained(op->getOperands(), v))
    return true;
  auto fused = dyn_cast<rt::FusedOp>(op);
  if (!fused || fused->hasAttr(TileSpace::attrName)) // Other blocks may still read there.
    return false;
  Block &body = fused.getBody().front();
  // A reduction that is only stored is computed in the loops that store the other outputs; one used here comes before them, and one over
  // single elements after them.
  for (Operation &member : body.without_terminator())
    if (const OpFacts &own = facts.get(&member); own.reduction)
      if (productOf(ArrayRef<int64_t>(own.loops).drop_front(own.resultRank)) == 1 ||
          llvm::any_of(member.getUsers(), [&](Operation *user) { return user != body.getTerminator(); }))
        return false;
  Value output = body.getTerminator()->getOperand(result);
  SmallVector<Value> inside;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (operand == v)
      inside.push_back(body.getArgument(i));
  // Coordinates of every member in terms of the output's element: those on the way to the argument must keep the number.
  MLIRContext *ctx = op->getContext();
  bool same = true;
  std::set<std::pair<void *, std::vector<const void *>>> seen; // value at coordinates
  std::function<void(Value, SmallVector<AffineExpr>, bool, ArrayRef<int64_t>)> follow = [&](Value x, SmallVector<AffineExpr> index, bool isElsewhere,
                                                                                           ArrayRef<int64_t> loops) {
    if (!same)
      return;
    if (llvm::is_contained(inside, x)) {
      SmallVector<AffineExpr> dims;
      for (unsigned d = 0; d < loops.size(); ++d)
        dims.push_back(getAffineDimExpr(d, ctx));
      same = !isElsewhere && productOf(loops) == sizeOf(x) && sameFunction(linearize(index, shapeOf(x), ctx), linearize(dims, loops, ctx), loops);
      return;
    }
    Operation *member = x.getDefiningOp();
    std::vector<const void *> place{isElsewhere ? x.getAsOpaquePointer() : nullptr, loops.data()};
    for (AffineExpr e : index)
      place.push_back(e.getAsOpaquePointer());
    if (!member || !seen.insert({x.getAsOpaquePointer(), place}).second)
      return;
    for (const OpAccess &access : facts.get(member).accesses) {
      SmallVector<AffineExpr> next;
      for (AffineExpr e : access.index)
        next.push_back(linearForm(e.replaceDims(index), loops).toExpr(ctx));
      // Where an element is not wanted, some other is read in its place, which another block may write.
      follow(member->getOperand(access.operand), next, isElsewhere || access.dynamic || (hasBlocks && access.guarded), loops);
    }
  };
  // All outputs are stored after all is loaded, but only at one element (or one vector) at a time.
  for (Value any : body.getTerminator()->getOperands()) {
    if (any.getDefiningOp() && isStripSum(any.getDefiningOp())) // takes each element when it is stored
      any = any.getDefiningOp()->getOperand(0);
    Operation *member = any.getDefiningOp();
    bool isReduction = member && facts.get(member).reduction;
    ArrayRef<int64_t> loops = isReduction ? ArrayRef<int64_t>(facts.get(member).loops) : shapeOf(any);
    SmallVector<AffineExpr> index;
    for (unsigned d = 0; d < loops.size(); ++d)
      index.push_back(getAffineDimExpr(d, ctx));
    if (productOf(loops) != sizeOf(output))
      return false;
    follow(any, index, false, loops);
  }
  return same;
}

static bool isBucket(Operation *op) {
  auto call = dyn_cast<rt::CallOp>(op);
  return call && call.getCallee() == "all_reduce" && call.getInputs().size() > 1;
}

void StageMemory::placeResults() {
  Operation *terminator = func.getBody().front().getTerminator();
  int64_t end = time[terminator];
  for (unsigned i = 0; i < terminator->getNumOperands(); ++i) {
    Value v = terminator->getOperand(i);
    DictionaryAttr attributes = func.getResultAttrDict(i);
    auto updates = attributes ? attributes.getAs<StringAttr>("para.updates") : nullptr;
    int argument = updates ? getArgIndex(func, updates.getValue()) : -1;
    Operation *made = v.getDefiningOp();
    bool free = made && !places.count(v) && !isBucket(made); // what is reduced together lies together
    Where target;
    if (argument >= 0) {
      Value old = func.getArgument(argument);
      target = places[old];
      if (v == old)
        continue;
      for (Operation *user : old.getUsers())
        free = free && user != terminator && time[user] <= time[made];
      free = free && writesInPlace(made, old, cast<OpResult>(v).getResultNumber());
    } else {
      bool stacked = isStacked(attributes);
      int b = newBuffer(Place::Fixed, bytesOf(v) * (stacked ? microbatches : 1), 0, end);
      buffers[b].block = stacked ? bytesOf(v) : 0;
      target = {b, 0};
    }
    if (free) {
      places[v] = target;
      continue;
    }
    copies.push_back({made ? getChunkPhase(made) : ChunkPhase{Phase::Update}, v, target, bytesOf(v)});
    func.setResultAttr(i, "rt.address", rt::AddressAttr::get(func.getContext(), target.buffer, target.offset, -1, 0)); // resolved later
  }
}

bool StageMemory::isAccumulated(Value v) {
  Operation *op = v.getDefiningOp();
  if (auto call = dyn_cast_or_null<rt::CallOp>(op))
    return call.getDesc().contains("accumulate");
  auto fused = dyn_cast_or_null<rt::FusedOp>(op);
  Operation *inside = fused ? fused.getBody().front().getTerminator()->getOperand(cast<OpResult>(v).getResultNumber()).getDefiningOp() : op;
  return inside && facts.get(inside).accumulate;
}

StageMemory::Place StageMemory::placeOf(Value v) {
  if (isAccumulated(v)) // all microbatches add to one place, whoever reads the sum
    return Place::Step;
  ChunkPhase phase = getChunkPhase(v.getDefiningOp());
  bool crosses = false, leaves = false;
  Operation *terminator = func.getBody().front().getTerminator();
  for (Operation *user : v.getUsers()) {
    if (user == terminator)
      continue;
    crosses |= getChunkPhase(user) != phase;
    leaves |= !perMicrobatch(getPhase(user));
  }
  if (!crosses) // A message may be under way until a later microbatch.
    return getDepth(v) ? Place::Fixed : Place::Temporary;
  // What the microbatches add up, and what is made once for all of them.
  return !perMicrobatch(phase.phase) || leaves ? Place::Step : Place::Slot;
}

bool StageMemory::isUsedElsewhere(Value v) {
  int64_t chunk = getChunkPhase(v.getDefiningOp()).chunk;
  return llvm::any_of(v.getUsers(), [&](Operation *user) { return user->hasAttr("para.phase") && getChunkPhase(user).chunk != chunk; });
}

bool StageMemory::shareInput(Operation *op, Value result) {
  if (getDepth(result)) // what is sent is written where it is made, and nowhere before
    return false;
  unsigned number = cast<OpResult>(result).getResultNumber();
  auto call = dyn_cast<rt::CallOp>(op);
  bool collective = call && call.getCallee() == "all_reduce" && call.getInputs().size() == 1;
  if (!collective && !isa<rt::FusedOp>(op))
    return false;
  for (Value v : op->getOperands()) {
    auto it = places.find(v);
    if (!v.getDefiningOp() || it == places.end() || bytesOf(v) != bytesOf(result) || placeOf(v) != placeOf(result) ||
        elementBytes(v.getType()) != elementBytes(result.getType()) || getChunkPhase(v.getDefiningOp()).chunk != getChunkPhase(op).chunk)
      continue;
    Buffer &buffer = buffers[it->second.buffer];
    bool once = !(hasRings() && isUsedElsewhere(v)) && llvm::all_of(v.getUsers(), [&](Operation *user) { return time[user] <= time[op]; });
    if (!once || buffer.place == Place::Fixed || buffer.place == Place::Step || buffer.last > time[op] || buffer.bytes != bytesOf(v))
      continue;
    bool taken = llvm::any_of(op->getResults(), [&](Value other) { auto p = places.find(other); return p != places.end() && p->second.buffer == it->second.buffer; });
    if (taken || (!collective && !writesInPlace(op, v, number)))
      continue;
    buffer.last = std::max(buffer.last, lastUse(result));
    Where shared = it->second; // a new entry may move the map's storage
    places[result] = shared;
    return true;
  }
  return false;
}

/// Whether one kernel makes little of it, which may wait for others of its kind.
static bool isSumOfParts(Value v) {
  if (!v.hasOneUse() || !isa<rt::FusedOp>(v.getDefiningOp()) || !isa<rt::FusedOp>(*v.user_begin()) || bytesOf(v) > mostParts)
    return false;
  int64_t bytes = 0;
  for (Value result : (*v.user_begin())->getResults())
    bytes += bytesOf(result);
  return bytes * 8 <= bytesOf(v);
}

void StageMemory::placeValues() {
  int64_t end = time[func.getBody().front().getTerminator()], firstUpdate = end, partsTogether = 0, updatesTogether = 0;
  for (Operation &op : func.getBody().front().without_terminator())
    if (getPhase(&op) == Phase::Update)
      firstUpdate = std::min(firstUpdate, time[&op]);
  for (Operation &op : func.getBody().front().without_terminator()) {
    auto call = dyn_cast<rt::CallOp>(op);
    if (call && call.getCallee() == "all_reduce")
      placeBucket(call);
    for (Value v : op.getResults()) {
      if (places.count(v) || shareInput(&op, v))
        continue;
      Place place = placeOf(v);
      int64_t first = getFirst(&op, getDepth(v)), last = lastUse(v);
      if (place == Place::Step && microbatches > 1) {
        first = 0;
        last = end;
      }
      if (hasBlocks && getPhase(&op) == Phase::Update && (bytesOf(v) <= mostUnshared || updatesTogether + bytesOf(v) <= mostUpdatesTogether))
        first = std::min(first, firstUpdate), last = end, updatesTogether += bytesOf(v);
      else if (hasBlocks && microbatches == 1 && place == Place::Temporary && isSumOfParts(v) && partsTogether + bytesOf(v) <= mostPartsTogether)
        last = end, partsTogether += bytesOf(v);
      for (const Copy &copy : copies) // read again when its phase ends
        if (copy.from == v)
          last = end;
      places[v] = {newBuffer(place, bytesOf(v), first, last), 0};
      buffers.back().chunk = getChunkPhase(&op).chunk;
      if (place == Place::Fixed && perMicrobatch(getPhase(&op)))
        makeRing(places[v].buffer, getDepth(v));
    }
  }
}

void StageMemory::placeBucket(rt::CallOp call) {
  // One range for all values, reduced in place. An input that something else wants, too, is copied there first.
  int64_t bytes = 0, payload = 0, copied = 0, depth = 0;
  SmallVector<int64_t> offsets;
  SmallVector<Value> own;
  Place place = placeOf(call.getResult(0));
  for (Value out : call.getResults())
    depth = std::max(depth, getDepth(out));
  int64_t first = getFirst(call, depth), last = time[call];
  for (auto [in, out] : llvm::zip_equal(call.getInputs(), call.getResults())) {
    if (places.count(out))
      return;
    auto it = places.find(in);
    bool isOwn = in.getDefiningOp() && it != places.end() && it->second.offset == 0 && buffers[it->second.buffer].place != Place::Fixed &&
                 buffers[it->second.buffer].bytes == bytesOf(in) &&
                 buffers[it->second.buffer].chunk == getChunkPhase(call).chunk &&
                 llvm::count_if(places, [&](auto &p) { return p.second.buffer == it->second.buffer; }) == 1 && in.hasOneUse();
    isOwn &= depth == 0 || getChunkPhase(in.getDefiningOp()) == getChunkPhase(call); // else it would be written before the last message is waited for
    if (isOwn)
      own.push_back(in);
    else
      copied += bytesOf(in);
    Place inPlace = isOwn ? buffers[it->second.buffer].place : Place::Temporary;
    if (inPlace == Place::Step || placeOf(out) == Place::Step)
      place = Place::Step;
    else if (place != Place::Step && (inPlace == Place::Slot || placeOf(out) == Place::Slot))
      place = Place::Slot;
    if (isOwn) {
      first = std::min(first, buffers[it->second.buffer].first);
      last = std::max(last, buffers[it->second.buffer].last);
    }
    last = std::max(last, lastUse(out));
    if (llvm::any_of(copies, [&, out = out](const Copy &copy) { return copy.from == out; })) // read again when its phase ends
      last = time[func.getBody().front().getTerminator()];
    bytes = llvm::alignTo(bytes, messageAlignment);
    offsets.push_back(bytes);
    payload += bytesOf(in);
    bytes += bytesOf(in);
  }
  bool isMostlyFull = bytes - payload <= mostBetween; // what lies between is sent as well
  if (own.empty() || !isMostlyFull || copied > std::max(bytes / 8, mostCopied))
    return;
  if (place == Place::Step && microbatches > 1) {
    if (depth > 1)
      return;
    first = 0;
    last = time[func.getBody().front().getTerminator()];
  }
  if (place == Place::Temporary && depth)
    place = Place::Fixed;
  int bucket = newBuffer(place, bytes, first, last);
  buffers[bucket].chunk = getChunkPhase(call).chunk;
  if (place == Place::Fixed)
    makeRing(bucket, depth);
  for (auto [in, out, offset] : llvm::zip_equal(call.getInputs(), call.getResults(), offsets)) {
    places[out] = {bucket, offset};
    if (!llvm::is_contained(own, in))
      continue;
    buffers[places[in].buffer].bytes = 0; // given up
    places[in] = {bucket, offset};
  }
  call->setAttr("rt.bucket_bytes", IntegerAttr::get(IntegerType::get(func.getContext(), 64), bytes));
}
