//===- KernelTiles.h - Kernels that keep scores in registers -------*- C++ -*-===//
//
// Emits a kernel of tiles (Tiles.h) as what a thread of a GPU's block does. 16 x 16 threads: those with the same first number share rows
// of the outer dimension. Operands go through the block's memory, tile by tile; so do scores on their way from the thread that made them
// to those that sum them up, within a warp.
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
  void emitRound(KernelEmitter &emitter, unsigned round);
  void loadOperand(KernelEmitter &emitter, const TileOperand &operand, mlir::Value base);
  /// Elements of scores of this thread, row by row, as the block's memory has their operands.
  Values multiply(const TileScore &score);
  /// Adds the tile of scores that lies in the block's memory, times the operand.
  Values addProduct(const TileSum &sum, mlir::ValueRange before);
  void shareScores(llvm::ArrayRef<mlir::Value> elements);
  void storeSum(KernelEmitter &emitter, const TileSum &sum, mlir::ValueRange elements);
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
  llvm::SmallVector<std::string> numbers;
  llvm::SmallVector<mlir::Type> types;
  llvm::StringMap<mlir::Value> knownNumbers;
  mlir::Block *entry = nullptr;
  mlir::Value sharedMemory, threadNumber, row, column; ///< `row`, `column`: of 16 x 16 threads, as i64
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
