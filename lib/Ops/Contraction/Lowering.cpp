//===- Lowering.cpp - Elements and calls of products ----------------------===//
#include "Contraction/Contraction.h"

using namespace mlir;
using namespace para;

SmallVector<int64_t> DotOp::getReductionExtents() {
  SmallVector<int64_t> extents;
  for (int64_t d : getLhsContract())
    extents.push_back(getLhs().getType().getDimSize(d));
  return extents;
}

Value DotOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  SmallVector<Coordinate> lhs(getLhs().getType().getRank()), rhs(getRhs().getType().getRank());
  unsigned next = 0;
  for (auto [l, r] : llvm::zip_equal(getLhsBatch(), getRhsBatch()))
    lhs[l] = rhs[r] = index[next++];
  auto takeFree = [&](SmallVector<Coordinate> &side, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    for (int64_t d = 0; d < static_cast<int64_t>(side.size()); ++d)
      if (!llvm::is_contained(batch, d) && !llvm::is_contained(contract, d))
        side[d] = index[next++];
  };
  takeFree(lhs, getLhsBatch(), getLhsContract());
  takeFree(rhs, getRhsBatch(), getRhsContract());
  for (auto [l, r] : llvm::zip_equal(getLhsContract(), getRhsContract()))
    lhs[l] = rhs[r] = index[next++];
  Type type = getType().getElementType();
  Value x = scalar::cast(emitter.b, emitter.operand(0, lhs), type);
  return scalar::mul(emitter.b, x, scalar::cast(emitter.b, emitter.operand(1, rhs), type));
}

std::optional<LibraryCall> DotOp::getLibraryCall() {
  Type type = getType().getElementType();
  if (!(type.isF32() || type.isBF16() || type.isF16() || type.isF64()))
    return std::nullopt;
  LibraryCall call{LibraryCall::Matmul};
  call.lhsBatch.assign(getLhsBatch().begin(), getLhsBatch().end());
  call.rhsBatch.assign(getRhsBatch().begin(), getRhsBatch().end());
  call.lhsContract.assign(getLhsContract().begin(), getLhsContract().end());
  call.rhsContract.assign(getRhsContract().begin(), getRhsContract().end());
  return call;
}
