//===- KernelTiles.h - Kernels that keep scores in registers -------*- C++ -*-===//
//
// Emits a kernel of tiles (Tiles.h) as what a thread of a GPU's block does. Operands go through the block's memory, tile by tile. Without
// tensor cores 16 x 16 threads each make some scores, and 16 of a warp share rows; scores go through the block's memory from the thread
// that made them to those that sum them up. On tensor cores the four threads of a row have them in registers as the next product takes them.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_KERNELTILES_H
#define PARA_LOWER_KERNELTILES_H

#include "DeviceCalls.h"
#include "KernelEmitter.h"
#include "Tiles.h"

#include "para/Lower/Rt.h"

namespace para {

class KernelTiles {
public:
  /// `alignments`: what the launch's addresses are multiples of, by buffer.
  KernelTiles(rt::KernelOp kernel, FactsCache &facts, llvm::ArrayRef<int64_t> alignments);
  /// Writes the function in front of the kernel and notes its extent. `describes`: notes what it does as `rt.facts`, too.
  void emit(bool describes);

private:
  using Values = llvm::SmallVector<mlir::Value>;

  void enter(KernelEmitter &emitter);
  void leaveDepth(KernelEmitter &emitter);
  void reduceRow(KernelEmitter &emitter, const TileRowReduction &reduction);
  // KernelTileRounds.cpp
  class Round;
  void emitRound(KernelEmitter &emitter, unsigned round);
  void loadOperand(KernelEmitter &emitter, const TileOperand &operand, mlir::Value base);
  // KernelTileProducts.cpp
  /// Elements of scores of this thread, row by row, of their operands in the block's memory.
  Values multiply(const TileScore &score);
  /// `before`, and the tile of scores times the operand.
  Values addProduct(const TileSum &sum, llvm::ArrayRef<mlir::Value> scores, mlir::ValueRange before);
  // KernelTensors.cpp: the same by tensor cores.
  Values multiplyOnTensorCores(const TileScore &score);
  Values addProductOnTensorCores(const TileSum &sum, llvm::ArrayRef<mlir::Value> scores, mlir::ValueRange before);
  mlir::Value pack(mlir::Value low, mlir::Value high);
  void shareScores(llvm::ArrayRef<mlir::Value> elements);

  // Where in a tile the rows and columns of this thread are, and in a row of a result what it has of it.
  mlir::Value rowOf(int64_t number);
  mlir::Value columnOf(int64_t number);
  mlir::Value depthOf(int64_t number);
  // KernelTileResults.cpp
  void storeSum(KernelEmitter &emitter, const TileSum &sum, mlir::ValueRange elements);
  void storeTogether(KernelEmitter &emitter, const TileSum &sum, mlir::ValueRange elements);
  void storeScores(KernelEmitter &emitter, mlir::Value v, llvm::ArrayRef<mlir::Value> elements);
  void storeRows(KernelEmitter &emitter);
  void describe(const KernelEmitter &emitter);

  /// Sets the loops to an element of scores of this thread.
  void moveTo(KernelEmitter &emitter, int64_t outer, int64_t inner);
  mlir::Value acrossRow(mlir::Value part, ReductionKind kind);
  mlir::Value at(int64_t bytes, mlir::Value element);
  mlir::Value index(int64_t value);
  mlir::Value sum(mlir::Value x, mlir::Value y);
  mlir::Value product(mlir::Value x, int64_t y);
  mlir::Value zero();
  mlir::Value convert(mlir::Value x, mlir::Type scalar);
  Values loop(mlir::Value from, mlir::Value to, int64_t step, mlir::ValueRange before, llvm::function_ref<Values(mlir::Value, Values)> make);
  /// `make` where `condition` holds; always if it is null.
  void where(mlir::Value condition, llvm::function_ref<void()> make);
  unsigned passOf(int64_t depth);

  rt::KernelOp kernel;
  FactsCache &facts;
  llvm::ArrayRef<int64_t> alignments;
  mlir::ImplicitLocOpBuilder b;
  DeviceCalls device;
  TileBody body;
  const TileSpace &space;
  KernelBody elements; ///< of what is no tile: nothing is kept
  mlir::Value sharedMemory, threadNumber;
  mlir::Value row, column; ///< the first row of the thread, and its number among those that share it
  Values batchValues;
  mlir::Value outerBase, innerBase;
  mlir::Value firstInner, lastInner; ///< tiles of the inner dimension
  llvm::SmallVector<std::pair<int64_t, int64_t>> needed;
  Values outerPlaces, innerPlaces; ///< of this thread's rows and columns, within the extents
  Values outerInside, innerInside; ///< whether they are; null where all are
  /// By row of the thread: what reductions have found.
  llvm::SmallVector<llvm::DenseMap<mlir::Value, mlir::Value>> found;
  llvm::SmallVector<int64_t> depths; ///< loops of these depths are passes of the description
  std::vector<MemoryStream> streams;
};

} // namespace para

#endif
