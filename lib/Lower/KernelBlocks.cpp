//===- KernelBlocks.cpp - Kernels as functions of a GPU's thread ----------===//
//
// The same passes and bodies as on the host, dealt out to the threads of a block. A thread alone does what the host does for one
// part of the launch. Where several share a part, each walks through its share of a loop, and they meet between passes: by warp
// shuffles and warp barriers up to 32 members, by shared memory and block barriers beyond. The order in which terms are added
// depends on the kernel alone, so that results repeat bit for bit.
//
//===----------------------------------------------------------------------===//
#include "BlockFunction.h"
#include "KernelLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace para;

/// A thread of a block of 512 may have 128 registers: enough for four lanes of any kernel.
static constexpr int64_t warp = 32, usualThreads = 128, mostMembers = 512;
static constexpr int64_t busyThreads = 1 << 16; ///< what keeps a large GPU at work
static constexpr int64_t mostSumBytes = 12 << 10;

/// Scratch of one part.
int64_t KernelLoops::scratchBytes() const {
  int64_t bytes = 0;
  for (const KernelPass &pass : body.passes)
    for (Value v : pass.kept)
      bytes += body.placeOf.count(v) ? 0 : scratchBytes(v);
  return bytes + stripSumBytes();
}
int64_t KernelLoops::scratchBytes(Value v) const {
  int64_t elements = productOf(shapeOf(v).drop_front(*prefixOf(shapeOf(v), body.rows)));
  return llvm::alignTo((elements + (llvm::is_contained(choice.shifted, true) ? choice.lanes - 1 : 0)) * elementBytes(v.getType()), 16);
}

/// Room for the sums of members; those of one warp need none.
int64_t KernelLoops::sumBytes() const {
  if (block.members == 1 || (!choice.across && block.members <= warp))
    return 0;
  int64_t bytes = 0;
  for (const KernelPass &pass : body.passes)
    for (Operation *op : pass.reductions)
      bytes += choice.across ? block.threads() * choice.lanes * elementBytes(op->getResult(0).getType()) : warp * 8;
  return llvm::alignTo(bytes, 16);
}

int64_t KernelLoops::rowsInCache() const {
  llvm::SmallPtrSet<Value, 8> known;
  int64_t bytes = 0, same = 0;
  bool isAgain = false;
  auto rowBytes = [&](Value v) { return sizeOf(v) / std::max<int64_t>(body.rows, 1) * elementBytes(v.getType()); };
  for (auto [number, pass] : llvm::enumerate(body.passes)) {
    for (Value v : pass.read) {
      if (!isOnline(number)) // It was read by the pass that made the sums.
        isAgain |= known.contains(v);
      if (known.insert(v).second)
        bytes += rowBytes(v);
    }
    for (unsigned i : pass.outputs)
      if (known.insert(body.outputs[i]).second)
        bytes += rowBytes(body.outputs[i]);
  }
  for (BlockArgument v : body.block->getArguments()) // A table is used in part.
    if (!known.contains(v) && sizeOf(v) * elementBytes(v.getType()) < cacheBytes / 4)
      same += sizeOf(v) * elementBytes(v.getType());
  return isAgain && bytes > 0 ? std::max<int64_t>(cacheBytes - same, 0) / bytes : INT64_MAX;
}

/// If rows are long, those of all blocks that a GPU can run at once are more than the cache holds.
int64_t KernelLoops::chooseTurns() {
  constexpr int64_t fewestBlocks = 64; // on as many multiprocessors; on fewer, reading from the cache would take longer than reading twice
  int64_t fit = rowsInCache(), parts = productOf(partsOf());
  bool isAlone = block.parts == 1 && block.members > warp && !body.strips && !isMerged(); // a block for each row
  if (!isAlone || fit == 0 || rowsUnderWay() <= fit)
    return 1;
  int64_t turns = llvm::divideCeil(parts, fit);
  return llvm::divideCeil(parts, turns) >= fewestBlocks ? turns : 1;
}

int64_t KernelLoops::rowsUnderWay() {
  constexpr int64_t residentThreads = 128 * 2048; // 2048 of each of 128 multiprocessors
  int64_t launched = blocksOfLaunch();
  if (isMerged()) {
    SmallVector<int64_t> each = blocksOfInstances();
    launched = std::accumulate(each.begin(), each.end(), int64_t(0));
  }
  int64_t blocks = std::min(launched, residentThreads / block.threads());
  return blocks * block.parts * (choice.across ? choice.lanes * choice.unroll : 1);
}

void KernelLoops::chooseBlocks() {
  choice.unroll = 1;
  block = BlockChoice();
  if (isElementwise()) {
    assert(body.isFlat() && body.outer.size() == 1 && "every element is computed by itself");
    choice.across = true;
    choice.outerLoop = 0;
    choice.chunksFirst = false;
    choice.shifted.clear();
    block.parts = usualThreads;
    block.split.assign(body.passes.size(), -1);
    return;
  }
  bool hasSums = false;
  int64_t steps = 1; // of the longest pass
  for (auto [number, pass] : llvm::enumerate(body.passes)) {
    int loop = choice.across ? -1 : choice.innerLoops[number];
    for (unsigned i = 0; i < pass.inner.size() && (choice.across || choice.innerLoops[number] < 0); ++i)
      if (loop < 0 || pass.inner[i] > pass.inner[loop])
        loop = i;
    block.split.push_back(loop);
    hasSums |= !pass.reductions.empty();
    bool hasLanes = !choice.across && choice.innerLoops[number] >= 0;
    if (loop >= 0)
      steps = std::max(steps, (pass.inner[loop] + (hasLanes ? choice.lanes : 1) - 1) / (hasLanes ? choice.lanes : 1));
  }
  int64_t parts = productOf(partsOf());
  if (choice.across) {
    // Few columns: their rows are dealt out too, some to each member.
    if (hasSums)
      while (block.members < 16 && block.members * 8 <= steps && parts * block.members < busyThreads)
        block.members *= 2;
    if (block.members > 1 && body.outer[choice.outerLoop] % choice.lanes != 0)
      choice.lanes = 1, choice.shifted.clear(); // All threads meet at one barrier: there is no other path for the last chunk.
    block.parts = warp;
    while (block.members > 1 && sumBytes() > mostSumBytes)
      block.members /= 2;
    if (block.members == 1)
      block.parts = usualThreads;
    return;
  }
  // Many threads where there are few blocks, because there are few rows or because few rows fit into a multiprocessor's memory.
  int64_t most = parts < 256 || scratchBytes() > 16 << 10 ? mostMembers : 256;
  block.members = std::min<int64_t>(llvm::PowerOf2Ceil(steps), most);
  while (block.members > 1 && block.members <= warp && parts * block.members > 4 * busyThreads && block.members * 4 > steps)
    block.members /= 2; // Many short rows: fewer exchanges.
  block.parts = block.members > warp ? 1 : usualThreads / block.members;
  // Of several blocks a multiprocessor.
  constexpr int64_t usualScratchBytes = 32 << 10;
  while (block.parts > 1 && (block.parts * scratchBytes() > usualScratchBytes || (body.strips && block.parts > body.rows / body.strips)))
    block.parts /= 2;
  block.turns = chooseTurns();
  if (block.turns > 1)
    block.members = mostMembers; // One block of a multiprocessor has to ask for as much at once as several would.
}

/// The rows of a block, a launch's blocks apart.
void KernelLoops::emitTurns(KernelEmitter &emitter, Value first) {
  auto loop = scf::ForOp::create(b, first, emitter.integer(productOf(partsOf())), emitter.integer(blocksOfLaunch()));
  OpBuilder::InsertionGuard keep(b);
  b.setInsertionPointToStart(loop.getBody());
  emitPart(emitter, loop.getInductionVar());
}

void KernelLoops::emitBlocks() {
  chooseBlocks();
  unsigned buffers = body.block->getNumArguments() + body.outputs.size();
  BlockFunction function(b, kernel, isMerged() ? 1 + buffers - kernel.getVarying()->size() : buffers);
  entry = function.entry();
  KernelEmitter emitter(b, body, facts, kernel);
  auto number = [&](StringRef axis) { return function.number(axis); };
  emitter.number = number;

  int64_t parts = productOf(partsOf()), blocks = blocksOfLaunch(), allBlocks = blocks;
  auto small = [&](int64_t v) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(v)).getResult(); };
  thread = device.thread();
  Value part = thread;
  bool isShared = block.members > 1;
  if (isShared) {
    Value width = small(choice.across ? block.parts : block.members);
    Value quotient = arith::DivUIOp::create(b, thread, width), rest = arith::RemUIOp::create(b, thread, width);
    part = choice.across ? rest : quotient;
    member = arith::ExtUIOp::create(b, b.getI64Type(), choice.across ? quotient : rest);
  }
  // In 32 bits where they hold all parts: the divisions that follow are cheaper then.
  Value id = device.block();
  bool isNarrow = blocks * block.parts < INT32_MAX;
  auto widen = [&](Value v) { return arith::ExtUIOp::create(b, b.getI64Type(), v).getResult(); };
  if (isMerged()) {
    SmallVector<int64_t> each = blocksOfInstances();
    allBlocks = std::accumulate(each.begin(), each.end(), int64_t(0));
    id = enterInstance(emitter, id);
    if (!isElementwise())
      id = arith::TruncIOp::create(b, b.getI32Type(), id);
  } else {
    bindBuffers(emitter, [&](unsigned i) {
      if (i < alignments.size())
        emitter.alignments[entry->getArgument(i)] = alignments[i];
      return entry->getArgument(i);
    });
  }
  if (isElementwise()) {
    emitElements(emitter, id);
    function.finish(allBlocks, block.threads(), 0);
    if (describes)
      describe(emitter);
    return;
  }
  if (body.strips)
    id = widen(id);
  else if (isNarrow)
    id = widen(arith::AddIOp::create(b, arith::MulIOp::create(b, id, small(block.parts)), part));
  else
    id = arith::AddIOp::create(b, arith::MulIOp::create(b, widen(id), emitter.integer(block.parts)), widen(part));
  int64_t scratch = scratchBytes();
  if (scratch + sumBytes() > 0)
    sharedMemory = device.sharedMemory();
  int64_t offset = 0;
  for (KernelPass &pass : body.passes)
    for (Value v : pass.kept) {
      if (body.placeOf.count(v))
        continue;
      emitter.scratch[v] = placeOf(emitter, widen(part), offset);
      offset += scratchBytes(v);
    }
  for (auto [v, heir] : body.placeOf)
    emitter.scratch[v] = emitter.scratch.lookup(heir);
  unshifted = emitter.scratch;
  assert((!varies("rows") || (body.outer.size() == 1 && !body.strips)) && "rows are counted by one loop");
  bool hasRest = varies("rows") ? block.parts > 1 : !body.strips && block.turns == 1 && blocks * block.parts != parts;
  if (hasRest) {
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, id, varies("rows") ? instanceExtent : emitter.integer(parts));
    if (isShared && choice.across) { // Those beyond the end take part in the barriers and store nothing.
      active = inside;
      id = arith::SelectOp::create(b, inside, id, emitter.integer(parts - 1));
    } else {
      b.setInsertionPointToStart(scf::IfOp::create(b, TypeRange{}, inside, /*withElseRegion=*/false).thenBlock());
    }
  }
  if (body.strips)
    emitStrip(emitter, id, widen(part));
  else if (block.turns > 1)
    emitTurns(emitter, id);
  else
    emitPart(emitter, id);
  function.finish(allBlocks, block.threads(), scratch * block.parts + sumBytes());
  if (describes)
    describe(emitter);
}

Value KernelLoops::storeCondition(unsigned pass) {
  if (block.members == 1 || block.split[pass] >= 0)
    return active;
  Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, member, arith::ConstantOp::create(b, b.getI64IntegerAttr(0)));
  return active ? arith::AndIOp::create(b, first, active).getResult() : first;
}

/// The threads of a warp that share this thread's part, as bits.
static Value groupOf(ImplicitLocOpBuilder &b, Value thread, int64_t members) {
  auto small = [&](int64_t v) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(v))).getResult(); };
  if (members >= warp)
    return small(-1);
  Value first = arith::AndIOp::create(b, thread, small(warp - members));
  return arith::ShLIOp::create(b, small((int64_t(1) << members) - 1), first);
}

void KernelLoops::waitForMembers() {
  if (!choice.across && block.members <= warp)
    device.wait(groupOf(b, thread, block.members));
  else
    device.wait();
}

/// The value of the thread whose number differs in the bit `distance`.
Value KernelLoops::exchange(Value scalar, int64_t distance) { return device.exchange(scalar, distance, groupOf(b, thread, block.members)); }

/// Where the `number`-th sum of a reduction, counted over all passes, waits to be read by others.
Value KernelLoops::sumSlot(int64_t reduction, Value number, Type type) {
  int64_t begin = scratchBytes() * block.parts;
  for (const KernelPass &pass : body.passes)
    for (Operation *op : pass.reductions) {
      if (reduction-- == 0) {
        int64_t size = elementBytes(type) * (choice.across ? choice.lanes : 1);
        auto integer = [&](int64_t v) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(v)).getResult(); };
        Value at = arith::AddIOp::create(b, arith::MulIOp::create(b, number, integer(size)), integer(begin));
        return LLVM::GEPOp::create(b, sharedMemory.getType(), b.getI8Type(), sharedMemory, ArrayRef<LLVM::GEPArg>{at});
      }
      begin += choice.across ? block.threads() * choice.lanes * elementBytes(op->getResult(0).getType()) : warp * 8;
    }
  return nullptr;
}

void KernelLoops::combineMembers(const KernelPass &pass, MutableArrayRef<Value> sums) {
  if (pass.reductions.empty())
    return;
  auto kindOf = [&](unsigned i) { return cast<ElementOpInterface>(pass.reductions[i]).getCombiner(); };
  if (!choice.across)
    for (auto [i, sum] : llvm::enumerate(sums))
      for (int64_t distance = std::min(block.members, warp) / 2; distance >= 1; distance /= 2)
        sum = scalar::combine(b, kindOf(i), sum, exchange(sum, distance));
  if (!choice.across && block.members <= warp)
    return;
  auto integer = [&](int64_t v) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(v)).getResult(); };
  int64_t before = 0;
  for (const KernelPass &other : body.passes) {
    if (&other == &pass)
      break;
    before += other.reductions.size();
  }
  // A bool is stored as a byte.
  auto storage = [&](Type type) {
    Type scalar = getElementTypeOrSelf(type);
    if (!scalar.isInteger(1))
      return type;
    return isa<VectorType>(type) ? Type(VectorType::get({choice.lanes}, b.getI8Type())) : Type(b.getI8Type());
  };
  // Slots follow one another without gaps, from a multiple of 16 on.
  auto alignment = [&](Type type) { return std::min<int64_t>(elementBytes(type) * (isa<VectorType>(type) ? choice.lanes : 1), 16); };
  Value wide = arith::ExtUIOp::create(b, b.getI64Type(), thread), number = wide;
  OpBuilder::InsertPoint here;
  if (!choice.across) {
    number = arith::DivUIOp::create(b, wide, integer(warp));
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, arith::RemUIOp::create(b, wide, integer(warp)), integer(0));
    auto branch = scf::IfOp::create(b, TypeRange{}, isFirst, /*withElseRegion=*/false);
    here = b.saveInsertionPoint();
    b.setInsertionPointToStart(branch.thenBlock());
  }
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Type stored = storage(sum.getType());
    Value raw = stored == sum.getType() ? sum : arith::ExtUIOp::create(b, stored, sum).getResult();
    LLVM::StoreOp::create(b, raw, sumSlot(before + i, number, getElementTypeOrSelf(stored)), alignment(stored));
  }
  if (!choice.across)
    b.restoreInsertionPoint(here);
  device.wait();
  auto load = [&](unsigned i, Value from) -> Value {
    Type type = sums[i].getType(), stored = storage(type);
    Value one = LLVM::LoadOp::create(b, stored, sumSlot(before + i, from, getElementTypeOrSelf(stored)), alignment(stored));
    return stored == type ? one : arith::TruncIOp::create(b, type, one).getResult();
  };
  if (!choice.across) {
    // In each warp a lane takes the sum of one: if every thread read all of them, several reductions would need more registers than
    // a thread of so large a block has.
    int64_t warps = block.members / warp;
    Value lane = arith::RemUIOp::create(b, wide, integer(warps));
    for (auto [i, sum] : llvm::enumerate(sums)) {
      Value total = load(i, lane);
      for (int64_t distance = warps / 2; distance >= 1; distance /= 2)
        total = scalar::combine(b, kindOf(i), total, exchange(total, distance));
      sum = total;
    }
    return;
  }
  Value part = arith::RemUIOp::create(b, wide, integer(block.parts));
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value total = load(i, part);
    for (int64_t m = 1; m < block.members; ++m)
      total = scalar::combine(b, kindOf(i), total, load(i, arith::AddIOp::create(b, part, integer(m * block.parts))));
    sum = total;
  }
}
