//===- Tiles.cpp - Products whose result is never stored ------------------===//
#include "Tiles.h"

#include "IndexMath.h"
#include "Matmul.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace para;

/// What a block may have of every GPU since sm_80 is 99 KiB.
static constexpr int64_t mostSharedBytes = 96 << 10;
/// Registers of 32 bits for products and sums; a thread of 256 has 255 in all.
static constexpr int64_t mostRegisters = 128;
/// The same of 128 threads, which may have as many; what they hold of operands is little.
static constexpr int64_t mostTensorRegisters = 176;

int64_t TileSpace::allRows() const { return productOf(batch) * rows; }
int64_t TileSpace::scores() const { return allRows() * columns; }

SmallVector<AffineExpr> TileSpace::scoreIndex(ArrayRef<int64_t> shape, MLIRContext *ctx) const {
  SmallVector<AffineExpr> dims;
  for (unsigned d = 0; d < batch.size(); ++d)
    dims.push_back(getAffineDimExpr(d, ctx));
  dims.push_back(getAffineDimExpr(byColumns ? innerLoop() : outerLoop(), ctx));
  dims.push_back(getAffineDimExpr(byColumns ? outerLoop() : innerLoop(), ctx));
  SmallVector<int64_t> sizes(batch);
  sizes.append({rows, columns});
  return delinearize(linearize(dims, sizes, ctx), shape, ctx);
}

SmallVector<AffineExpr> TileSpace::rowIndex(ArrayRef<int64_t> shape, MLIRContext *ctx) const {
  SmallVector<AffineExpr> dims;
  for (unsigned d = 0; d < batch.size(); ++d)
    dims.push_back(getAffineDimExpr(d, ctx));
  dims.push_back(getAffineDimExpr(byColumns ? innerLoop() : outerLoop(), ctx));
  SmallVector<int64_t> sizes(batch);
  sizes.push_back(rows);
  return delinearize(linearize(dims, sizes, ctx), shape, ctx);
}

Attribute TileSpace::toAttr(MLIRContext *ctx) const {
  SmallVector<int64_t> list{byColumns, rows, columns};
  llvm::append_range(list, batch);
  return DenseI64ArrayAttr::get(ctx, list);
}

TileSpace TileSpace::fromAttr(Attribute attr) {
  ArrayRef<int64_t> list = cast<DenseI64ArrayAttr>(attr).asArrayRef();
  TileSpace space;
  space.byColumns = list[0];
  space.rows = list[1];
  space.columns = list[2];
  space.batch.assign(list.begin() + 3, list.end());
  return space;
}

std::optional<TileProduct> para::asTileProduct(Operation *op, const TileSpace &space, function_ref<bool(Value)> isScore) {
  auto library = dyn_cast<LibraryOpInterface>(op);
  std::optional<LibraryCall> call = library ? library.getLibraryCall() : std::nullopt;
  if (!call || call->kind != LibraryCall::Matmul || call->lhsContract.size() != 1)
    return std::nullopt;
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  size_t batch = call->lhsBatch.size();
  if (shapeOf(lhs).size() != batch + 2 || shapeOf(rhs).size() != batch + 2)
    return std::nullopt;
  auto isSpace = [&](Value v) {
    ArrayRef<int64_t> shape = shapeOf(v);
    return sizeOf(v) == space.scores() && shape[batch] == space.rows && shape[batch + 1] == space.columns;
  };
  TileProduct product;
  bool isLeft = isScore(lhs), isRight = isScore(rhs);
  if (!isLeft && !isRight) {
    product.makesScores = true;
    product.depth = shapeOf(lhs)[call->lhsContract[0]];
    return isSpace(op->getResult(0)) ? std::optional(product) : std::nullopt;
  }
  if (isLeft && isRight)
    return std::nullopt;
  product.score = isLeft ? 0 : 1;
  product.other = isLeft ? 1 : 0;
  Value other = op->getOperand(product.other);
  ArrayRef<int64_t> scoreBatch = isLeft ? call->lhsBatch : call->rhsBatch, otherBatch = isLeft ? call->rhsBatch : call->lhsBatch;
  int64_t contract = (isLeft ? call->lhsContract : call->rhsContract)[0], otherContract = (isLeft ? call->rhsContract : call->lhsContract)[0];
  if (!isSpace(op->getOperand(product.score)) || !llvm::equal(scoreBatch, llvm::seq<int64_t>(0, batch)) || contract < int64_t(batch))
    return std::nullopt;
  product.sumsRows = contract == int64_t(batch);
  for (int64_t d = 0; d < int64_t(batch + 2); ++d)
    if (d != otherContract && !llvm::is_contained(otherBatch, d))
      product.depth = shapeOf(other)[d];
  return product;
}

bool para::isOverColumns(Operation *op, const TileSpace &space, FactsCache &facts) {
  const OpFacts &f = facts.get(op);
  return f.whole && sizeOf(op->getResult(0)) == space.allRows() && productOf(f.loops) == space.scores() &&
         keepsRow(op, f, f.accesses[0], space.allRows());
}

std::optional<TileOperand> para::findTileOperand(Operation *op, unsigned number, ArrayRef<unsigned> loops, int64_t depth, bool isOuter, const TileSpace &space,
                                                 FactsCache &facts) {
  MLIRContext *ctx = op->getContext();
  SmallVector<AffineExpr> batch, own;
  for (unsigned d = 0; d < space.batch.size(); ++d)
    batch.push_back(getAffineDimExpr(d, ctx));
  own = delinearize(linearize(batch, space.batch, ctx), shapeOf(op->getResult(0)).drop_back(2), ctx);
  for (unsigned loop : loops)
    own.push_back(getAffineDimExpr(loop, ctx));
  TileOperand operand{op->getOperand(number), {}, depth, isOuter};
  for (const OpAccess &access : facts.get(op).accesses)
    if (access.operand == number && !access.dynamic)
      operand.index = llvm::map_to_vector(access.index, [&](AffineExpr e) { return e.replaceDims(own); });
  if (operand.index.empty())
    return std::nullopt;
  SmallVector<int64_t> sizes(space.batch);
  sizes.append({space.outer(), space.inner(), depth});
  for (Value next = operand.value; next; next = followMove(operand.value, operand.index, facts)) {
    operand.value = next;
    for (AffineExpr &e : operand.index)
      e = linearForm(e, sizes).toExpr(ctx);
  }
  return operand;
}

namespace {
class Collector {
public:
  Collector(TileBody &body, FactsCache &facts) : body(body), space(body.space), facts(facts), ctx(body.block->front().getContext()) {}

  bool run() {
    for (Operation &op : body.block->without_terminator()) {
      bool takesScores = llvm::any_of(op.getOperands(), [&](Value v) { return isScore.contains(v); });
      auto product = asTileProduct(&op, space, [&](Value v) { return isScore.contains(v); });
      if (product && product->makesScores) {
        if (!addScore(&op, product->depth))
          return false;
      } else if (product) {
        if (product->sumsRows != space.byColumns || !addSum(&op, *product))
          return false;
      } else if (takesScores && facts.get(&op).reduction) {
        if (space.byColumns || !isOverColumns(&op, space, facts))
          return false;
        body.reductions.push_back({&op, levelOf(op.getOperand(0))});
      } else if (takesScores) {
        isScore.insert(op.getResult(0));
      } else if (const OpFacts &f = facts.get(&op); f.reduction) {
        if (space.byColumns || sizeOf(op.getResult(0)) != space.allRows() || f.loops.size() != f.resultRank + 1)
          return false;
        body.rowReductions.push_back({&op, f.loops.back()});
      }
    }
    for (Value v : body.block->getTerminator()->getOperands())
      if (llvm::none_of(body.sums, [&](const TileSum &sum) { return sum.output == v; })) {
        if (isScore.contains(v)) {
          body.stores.push_back({v, levelOf(v)});
          continue;
        }
        if (sizeOf(v) != space.allRows() || space.byColumns)
          return false;
        body.rowOutputs.push_back(v);
      }
    body.rounds = 1;
    for (TileSum &sum : body.sums) {
      sum.round = levelOf(sum.score);
      body.rounds = std::max(body.rounds, sum.round + 1);
    }
    for (TileReduction &reduction : body.reductions)
      body.rounds = std::max(body.rounds, reduction.round + 1);
    for (TileStore &store : body.stores)
      body.rounds = std::max(body.rounds, store.round + 1);
    return !body.scores.empty() && !(body.sums.empty() && body.rowOutputs.empty() && body.stores.empty());
  }

private:
  /// The reductions that come before `v`, one after another.
  unsigned levelOf(Value v) {
    Operation *op = v.getDefiningOp();
    if (!op)
      return 0;
    if (auto it = levels.find(v); it != levels.end())
      return it->second;
    unsigned level = 0;
    for (Value u : op->getOperands())
      level = std::max(level, levelOf(u));
    if (facts.get(op).reduction && llvm::any_of(op->getOperands(), [&](Value u) { return isScore.contains(u); }))
      ++level;
    return levels[v] = level;
  }

  unsigned addOperand(TileOperand operand) {
    for (auto [i, known] : llvm::enumerate(body.operands))
      if (known.isSame(operand))
        return i;
    body.operands.push_back(operand);
    return body.operands.size() - 1;
  }

  bool addScore(Operation *op, int64_t depth) {
    // The loops of the product: the batch, rows, columns, and what it sums over.
    unsigned rows = space.byColumns ? space.innerLoop() : space.outerLoop(), columns = space.byColumns ? space.outerLoop() : space.innerLoop();
    SmallVector<unsigned> loops{rows, columns, space.depthLoop()};
    auto lhs = findTileOperand(op, 0, loops, depth, !space.byColumns, space, facts), rhs = findTileOperand(op, 1, loops, depth, space.byColumns, space, facts);
    if (!lhs || !rhs)
      return false;
    unsigned left = addOperand(*lhs), right = addOperand(*rhs);
    body.scores.push_back({op, space.byColumns ? right : left, space.byColumns ? left : right, depth});
    isScore.insert(op->getResult(0));
    levels[op->getResult(0)] = 0;
    return true;
  }

  bool addSum(Operation *op, const TileProduct &product) {
    unsigned outer = space.outerLoop(), inner = space.innerLoop(), depth = space.depthLoop();
    SmallVector<unsigned> loops{outer, depth, inner};
    if (product.score == 1)
      std::swap(loops[0], loops[1]);
    auto operand = findTileOperand(op, product.other, loops, product.depth, /*isOuter=*/false, space, facts);
    if (!operand)
      return false;
    TileSum sum;
    sum.op = op;
    sum.score = op->getOperand(product.score);
    sum.depth = product.depth;
    sum.operand = addOperand(*operand);
    ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
    for (Value v : body.block->getTerminator()->getOperands()) {
      View view = viewOf(v, facts);
      if (view.base != op->getResult(0) || view.offset != 0 || sizeOf(v) != sizeOf(view.base))
        continue;
      auto strides = stridesSeenFrom(shape, shapeOf(v), view.strides);
      if (!strides || sum.output)
        return false;
      SmallVector<AffineExpr> batch;
      for (unsigned d = 0; d < space.batch.size(); ++d)
        batch.push_back(getAffineDimExpr(d, ctx));
      SmallVector<AffineExpr> at = delinearize(linearize(batch, space.batch, ctx), shape.drop_back(2), ctx);
      at.push_back(getAffineDimExpr(loops[0], ctx));
      at.push_back(getAffineDimExpr(loops[1], ctx));
      sum.output = v;
      sum.place = getAffineConstantExpr(0, ctx);
      for (auto [e, stride] : llvm::zip_equal(at, *strides))
        sum.place = sum.place + e * stride;
    }
    body.sums.push_back(sum);
    return sum.output != nullptr;
  }

  TileBody &body;
  const TileSpace &space;
  FactsCache &facts;
  MLIRContext *ctx;
  llvm::DenseSet<Value> isScore;
  llvm::DenseMap<Value, unsigned> levels;
};
} // namespace

bool TileBody::collect(FactsCache &facts) { return Collector(*this, facts).run(); }

int64_t TileBody::paddedDepth(int64_t depth) const {
  int64_t unit = onTensorCores ? 16 : vector;
  return llvm::divideCeil(depth, unit) * unit;
}

int64_t TileBody::sumsOf(int64_t depth) const {
  return onTensorCores ? paddedDepth(depth) / 4 : llvm::divideCeil(paddedDepth(depth) / vector, 16) * vector;
}

/// That of all operands of products, where tensor cores take it; else null.
Type TileBody::narrowType() const {
  Type narrow = getElementTypeOrSelf(operands.front().value.getType());
  bool isOne = narrow.isF16() || narrow.isBF16();
  for (const TileOperand &operand : operands)
    isOne = isOne && getElementTypeOrSelf(operand.value.getType()) == narrow;
  for (const TileSum &sum : sums)
    isOne = isOne && getElementTypeOrSelf(sum.score.getType()) == narrow;
  return isOne ? narrow : Type();
}

bool TileBody::storesTogether(const TileSum &sum) const {
  return onTensorCores && sum.round + 1 == rounds && sum.depth * elementBytes(sum.output.getType()) % 16 == 0;
}

bool TileBody::layOut() {
  int64_t words = onTensorCores ? 1 : elementBytes(sumType) / 4, bytes = elementBytes(operandType);
  int64_t registers = outerOfThread * innerOfThread * words * int64_t(scores.size()) + 3 * outerOfThread * words;
  for (const TileSum &sum : sums)
    registers += outerOfThread * words * sumsOf(sum.depth);
  sharedBytes = 0;
  for (TileOperand &operand : operands) {
    // Of odd many vectors: a column's elements lie in different banks.
    operand.stride = (paddedDepth(operand.depth) / vector | 1) * vector;
    operand.offset = sharedBytes;
    sharedBytes += (operand.isOuter ? outerTile() : innerTile()) * operand.stride * bytes;
  }
  sumOffset = sharedBytes;
  sharedBytes += sums.empty() || onTensorCores ? 0 : outerTile() * scoreStride() * bytes;
  for (const TileSum &sum : sums)
    if (storesTogether(sum))
      sharedBytes = std::max(sharedBytes, outerTile() * (paddedDepth(sum.depth) * elementBytes(sum.output.getType()) + 16));
  return registers <= (onTensorCores ? mostTensorRegisters : mostRegisters) && sharedBytes <= mostSharedBytes;
}

bool TileBody::choose() {
  Type scalar = getElementTypeOrSelf(scores.front().op->getResult(0).getType());
  sumType = scalar.isF64() ? scalar : Type(Float32Type::get(scalar.getContext()));
  Type narrow = narrowType();
  for (bool tensorCores : {true, false}) {
    if (tensorCores && !narrow)
      continue;
    onTensorCores = tensorCores;
    operandType = tensorCores ? narrow : sumType;
    vector = 16 / elementBytes(operandType);
    struct Choice {
      int64_t warps, outer, inner;
    };
    std::optional<Choice> best;
    int64_t most = 0;
    for (int64_t o : {4, 2, 1})
      for (int64_t i : {4, 2, 1}) {
        warps = tensorCores ? o : 8;
        outerOfThread = tensorCores ? 2 : o;
        innerOfThread = tensorCores ? 4 * i : i;
        bool isTooLarge = (o > 1 && 16 * (o / 2) >= space.outer()) || (i > 1 && 16 * (i / 2) >= space.inner());
        if (layOut() && !isTooLarge && o * i > most) {
          most = o * i;
          best = {warps, outerOfThread, innerOfThread};
        }
      }
    if (!best)
      continue;
    warps = best->warps, outerOfThread = best->outer, innerOfThread = best->inner;
    return layOut();
  }
  return false;
}

bool TileBody::analyze(Block *block, const TileSpace &space, FactsCache &facts, TileBody &body) {
  body = TileBody();
  body.space = space;
  body.block = block;
  if (!body.collect(facts))
    return false;
  joinRounds(body, facts);
  return body.choose();
}
