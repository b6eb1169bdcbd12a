//===- WeighTerms.h - Terms of the loss that are a microbatch's own ---------===//
//
// A term made of a microbatch's own statistics is replaced by the microbatches' mean, weighted by the elements that another term counts
// from data (valid labels), else by rows: an unfinished sum again, as the other terms are. The term's cotangent gets the same weight.
//
// Example, two microbatches of 3 and 5 valid labels: loss = ce + 0.01 * (3/8 * balance of the first + 5/8 * balance of the second).
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_PARTITION_WEIGHTERMS_H
#define PARA_LIB_PARTITION_WEIGHTERMS_H

#include "MicrobatchFacts.h"

#include "para/Ops/TensorBuilder.h"

namespace para {

class TermWeigher {
public:
  /// `originals`: of each value cloned into the phase `prepare`, the value it was cloned from.
  TermWeigher(mlir::func::FuncOp main, MeshAttr mesh, const MicrobatchFacts &facts, const llvm::DenseMap<mlir::Value, mlir::Value> &originals);

  /// Weighs the term (in the forward pass) and its cotangent, whose uses take the results. False if that was done before.
  bool weigh(BatchTermOpInterface term);
  bool hasWeighed() const { return !weighed.empty(); }

  int64_t getRows() const;
  /// `value` once for every row of the batch, summed: over a microbatch's own rows, or (an unfinished sum) over all.
  mlir::Value sumOverRows(TensorBuilder &t, mlir::Operation *like, mlir::Value value, bool own);
  /// Gives a new op the phase and stage of `like`, and its split.
  static void adopt(mlir::Value made, mlir::Operation *like, OpSplit split);

private:
  /// A sum over the microbatch, and over the batch.
  struct Weight {
    mlir::Value own, all;
  };
  std::optional<Weight> findCount(mlir::Type elementType);
  mlir::Value buildMean(mlir::Operation *term, const std::optional<Weight> &weight, bool ownShare);
  mlir::Value countRows(TensorBuilder &t, mlir::Operation *like);
  void passPartial(mlir::Value value);

  mlir::func::FuncOp main;
  const MicrobatchFacts &facts;
  const llvm::DenseMap<mlir::Value, mlir::Value> &originals;
  int64_t microbatches;
  Axis axis;
  llvm::DenseSet<uint64_t> weighed;
};

} // namespace para

#endif
