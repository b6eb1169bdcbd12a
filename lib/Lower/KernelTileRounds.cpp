//===- KernelTileRounds.cpp - A round over the tiles of scores --------------===//
#include "KernelTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace para;

/// What one round makes, and how far it is: partial results of a thread are values of the loop over tiles, by row.
class KernelTiles::Round {
public:
  Round(KernelTiles &kernel, KernelEmitter &emitter, unsigned round) : k(kernel), b(kernel.b), emitter(emitter), round(round), outer(kernel.body.outerOfThread), inner(kernel.body.innerOfThread) {
    gather();
  }

  void run() {
    Values before;
    for (Operation *op : reductions)
      before.append(outer, identityOf(op));
    for (const TileSum *sum : sums)
      before.append(outer * k.body.sumsOf(sum->depth), k.zero());
    state = k.loop(k.firstInner, k.lastInner, 1, before, [&](Value tile, Values in) {
      state = in;
      addTile(tile);
      return state;
    });
    finish();
  }

private:
  void gather() {
    llvm::SetVector<Value> roots;
    for (const TileReduction &reduction : k.body.reductions)
      if (reduction.round == round) {
        reductions.push_back(reduction.op);
        roots.insert(reduction.op->getOperand(0));
      }
    for (const TileSum &sum : k.body.sums)
      if (sum.round == round) {
        sums.push_back(&sum);
        roots.insert(sum.score);
      }
    for (const TileStore &store : k.body.stores)
      if (store.round == round)
        roots.insert(store.value);
    // What the round is made of.
    for (size_t i = 0; i < roots.size(); ++i)
      if (Operation *op = roots[i].getDefiningOp(); op && !k.facts.get(op).reduction)
        roots.insert(op->operand_begin(), op->operand_end());
    for (const TileScore &score : k.body.scores)
      if (roots.contains(score.op->getResult(0))) {
        scores.push_back(&score);
        operands.insert(score.inner);
      }
    for (const TileSum *sum : sums)
      operands.insert(sum->operand);
  }

  void addTile(Value tile) {
    load(tile);
    emitter.pass = 0;
    known.clear();
    for (const TileScore *score : scores)
      known[score->op->getResult(0)] = k.multiply(*score);
    ofRow.assign(k.found.begin(), k.found.end());
    if (k.body.maximum && round == 0)
      followMaximum();
    else
      for (auto [number, op] : llvm::enumerate(reductions))
        addRows(number, op, evaluate(op->getOperand(0), identityOf(op)));
    for (const TileStore &store : k.body.stores)
      if (store.round == round)
        k.storeScores(emitter, store.value, evaluate(store.value, zeroLike(store.value)));
    forEachSum([&](const TileSum &sum, size_t first, size_t count) {
      Values elements = evaluate(sum.score, zeroLike(sum.score));
      llvm::copy(k.addProduct(sum, elements, ValueRange(state).slice(first, count)), state.begin() + first);
    });
  }

  void load(Value tile) {
    k.innerBase = k.product(tile, k.body.innerTile());
    k.device.wait();
    for (unsigned operand : operands)
      if (!k.body.operands[operand].isOuter)
        k.loadOperand(emitter, k.body.operands[operand], k.innerBase);
    k.device.wait();
    k.innerPlaces.clear();
    k.innerInside.clear();
    for (int64_t c = 0; c < inner; ++c) {
      Value place = k.sum(k.innerBase, k.columnOf(c)), inside;
      if (k.space.inner() % k.body.innerTile() != 0) {
        inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, place, k.index(k.space.inner()));
        place = arith::MinUIOp::create(b, place, k.index(k.space.inner() - 1));
      }
      k.innerPlaces.push_back(place);
      k.innerInside.push_back(inside);
    }
  }

  /// This thread's elements of `v` in the tile, `otherwise` beyond the end; kept for what is made of them.
  Values evaluate(Value v, Value otherwise) {
    Values all;
    for (int64_t r = 0; r < outer; ++r)
      for (int64_t c = 0; c < inner; ++c) {
        k.moveTo(emitter, r, c);
        emitter.rowValues = ofRow[r];
        for (auto &[value, list] : known)
          emitter.rowValues[value] = list[r * inner + c];
        Value x = emitter.element(v, k.space.scoreIndex(shapeOf(v), b.getContext()));
        emitter.finishBody();
        all.push_back(k.innerInside[c] ? arith::SelectOp::create(b, k.innerInside[c], x, otherwise).getResult() : x);
      }
    known[v] = all;
    return all;
  }

  void addRows(unsigned number, Operation *op, ArrayRef<Value> terms) {
    for (int64_t r = 0; r < outer; ++r)
      for (int64_t c = 0; c < inner; ++c) {
        Value &part = state[number * outer + r];
        part = scalar::combine(b, cast<ElementOpInterface>(op).getCombiner(), part, terms[r * inner + c]);
      }
  }

  /// The greatest element so far of each row; sums of exponentials over it are scaled when it grows (Milakov and Gimelshein 2018).
  void followMaximum() {
    Type scalar = scalarOf(k.body.maximum);
    Values e = evaluate(k.body.maximum->getOperand(0), identityOf(k.body.maximum)), scales;
    Value lowest = arith::ConstantOp::create(b, b.getFloatAttr(scalar, APFloat::getLargest(cast<FloatType>(scalar).getFloatSemantics(), /*Negative=*/true)));
    Value one = arith::ConstantOp::create(b, b.getFloatAttr(scalarOf(k.body.exponentials), 1.0));
    for (int64_t r = 0; r < outer; ++r) {
      Value greatest = e[r * inner];
      for (int64_t c = 1; c < inner; ++c)
        greatest = scalar::combine(b, ReductionKind::Max, greatest, e[r * inner + c]);
      greatest = scalar::combine(b, ReductionKind::Max, state[r], k.acrossRow(greatest, ReductionKind::Max));
      // Not below all numbers, from which nothing can be taken away.
      Value base = scalar::max(b, greatest, lowest);
      Value scale = math::ExpOp::create(b, scalar::sub(b, state[r], base));
      state[r] = greatest;
      ofRow[r][k.body.maximum->getResult(0)] = base;
      ofRow[r][k.body.exponentials->getResult(0)] = one;
      state[outer + r] = scalar::mul(b, state[outer + r], k.convert(scale, state[outer + r].getType()));
      scales.push_back(k.convert(scale, k.body.sumType));
    }
    addRows(1, k.body.exponentials, evaluate(k.body.exponentials->getOperand(0), zeroLike(k.body.exponentials->getOperand(0))));
    forEachSum([&](const TileSum &, size_t first, size_t count) {
      for (size_t i = 0; i < count; ++i)
        state[first + i] = scalar::mul(b, state[first + i], scales[i / (count / outer)]);
    });
  }

  void finish() {
    for (auto [number, op] : llvm::enumerate(reductions))
      for (int64_t r = 0; r < outer; ++r) {
        Value part = state[number * outer + r];
        k.found[r][op->getResult(0)] = op == k.body.maximum ? part : k.acrossRow(part, cast<ElementOpInterface>(op).getCombiner());
      }
    forEachSum([&](const TileSum &sum, size_t first, size_t count) {
      for (size_t i = 0; i < count; ++i)
        for (int division = 0; division < sum.division; ++division)
          state[first + i] = scalar::div(b, state[first + i], k.convert(k.found[i / (count / outer)].lookup(k.body.exponentials->getResult(0)), k.body.sumType));
      k.storeSum(emitter, sum, ValueRange(state).slice(first, count));
    });
  }

  /// Calls `visit` with each sum, and where in the state its elements begin and how many they are: of each row the same number.
  void forEachSum(llvm::function_ref<void(const TileSum &, size_t, size_t)> visit) {
    size_t next = reductions.size() * outer;
    for (const TileSum *sum : sums) {
      size_t count = outer * k.body.sumsOf(sum->depth);
      visit(*sum, next, count);
      next += count;
    }
  }

  static Type scalarOf(Operation *op) { return getElementTypeOrSelf(op->getResult(0).getType()); }
  Value identityOf(Operation *op) {
    return arith::ConstantOp::create(b, scalarOf(op), scalar::identity(scalarOf(op), cast<ElementOpInterface>(op).getCombiner()));
  }
  Value zeroLike(Value v) {
    Type scalar = getElementTypeOrSelf(v.getType());
    return arith::ConstantOp::create(b, scalar, b.getZeroAttr(scalar));
  }

  KernelTiles &k;
  ImplicitLocOpBuilder &b;
  KernelEmitter &emitter;
  unsigned round;
  int64_t outer, inner; ///< rows and columns of a tile that a thread has
  SmallVector<Operation *> reductions;
  SmallVector<const TileSum *> sums;
  SmallVector<const TileScore *> scores;
  llvm::SetVector<unsigned> operands;
  Values state; ///< of reductions, then of sums
  llvm::MapVector<Value, Values> known; ///< elements of scores of this thread, in this tile
  SmallVector<llvm::DenseMap<Value, Value>> ofRow;
};

void KernelTiles::emitRound(KernelEmitter &emitter, unsigned round) { Round(*this, emitter, round).run(); }

