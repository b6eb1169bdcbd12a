//===- KernelTileRounds.cpp - A round over the tiles of scores --------------===//
#include "KernelTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace para;

void KernelTiles::emitRound(KernelEmitter &emitter, unsigned round) {
  int64_t outer = body.outerOfThread, inner = body.innerOfThread;
  SmallVector<Operation *> reductions;
  SmallVector<const TileSum *> sums;
  llvm::SetVector<Value> roots;
  for (const TileReduction &reduction : body.reductions)
    if (reduction.round == round) {
      reductions.push_back(reduction.op);
      roots.insert(reduction.op->getOperand(0));
    }
  for (const TileSum &sum : body.sums)
    if (sum.round == round) {
      sums.push_back(&sum);
      roots.insert(sum.score);
    }
  for (const TileStore &store : body.stores)
    if (store.round == round)
      roots.insert(store.value);
  // What the round is made of.
  for (size_t i = 0; i < roots.size(); ++i)
    if (Operation *op = roots[i].getDefiningOp(); op && !facts.get(op).reduction)
      roots.insert(op->operand_begin(), op->operand_end());
  SmallVector<const TileScore *> scores;
  llvm::SetVector<unsigned> operands;
  for (const TileScore &score : body.scores)
    if (roots.contains(score.op->getResult(0))) {
      scores.push_back(&score);
      operands.insert(score.inner);
    }
  for (const TileSum *sum : sums)
    operands.insert(sum->operand);

  auto scalarOf = [](Operation *op) { return getElementTypeOrSelf(op->getResult(0).getType()); };
  auto identityOf = [&](Operation *op) -> Value {
    return arith::ConstantOp::create(b, scalarOf(op), scalar::identity(scalarOf(op), cast<ElementOpInterface>(op).getCombiner()));
  };
  Values state;
  for (Operation *op : reductions)
    state.append(outer, identityOf(op));
  for (const TileSum *sum : sums)
    state.append(outer * body.sumsOf(sum->depth), zero());

  state = loop(firstInner, lastInner, 1, state, [&](Value tile, Values in) {
    innerBase = product(tile, body.innerTile());
    device.wait();
    for (unsigned operand : operands)
      if (!body.operands[operand].isOuter)
        loadOperand(emitter, body.operands[operand], innerBase);
    device.wait();
    innerPlaces.clear();
    innerInside.clear();
    for (int64_t c = 0; c < inner; ++c) {
      Value place = sum(innerBase, columnOf(c)), inside;
      if (space.inner() % body.innerTile() != 0) {
        inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, place, index(space.inner()));
        place = arith::MinUIOp::create(b, place, index(space.inner() - 1));
      }
      innerPlaces.push_back(place);
      innerInside.push_back(inside);
    }
    emitter.pass = 0;
    llvm::MapVector<Value, Values> known; // elements of scores of this thread
    for (const TileScore *score : scores)
      known[score->op->getResult(0)] = multiply(*score);
    SmallVector<llvm::DenseMap<Value, Value>> ofRow(found.begin(), found.end());
    /// The element of `v`, `otherwise` beyond the end; kept for what is made of it.
    auto evaluate = [&](Value v, Value otherwise) {
      Values all;
      for (int64_t r = 0; r < outer; ++r)
        for (int64_t c = 0; c < inner; ++c) {
          moveTo(emitter, r, c);
          emitter.rowValues = ofRow[r];
          for (auto &[value, list] : known)
            emitter.rowValues[value] = list[r * inner + c];
          Value x = emitter.element(v, space.scoreIndex(shapeOf(v), b.getContext()));
          emitter.finishBody();
          all.push_back(innerInside[c] ? arith::SelectOp::create(b, innerInside[c], x, otherwise).getResult() : x);
        }
      known[v] = all;
      return all;
    };
    auto zeroLike = [&](Value v) -> Value {
      Type scalar = getElementTypeOrSelf(v.getType());
      return arith::ConstantOp::create(b, scalar, b.getZeroAttr(scalar));
    };
    auto addRows = [&](unsigned number, Operation *op, ArrayRef<Value> terms) {
      for (int64_t r = 0; r < outer; ++r)
        for (int64_t c = 0; c < inner; ++c)
          in[number * outer + r] = scalar::combine(b, cast<ElementOpInterface>(op).getCombiner(), in[number * outer + r], terms[r * inner + c]);
    };
    size_t firstSum = reductions.size() * outer;
    if (body.maximum && round == 0) {
      Type scalar = scalarOf(body.maximum);
      Values e = evaluate(body.maximum->getOperand(0), identityOf(body.maximum)), scales;
      Value lowest = arith::ConstantOp::create(b, b.getFloatAttr(scalar, APFloat::getLargest(cast<FloatType>(scalar).getFloatSemantics(), /*Negative=*/true)));
      Value one = arith::ConstantOp::create(b, b.getFloatAttr(scalarOf(body.exponentials), 1.0));
      for (int64_t r = 0; r < outer; ++r) {
        Value greatest = e[r * inner];
        for (int64_t c = 1; c < inner; ++c)
          greatest = scalar::combine(b, ReductionKind::Max, greatest, e[r * inner + c]);
        greatest = scalar::combine(b, ReductionKind::Max, in[r], acrossRow(greatest, ReductionKind::Max));
        // Not below all numbers, from which nothing can be taken away.
        Value base = scalar::max(b, greatest, lowest);
        Value scale = math::ExpOp::create(b, scalar::sub(b, in[r], base));
        in[r] = greatest;
        ofRow[r][body.maximum->getResult(0)] = base;
        ofRow[r][body.exponentials->getResult(0)] = one;
        in[outer + r] = scalar::mul(b, in[outer + r], convert(scale, in[outer + r].getType()));
        scales.push_back(convert(scale, body.sumType));
      }
      addRows(1, body.exponentials, evaluate(body.exponentials->getOperand(0), zeroLike(body.exponentials->getOperand(0))));
      size_t next = firstSum;
      for (const TileSum *sum : sums)
        for (int64_t r = 0; r < outer; ++r)
          for (int64_t i = 0; i < body.sumsOf(sum->depth); ++i, ++next)
            in[next] = scalar::mul(b, in[next], scales[r]);
    } else {
      for (auto [number, op] : llvm::enumerate(reductions))
        addRows(number, op, evaluate(op->getOperand(0), identityOf(op)));
    }
    for (const TileStore &store : body.stores)
      if (store.round == round)
        storeScores(emitter, store.value, evaluate(store.value, zeroLike(store.value)));
    size_t next = firstSum;
    for (const TileSum *sum : sums) {
      size_t count = outer * body.sumsOf(sum->depth);
      Values scores = evaluate(sum->score, zeroLike(sum->score));
      llvm::copy(addProduct(*sum, scores, ValueRange(in).slice(next, count)), in.begin() + next);
      next += count;
    }
    return in;
  });

  for (auto [number, op] : llvm::enumerate(reductions))
    for (int64_t r = 0; r < outer; ++r) {
      Value part = state[number * outer + r];
      found[r][op->getResult(0)] = op == body.maximum ? part : acrossRow(part, cast<ElementOpInterface>(op).getCombiner());
    }
  size_t next = reductions.size() * outer;
  for (const TileSum *sum : sums) {
    size_t count = outer * body.sumsOf(sum->depth);
    for (int64_t r = 0; r < outer; ++r)
      for (size_t i = next + r * count / outer; i < next + (r + 1) * count / outer; ++i)
        for (int division = 0; division < sum->division; ++division)
          state[i] = scalar::div(b, state[i], convert(found[r].lookup(body.exponentials->getResult(0)), body.sumType));
    storeSum(emitter, *sum, ValueRange(state).slice(next, count));
    next += count;
  }
}

