//===- KernelTiles.cpp - Kernels that keep scores in registers ------------===//
#include "KernelTiles.h"

#include "BlockFunction.h"
#include "KernelFacts.h"

#include "para/IR/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace para;

KernelTiles::KernelTiles(rt::KernelOp kernel, FactsCache &facts, ArrayRef<int64_t> alignments)
    : kernel(kernel), facts(facts), alignments(alignments), b(kernel.getLoc(), kernel.getContext()), device(b, kernel->getParentOfType<ModuleOp>()),
      space(body.space) {
  bool fits = TileBody::analyze(&kernel.getBody().front(), TileSpace::fromAttr(kernel->getAttr(TileSpace::attrName)), facts, body);
  assert(fits && "only what fits into a block is formed");
  (void)fits;
}

Value KernelTiles::index(int64_t value) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(value)); }
Value KernelTiles::sum(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
Value KernelTiles::product(Value x, int64_t y) { return y == 1 ? x : arith::MulIOp::create(b, x, index(y)).getResult(); }
Value KernelTiles::rowOf(int64_t number) { return sum(row, index(body.onTensorCores ? 8 * number : number)); }
Value KernelTiles::columnOf(int64_t number) {
  if (body.onTensorCores)
    return sum(product(column, 2), index(8 * (number / 2) + number % 2));
  return sum(column, index(body.sharing() * number));
}
Value KernelTiles::depthOf(int64_t number) {
  if (body.onTensorCores)
    return columnOf(number);
  return sum(product(sum(column, index(body.sharing() * (number / body.vector))), body.vector), index(number % body.vector));
}
Value KernelTiles::zero() { return arith::ConstantOp::create(b, body.sumType, b.getZeroAttr(body.sumType)); }
Value KernelTiles::convert(Value x, Type scalar) { return getElementTypeOrSelf(x.getType()) == scalar ? x : scalar::cast(b, x, scalar); }

/// The element number `element` of what begins `bytes` into the block's memory.
Value KernelTiles::at(int64_t bytes, Value element) {
  Value begin = bytes ? LLVM::GEPOp::create(b, sharedMemory.getType(), b.getI8Type(), sharedMemory, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)}).getResult()
                      : sharedMemory;
  return LLVM::GEPOp::create(b, sharedMemory.getType(), body.operandType, begin, ArrayRef<LLVM::GEPArg>{element});
}

KernelTiles::Values KernelTiles::loop(Value from, Value to, int64_t step, ValueRange before, function_ref<Values(Value, Values)> make) {
  auto forOp = scf::ForOp::create(b, from, to, index(step), before);
  OpBuilder::InsertionGuard keep(b);
  b.setInsertionPointToStart(forOp.getBody());
  Values next = make(forOp.getInductionVar(), Values(forOp.getRegionIterArgs()));
  if (!before.empty())
    scf::YieldOp::create(b, next);
  return Values(forOp.getResults());
}

void KernelTiles::where(Value condition, function_ref<void()> make) {
  if (!condition)
    return make();
  OpBuilder::InsertionGuard keep(b);
  b.setInsertionPointToStart(scf::IfOp::create(b, TypeRange{}, condition, /*withElseRegion=*/false).thenBlock());
  make();
}

unsigned KernelTiles::passOf(int64_t depth) {
  auto it = llvm::find(depths, depth);
  if (it == depths.end())
    it = depths.insert(depths.end(), depth);
  return it - depths.begin();
}

void KernelTiles::emit(bool describes) {
  Block &block = kernel.getBody().front();
  unsigned inputs = block.getNumArguments(), outputs = block.getTerminator()->getNumOperands();
  BlockFunction function(b, kernel, inputs + outputs);
  elements.block = &block;
  KernelEmitter emitter(b, elements, facts, kernel);
  for (unsigned i = 0; i < inputs + outputs; ++i) {
    emitter.pointers[i < inputs ? Value(block.getArgument(i)) : block.getTerminator()->getOperand(i - inputs)] = function.buffer(i);
    if (i < alignments.size())
      emitter.alignments[function.buffer(i)] = alignments[i];
  }
  auto number = [&](StringRef axis) { return function.number(axis); };
  emitter.number = number;
  if (describes)
    emitter.streams = &streams;

  enter(emitter);
  for (unsigned round = 0; round < body.rounds; ++round)
    emitRound(emitter, round);
  storeRows(emitter);
  function.finish(productOf(space.batch) * llvm::divideCeil(space.outer(), body.outerTile()), body.threads(), body.sharedBytes);
  if (describes)
    describe(emitter);
}

/// Where the thread and its block are; and what stays in the block's memory.
void KernelTiles::enter(KernelEmitter &emitter) {
  auto small = [&](int64_t v) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(v)).getResult(); };
  auto widen = [&](Value v) { return arith::ExtUIOp::create(b, b.getI64Type(), v).getResult(); };
  Value thread = device.thread();
  threadNumber = widen(thread);
  Value rowOfThreads = widen(arith::DivUIOp::create(b, thread, small(body.sharing())));
  column = widen(arith::RemUIOp::create(b, thread, small(body.sharing())));
  if (body.onTensorCores) // Eight of a warp, and each has the one eight further on, too.
    row = sum(product(arith::DivUIOp::create(b, rowOfThreads, index(8)), 16), arith::RemUIOp::create(b, rowOfThreads, index(8)));
  else
    row = product(rowOfThreads, body.outerOfThread);
  sharedMemory = device.sharedMemory();
  Value id = widen(device.block());
  int64_t tiles = llvm::divideCeil(space.outer(), body.outerTile());
  auto split = [&](int64_t size) {
    Value rest = arith::RemUIOp::create(b, id, index(size));
    id = arith::DivUIOp::create(b, id, index(size));
    return rest;
  };
  Value outerTile = split(tiles);
  outerBase = product(outerTile, body.outerTile());
  for (int64_t size : llvm::reverse(space.batch))
    batchValues.insert(batchValues.begin(), split(size));
  emitter.extents.assign(space.batch.begin(), space.batch.end());
  emitter.extents.append({space.outer(), space.inner(), 1});
  emitter.loopValues.assign(batchValues.begin(), batchValues.end());
  emitter.loopValues.append(3, index(0));

  firstInner = index(0);
  lastInner = index(llvm::divideCeil(space.inner(), body.innerTile()));
  needed = findNeededTiles(body, facts);
  if (!needed.empty()) {
    SmallVector<int64_t> list;
    for (auto [first, last] : needed)
      list.append({first, last});
    auto table = DenseElementsAttr::get(RankedTensorType::get({static_cast<int64_t>(list.size())}, b.getI64Type()), ArrayRef<int64_t>(list));
    auto at = [&](int64_t which) { return Coordinate{getAffineConstantExpr(which, b.getContext()), product(outerTile, 2)}; };
    firstInner = emitter.table(table, at(0));
    lastInner = emitter.table(table, at(1));
  }
  Value last = index(space.outer() - 1);
  for (int64_t r = 0; r < body.outerOfThread; ++r) {
    Value place = sum(outerBase, rowOf(r)), inside;
    if (space.outer() % body.outerTile() != 0) {
      inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, place, last);
      place = arith::MinUIOp::create(b, place, last);
    }
    outerPlaces.push_back(place);
    outerInside.push_back(inside);
  }
  found.resize(body.outerOfThread);
  for (const TileOperand &operand : body.operands)
    if (operand.isOuter)
      loadOperand(emitter, operand, outerBase);
  for (const TileRowReduction &reduction : body.rowReductions)
    reduceRow(emitter, reduction);
}

/// A row's elements are dealt out to the threads that share it.
void KernelTiles::reduceRow(KernelEmitter &emitter, const TileRowReduction &reduction) {
  Type scalar = getElementTypeOrSelf(reduction.op->getResult(0).getType());
  ReductionKind kind = cast<ElementOpInterface>(reduction.op).getCombiner();
  int64_t lanes = reduction.depth % body.vector == 0 ? body.vector : 1;
  TypedAttr identity = scalar::identity(scalar, kind);
  Type type = lanes > 1 ? Type(VectorType::get({lanes}, scalar)) : scalar;
  if (lanes > 1)
    identity = SplatElementsAttr::get(cast<VectorType>(type), ArrayRef<Attribute>(identity));
  emitter.pass = passOf(reduction.depth);
  emitter.extents[space.depthLoop()] = reduction.depth;
  emitter.lanes = lanes;
  emitter.lane = lanes > 1 ? static_cast<int>(space.depthLoop()) : -1;
  SmallVector<AffineExpr> place = space.rowIndex(shapeOf(reduction.op->getResult(0)), b.getContext());
  place.push_back(getAffineDimExpr(space.depthLoop(), b.getContext()));
  for (int64_t r = 0; r < body.outerOfThread; ++r) {
    Values parts = loop(product(column, lanes), index(reduction.depth), body.sharing() * lanes, {arith::ConstantOp::create(b, type, identity)}, [&](Value at, Values before) {
      moveTo(emitter, r, -1);
      emitter.loopValues[space.depthLoop()] = at;
      Value term = emitter.term(reduction.op, place);
      emitter.finishBody();
      return Values{scalar::combine(b, kind, before[0], term)};
    });
    Value part = parts[0];
    if (lanes > 1)
      for (int64_t i = 0; i < lanes; ++i) {
        Value one = vector::ExtractOp::create(b, parts[0], ArrayRef<int64_t>{i});
        part = i ? scalar::combine(b, kind, part, one) : one;
      }
    found[r][reduction.op->getResult(0)] = acrossRow(part, kind);
  }
  leaveDepth(emitter);
}

/// Back to scores, which have no depth.
void KernelTiles::leaveDepth(KernelEmitter &emitter) {
  emitter.lane = -1;
  emitter.lanes = 1;
  emitter.extents[space.depthLoop()] = 1;
  emitter.loopValues[space.depthLoop()] = index(0);
}

void KernelTiles::loadOperand(KernelEmitter &emitter, const TileOperand &operand, Value base) {
  int64_t tile = operand.isOuter ? body.outerTile() : body.innerTile(), extent = operand.isOuter ? space.outer() : space.inner();
  int64_t padded = body.paddedDepth(operand.depth), lanes = operand.depth == padded ? body.vector : 1, ofRow = padded / lanes;
  unsigned loopNumber = operand.isOuter ? space.outerLoop() : space.innerLoop();
  emitter.extents[space.depthLoop()] = operand.depth;
  emitter.pass = passOf(operand.depth);
  emitter.rowValues.clear();
  loop(threadNumber, index(tile * ofRow), body.threads(), {}, [&](Value i, Values) {
    Value at = arith::DivUIOp::create(b, i, index(ofRow)), depth = product(arith::RemUIOp::create(b, i, index(ofRow)), lanes), inside;
    Value place = sum(base, at), depthPlace = depth;
    if (extent % tile != 0) {
      if (!operand.isOuter) // Rows of the outer dimension beyond its end come to nothing.
        inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, place, index(extent));
      place = arith::MinUIOp::create(b, place, index(extent - 1));
    }
    if (operand.depth != padded) {
      Value within = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, depth, index(operand.depth));
      inside = inside ? arith::AndIOp::create(b, inside, within).getResult() : within;
      depthPlace = arith::MinUIOp::create(b, depth, index(operand.depth - 1));
    }
    emitter.loopValues[loopNumber] = place;
    emitter.loopValues[space.depthLoop()] = depthPlace;
    emitter.lanes = lanes;
    emitter.lane = lanes > 1 ? static_cast<int>(space.depthLoop()) : -1;
    emitter.startBody();
    Value x = convert(emitter.element(operand.value, operand.index), body.operandType);
    emitter.finishBody();
    if (inside)
      x = arith::SelectOp::create(b, inside, x, arith::ConstantOp::create(b, x.getType(), b.getZeroAttr(x.getType())));
    LLVM::StoreOp::create(b, x, this->at(operand.offset, sum(product(at, operand.stride), depth)), elementBytes(body.operandType) * lanes);
    return Values();
  });
  leaveDepth(emitter);
}

void KernelTiles::moveTo(KernelEmitter &emitter, int64_t outer, int64_t inner) {
  emitter.startBody();
  emitter.loopValues[space.outerLoop()] = outerPlaces[outer];
  emitter.loopValues[space.innerLoop()] = inner < 0 ? index(0) : innerPlaces[inner];
  emitter.rowValues = found[outer];
}

/// What the threads of a row have, combined; all of them get it.
Value KernelTiles::acrossRow(Value part, ReductionKind kind) {
  Value all = arith::ConstantOp::create(b, b.getI32IntegerAttr(-1));
  for (int64_t distance = body.sharing() / 2; distance >= 1; distance /= 2)
    part = scalar::combine(b, kind, part, device.exchange(part, distance, all));
  return part;
}

void KernelTiles::describe(const KernelEmitter &emitter) {
  Block &block = kernel.getBody().front();
  SmallVector<Value> pointers;
  SmallVector<int64_t> sizes;
  auto note = [&](Value v) {
    pointers.push_back(emitter.pointers.lookup(v));
    sizes.push_back(sizeOf(v));
  };
  llvm::for_each(block.getArguments(), note);
  llvm::for_each(block.getTerminator()->getOperands(), note);
  std::vector<PassLoops> passes;
  for (int64_t depth : depths) {
    PassLoops loops;
    loops.extents.assign(space.batch.begin(), space.batch.end());
    loops.extents.append({space.outer(), space.inner(), depth});
    for (unsigned i = 0; i < loops.extents.size(); ++i)
      loops.order.push_back(i);
    loops.outer = space.innerLoop();
    passes.push_back(loops);
  }
  double flops = 0, share = 1; // of scores that are made
  if (!needed.empty()) {
    int64_t made = 0;
    for (auto [first, last] : needed)
      made += last - first;
    share = static_cast<double>(made) / static_cast<double>(needed.size() * llvm::divideCeil(space.inner(), body.innerTile()));
  }
  KernelProduct product{productOf(space.batch), space.rows, space.columns, 0, body.onTensorCores};
  for (const TileScore &score : body.scores)
    product.k += score.depth * body.rounds;
  for (const TileSum &sum : body.sums)
    product.k += sum.depth;
  product.k = std::max<int64_t>(1, std::llround(static_cast<double>(product.k) * share));
  llvm::SetVector<Attribute> nodes;
  for (Operation &op : block.without_terminator()) {
    const OpFacts &f = facts.get(&op);
    bool isOfScores = productOf(f.loops) >= space.scores();
    bool isScore = llvm::any_of(body.scores, [&](const TileScore &score) { return score.op == &op; });
    flops += static_cast<double>(f.work) * static_cast<double>(productOf(f.loops)) * (isScore ? body.rounds : 1) * (isOfScores ? share : 1);
    if (StringRef name = getNodeName(op.getLoc()); !name.empty() && !f.accesses.empty())
      nodes.insert(b.getStringAttr(name));
  }
  noteFacts(kernel, "attention", nodes.getArrayRef(), flops, measureTraffic(streams, passes, pointers, sizes), product);
}
