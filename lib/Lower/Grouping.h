//===- Grouping.h - Which ops make one kernel ----------------------*- C++ -*-===//
//
// A kernel has rows (its parallel extent) and works through each row in a few passes: reductions over the row, and stores of
// values of the row. Ops join a kernel if everything they take from within it lies in their own row. What another kernel needs
// and is cheap is computed again there rather than stored.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_GROUPING_H
#define PARA_LOWER_GROUPING_H

#include "OpFacts.h"

#include "para/IR/Phases.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/SetVector.h"

namespace para {

struct Group {
  llvm::SmallVector<mlir::Operation *> ops;    ///< in program order
  llvm::SetVector<mlir::Operation *> clones;   ///< computed here again
  int64_t rows = 0;                            ///< 0 while nothing fixes them
  int64_t strips = 0;                          ///< of rows, over which it sums columns beside what it does with each row; 0 if it does not
  bool opaque = false;                         ///< one op that is no kernel
  std::optional<ChunkPhase> phase;             ///< none: the function's end
};

/// Arguments that are overwritten while microbatches run.
llvm::DenseSet<mlir::Value> findVolatileArguments(mlir::func::FuncOp func);

class Grouping {
public:
  /// `mergesLaunches`: for a target that runs equal kernels as one.
  Grouping(mlir::func::FuncOp func, FactsCache &facts, bool mergesLaunches);

  /// Groups in an order in which they can run.
  std::vector<Group> run();
  /// Values that other groups or calls take from a group, in program order.
  llvm::SmallVector<mlir::Value> outputsOf(const Group &group);
  /// Made of nothing: constants and the like, made again wherever they are used.
  bool isGenerator(mlir::Operation *op);
  int64_t rowsAlone(mlir::Operation *op);

private:
  void collect();
  void joinProducers();
  /// Sums over strips of rows into kernels that make these rows, or read them.
  void joinStripSums();
  bool joinStripSum(int sum, int host);
  /// Kernels of other things that `v` is read by, best first.
  llvm::SmallVector<int> readersOf(mlir::Value v, mlir::Operation *sum);
  void cloneCheap();
  void joinSiblings();
  /// Kernels that make single numbers of such arguments.
  void joinNumbers();
  bool makesNumbers(const Group &group);
  size_t operandsOf(const Group &group) { return inputsOf(group).size() + outputsOf(group).size(); }
  /// Sums over the columns of different tensors of one shape, where no call stands between them.
  void joinColumns();
  std::vector<Group> sorted();
  /// Takes a group apart again, one group an op.
  void takeApart(int group);

  bool merge(int a, int b);
  bool isValid(llvm::ArrayRef<mlir::Operation *> ops, int64_t rows, int64_t strips);
  bool isAligned(mlir::Operation *op, const OpAccess &access, int64_t rows);
  bool hasPathOutside(int a, int b);
  bool readsRows(const Group &group);
  /// Whether the later of two kernels computes something again and the backward pass works between them. Together they would run where the
  /// earlier one does, and with them all that they take: layers which are computed again one after the other would be there at once.
  bool separatesRepeats(const Group &x, const Group &y);
  llvm::SmallVector<int> dependencies(int group);
  llvm::SmallVector<mlir::Value> inputsOf(const Group &group);
  bool planClone(mlir::Value v, llvm::SetVector<mlir::Operation *> &chain, llvm::SetVector<mlir::Value> &leaves, unsigned &cost);
  int find(mlir::Operation *op) const;

  mlir::func::FuncOp func;
  FactsCache &facts;
  bool mergesLaunches;
  std::vector<Group> groups;
  llvm::DenseMap<mlir::Operation *, int> groupOf;
  llvm::DenseMap<mlir::Operation *, unsigned> position;
  llvm::DenseMap<mlir::Operation *, bool> generators;
  /// For each op with an effect on other ranks, the one before it.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> effectBefore;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int, 2>> cloneHomes; ///< groups which compute an op again
  llvm::DenseSet<mlir::Value> recomputed;
  llvm::DenseSet<mlir::Value> volatileArguments;
};

} // namespace para

#endif
