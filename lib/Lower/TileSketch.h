//===- TileSketch.h - What elements of scores are made of ----------*- C++ -*-===//
#ifndef PARA_LOWER_TILESKETCH_H
#define PARA_LOWER_TILESKETCH_H

#include "KernelEmitter.h"
#include "Tiles.h"

namespace para {

/// Code of elements of scores, made to be looked at.
class TileSketch {
public:
  TileSketch(const TileBody &body, FactsCache &facts);
  ~TileSketch();

  /// Stands for the element of `v`, of which nothing is known.
  mlir::Value leaf(mlir::Value v);
  mlir::Value element(mlir::Value v);
  /// Where the kernel's argument `v` is.
  mlir::Value address(mlir::Value v) const { return emitter.pointers.lookup(v); }
  /// Numbers of the element's row and column.
  mlir::Value row() const { return emitter.loopValues[body.space.byColumns ? body.space.innerLoop() : body.space.outerLoop()]; }
  mlir::Value column() const { return emitter.loopValues[body.space.byColumns ? body.space.outerLoop() : body.space.innerLoop()]; }

private:
  mlir::Value unknown(mlir::Type type);
  const TileBody &body;
  std::function<mlir::Value(llvm::StringRef)> number = [this](llvm::StringRef) { return unknown(b.getI64Type()); };
  KernelBody nothingKept;
  mlir::Block code;
  mlir::ImplicitLocOpBuilder b;
  KernelEmitter emitter;
};

} // namespace para

#endif
