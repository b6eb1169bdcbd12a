//===- KernelShift.cpp - Rows that begin anywhere -------------------------===//
//
// A row of 197 floats begins at any multiple of 4 bytes, and a vector of 4 at a multiple of 16. So that whole vectors are moved, those of
// a row begin as many elements in front of it as its first element is behind a multiple of the lanes. Of the first and the last vector of a
// row only some lanes are inside.
//
//===----------------------------------------------------------------------===//
#include "KernelLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace para;

/// In shorter rows most vectors would be first or last ones.
static constexpr int64_t shortestShifted = 64;

LinearForm KernelLoops::rowBegin(int64_t rowSize) const {
  LinearForm form;
  unsigned outer = choice.across ? choice.outerLoop : body.outer.size();
  for (unsigned d = outer; d-- > 0; rowSize *= body.outer[d])
    if (body.outer[d] != 1)
      form.add(getAffineDimExpr(d, b.getContext()), rowSize);
  return form;
}

void KernelLoops::chooseShifts(ArrayRef<Recorded> recorded) {
  choice.shifted.clear();
  if (varies("terms") || choice.lanes == 1 || (choice.across && (!body.isFlat() || choice.outerLoop + 1 != static_cast<int>(body.outer.size()) || choice.chunksFirst)))
    return;
  for (auto [number, seen] : llvm::enumerate(recorded)) {
    const KernelPass &pass = body.passes[number];
    int loop = choice.across ? choice.outerLoop : static_cast<int>(body.outer.size());
    bool hasLoop = choice.across || (pass.inner.size() == 1 && choice.innerLoops[number] == 0);
    int64_t size = choice.across ? body.outer[loop] : hasLoop ? pass.inner[0] : 0;
    // Vectors that begin anywhere in the row would be dealt out otherwise.
    bool isLinear = hasLoop && llvm::all_of(seen.accesses, [&](const MemoryAccess &access) {
                      return access.offset.factorOf(loop) && !llvm::is_contained(access.dynamicDims, static_cast<unsigned>(loop));
                    });
    LinearForm whole = rowBegin(size);
    whole.add(getAffineDimExpr(loop, b.getContext()), 1);
    bool hasRows = llvm::any_of(seen.accesses, [&](const MemoryAccess &access) { return access.offset == whole; });
    choice.shifted.push_back(isLinear && hasRows && size >= shortestShifted && size % choice.lanes != 0);
  }
}

Value KernelLoops::shiftOf(KernelEmitter &emitter, int64_t rowSize) {
  Value number = emitter.integer(0);
  for (auto [atom, factor] : rowBegin(rowSize % choice.lanes).terms) {
    Value loop = emitter.loopValues[cast<AffineDimExpr>(atom).getPosition()];
    number = arith::AddIOp::create(b, number, arith::MulIOp::create(b, loop, emitter.integer(factor)));
  }
  return arith::RemUIOp::create(b, number, emitter.integer(choice.lanes));
}

SmallVector<Value> KernelLoops::emitEdged(KernelEmitter &emitter, Value rowSize, Value base, ArrayRef<Value> accumulators,
                                          llvm::function_ref<SmallVector<Value>(SmallVector<Value>)> make) {
  // As unsigned numbers those in front of the row are behind it.
  Value most = arith::SubIOp::create(b, rowSize, emitter.integer(choice.lanes));
  Value isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, base, most);
  auto branch = scf::IfOp::create(b, ValueRange(accumulators).getTypes(), isInside, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard keep(b);
  auto finish = [&](Block *block) {
    b.setInsertionPointToStart(block);
    if (edge) {
      auto type = VectorType::get({choice.lanes}, b.getI64Type());
      Value lanes = arith::ConstantOp::create(b, type, DenseElementsAttr::get(type, ArrayRef<int64_t>(llvm::to_vector(llvm::seq<int64_t>(0, choice.lanes)))));
      emitter.lane = emitter.lane < 0 ? choice.outerLoop : emitter.lane;
      emitter.lanes = choice.lanes;
      Value numbers = arith::AddIOp::create(b, emitter.splat(base), lanes);
      edge = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, numbers, emitter.splat(rowSize));
    }
    SmallVector<Value> next = make(SmallVector<Value>(accumulators));
    if (!accumulators.empty())
      scf::YieldOp::create(b, next);
  };
  edge = nullptr;
  finish(branch.thenBlock());
  edge = base;
  finish(branch.elseBlock());
  edge = nullptr;
  return SmallVector<Value>(branch.getResults());
}

void KernelLoops::shiftScratch(KernelEmitter &emitter, unsigned number) {
  emitter.aligned.reset();
  emitter.shiftedPointers.clear();
  int64_t shiftedSize = 0;
  if (choice.isShifted(choice.across ? 0 : number)) {
    int loop = choice.across ? choice.outerLoop : static_cast<int>(body.outer.size());
    int64_t size = shiftedSize = choice.across ? body.outer[loop] : body.passes[number].inner[0];
    emitter.aligned = rowBegin(size);
    emitter.aligned->add(getAffineDimExpr(loop, b.getContext()), 1);
  }
  // A row is kept as far behind the place's beginning as its vectors begin in front of it, by passes of any kind.
  if (unshifted.empty() || !llvm::is_contained(choice.shifted, true))
    return;
  for (auto [v, begin] : unshifted) {
    int64_t size = productOf(shapeOf(v).drop_front(*prefixOf(shapeOf(v), body.rows)));
    Type storage = getElementTypeOrSelf(v.getType());
    if (storage.isInteger(1))
      storage = b.getI8Type();
    Value at = LLVM::GEPOp::create(b, begin.getType(), storage, begin, ArrayRef<LLVM::GEPArg>{shiftOf(emitter, size)});
    emitter.scratch[v] = at;
    if (size == shiftedSize) {
      emitter.shiftedPointers.insert(at);
      emitter.alignments[at] = 16;
    }
  }
}
