//===- KernelBody.h - The passes of a fused kernel -----------------*- C++ -*-===//
//
// A kernel has `rows`, told by the loops `outer`. In each row it makes a few passes, one after another; a pass is a loop nest
// over the row which finishes reductions and stores values. Example, softmax over the last dimension of [8, 12, 100]: rows 96,
// passes {max}, {sum, kept exp}, {store}, each over the inner loop 100.
//
// Beside that it may sum columns over strips of rows (marked reductions of [strips, rows of each, columns] over the rows): a GPU's block then
// goes through a strip, and its passes add each row to what it has so far.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_KERNELBODY_H
#define PARA_LOWER_KERNELBODY_H

#include "OpFacts.h"
#include "Target.h"

#include "mlir/IR/Block.h"

#include "llvm/ADT/MapVector.h"

namespace para {

struct KernelPass {
  llvm::SmallVector<int64_t> inner;
  llvm::SmallVector<mlir::Operation *> reductions;
  llvm::SmallVector<unsigned> outputs;
  llvm::SmallVector<mlir::Value> kept; ///< written to scratch for later passes
  llvm::SmallVector<mlir::Operation *> stripSums; ///< to which it adds what it has of the row
  llvm::SmallVector<mlir::Value> read; ///< on a GPU: those of which it reads the row from memory
};

struct KernelBody {
  mlir::Block *block;
  llvm::SmallVector<mlir::Value> outputs;
  int64_t rows = 1;
  int64_t strips = 0; ///< each of as many rows, whose columns are summed; 0 if none are
  llvm::SmallVector<int64_t> outer; ///< a strip's rows are told by loops of their own
  std::vector<KernelPass> passes;
  /// The pass in which a value is stored to an output or to scratch, for the values that later passes read back.
  llvm::MapVector<mlir::Value, unsigned> storedIn;
  /// Of kept values, those in whose place another is written: by the pass that is the last to read them, element by element.
  llvm::MapVector<mlir::Value, mlir::Value> placeOf;

  bool isFlat() const { return passes.size() == 1 && passes[0].reductions.empty() && passes[0].inner.empty(); }
  /// Coordinates of an element of a tensor of `shape` in the loops: outer ones first, then `inner` ones.
  llvm::SmallVector<mlir::AffineExpr> coordinates(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> inner, mlir::MLIRContext *ctx) const;
  /// The number of the element within the row.
  mlir::AffineExpr innerNumber(llvm::ArrayRef<int64_t> inner, mlir::MLIRContext *ctx) const;

  static KernelBody analyze(mlir::Block *block, FactsCache &facts, const KernelTarget &target);
};

} // namespace para

#endif
