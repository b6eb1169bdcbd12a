//===- Tiles.h - Products whose result is never stored -------------*- C++ -*-===//
//
// The scores of attention are a tensor of [batch, rows, columns] which products make, other products take, and which is far larger than
// what it is made of and what becomes of it. A kernel of tiles has it in registers only: a block keeps a tile of the rows and goes over
// the columns, tile by tile (or the other way round, for what is summed over the rows). Between the products stand any ops on elements of
// scores, and reductions over the columns.
//
// Example, forward: s = q k', p = softmax(s * scale + mask), o = p v. Rows: those of q and o; columns: those of k and v.
//
// With a maximum and a sum of exponentials between the products one round over the columns is enough: the maximum so far stands for the
// maximum, and what was summed up is scaled when it grows (Milakov and Gimelshein 2018; Dao et al. 2022).
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_TILES_H
#define PARA_LOWER_TILES_H

#include "OpFacts.h"

#include "mlir/IR/Block.h"

namespace para {

/// The tensor that is not stored, and how a kernel goes over it.
struct TileSpace {
  llvm::SmallVector<int64_t> batch;
  int64_t rows = 0, columns = 0;
  bool byColumns = false; ///< a block keeps columns and goes over the rows

  int64_t scores() const;
  int64_t allRows() const;
  int64_t outer() const { return byColumns ? columns : rows; }
  int64_t inner() const { return byColumns ? rows : columns; }
  // Loops of a kernel: those of the batch, then these.
  unsigned outerLoop() const { return batch.size(); }
  unsigned innerLoop() const { return batch.size() + 1; }
  unsigned depthLoop() const { return batch.size() + 2; } ///< over what a product sums up, or the width of what is summed up
  /// The coordinates, in these loops, of an element of scores in a tensor of `shape`; and of one of a row.
  llvm::SmallVector<mlir::AffineExpr> scoreIndex(llvm::ArrayRef<int64_t> shape, mlir::MLIRContext *ctx) const;
  llvm::SmallVector<mlir::AffineExpr> rowIndex(llvm::ArrayRef<int64_t> shape, mlir::MLIRContext *ctx) const;

  mlir::Attribute toAttr(mlir::MLIRContext *ctx) const;
  static TileSpace fromAttr(mlir::Attribute attr);
  static constexpr llvm::StringLiteral attrName = "rt.tiles"; ///< of rt.fused and rt.kernel
};

/// A product that makes scores, or takes them and sums over rows or columns.
struct TileProduct {
  bool makesScores = false, sumsRows = false;
  unsigned score = 0, other = 0; ///< operands of a product that takes scores
  int64_t depth = 0;             ///< what a product of scores sums over; else the width of its result
};
/// The product that `op` is in `space`, where `isScore` tells which values are scores.
std::optional<TileProduct> asTileProduct(mlir::Operation *op, const TileSpace &space, llvm::function_ref<bool(mlir::Value)> isScore);
/// Whether a reduction is over the columns of scores.
bool isOverColumns(mlir::Operation *op, const TileSpace &space, FactsCache &facts);

/// Elements of an operand of a product, those of one row or column one after another in the block's memory.
struct TileOperand {
  mlir::Value value;
  llvm::SmallVector<mlir::AffineExpr> index;
  int64_t depth;
  bool isOuter;
  int64_t offset = 0, stride = 0; ///< bytes from the memory's start, elements from row to row
  bool isSame(const TileOperand &o) const { return value == o.value && index == o.index && depth == o.depth && isOuter == o.isOuter; }
};
/// Operand `number` of a product; `loops` are those of the kernel that its own loops are, after the batch's.
std::optional<TileOperand> findTileOperand(mlir::Operation *op, unsigned number, llvm::ArrayRef<unsigned> loops, int64_t depth, bool isOuter,
                                           const TileSpace &space, FactsCache &facts);
struct TileScore {
  mlir::Operation *op;
  unsigned outer, inner; ///< numbers of operands
  int64_t depth;
};
struct TileSum {
  mlir::Operation *op;
  mlir::Value score;
  unsigned operand;
  int64_t depth;
  mlir::Value output;
  mlir::AffineExpr place; ///< of an element in the output, in the loops
  unsigned round = 0;
  int division = 0; ///< in one round: how often the sum is divided by that of exponentials
};
struct TileReduction {
  mlir::Operation *op;
  unsigned round = 0;
};
/// Scores that are stored all the same.
struct TileStore {
  mlir::Value value;
  unsigned round = 0;
};
/// A reduction of a row of what is no scores, over its depth.
struct TileRowReduction {
  mlir::Operation *op;
  int64_t depth;
};

struct TileBody {
  TileSpace space;
  mlir::Block *block;
  llvm::SmallVector<TileOperand> operands;
  llvm::SmallVector<TileScore> scores;
  llvm::SmallVector<TileSum> sums;
  llvm::SmallVector<TileReduction> reductions;
  llvm::SmallVector<TileRowReduction> rowReductions;
  llvm::SmallVector<TileStore> stores;
  llvm::SmallVector<mlir::Value> rowOutputs; ///< one element a row
  unsigned rounds = 1;                       ///< over the inner dimension
  /// The maximum and the sum of exponentials that the first round finds together; null where there are none.
  mlir::Operation *maximum = nullptr, *exponentials = nullptr;

  /// Whether products are made by tensor cores, of narrow elements; a warp has 16 rows of the outer dimension then. Else 16 x 16 threads each
  /// have some rows, one after another, and every 16th column.
  bool onTensorCores = false;
  int64_t warps = 8;
  // Rows and columns of scores that a thread has.
  int64_t outerOfThread = 0, innerOfThread = 0;
  int64_t sharedBytes = 0, sumOffset = 0; ///< `sumOffset`: where a tile of scores lies; tensor cores take them from registers
  mlir::Type sumType;                     ///< that sums are made in
  mlir::Type operandType;                 ///< of operands in the block's memory
  int64_t vector = 1;                     ///< such elements in 16 bytes
  int64_t threads() const { return 32 * warps; }
  /// Threads that share a row.
  int64_t sharing() const { return onTensorCores ? 4 : 16; }
  int64_t outerTile() const { return onTensorCores ? 16 * warps : 16 * outerOfThread; }
  int64_t innerTile() const { return sharing() * innerOfThread; }
  int64_t paddedDepth(int64_t depth) const;
  int64_t scoreStride() const { return innerTile() + vector; }
  /// Of a row of a result, elements that a thread has, and how many of them lie side by side.
  int64_t sumsOf(int64_t depth) const;
  int64_t neighbours() const { return onTensorCores ? 2 : vector; }
  /// Whether a sum goes through the block's memory on its way out, which needs no operands any more.
  bool storesTogether(const TileSum &sum) const;

  /// Finds all of that; false where a block has not the memory or a thread not the registers for it.
  static bool analyze(mlir::Block *block, const TileSpace &space, FactsCache &facts, TileBody &body);

private:
  bool collect(FactsCache &facts);
  bool choose();
  /// With these numbers for a thread; false where it has not the registers, or the block not the memory.
  bool layOut();
  mlir::Type narrowType() const;
};

/// Finds out whether the maximum and the sum of exponentials take one round, and all others the same one.
void joinRounds(TileBody &body, FactsCache &facts);

/// For each tile of the outer dimension the first tile of the inner one that does not come to nothing, and the one behind the last. Empty
/// where all are needed, or it is not known.
llvm::SmallVector<std::pair<int64_t, int64_t>> findNeededTiles(const TileBody &body, FactsCache &facts);

} // namespace para

#endif
