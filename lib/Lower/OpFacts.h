//===- OpFacts.h - What the lower stage knows of an op ------------*- C++ -*-===//
//
// Found by asking the op for one element with symbolic coordinates: which elements of its operands it reads, and what that
// costs. Nothing else is told by ops.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_OPFACTS_H
#define PARA_LOWER_OPFACTS_H

#include "para/Interfaces/Element.h"
#include "para/Interfaces/Library.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>

namespace para {

struct OpAccess {
  unsigned operand;
  /// Coordinates in the loops of the op (result dimensions, then reduction loops).
  llvm::SmallVector<mlir::AffineExpr> index;
  /// Some coordinate depends on data.
  bool dynamic;
  /// Read where a condition holds only.
  bool guarded = false;
};

struct OpFacts {
  llvm::SmallVector<int64_t> loops; ///< extents: result dimensions, then reduction loops
  unsigned resultRank = 0;
  llvm::SmallVector<OpAccess> accesses;
  bool element = false;    ///< computed element by element
  bool move = false;       ///< the element is one of the operand, unchanged
  bool reduction = false;
  bool whole = false;      ///< a reduction of all elements of one operand, unchanged, each taken once
  bool multiplies = false; ///< the element is the product of one of each of two operands
  bool converts = false;   ///< the element is one of the operand in another floating type
  bool equates = false;    ///< tells whether numbers are equal, to the last bit
  bool accumulate = false; ///< sums over microbatches
  bool expensive = false;  ///< has a transcendental function
  bool placed = false;     ///< depends on where the element is, beside what it reads there
  unsigned cost = 0;       ///< arithmetic operations an element
  unsigned work = 0;       ///< the same with transcendental functions as the arithmetic they become, divisions by the time they take
};

class FactsCache {
public:
  const OpFacts &get(mlir::Operation *op);
  /// Before `op` is erased: another may come to lie where it was.
  void forget(mlir::Operation *op) { facts.erase(op); }

private:
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<OpFacts>> facts;
};

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()).getShape(); }
inline int64_t sizeOf(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()).getNumElements(); }
/// Bytes of one element in memory: a bool takes one.
inline int64_t elementBytes(mlir::Type type) { return (mlir::getElementTypeOrSelf(type).getIntOrFloatBitWidth() + 7) / 8; }
inline int64_t bytesOf(mlir::Value v) { return sizeOf(v) * elementBytes(v.getType()); }
bool isAccumulate(mlir::Operation *op);

/// On a reduction of [strips, rows of each, columns] over the rows: a kernel that has these rows can make it beside what it does with each.
constexpr llvm::StringLiteral stripSumMark = "rt.strip_sum";
/// What such sums of a kernel may take of a block's memory: they stay there while the block goes through its strip.
constexpr int64_t mostStripSumBytes = 48 << 10;
inline bool isStripSum(mlir::Operation *op) { return op->hasAttr(stripSumMark); }
inline int64_t stripsOf(mlir::Operation *stripSum) { return shapeOf(stripSum->getOperand(0))[0]; }
inline int64_t rowsOf(mlir::Operation *stripSum) { return stripsOf(stripSum) * shapeOf(stripSum->getOperand(0))[1]; }

/// On a pad or a slice of the last dimension between a matrix and one whose rows lie apart (CallsRows.cpp): a kernel with the op goes through rows.
constexpr llvm::StringLiteral rowsMark = "rt.rows";
inline int64_t rowsOfMarked(mlir::Operation *op) { return sizeOf(op->getResult(0)) / shapeOf(op->getResult(0)).back(); }

/// Whether the access of `op`, the rows of which are the leading dimensions of that product, stays in the operand's row of the same number.
/// With 0 rows: whether it is to the element of the same number.
bool keepsRow(mlir::Operation *op, const OpFacts &facts, const OpAccess &access, int64_t rows);

/// A value as strides into the buffer of another: element d is at offset + sum of strides[i] * d[i].
struct View {
  mlir::Value base;
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;
};
/// What `v` has its elements from, if a move made it: `index`, of an element of `v`, becomes its place there. Else null, and `index` stays.
mlir::Value followMove(mlir::Value v, llvm::SmallVectorImpl<mlir::AffineExpr> &index, FactsCache &facts);
/// Follows unchanged elements (reshapes, transposes, slices, broadcasts) as far as strides can tell them.
View viewOf(mlir::Value v, FactsCache &facts);
/// Row-major and complete: the buffer of `view.base` from `view.offset` on is the value.
bool isContiguous(const View &view, llvm::ArrayRef<int64_t> shape);

} // namespace para

#endif
