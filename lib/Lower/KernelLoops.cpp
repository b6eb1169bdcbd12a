//===- KernelLoops.cpp - The loops of a kernel ----------------------------===//
#include "KernelLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace para;

KernelLoops::KernelLoops(rt::KernelOp kernel, FactsCache &facts, const KernelTarget &target, ArrayRef<int64_t> alignments)
    : kernel(kernel), facts(facts), target(target), b(kernel.getLoc(), kernel.getContext()), device(b, kernel->getParentOfType<ModuleOp>()), alignments(alignments) {
  body = KernelBody::analyze(&kernel.getBody().front(), facts, target);
}

Value KernelLoops::constantOf(Type type, TypedAttr value) {
  if (auto vector = dyn_cast<VectorType>(type))
    value = SplatElementsAttr::get(vector, ArrayRef<Attribute>(value));
  return arith::ConstantOp::create(b, type, value);
}

Value KernelLoops::tailMask(int64_t rest) {
  auto type = VectorType::get({choice.lanes}, b.getI1Type());
  SmallVector<bool> bits(choice.lanes);
  for (int64_t i = 0; i < choice.lanes; ++i)
    bits[i] = i < rest;
  return arith::ConstantOp::create(b, type, DenseElementsAttr::get(type, ArrayRef<bool>(bits)));
}

/// How often a pass repeats its body side by side, each with accumulators or lanes of its own.
int64_t KernelLoops::variantsOf(const KernelPass &pass) const {
  if (choice.across)
    return choice.unroll;
  int loop = choice.innerLoops[&pass - body.passes.data()];
  if (loop < 0 || pass.reductions.empty())
    return 1;
  int64_t steps = pass.inner[loop] / choice.lanes;
  for (int64_t u : {4, 3, 2})
    if (u <= choice.unroll && steps >= u && steps % u == 0)
      return u;
  return 1;
}

bool KernelLoops::mayUnroll(const KernelPass &pass) const {
  constexpr int64_t mostPoints = 16;
  return !target.hasBlocks && !pass.reductions.empty() && !pass.inner.empty() && productOf(pass.inner) <= mostPoints;
}

void KernelLoops::fixInner(KernelEmitter &emitter, const KernelPass &pass, int64_t number) {
  MLIRContext *ctx = b.getContext();
  unsigned outer = body.outer.size();
  fixed.clear();
  for (unsigned d = 0; d < outer; ++d)
    fixed.push_back(getAffineDimExpr(d, ctx));
  for (AffineExpr e : delinearize(getAffineConstantExpr(number, ctx), pass.inner, ctx)) {
    emitter.loopValues[fixed.size()] = emitter.integer(cast<AffineConstantExpr>(e).getValue());
    fixed.push_back(e);
  }
}

SmallVector<AffineExpr> KernelLoops::atPoint(SmallVector<AffineExpr> index) const {
  for (AffineExpr &e : index)
    if (!fixed.empty())
      e = e.replaceDims(fixed);
  return index;
}

void KernelLoops::emit(bool describes) {
  this->describes = describes;
  collapse();
  choose();
  if (target.hasBlocks && !choice.across)
    findOnline();
  if (target.hasBlocks)
    emitBlocks();
  else
    emitHost();
}

void KernelLoops::bindBuffers(KernelEmitter &emitter, function_ref<Value(unsigned)> buffer) {
  unsigned inputs = body.block->getNumArguments();
  for (unsigned i = 0; i < inputs; ++i)
    emitter.pointers[body.block->getArgument(i)] = buffer(i);
  for (auto [i, v] : llvm::enumerate(body.outputs)) {
    emitter.pointers[v] = buffer(inputs + i);
    if (target.hasBlocks)
      emitter.written.insert(emitter.pointers[v]);
  }
  if (describes)
    emitter.streams = &streams;
}

void KernelLoops::finish(StringRef name, int64_t extent) {
  kernel.setNumbersAttr(b.getStrArrayAttr(SmallVector<StringRef>(numbers.begin(), numbers.end())));
  kernel.setFunctionAttr(FlatSymbolRefAttr::get(b.getContext(), name));
  kernel.setExtentAttr(b.getI64IntegerAttr(extent));
}

void KernelLoops::emitHost() {
  // The function: void (i64 begin, i64 end, ptr arguments).
  std::string name = kernel.getSymName().str() + "_cpu";
  b.setInsertionPoint(kernel);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto func = func::FuncOp::create(b, name, b.getFunctionType({b.getI64Type(), b.getI64Type(), pointer}, {}));
  entry = func.addEntryBlock();
  b.setInsertionPointToStart(entry);
  argumentPointer = entry->getArgument(2);
  KernelEmitter emitter(b, body, facts, kernel);
  unsigned inputs = body.block->getNumArguments(), outputs = body.outputs.size();
  auto argument = [&](unsigned i, Type type) -> Value {
    Value at = LLVM::GEPOp::create(b, pointer, b.getI64Type(), argumentPointer, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    return LLVM::LoadOp::create(b, type, at, 8);
  };
  bindBuffers(emitter, [&](unsigned i) { return argument(i, pointer); });
  llvm::StringMap<Value> known;
  auto number = [&](StringRef axis) -> Value {
    if (Value v = known.lookup(axis))
      return v;
    OpBuilder::InsertionGuard keep(b);
    b.setInsertionPoint(entry, std::next(argumentPointer.getParentBlock()->begin(), 0));
    Value v = argument(inputs + outputs + numbers.size(), b.getI64Type());
    numbers.push_back(axis.str());
    return known[axis] = v;
  };
  emitter.number = number;
  for (KernelPass &pass : body.passes)
    for (Value v : pass.kept) {
      int64_t size = productOf(shapeOf(v).drop_front(*prefixOf(shapeOf(v), body.rows)));
      Type storage = getElementTypeOrSelf(v.getType());
      if (storage.isInteger(1))
        storage = b.getI8Type();
      Value count = arith::ConstantOp::create(b, b.getI64IntegerAttr(size));
      emitter.scratch[v] = LLVM::AllocaOp::create(b, pointer, storage, count, 64);
    }

  auto loop = scf::ForOp::create(b, entry->getArgument(0), entry->getArgument(1), emitter.integer(1));
  b.setInsertionPointToStart(loop.getBody());
  emitPart(emitter, loop.getInductionVar());
  b.setInsertionPointToEnd(entry);
  func::ReturnOp::create(b);

  int64_t points = 0;
  for (const KernelPass &pass : body.passes)
    points += productOf(pass.inner) * static_cast<int64_t>(1 + pass.reductions.size() + pass.outputs.size());
  int64_t work = std::max<int64_t>(1, points * (choice.across ? choice.lanes * choice.unroll : 1));
  finish(name, productOf(partsOf()));
  kernel.setGrainAttr(b.getI64IntegerAttr(std::max<int64_t>(1, target.grainWork / work)));
  if (describes)
    describe(emitter);
}

SmallVector<int64_t> KernelLoops::partsOf() const {
  SmallVector<int64_t> parts(body.outer);
  if (choice.across) {
    int64_t chunk = choice.lanes * choice.unroll, extent = parts[choice.outerLoop] + (choice.isShifted(0) ? choice.lanes - 1 : 0);
    parts.erase(parts.begin() + choice.outerLoop);
    parts.insert(choice.chunksFirst ? parts.begin() : parts.end(), (extent + chunk - 1) / chunk);
  }
  return parts;
}

void KernelLoops::emitPart(KernelEmitter &emitter, Value id) {
  SmallVector<int64_t> parts = partsOf();
  int64_t chunk = choice.lanes * choice.unroll, rest = choice.across ? body.outer[choice.outerLoop] % chunk : 0;
  SmallVector<Value> at(parts.size());
  for (size_t i = parts.size(); i-- > 0;) {
    Value size = emitter.integer(parts[i]);
    at[i] = i ? arith::RemUIOp::create(b, id, size).getResult() : id;
    if (i)
      id = arith::DivUIOp::create(b, id, size);
  }
  if (!choice.across) {
    emitRow(emitter, at, nullptr, false);
  } else {
    Value last = choice.chunksFirst ? at.front() : at.back();
    int64_t chunks = choice.chunksFirst ? parts.front() : parts.back();
    at.erase(choice.chunksFirst ? at.begin() : at.end() - 1);
    Value base = arith::MulIOp::create(b, last, emitter.integer(chunk));
    if (choice.isShifted(0)) {
      at.insert(at.begin() + choice.outerLoop, base);
      emitter.loopValues = at;
      emitter.extents.assign(body.outer.begin(), body.outer.end());
      base = arith::SubIOp::create(b, base, shiftOf(emitter, body.outer[choice.outerLoop]));
      at[choice.outerLoop] = base;
      emitEdged(emitter, emitter.integer(body.outer[choice.outerLoop]), base, {}, [&](SmallVector<Value> none) {
        emitRow(emitter, at, base, edge != nullptr);
        return none;
      });
      return;
    }
    at.insert(at.begin() + choice.outerLoop, base);
    if (rest == 0) {
      emitRow(emitter, at, base, false);
    } else if (chunks == 1) {
      emitRow(emitter, at, base, true);
    } else {
      Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, last, emitter.integer(chunks - 1));
      auto branch = scf::IfOp::create(b, TypeRange{}, isLast, /*withElse=*/true);
      b.setInsertionPointToStart(branch.thenBlock());
      emitRow(emitter, at, base, true);
      b.setInsertionPointToStart(branch.elseBlock());
      emitRow(emitter, at, base, false);
    }
  }
}

void KernelLoops::emitRow(KernelEmitter &emitter, ArrayRef<Value> outerValues, Value laneBase, bool isTail) {
  emitter.extents.assign(body.outer.begin(), body.outer.end());
  emitter.loopValues.assign(outerValues.begin(), outerValues.end());
  rowValues.clear();
  rowValues.resize(choice.across ? choice.unroll : 1);
  emitter.lanes = choice.lanes;
  emitter.dealsNeighbours = target.dealsNeighbours;
  emitter.tail = nullptr;
  emitter.lane = choice.across && choice.lanes > 1 ? choice.outerLoop : -1;
  for (unsigned p = 0; p < body.passes.size(); ++p) {
    if ((p > 0 || rowsMeet()) && block.members > 1) // What others read, stored or keep to be read.
      waitForMembers();
    emitPass(emitter, p, laneBase, isTail);
  }
}

void KernelLoops::emitPass(KernelEmitter &emitter, unsigned number, Value laneBase, bool isTail) {
  const KernelPass &pass = body.passes[number];
  passNumber = number;
  emitter.pass = number;
  emitter.extents.resize(body.outer.size());
  emitter.loopValues.resize(body.outer.size());
  llvm::append_range(emitter.extents, pass.inner);
  emitter.loopValues.resize(emitter.extents.size());
  if (choice.across)
    emitter.tail = !isTail || choice.lanes == 1 ? Value() : edge ? edge : tailMask(body.outer[choice.outerLoop] % choice.lanes);
  else
    emitter.lane = choice.innerLoops[number] < 0 || choice.lanes == 1 ? -1 : static_cast<int>(body.outer.size()) + choice.innerLoops[number];
  if (target.hasBlocks)
    shiftScratch(emitter, number);

  if (isOnline(number))
    return finishOnline(emitter, number);
  int64_t variants = variantsOf(pass);
  SmallVector<Value> accumulators;
  auto addIdentity = [&](Operation *op, bool hasLanes) {
    Type scalar = getElementTypeOrSelf(op->getResult(0).getType());
    TypedAttr identity = scalar::identity(scalar, cast<ElementOpInterface>(op).getCombiner());
    accumulators.push_back(constantOf(hasLanes ? emitter.elementType(scalar) : scalar, identity));
  };
  for (int64_t u = 0; u < variants; ++u)
    for (Operation *op : pass.reductions)
      addIdentity(op, !onlineAfter(number));
  if (const KernelPass *next = onlineAfter(number))
    for (auto [op, hasOneTerm] : llvm::zip_equal(next->reductions, online[next - body.passes.data()].hasOneTerm))
      if (!hasOneTerm)
        addIdentity(op, true);
  accumulators = emitInner(emitter, pass, 0, accumulators, laneBase, isTail);
  if (onlineAfter(number))
    carried = accumulators;

  size_t count = pass.reductions.size();
  bool isDealt = splitOf(number) >= 0;
  if (choice.across && isDealt)
    combineMembers(pass, accumulators);
  SmallVector<Value> sums;
  for (auto [i, op] : llvm::enumerate(pass.reductions)) {
    ReductionKind kind = cast<ElementOpInterface>(op).getCombiner();
    if (choice.across) {
      for (int64_t u = 0; u < variants; ++u)
        rowValues[u][op->getResult(0)] = accumulators[u * count + i];
      continue;
    }
    // Pairs, so that sums are as exact as their number of terms allows.
    SmallVector<Value> parts;
    for (int64_t u = 0; u < variants; ++u)
      parts.push_back(accumulators[u * count + i]);
    while (parts.size() > 1) {
      for (size_t j = 0; j + 1 < parts.size(); j += 2)
        parts[j / 2] = scalar::combine(b, kind, parts[j], parts[j + 1]);
      if (parts.size() % 2)
        parts[parts.size() / 2] = parts.back();
      parts.resize((parts.size() + 1) / 2);
    }
    sums.push_back(foldLanes(kind, parts.front()));
  }
  if (choice.across)
    return;
  if (isDealt)
    combineMembers(pass, sums);
  for (auto [op, sum] : llvm::zip_equal(pass.reductions, sums))
    rowValues[0][op->getResult(0)] = sum;
}

/// Halves are folded onto one another down to one lane.
Value KernelLoops::foldLanes(ReductionKind kind, Value v) {
  auto type = dyn_cast<VectorType>(v.getType());
  if (!type)
    return v;
  for (int64_t half = type.getNumElements() / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t k = 0; k < half; ++k)
      low.push_back(k), high.push_back(k + half);
    Value x = vector::ShuffleOp::create(b, v, v, low), y = vector::ShuffleOp::create(b, v, v, high);
    v = scalar::combine(b, kind, x, y);
  }
  return vector::ExtractOp::create(b, v, ArrayRef<int64_t>{0});
}

SmallVector<Value> KernelLoops::emitInner(KernelEmitter &emitter, const KernelPass &pass, unsigned depth, SmallVector<Value> accumulators,
                                          Value laneBase, bool isTail) {
  unsigned outer = body.outer.size();
  int64_t variants = variantsOf(pass);
  if (depth == 0 && choice.across && mayUnroll(pass)) {
    for (int64_t point = 0, points = productOf(pass.inner); point < points; ++point) {
      fixInner(emitter, pass, point);
      accumulators = emitInner(emitter, pass, pass.inner.size(), accumulators, laneBase, isTail);
    }
    fixed.clear();
    return accumulators;
  }
  if (depth == pass.inner.size()) {
    Value base = laneBase;
    for (int64_t u = 0; u < (choice.across ? variants : 1); ++u) {
      if (choice.across) {
        emitter.loopValues[choice.outerLoop] = u ? arith::AddIOp::create(b, base, emitter.integer(u * choice.lanes)).getResult() : base;
        emitter.rowValues = rowValues[u];
      } else {
        emitter.rowValues = rowValues[0];
      }
      emitBody(emitter, pass, accumulators, u);
    }
    return accumulators;
  }
  int loop = choice.across ? -1 : choice.innerLoops[passNumber];
  // The loop with lanes goes innermost; the others keep their order.
  SmallVector<unsigned> order;
  for (unsigned i = 0; i < pass.inner.size(); ++i)
    if (static_cast<int>(i) != loop)
      order.push_back(i);
  if (loop >= 0)
    order.push_back(loop);
  unsigned which = order[depth];
  int64_t extent = pass.inner[which];
  bool isDealt = splitOf(passNumber) == static_cast<int>(which);
  Value terms = varies("terms") ? instanceExtent : Value();
  auto makeLoop = [&](int64_t from, int64_t to, int64_t step, llvm::function_ref<SmallVector<Value>(SmallVector<Value>)> make) {
    Value first = emitter.integer(from), end = terms ? terms : emitter.integer(to);
    if (isDealt)
      first = arith::AddIOp::create(b, first, arith::MulIOp::create(b, member, emitter.integer(step)));
    auto forOp = scf::ForOp::create(b, first, end, emitter.integer(isDealt ? step * block.members : step), accumulators);
    OpBuilder::InsertionGuard keep(b);
    b.setInsertionPointToStart(forOp.getBody());
    emitter.loopValues[outer + which] = forOp.getInductionVar();
    SmallVector<Value> next = make(SmallVector<Value>(forOp.getRegionIterArgs()));
    if (!accumulators.empty())
      scf::YieldOp::create(b, next);
    else if (forOp.getBody()->empty() || !forOp.getBody()->back().hasTrait<OpTrait::IsTerminator>())
      scf::YieldOp::create(b);
    return SmallVector<Value>(forOp.getResults());
  };
  if (static_cast<int>(which) != loop || emitter.lane < 0)
    return makeLoop(0, extent, 1, [&](SmallVector<Value> in) { return emitInner(emitter, pass, depth + 1, in, laneBase, isTail); });

  if (terms)
    return makeLoop(0, extent, choice.lanes, [&](SmallVector<Value> in) {
      return emitEdged(emitter, terms, emitter.loopValues[outer + which], in, [&](SmallVector<Value> values) {
        emitter.tail = edge;
        emitter.rowValues = rowValues[0];
        emitBody(emitter, pass, values, 0);
        emitter.tail = nullptr;
        return values;
      });
    });
  if (choice.isShifted(passNumber)) {
    Value shift = shiftOf(emitter, extent);
    return makeLoop(0, llvm::alignTo(extent + choice.lanes - 1, choice.lanes), choice.lanes, [&](SmallVector<Value> in) {
      Value base = arith::SubIOp::create(b, emitter.loopValues[outer + which], shift);
      emitter.loopValues[outer + which] = base;
      return emitEdged(emitter, emitter.integer(extent), base, in, [&](SmallVector<Value> values) {
        emitter.tail = edge;
        emitter.rowValues = rowValues[0];
        emitBody(emitter, pass, values, 0);
        emitter.tail = nullptr;
        return values;
      });
    });
  }
  int64_t step = choice.lanes * variants, whole = extent / step * step, rest = extent - whole;
  if (whole > 0)
    accumulators = makeLoop(0, whole, step, [&](SmallVector<Value> in) {
      Value base = emitter.loopValues[outer + which];
      for (int64_t u = 0; u < variants; ++u) {
        emitter.loopValues[outer + which] = u ? arith::AddIOp::create(b, base, emitter.integer(u * choice.lanes)).getResult() : base;
        emitter.rowValues = rowValues[0];
        emitBody(emitter, pass, in, u);
      }
      return in;
    });
  if (rest > 0) {
    assert(rest < choice.lanes && "variants divide the whole steps");
    auto finishRow = [&](MutableArrayRef<Value> values) {
      emitter.tail = tailMask(rest);
      emitter.loopValues[outer + which] = emitter.integer(whole);
      emitter.rowValues = rowValues[0];
      emitBody(emitter, pass, values, 0);
      emitter.tail = nullptr;
    };
    if (!isDealt) {
      finishRow(accumulators);
      return accumulators;
    }
    // The member whose turn it is.
    Value mine = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, member, emitter.integer(whole / step % block.members));
    auto branch = scf::IfOp::create(b, ValueRange(accumulators).getTypes(), mine, /*withElseRegion=*/!accumulators.empty());
    OpBuilder::InsertionGuard keep(b);
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> next(accumulators);
    finishRow(next);
    if (accumulators.empty())
      return accumulators;
    scf::YieldOp::create(b, next);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, accumulators);
    return SmallVector<Value>(branch.getResults());
  }
  return accumulators;
}

void KernelLoops::storeOutput(KernelEmitter &emitter, const KernelPass &pass, Value v, Value element, bool scratch) {
  MLIRContext *ctx = b.getContext();
  Type scalar = getElementTypeOrSelf(v.getType());
  ArrayRef<int64_t> shape = shapeOf(v);
  SmallVector<AffineExpr> index = atPoint(body.coordinates(shape, pass.inner, ctx));
  if (scratch) {
    unsigned prefix = *prefixOf(shape, body.rows);
    emitter.store(element, emitter.scratch.lookup(v), scalar, shape.drop_front(prefix), ArrayRef<AffineExpr>(index).drop_front(prefix));
    return;
  }
  if (Operation *op = v.getDefiningOp(); op && facts.get(op).accumulate) {
    Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, emitter.number("microbatch"), emitter.integer(0));
    SmallVector<Coordinate> at(llvm::map_range(index, [](AffineExpr e) { return Coordinate{e}; }));
    Value before = emitter.load(emitter.pointers.lookup(v), scalar, shape, at);
    element = arith::SelectOp::create(b, first, element, scalar::add(b, before, element));
  }
  emitter.store(element, emitter.pointers.lookup(v), scalar, shape, index);
}

/// A reduction's term at the loops.
Value KernelLoops::termAt(KernelEmitter &emitter, const KernelPass &pass, Operation *op) {
  MLIRContext *ctx = b.getContext();
  const OpFacts &f = facts.get(op);
  SmallVector<AffineExpr> index = body.coordinates(shapeOf(op->getResult(0)), {}, ctx);
  llvm::append_range(index, delinearize(body.innerNumber(pass.inner, ctx), ArrayRef<int64_t>(f.loops).drop_front(f.resultRank), ctx));
  return emitter.term(op, atPoint(index));
}

void KernelLoops::emitBody(KernelEmitter &emitter, const KernelPass &pass, MutableArrayRef<Value> accumulators, unsigned variant) {
  MLIRContext *ctx = b.getContext();
  emitter.startBody();
  if (onlineAfter(passNumber))
    return addOnline(emitter, pass, accumulators);
  size_t count = pass.reductions.size();
  for (auto [i, op] : llvm::enumerate(pass.reductions)) {
    Value term = termAt(emitter, pass, op);
    ReductionKind kind = cast<ElementOpInterface>(op).getCombiner();
    Value &accumulator = accumulators[variant * count + i];
    Value next = scalar::combine(b, kind, accumulator, term);
    // Lanes past the end keep what they have; across rows they are never stored.
    accumulator = choice.across ? next : emitter.selectTail(next, accumulator);
  }
  // All is loaded before anything is stored: an output may lie in the place of an input.
  SmallVector<Value> elements;
  SmallVector<Value> stored(pass.kept);
  for (unsigned i : pass.outputs)
    stored.push_back(body.outputs[i]);
  for (Value v : stored)
    elements.push_back(emitter.element(v, atPoint(body.coordinates(shapeOf(v), pass.inner, ctx))));
  addToStripSums(emitter, pass);
  OpBuilder::InsertionGuard keep(b);
  if (Value condition = stored.empty() ? Value() : storeCondition(passNumber))
    b.setInsertionPointToStart(scf::IfOp::create(b, TypeRange{}, condition, /*withElseRegion=*/false).thenBlock());
  for (auto [n, v] : llvm::enumerate(stored))
    storeOutput(emitter, pass, v, elements[n], n < pass.kept.size());
  emitter.finishBody();
}
