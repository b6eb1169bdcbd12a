//===- TileRounds.cpp - When one round over scores is enough --------------===//
//
// For m = max e, x = exp(e - m), l = sum x, and sums of terms that are x, maybe divided by l, times what depends on neither: exp(e - m')
// with any other m' is x times a number of the row, and so the sums are, too. One round keeps the largest e so far as m', and puts things
// right whenever it grows. What ops compute is read off the code that they emit.
//
//===----------------------------------------------------------------------===//
#include "TileSketch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace para;

namespace {
/// How often an element has the factor x, and how often l; or that it is zero, which is any number of times either.
struct Degrees {
  int x = 0, l = 0;
  bool isZero = false;
};

class Factors {
public:
  Factors(Value x, Value l, Value m) : x(x), l(l), m(m) {}

  std::optional<Degrees> of(Value v) {
    auto [it, fresh] = known.try_emplace(v, std::nullopt);
    if (!fresh)
      return it->second;
    std::optional<Degrees> result = find(v);
    return known[v] = result;
  }

private:
  std::optional<Degrees> find(Value v) {
    if (v == x)
      return Degrees{1, 0};
    if (v == l)
      return Degrees{0, 1};
    if (v == m)
      return std::nullopt;
    Operation *op = v.getDefiningOp();
    if (!op)
      return Degrees();
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto number = dyn_cast<FloatAttr>(constant.getValue());
      return Degrees{0, 0, number && number.getValue().isZero()};
    }
    SmallVector<Degrees> operands;
    for (Value u : op->getOperands()) {
      std::optional<Degrees> one = of(u);
      if (!one)
        return std::nullopt;
      operands.push_back(*one);
    }
    auto isFree = [](const Degrees &d) { return d.x == 0 && d.l == 0; };
    auto same = [](const Degrees &a, const Degrees &b) -> std::optional<Degrees> {
      if (a.isZero)
        return b;
      if (b.isZero || (a.x == b.x && a.l == b.l))
        return a;
      return std::nullopt;
    };
    if (isa<arith::MulFOp>(op))
      return Degrees{operands[0].x + operands[1].x, operands[0].l + operands[1].l, operands[0].isZero || operands[1].isZero};
    if (isa<arith::DivFOp>(op))
      return Degrees{operands[0].x - operands[1].x, operands[0].l - operands[1].l, operands[0].isZero};
    if (isa<arith::NegFOp, arith::ExtFOp, arith::TruncFOp>(op))
      return operands[0];
    if (isa<arith::AddFOp, arith::SubFOp>(op))
      return same(operands[0], operands[1]);
    if (isa<arith::SelectOp>(op))
      return isFree(operands[0]) ? same(operands[1], operands[2]) : std::nullopt;
    if (llvm::all_of(operands, isFree))
      return Degrees();
    return std::nullopt;
  }
  Value x, l, m;
  llvm::DenseMap<Value, std::optional<Degrees>> known;
};
} // namespace

void para::joinRounds(TileBody &body, FactsCache &facts) {
  if (body.reductions.size() != 2)
    return;
  Operation *maximum = body.reductions[0].op, *sum = body.reductions[1].op;
  auto kindOf = [](Operation *op) { return cast<ElementOpInterface>(op).getCombiner(); };
  if (kindOf(maximum) != ReductionKind::Max || kindOf(sum) != ReductionKind::Sum || body.reductions[1].round != 1)
    return;
  Value e = maximum->getOperand(0), x = sum->getOperand(0);
  TileSketch sketch(body, facts);
  Value ofE = sketch.leaf(e), ofM = sketch.leaf(maximum->getResult(0));
  auto exp = sketch.element(x).getDefiningOp<math::ExpOp>();
  auto difference = exp ? exp.getOperand().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
  if (!difference || difference.getLhs() != ofE || difference.getRhs() != ofM)
    return;
  Value ofX = sketch.leaf(x), ofL = sketch.leaf(sum->getResult(0));
  SmallVector<int> divisions;
  // What is stored of scores has to be right at once.
  bool isOne = llvm::all_of(body.stores, [](const TileStore &store) { return store.round == 0; });
  for (TileSum &one : body.sums) {
    std::optional<Degrees> degrees = isOne ? Factors(ofX, ofL, ofM).of(sketch.element(one.score)) : std::nullopt;
    isOne = degrees && !degrees->isZero && degrees->x == 1 && degrees->l <= 0;
    divisions.push_back(isOne ? -degrees->l : 0);
  }
  for (auto [one, division] : llvm::zip_equal(body.sums, divisions)) {
    one.division = isOne ? division : 0;
    one.round = isOne ? 0 : 1;
  }
  for (TileStore &store : body.stores)
    store.round = isOne || store.round == 0 ? 0 : 1;
  for (TileReduction &reduction : body.reductions)
    reduction.round = 0;
  body.rounds = isOne ? 1 : 2;
  body.maximum = maximum;
  body.exponentials = sum;
}
