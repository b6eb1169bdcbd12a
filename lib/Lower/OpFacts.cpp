//===- OpFacts.cpp - What the lower stage knows of an op ------------------===//
#include "OpFacts.h"

#include "IndexMath.h"
#include "MathFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace para;

/// Multiplications that a processor's vector unit makes in the time of one division.
static constexpr unsigned divisionWork = 8;

namespace {
/// Notes what is pulled; makes code that is thrown away.
class Recorder : public ElementEmitter {
public:
  Recorder(ImplicitLocOpBuilder &b, Operation *op, OpFacts &facts) : ElementEmitter(b), op(op), facts(facts) {}

  Value operand(unsigned number, ArrayRef<Coordinate> index) override {
    OpAccess access{number, {}, false, isGuarded};
    for (const Coordinate &c : index) {
      access.index.push_back(c.affine);
      access.dynamic |= c.dynamic != nullptr;
    }
    facts.accesses.push_back(access);
    last = dummy(getElementTypeOrSelf(op->getOperand(number).getType()));
    pulled.push_back(last);
    return last;
  }
  Value position(const Coordinate &) override { return place(b.getI64Type()); }
  Value shardBegin(ArrayRef<StringRef>, int64_t, int64_t) override { return place(b.getI64Type()); }
  Value shardValid(ArrayRef<StringRef>, int64_t, int64_t) override { return place(b.getI64Type()); }
  Value guarded(Value condition, function_ref<Value()> make, Value otherwise) override {
    bool outer = std::exchange(isGuarded, true);
    Value made = make();
    isGuarded = outer;
    return arith::SelectOp::create(b, condition, made, otherwise);
  }
  Value table(DenseElementsAttr values, const Coordinate &) override { return place(values.getElementType()); }
  Type elementType(Type scalar) override { return scalar; }

  Value last;
  SmallVector<Value> pulled;
  bool isGuarded = false;

private:
  Value place(Type type) {
    facts.placed = true;
    return dummy(type);
  }
  /// Of no known value, so that nothing folds.
  Value dummy(Type type) {
    OperationState state(b.getLoc(), "builtin.unrealized_conversion_cast");
    state.addTypes(type);
    return b.create(state)->getResult(0);
  }
  Operation *op;
  OpFacts &facts;
};
} // namespace

bool para::isAccumulate(Operation *op) {
  auto library = dyn_cast<LibraryOpInterface>(op);
  auto call = library ? library.getLibraryCall() : std::nullopt;
  return call && call->kind == LibraryCall::Accumulate;
}

const OpFacts &FactsCache::get(Operation *op) {
  std::unique_ptr<OpFacts> &entry = facts[op];
  if (entry)
    return *entry;
  entry = std::make_unique<OpFacts>();
  OpFacts &f = *entry;
  if (op->getNumResults() != 1)
    return f;
  MLIRContext *ctx = op->getContext();
  f.loops.assign(shapeOf(op->getResult(0)).begin(), shapeOf(op->getResult(0)).end());
  f.resultRank = f.loops.size();
  SmallVector<Coordinate> index;
  if (isAccumulate(op)) {
    f.element = f.accumulate = true;
    OpAccess access{0, {}, false};
    for (unsigned d = 0; d < f.resultRank; ++d)
      access.index.push_back(getAffineDimExpr(d, ctx));
    f.accesses.push_back(access);
    f.cost = f.work = 1;
    return f;
  }
  auto element = dyn_cast<ElementOpInterface>(op);
  if (!element)
    return f;
  f.element = true;
  SmallVector<int64_t> reduced = element.getReductionExtents();
  f.reduction = !reduced.empty();
  llvm::append_range(f.loops, reduced);
  for (unsigned d = 0; d < f.loops.size(); ++d)
    index.push_back({getAffineDimExpr(d, ctx)});
  Block scratch;
  ImplicitLocOpBuilder b(op->getLoc(), ctx);
  b.setInsertionPointToEnd(&scratch);
  Recorder recorder(b, op, f);
  Value result = element.emitElement(recorder, 0, index);
  bool isUnchanged = f.accesses.size() == 1 && result == recorder.last;
  f.move = !f.reduction && isUnchanged;
  if (auto product = result.getDefiningOp<arith::MulFOp>())
    f.multiplies = recorder.pulled.size() == 2 && ((product.getLhs() == recorder.pulled[0] && product.getRhs() == recorder.pulled[1]) ||
                                                   (product.getLhs() == recorder.pulled[1] && product.getRhs() == recorder.pulled[0]));
  if (auto compare = result.getDefiningOp<arith::CmpFOp>()) {
    using P = arith::CmpFPredicate;
    f.equates = llvm::is_contained({P::OEQ, P::UEQ, P::ONE, P::UNE}, compare.getPredicate());
  }
  if (isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(result.getDefiningOp()))
    f.converts = recorder.pulled.size() == 1 && result.getDefiningOp()->getOperand(0) == recorder.last;
  f.whole = f.reduction && isUnchanged && !f.accesses[0].dynamic && productOf(f.loops) == sizeOf(op->getOperand(f.accesses[0].operand)) &&
            llvm::all_of(f.accesses[0].index, [](AffineExpr e) { return isa<AffineDimExpr>(e); });
  auto isDivision = [](Operation &made) { return isa<arith::DivFOp, math::SqrtOp>(made); };
  auto isNothing = [](Operation &made) { return isa<arith::ConstantOp, UnrealizedConversionCastOp>(made); };
  Block functions; // apart: the facts are of the op's own element
  ImplicitLocOpBuilder inner(op->getLoc(), ctx);
  inner.setInsertionPointToEnd(&functions);
  for (Operation &made : scratch) {
    if (made.getDialect() && isa<math::MathDialect>(made.getDialect()) && functions::expand(inner, &made, made.getOperands()))
      continue;
    f.work += isNothing(made) ? 0 : isDivision(made) ? divisionWork : 1;
  }
  for (Operation &made : functions)
    f.work += isNothing(made) ? 0 : isDivision(made) ? divisionWork : 1;
  functions.dropAllReferences();
  f.work += f.reduction ? 1 : 0;
  for (Operation &made : scratch) {
    if (isa<arith::ConstantOp, UnrealizedConversionCastOp>(made))
      continue;
    bool cheap = isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::SqrtOp>(made);
    f.expensive |= isa_and_nonnull<math::MathDialect>(made.getDialect()) && !cheap;
    f.cost += isa<arith::DivFOp, math::SqrtOp>(made) ? 4 : 1;
  }
  return f;
}

bool para::keepsRow(Operation *op, const OpFacts &f, const OpAccess &access, int64_t rows) {
  if (access.dynamic)
    return false;
  MLIRContext *ctx = op->getContext();
  ArrayRef<int64_t> from = shapeOf(op->getOperand(access.operand)), to(f.loops.data(), f.resultRank);
  if (rows == 0)
    return productOf(from) == productOf(f.loops) &&
           sameFunction(linearize(access.index, from, ctx),
                        linearize(llvm::map_to_vector(llvm::seq<unsigned>(0, f.loops.size()), [&](unsigned d) { return getAffineDimExpr(d, ctx); }), f.loops, ctx), f.loops);
  auto p = prefixOf(to, rows), q = prefixOf(from, rows);
  if (!p || !q)
    return false;
  SmallVector<AffineExpr> own;
  for (unsigned d = 0; d < *p; ++d)
    own.push_back(getAffineDimExpr(d, ctx));
  return sameFunction(linearize(own, to.take_front(*p), ctx),
                      linearize(ArrayRef<AffineExpr>(access.index).take_front(*q), from.take_front(*q), ctx), f.loops);
}

bool para::isContiguous(const View &view, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides = stridesOf(shape);
  for (auto [size, want, have] : llvm::zip_equal(shape, strides, view.strides))
    if (size != 1 && want != have)
      return false;
  return true;
}

Value para::followMove(Value v, SmallVectorImpl<AffineExpr> &index, FactsCache &facts) {
  Operation *op = v.getDefiningOp();
  const OpFacts *f = op ? &facts.get(op) : nullptr;
  if (!f || !f->move || f->accesses[0].dynamic)
    return nullptr;
  SmallVector<AffineExpr> next;
  for (AffineExpr e : f->accesses[0].index)
    next.push_back(e.replaceDims(index));
  index.assign(next.begin(), next.end());
  return op->getOperand(f->accesses[0].operand);
}

View para::viewOf(Value v, FactsCache &facts) {
  View view{v, stridesOf(shapeOf(v)), 0};
  SmallVector<int64_t> shape(shapeOf(v));
  MLIRContext *ctx = v.getContext();
  SmallVector<AffineExpr> index;
  for (unsigned d = 0; d < shape.size(); ++d)
    index.push_back(getAffineDimExpr(d, ctx));
  for (Value current = v; (current = followMove(current, index, facts));) {
    for (AffineExpr &e : index)
      e = linearForm(e, shape).toExpr(ctx);
    LinearForm offset = simplest(linearForm(linearize(index, shapeOf(current), ctx), shape), shape);
    if (!offset.isLinear())
      continue; // A later move may undo what strides cannot tell.
    view.base = current;
    view.offset = offset.constant;
    for (unsigned d = 0; d < shape.size(); ++d)
      view.strides[d] = *offset.factorOf(d);
  }
  return view;
}
