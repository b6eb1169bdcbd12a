//===- KernelStrips.cpp - Sums over strips of rows ------------------------===//
//
// A block goes through a strip of rows. What its threads have of each row they add, by column, to sums in the block's memory; where a block
// works on several rows at once, each has sums of its own, which are combined at the end. Every sum is added up in the order of its rows.
//
//===----------------------------------------------------------------------===//
#include "KernelLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace para;

static int64_t columnsOf(Operation *sum) { return shapeOf(sum->getResult(0)).back(); }
static Type scalarOf(Operation *sum) { return getElementTypeOrSelf(sum->getResult(0).getType()); }
static int64_t bytesOfSum(Operation *sum) { return llvm::alignTo(columnsOf(sum) * elementBytes(scalarOf(sum)), 16); }

void KernelLoops::forStripSums(function_ref<void(Operation *)> visit) const {
  for (const KernelPass &pass : body.passes)
    for (Operation *op : pass.stripSums)
      visit(op);
}

int64_t KernelLoops::stripSumBytes() const {
  int64_t bytes = 0;
  forStripSums([&](Operation *op) { bytes += bytesOfSum(op); });
  return bytes;
}

int64_t KernelLoops::blocksOfLaunch() const { return body.strips ? body.strips : llvm::divideCeil(productOf(partsOf()), block.parts * block.turns); }

/// What a row keeps, and sums that other threads have added to where vectors do not begin with the row.
bool KernelLoops::rowsMeet() const { return block.turns > 1 || (body.strips && (body.passes.size() > 1 || choice.isShifted(0))); }

/// A place in what a part has of the block's memory.
Value KernelLoops::placeOf(KernelEmitter &emitter, Value part, int64_t offset) {
  Value begin = arith::AddIOp::create(b, arith::MulIOp::create(b, part, emitter.integer(scratchBytes())), emitter.integer(offset));
  Value at = LLVM::GEPOp::create(b, sharedMemory.getType(), b.getI8Type(), sharedMemory, ArrayRef<LLVM::GEPArg>{begin});
  emitter.alignments[at] = 16;
  return at;
}

void KernelLoops::emitStrip(KernelEmitter &emitter, Value strip, Value part) {
  int64_t rows = body.rows / body.strips, offset = scratchBytes() - stripSumBytes();
  emitter.lane = -1;
  emitter.tail = nullptr;
  forStripSums([&](Operation *op) {
    Value at = stripSums[op->getResult(0)] = placeOf(emitter, part, offset);
    offset += bytesOfSum(op);
    auto loop = scf::ForOp::create(b, member ? member : emitter.integer(0), emitter.integer(columnsOf(op)), emitter.integer(block.members));
    OpBuilder::InsertionGuard keep(b);
    b.setInsertionPointToStart(loop.getBody());
    emitter.extents = {columnsOf(op)};
    emitter.loopValues = {loop.getInductionVar()};
    Value none = constantOf(scalarOf(op), scalar::identity(scalarOf(op), cast<ElementOpInterface>(op).getCombiner()));
    emitter.store(none, at, scalarOf(op), emitter.extents, {getAffineDimExpr(0, b.getContext())});
  });
  if (block.members > 1 && !rowsMeet())
    waitForMembers();
  auto loop = scf::ForOp::create(b, part, emitter.integer(rows), emitter.integer(block.parts));
  {
    OpBuilder::InsertionGuard keep(b);
    b.setInsertionPointToStart(loop.getBody());
    emitPart(emitter, arith::AddIOp::create(b, arith::MulIOp::create(b, strip, emitter.integer(rows)), loop.getInductionVar()));
  }
  device.wait();
  storeStripSums(emitter, strip);
}

void KernelLoops::addToStripSums(KernelEmitter &emitter, const KernelPass &pass) {
  MLIRContext *ctx = b.getContext();
  AffineExpr column = body.innerNumber(pass.inner, ctx);
  for (Operation *op : pass.stripSums) {
    Value x = op->getOperand(0), at = stripSums.lookup(op->getResult(0));
    Value term = emitter.element(x, body.coordinates(shapeOf(x), pass.inner, ctx));
    Value sum = emitter.load(at, scalarOf(op), {columnsOf(op)}, {Coordinate{column}});
    emitter.store(scalar::combine(b, cast<ElementOpInterface>(op).getCombiner(), sum, term), at, scalarOf(op), {columnsOf(op)}, {column});
  }
}

void KernelLoops::storeStripSums(KernelEmitter &emitter, Value strip) {
  MLIRContext *ctx = b.getContext();
  AffineExpr row = getAffineDimExpr(0, ctx), column = getAffineDimExpr(1, ctx);
  Value thread = arith::ExtUIOp::create(b, b.getI64Type(), this->thread);
  int64_t begin = scratchBytes() - stripSumBytes();
  emitter.pass = body.passes.size();
  emitter.aligned.reset();
  emitter.startBody();
  forStripSums([&](Operation *op) {
    int64_t columns = columnsOf(op), lanes = columns % choice.lanes == 0 ? choice.lanes : 1;
    auto loop = scf::ForOp::create(b, arith::MulIOp::create(b, thread, emitter.integer(lanes)), emitter.integer(columns), emitter.integer(lanes * block.threads()));
    OpBuilder::InsertionGuard keep(b);
    b.setInsertionPointToStart(loop.getBody());
    emitter.extents = {body.strips, columns};
    emitter.loopValues = {strip, loop.getInductionVar()};
    emitter.lanes = lanes;
    emitter.lane = lanes > 1 ? 1 : -1;
    auto sumOf = [&](Value part) {
      Value at = placeOf(emitter, part, begin);
      return emitter.load(at, scalarOf(op), {columns}, {Coordinate{column}});
    };
    Value total = sumOf(emitter.integer(0)), result = op->getResult(0);
    if (block.parts > 1) {
      auto parts = scf::ForOp::create(b, emitter.integer(1), emitter.integer(block.parts), emitter.integer(1), ValueRange{total});
      OpBuilder::InsertionGuard keepLoop(b);
      b.setInsertionPointToStart(parts.getBody());
      scf::YieldOp::create(b, ValueRange{scalar::combine(b, cast<ElementOpInterface>(op).getCombiner(), parts.getRegionIterArgs()[0], sumOf(parts.getInductionVar()))});
      total = parts.getResult(0);
    }
    emitter.store(total, emitter.pointers.lookup(result), scalarOf(op), shapeOf(result), {row, column});
    begin += bytesOfSum(op);
  });
}
