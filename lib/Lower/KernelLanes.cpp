//===- KernelLanes.cpp - Which loop of a kernel carries lanes -------------===//
#include "KernelLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace para;

/// Emits each pass once without lanes into a function that is thrown away, and notes what it touches.
std::vector<KernelLoops::Recorded> KernelLoops::tryOut(bool unrolled) {
  OpBuilder::InsertionGuard keep(b);
  b.setInsertionPoint(kernel);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto func = func::FuncOp::create(b, "trial", b.getFunctionType({pointer, b.getI64Type()}, {}));
  Block *block = func.addEntryBlock();
  b.setInsertionPointToStart(block);
  KernelEmitter emitter(b, body, facts, kernel);
  auto number = [&](StringRef) -> Value { return block->getArgument(1); };
  emitter.number = number;
  for (BlockArgument v : body.block->getArguments())
    emitter.pointers[v] = block->getArgument(0);
  for (Value v : body.outputs)
    emitter.pointers[v] = block->getArgument(0);
  std::vector<Recorded> result(body.passes.size());
  choice = LaneChoice();
  choice.innerLoops.assign(body.passes.size(), -1);
  forStripSums([&](Operation *op) { stripSums[op->getResult(0)] = block->getArgument(0); });
  rowValues.clear();
  rowValues.resize(1);
  for (auto [number, pass] : llvm::enumerate(body.passes)) {
    for (Value v : pass.kept)
      emitter.scratch[v] = block->getArgument(0);
    emitter.pass = number;
    emitter.record = &result[number].accesses;
    emitter.extents.assign(body.outer.begin(), body.outer.end());
    llvm::append_range(emitter.extents, pass.inner);
    emitter.loopValues.assign(emitter.extents.size(), block->getArgument(1));
    emitter.rowValues = rowValues[0];
    result[number].extents = emitter.extents;
    if (unrolled && mayUnroll(pass))
      fixInner(emitter, pass, 0);
    size_t before = std::distance(block->begin(), block->end());
    SmallVector<Value> accumulators;
    for (Operation *op : pass.reductions) {
      Type scalar = getElementTypeOrSelf(op->getResult(0).getType());
      accumulators.push_back(constantOf(scalar, scalar::identity(scalar, cast<ElementOpInterface>(op).getCombiner())));
    }
    emitBody(emitter, pass, accumulators, 0);
    for (auto [i, op] : llvm::enumerate(pass.reductions))
      rowValues[0][op->getResult(0)] = accumulators[i];
    fixed.clear();
    result[number].ops = std::distance(block->begin(), block->end()) - before;
  }
  rowValues.clear();
  func.erase();
  return result;
}

/// Joins neighbouring loops which every access walks through as one range.
void KernelLoops::collapse() {
  std::vector<Recorded> recorded = tryOut();
  auto together = [](const Recorded &pass, unsigned loop, int64_t innerExtent) {
    return llvm::all_of(pass.accesses, [&](const MemoryAccess &access) {
      auto major = access.offset.factorOf(loop), minor = access.offset.factorOf(loop + 1);
      bool data = llvm::is_contained(access.dynamicDims, loop) || llvm::is_contained(access.dynamicDims, loop + 1);
      return major && minor && *major == *minor * innerExtent && !data;
    });
  };
  unsigned outer = body.outer.size();
  for (auto [pass, seen] : llvm::zip_equal(body.passes, recorded)) {
    SmallVector<int64_t> joined;
    for (size_t i = 0; i < pass.inner.size(); ++i) {
      if (i > 0 && together(seen, outer + i - 1, pass.inner[i]))
        joined.back() *= pass.inner[i];
      else
        joined.push_back(pass.inner[i]);
    }
    pass.inner = joined;
  }
  SmallVector<int64_t> joined;
  for (size_t i = 0; i < outer; ++i) {
    bool isStrip = productOf(ArrayRef<int64_t>(body.outer).take_front(i)) == body.strips;
    bool all = i > 0 && !isStrip && llvm::all_of(recorded, [&](const Recorded &seen) { return together(seen, i - 1, body.outer[i]); });
    if (all)
      joined.back() *= body.outer[i];
    else
      joined.push_back(body.outer[i]);
  }
  body.outer = joined;
}

/// Whether half or more of what a kernel reads and writes are elements of 16 bits.
static bool movesNarrow(const KernelBody &body) {
  int64_t narrow = 0, wide = 0;
  auto count = [&](Value v) {
    if (int64_t bytes = elementBytes(v.getType()); bytes > 1)
      (bytes == 2 ? narrow : wide) += sizeOf(v);
  };
  for (Value v : body.block->getArguments())
    count(v);
  for (Value v : body.outputs)
    count(v);
  return narrow > 0 && narrow >= wide;
}

/// Vector operations' worth of memory access for `points` elements with lanes on `loop`.
double KernelLoops::costOf(const Recorded &pass, unsigned loop, int64_t extent, int64_t points) {
  double cost = 1 + 0.5 * pass.ops;
  for (const MemoryAccess &access : pass.accesses) {
    auto pattern = lanePattern(access.offset, loop, choice.lanes, pass.extents);
    if (!pattern || llvm::is_contained(access.dynamicDims, loop))
      cost += 16;
    else if (pattern->isUniform() || pattern->isContiguous())
      cost += pattern->isUniform() ? 0.5 : 1;
    else
      cost += target.dealsNeighbours && !access.isStore && pattern->span() <= mostNeighbours * choice.lanes ? 4 : 16;
  }
  int64_t vectors = (extent + choice.lanes - 1) / choice.lanes;
  return cost * points / extent * vectors;
}

void KernelLoops::choose() {
  std::vector<Recorded> unrolled = tryOut(/*unrolled=*/true), recorded = tryOut();
  int64_t widest = 4;
  for (Operation &op : body.block->without_terminator())
    if (Type type = getElementTypeOrSelf(op.getResult(0).getType()); type.isF64())
      widest = 8;
  for (BlockArgument v : body.block->getArguments())
    if (getElementTypeOrSelf(v.getType()).isF64())
      widest = 8;
  // A thread's access is of 16 bytes at most, and of no more registers than it has for eight lanes.
  if (target.hasBlocks && widest == 4 && movesNarrow(body))
    widest = 2;
  choice.lanes = target.vectorBytes / widest;
  choice.innerLoops.assign(body.passes.size(), -1);
  unsigned outer = body.outer.size();
  int64_t ops = 0;
  double within = 0;
  for (auto [number, pass] : llvm::enumerate(body.passes)) {
    int64_t points = productOf(pass.inner);
    ops = std::max(ops, recorded[number].ops);
    double best = (2 + recorded[number].ops) * static_cast<double>(points); // one by one
    for (unsigned i = 0; i < pass.inner.size(); ++i) {
      double cost = costOf(recorded[number], outer + i, pass.inner[i], points) + 8.0 * pass.reductions.size() * 4;
      if (cost < best) {
        best = cost;
        choice.innerLoops[number] = i;
      }
    }
    within += best;
  }
  double across = 0;
  int bestLoop = -1;
  for (unsigned i = 0; i < outer; ++i) {
    double cost = 0;
    for (auto [number, pass] : llvm::enumerate(body.passes))
      cost += costOf(unrolled[number], i, body.outer[i], productOf(pass.inner) * body.outer[i]) / body.outer[i];
    // Scratch of a row cannot hold many.
    bool kept = llvm::any_of(body.passes, [](const KernelPass &pass) { return !pass.kept.empty(); });
    if (!kept && !body.strips && !varies("rows") && !varies("terms") && (bestLoop < 0 || cost < across)) {
      across = cost;
      bestLoop = i;
    }
  }
  choice.across = bestLoop >= 0 && across < within;
  choice.outerLoop = choice.across ? bestLoop : -1;
  if (choice.across && outer > 1) {
    unsigned lane = bestLoop, fastest = bestLoop + 1 == static_cast<int>(outer) ? outer - 2 : outer - 1;
    for (const Recorded &pass : recorded)
      for (const MemoryAccess &access : pass.accesses) {
        int64_t factor = access.offset.factorOf(lane).value_or(2);
        choice.chunksFirst |= factor != 0 && factor != 1 && access.offset.factorOf(fastest) == std::optional<int64_t>(1);
      }
  }
  bool isLong = choice.across && llvm::any_of(body.passes, [&](const KernelPass &pass) { return mayUnroll(pass) && productOf(pass.inner) * ops > 80; });
  choice.unroll = isLong || ops > 80 || choice.chunksFirst ? 1 : ops > 30 ? 2 : 4;
  if (choice.across) {
    int64_t steps = body.outer[bestLoop] / choice.lanes;
    // Parts enough for many threads; whole chunks only.
    while (choice.unroll > 1 && (body.outer[bestLoop] % (choice.lanes * choice.unroll) != 0 || productOf(body.outer) / body.outer[bestLoop] * (steps / choice.unroll) < 8))
      --choice.unroll;
  }
  if (target.hasBlocks)
    chooseShifts(recorded);
}
