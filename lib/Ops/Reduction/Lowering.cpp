//===- Lowering.cpp - Elements of reductions ------------------------------===//
#include "Reduction/Reduction.h"

using namespace mlir;
using namespace para;

SmallVector<int64_t> ReduceOp::getReductionExtents() {
  SmallVector<int64_t> extents, dims(getDims());
  llvm::sort(dims);
  for (int64_t d : dims)
    extents.push_back(getInput().getType().getDimSize(d));
  return extents;
}

ReductionKind ReduceOp::getCombiner() { return getKind(); }

Value ReduceOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  int64_t rank = getInput().getType().getRank(), kept = getType().getRank(), next = 0;
  SmallVector<Coordinate> input;
  for (int64_t d = 0; d < rank; ++d)
    input.push_back(llvm::is_contained(getDims(), d) ? index[kept++] : index[next++]);
  return emitter.operand(0, input);
}

Value ExtentOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate>) {
  double extent = 1;
  for (int64_t d : getDims())
    extent *= getInput().getType().getDimSize(d);
  return emitter.constant(getType().getElementType(), extent);
}

Value BatchTermOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) { return emitter.operand(0, index); }
