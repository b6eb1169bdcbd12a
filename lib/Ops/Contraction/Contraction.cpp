#include "Contraction/Contraction.h"

using namespace mlir;
using namespace para;

#define GET_OP_CLASSES
#include "Contraction/Contraction.cpp.inc"

namespace {
/// Dimensions of an operand that are neither batch nor contracted.
SmallVector<int64_t> freeDims(int64_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
      dims.push_back(dim);
  return dims;
}
} // namespace

LogicalResult DotOp::verify() {
  if (failed(verifyProductTypes(*this, getLhs().getType(), getRhs().getType(), getType()))) // C2
    return failure();
  auto lhs = getLhs().getType(), rhs = getRhs().getType();
  auto distinct = [](ArrayRef<int64_t> batch, ArrayRef<int64_t> contract, int64_t rank) {
    llvm::SmallDenseSet<int64_t> seen;
    for (int64_t dim : llvm::concat<const int64_t>(batch, contract))
      if (dim < 0 || dim >= rank || !seen.insert(dim).second)
        return false;
    return true;
  };
  if (!distinct(getLhsBatch(), getLhsContract(), lhs.getRank()) || !distinct(getRhsBatch(), getRhsContract(), rhs.getRank()) ||
      getLhsBatch().size() != getRhsBatch().size() || getLhsContract().size() != getRhsContract().size())
    return emitOpError("batch and contracted dimensions must exist, be distinct and come in pairs");
  SmallVector<int64_t> shape;
  for (auto [l, r] : llvm::zip(getLhsBatch(), getRhsBatch())) {
    if (lhs.getDimSize(l) != rhs.getDimSize(r)) // C1
      return emitOpError("batch sizes differ: ") << lhs.getDimSize(l) << " and " << rhs.getDimSize(r);
    shape.push_back(lhs.getDimSize(l));
  }
  for (auto [l, r] : llvm::zip(getLhsContract(), getRhsContract()))
    if (lhs.getDimSize(l) != rhs.getDimSize(r)) // C1
      return emitOpError("contracted sizes differ: ") << lhs.getDimSize(l) << " and " << rhs.getDimSize(r);
  for (int64_t dim : freeDims(lhs.getRank(), getLhsBatch(), getLhsContract()))
    shape.push_back(lhs.getDimSize(dim));
  for (int64_t dim : freeDims(rhs.getRank(), getRhsBatch(), getRhsContract()))
    shape.push_back(rhs.getDimSize(dim));
  if (getType().getShape() != ArrayRef(shape))
    return emitOpError("result must be ") << RankedTensorType::get(shape, getType().getElementType());
  return success();
}

Structure DotOp::getStructure() {
  Structure structure;
  auto lhs = getLhs().getType(), rhs = getRhs().getType();
  ValueFactors l(lhs.getRank()), r(rhs.getRank()), result;
  auto add = [&](int64_t size, FactorKind kind) {
    return size == 1 ? DimFactors() : DimFactors{structure.addFactor(size, kind)};
  };
  for (auto [a, b] : llvm::zip(getLhsBatch(), getRhsBatch()))
    result.push_back(l[a] = r[b] = add(lhs.getDimSize(a), FactorKind::Parallel));
  for (auto [a, b] : llvm::zip(getLhsContract(), getRhsContract()))
    l[a] = r[b] = add(lhs.getDimSize(a), FactorKind::Reduction);
  for (int64_t dim : freeDims(lhs.getRank(), getLhsBatch(), getLhsContract()))
    result.push_back(l[dim] = add(lhs.getDimSize(dim), FactorKind::Parallel));
  for (int64_t dim : freeDims(rhs.getRank(), getRhsBatch(), getRhsContract()))
    result.push_back(r[dim] = add(rhs.getDimSize(dim), FactorKind::Parallel));
  structure.operands = {l, r};
  structure.results = {result};
  structure.linearity = {Linearity::Alone, Linearity::Alone};
  return structure;
}

PrecisionRule DotOp::getPrecisionRule() { return PrecisionRule::Multiplies; }
bool DotOp::accumulatesWide() { return true; }

double DotOp::getFlops() { return 2 * para::detail::getIterationPoints(*this); }

// The cotangent [batch, lhs free, rhs free] times the other operand gives [batch, free, contracted], then permuted to the place.
LogicalResult DotOp::buildGradient(OpBuilder &builder, ValueRange cotangents, MutableArrayRef<Value> gradients) {
  TensorBuilder t(getLoc(), builder);
  SmallVector<int64_t> lhsFree = freeDims(getLhs().getType().getRank(), getLhsBatch(), getLhsContract());
  SmallVector<int64_t> rhsFree = freeDims(getRhs().getType().getRank(), getRhsBatch(), getRhsContract());
  int64_t batch = getLhsBatch().size();
  SmallVector<int64_t> batchDims = llvm::to_vector(llvm::seq<int64_t>(0, batch));
  auto range = [](int64_t begin, size_t count) { return llvm::to_vector(llvm::seq<int64_t>(begin, begin + int64_t(count))); };
  SmallVector<int64_t> lhsPart = range(batch, lhsFree.size()), rhsPart = range(batch + lhsFree.size(), rhsFree.size());

  auto gradient = [&](Value other, ArrayRef<int64_t> otherBatch, ArrayRef<int64_t> otherFree, ArrayRef<int64_t> otherContract,
                      ArrayRef<int64_t> summed, ArrayRef<int64_t> ownBatch, ArrayRef<int64_t> ownFree, ArrayRef<int64_t> ownContract) {
    Value product = t.dot(cotangents[0], other, batchDims, otherBatch, summed, otherFree);
    // Dimensions of `product`: batch, own free, then the contracted ones in the order they stand in `other`.
    SmallVector<int64_t> ascending(otherContract);
    llvm::sort(ascending);
    SmallVector<int64_t> permutation(ownBatch.size() + ownFree.size() + ownContract.size());
    int64_t place = 0;
    for (int64_t dim : ownBatch)
      permutation[dim] = place++;
    for (int64_t dim : ownFree)
      permutation[dim] = place++;
    for (int64_t dim : ascending)
      permutation[ownContract[llvm::find(otherContract, dim) - otherContract.begin()]] = place++;
    return t.transpose(product, permutation);
  };
  gradients[0] = gradient(getRhs(), getRhsBatch(), rhsFree, getRhsContract(), rhsPart, getLhsBatch(), lhsFree, getLhsContract());
  gradients[1] = gradient(getLhs(), getLhsBatch(), lhsFree, getLhsContract(), lhsPart, getRhsBatch(), rhsFree, getRhsContract());
  return success();
}

void para::registerContractionOps(ParaDialect &dialect) {
  dialect.addFamily<
#define GET_OP_LIST
#include "Contraction/Contraction.cpp.inc"
      >();
}
