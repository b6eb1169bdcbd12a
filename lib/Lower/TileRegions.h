//===- TileRegions.h - Which ops hang together by scores -----------*- C++ -*-===//
#ifndef PARA_LOWER_TILEREGIONS_H
#define PARA_LOWER_TILEREGIONS_H

#include "Tiles.h"

#include "para/IR/Phases.h"

#include "llvm/ADT/SetVector.h"

namespace para {

/// Ops on scores that hang together.
struct TileRegion {
  TileSpace space;
  mlir::Operation *seed = nullptr;
  llvm::SetVector<mlir::Value> scores, rows;
  llvm::SetVector<mlir::Operation *> ops; ///< all but sums
  llvm::SetVector<mlir::Operation *> products, reductions, sums;
  llvm::SetVector<mlir::Value> stored; ///< scores that others read, too

  std::optional<TileProduct> productOf(mlir::Operation *op) const {
    return asTileProduct(op, space, [&](mlir::Value v) { return scores.contains(v); });
  }
  /// From the product `seed` to all users of scores, and to the products that these take scores from, too.
  static std::optional<TileRegion> find(mlir::Operation *seed, FactsCache &facts);
};

/// A call of a library for a product of matrices.
bool isMatrixProduct(mlir::Operation *op);
/// When an op runs, and whether it computes something again.
std::pair<ChunkPhase, mlir::Attribute> timeOf(mlir::Operation *op);

} // namespace para

#endif
