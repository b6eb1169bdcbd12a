//===- KernelTileResults.cpp - What a kernel of tiles stores ----------------===//
#include "KernelTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace para;

/// Through the block's memory: what threads have of a row lies too far apart to be stored in wide pieces.
void KernelTiles::storeTogether(KernelEmitter &emitter, const TileSum &sumOf, ValueRange state) {
  Type scalar = getElementTypeOrSelf(sumOf.output.getType()), pair = VectorType::get({2}, scalar);
  int64_t count = body.sumsOf(sumOf.depth), bytes = elementBytes(scalar), lanes = 16 / bytes, ofRow = sumOf.depth / lanes;
  int64_t stride = body.paddedDepth(sumOf.depth) * bytes + 16;
  auto bytesAt = [&](Value offset) -> Value {
    return LLVM::GEPOp::create(b, sharedMemory.getType(), b.getI8Type(), sharedMemory, ArrayRef<LLVM::GEPArg>{offset});
  };
  device.wait();
  for (int64_t r = 0; r < body.outerOfThread; ++r)
    for (int64_t first = 0; first < count; first += 2) {
      Value two = arith::ConstantOp::create(b, pair, b.getZeroAttr(pair));
      for (int64_t i : {0, 1})
        two = vector::InsertOp::create(b, convert(state[r * count + first + i], scalar), two, ArrayRef<int64_t>{i});
      LLVM::StoreOp::create(b, two, bytesAt(sum(product(rowOf(r), stride), product(depthOf(first), bytes))), 2 * bytes);
    }
  device.wait();
  emitter.pass = passOf(sumOf.depth);
  emitter.extents[space.depthLoop()] = sumOf.depth;
  emitter.lanes = lanes;
  emitter.lane = static_cast<int>(space.depthLoop());
  loop(threadNumber, index(body.outerTile() * ofRow), body.threads(), {}, [&](Value i, Values) {
    Value at = arith::DivUIOp::create(b, i, index(ofRow)), depth = product(arith::RemUIOp::create(b, i, index(ofRow)), lanes), inside;
    Value place = sum(outerBase, at);
    if (space.outer() % body.outerTile() != 0)
      inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, place, index(space.outer()));
    Value x = LLVM::LoadOp::create(b, VectorType::get({lanes}, scalar), bytesAt(sum(product(at, stride), product(depth, bytes))), 16);
    where(inside, [&] {
      emitter.startBody();
      emitter.loopValues[space.outerLoop()] = place;
      emitter.loopValues[space.depthLoop()] = depth;
      emitter.store(x, emitter.pointers.lookup(sumOf.output), scalar, {sizeOf(sumOf.output)}, {sumOf.place});
      emitter.finishBody();
    });
    return Values();
  });
  leaveDepth(emitter);
}

void KernelTiles::storeSum(KernelEmitter &emitter, const TileSum &sumOf, ValueRange state) {
  if (body.storesTogether(sumOf))
    return storeTogether(emitter, sumOf, state);
  int64_t count = body.sumsOf(sumOf.depth), lanes = sumOf.depth % body.neighbours() == 0 ? body.neighbours() : 1;
  Type scalar = getElementTypeOrSelf(sumOf.output.getType());
  emitter.pass = passOf(sumOf.depth);
  emitter.extents[space.depthLoop()] = sumOf.depth;
  int64_t most = body.sharing() * count; // beyond the result's end where it is more
  for (int64_t r = 0; r < body.outerOfThread; ++r)
    for (int64_t first = 0; first < count; first += lanes) {
        Value depth = depthOf(first), inside = outerInside[r];
        if (most > sumOf.depth) {
          Value within = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, depth, index(sumOf.depth));
          inside = inside ? arith::AndIOp::create(b, inside, within).getResult() : within;
        }
        where(inside, [&] {
          moveTo(emitter, r, -1);
          emitter.loopValues[space.depthLoop()] = depth;
          emitter.lanes = lanes;
          emitter.lane = lanes > 1 ? static_cast<int>(space.depthLoop()) : -1;
          size_t at = r * count + first;
          Value x = state[at];
          if (lanes > 1) {
            auto type = VectorType::get({lanes}, body.sumType);
            x = arith::ConstantOp::create(b, type, b.getZeroAttr(type));
            for (int64_t i = 0; i < lanes; ++i)
              x = vector::InsertOp::create(b, state[at + i], x, ArrayRef<int64_t>{i});
          }
          emitter.store(convert(x, scalar), emitter.pointers.lookup(sumOf.output), scalar, {sizeOf(sumOf.output)}, {sumOf.place});
          emitter.finishBody();
        });
      }
  leaveDepth(emitter);
}

void KernelTiles::storeScores(KernelEmitter &emitter, Value v, ArrayRef<Value> elements) {
  SmallVector<AffineExpr> place = space.scoreIndex(shapeOf(v), b.getContext());
  for (int64_t r = 0; r < body.outerOfThread; ++r)
    for (int64_t c = 0; c < body.innerOfThread; ++c) {
      Value inside = outerInside[r];
      if (innerInside[c])
        inside = inside ? arith::AndIOp::create(b, inside, innerInside[c]).getResult() : innerInside[c];
      where(inside, [&] {
        moveTo(emitter, r, c);
        emitter.store(elements[r * body.innerOfThread + c], emitter.pointers.lookup(v), getElementTypeOrSelf(v.getType()), shapeOf(v), place);
        emitter.finishBody();
      });
    }
}

/// What is one number a row, by the first of the threads that have it.
void KernelTiles::storeRows(KernelEmitter &emitter) {
  if (body.rowOutputs.empty())
    return;
  emitter.pass = 0;
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, column, index(0));
  for (int64_t r = 0; r < body.outerOfThread; ++r)
    where(outerInside[r] ? arith::AndIOp::create(b, isFirst, outerInside[r]).getResult() : isFirst, [&] {
      moveTo(emitter, r, -1);
      for (Value v : body.rowOutputs) {
        SmallVector<AffineExpr> place = space.rowIndex(shapeOf(v), b.getContext());
        emitter.store(emitter.element(v, place), emitter.pointers.lookup(v), getElementTypeOrSelf(v.getType()), shapeOf(v), place);
      }
      emitter.finishBody();
    });
}
