//===- CallsRows.cpp - Matrices with rows that lie apart ------------------===//
//
// A GPU's library feeds tensor cores 16 bytes at once where each row of a matrix begins at a multiple of that. Rows of 16-bit elements whose number
// is no multiple of eight, as those of logits of 50257 words, begin anywhere. They are given some elements more in memory, and the product steps over them. What
// makes an operand writes zeros there; a product leaves there what was there. Nobody reads either.
//
//===----------------------------------------------------------------------===//
#include "Calls.h"

#include "para/Ops/TensorBuilder.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace para;

/// Elements of 16 bits in 16 bytes.
static constexpr int64_t rowUnit = 8;
/// Of smaller products or matrices it is not worth it.
static constexpr int64_t fewestTerms = 1 << 24, fewestColumns = 64, fewestRows = 64;

static bool isWorth(const MatmulPlan &plan, Value matrix, int64_t columns) {
  int64_t rows = sizeOf(matrix) / std::max<int64_t>(columns, 1);
  return plan.batch.empty() && elementBytes(matrix.getType()) == 2 && columns % rowUnit != 0 && columns >= fewestColumns && rows >= fewestRows &&
         plan.m * plan.n * plan.k >= fewestTerms;
}

bool CallBuilder::mayLieApart(Value v) {
  return llvm::all_of(v.getUsers(), [&](Operation *user) {
    if (isAccumulate(user))
      return false;
    auto library = dyn_cast<LibraryOpInterface>(user);
    std::optional<Call> call = library ? library.getLibraryCall() : std::nullopt;
    if (call)
      return call->kind == Call::Matmul;
    // Calls that are made already, results of the step and kernels of attention take it as it is.
    const OpFacts &f = facts.get(user);
    return f.element && (!f.move || mayLieApart(user->getResult(0)));
  });
}

bool CallBuilder::spreadRows(const MatmulPlan &plan, const View &a, const View &b) {
  int64_t aColumns = plan.aColumn == 1 ? plan.aRow : plan.aColumn, bColumns = plan.bColumn == 1 ? plan.bRow : plan.bColumn;
  return (a.offset == 0 && isWorth(plan, a.base, aColumns) && spreadRows(a.base, aColumns)) ||
         (b.offset == 0 && isWorth(plan, b.base, bColumns) && spreadRows(b.base, bColumns));
}

bool CallBuilder::spreadRows(Value base, int64_t columns) {
  Operation *made = base.getDefiningOp();
  ArrayRef<int64_t> shape = shapeOf(base);
  bool isPacked = llvm::any_of(packed, [&](auto &entry) { return entry.second.value == base || std::get<0>(entry.first) == base.getAsOpaquePointer(); });
  if (!made || !facts.get(made).element || facts.get(made).reduction || shape.back() != columns || isPacked || !mayLieApart(base))
    return false;
  OpBuilder::InsertionGuard keep(builder);
  builder.setInsertionPointAfter(made);
  SmallVector<int64_t> zeros(shape.size(), 0), more(shape.size(), 0);
  more.back() = llvm::alignTo(columns, rowUnit) - columns;
  Value spread = TensorBuilder(made->getLoc(), builder).pad(base, zeros, more), own = ownRows(spread, columns, shape, made);
  spread.getDefiningOp()->setAttr(rowsMark, builder.getUnitAttr());
  base.replaceAllUsesExcept(own, spread.getDefiningOp());
  return true;
}

bool CallBuilder::spreadResult(MatmulPlan &plan, Value result) {
  if (plan.cRow != plan.n || !isWorth(plan, result, plan.n) || !mayLieApart(result))
    return false;
  plan.cRow = llvm::alignTo(plan.n, rowUnit);
  return true;
}

Value CallBuilder::ownRows(Value spread, int64_t columns, ArrayRef<int64_t> shape, Operation *like) {
  Operation *last = spread.getDefiningOp();
  TensorBuilder t(like->getLoc(), builder);
  SmallVector<int64_t> sizes(shapeOf(spread));
  sizes.back() = columns;
  Value own = t.slice(spread, SmallVector<int64_t>(sizes.size(), 0), sizes), result = t.reshape(own, shape);
  own.getDefiningOp()->setAttr(rowsMark, builder.getUnitAttr());
  for (Operation *op = last; op != &*builder.getInsertionPoint(); op = op->getNextNode())
    for (StringRef name : {"para.phase", "para.repeats"}) // it is made when and as its elements are
      if (Attribute attr = like->getAttr(name))
        op->setAttr(name, attr);
  return result;
}
