//===- TileMasks.cpp - Tiles of scores that come to nothing ---------------===//
//
// A causal mask takes half of the scores away. Which is seen from the code of an element: with what is known when compiling (constants,
// where the element is) as numbers, scores and what is known of rows as some number of ordinary size, and what comes from elsewhere as any.
// A number far below ordinary ones (the lowest of f32, but not of f16) stays so when one of these is added, minus infinity whatever is, and
// the exponential of either is zero. Of a row without any other element the maximum would be such a number: then nothing is left out.
//
//===----------------------------------------------------------------------===//
#include "TileSketch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace para;

/// So many elements are looked at in about a second.
static constexpr int64_t mostElements = int64_t(1) << 27;
static constexpr double veryLow = -1e30;

namespace {
/// A number, or not known, but maybe of ordinary size. What is below `veryLow` is a number that swallows those.
struct Known {
  double value = 0;
  bool isKnown = false, isOrdinary = false;
  bool isLow() const { return isKnown && value <= veryLow; }
  bool swallows(const Known &other) const { return isLow() && (std::isinf(value) || other.isOrdinary); }
};
Known number(double v) { return {v, true, std::abs(v) < -veryLow}; }
Known ordinary() { return {0, false, true}; }

/// Evaluates an element for all columns of one row after another.
class RowEvaluator {
public:
  /// `ofRows`: addresses of what is one ordinary number a row.
  RowEvaluator(ModuleOp module, Value root, Value row, Value column, int64_t columns, const llvm::DenseSet<Value> &ofRows) : columns(columns) {
    llvm::SetVector<Value> ordered;
    visit(root, ordered);
    for (Value v : ordered) {
      Node node;
      node.op = v.getDefiningOp();
      node.isRow = v == row;
      node.isColumn = v == column;
      if (!node.isRow && !node.isColumn)
        for (Value operand : node.op->getOperands())
          node.operands.push_back(numbers.lookup(operand));
      readTable(module, node);
      if (auto place = dyn_cast<LLVM::GEPOp>(node.op))
        node.isOfRows = ofRows.contains(place.getBase());
      node.varies = node.isColumn || llvm::any_of(node.operands, [&](unsigned i) { return nodes[i].varies; });
      node.values.resize(node.varies ? columns : 1);
      numbers[v] = nodes.size();
      nodes.push_back(std::move(node));
    }
  }

  /// Whether the element of each column is zero.
  void run(int64_t row, std::vector<char> &isZero) {
    for (Node &node : nodes)
      if (node.isRow)
        node.values[0] = number(double(row));
      else if (node.isColumn)
        for (int64_t c = 0; c < columns; ++c)
          node.values[c] = number(double(c));
      else
        evaluate(node);
    for (int64_t c = 0; c < columns; ++c) {
      const Known &result = at(nodes.size() - 1, c);
      isZero[c] = result.isKnown && result.value == 0;
    }
  }

private:
  struct Node {
    Operation *op = nullptr;
    SmallVector<unsigned, 3> operands;
    bool isRow = false, isColumn = false, varies = false, isOfRows = false;
    std::vector<double> table; ///< of an address: the constant in which it lies
    std::vector<Known> values;
  };

  static void visit(Value v, llvm::SetVector<Value> &ordered) {
    if (ordered.contains(v))
      return;
    for (Value operand : v.getDefiningOp()->getOperands())
      visit(operand, ordered);
    ordered.insert(v);
  }

  static void readTable(ModuleOp module, Node &node) {
    auto place = dyn_cast<LLVM::GEPOp>(node.op);
    auto address = place && place.getDynamicIndices().size() == 1 ? place.getBase().getDefiningOp<LLVM::AddressOfOp>() : LLVM::AddressOfOp();
    auto global = address ? module.lookupSymbol<LLVM::GlobalOp>(address.getGlobalName()) : LLVM::GlobalOp();
    auto values = global ? dyn_cast_or_null<DenseElementsAttr>(global.getValueOrNull()) : DenseElementsAttr();
    if (!values)
      return;
    if (isa<FloatType>(values.getElementType()))
      for (APFloat v : values.getValues<APFloat>())
        node.table.push_back(toDouble(v));
    else
      for (const APInt &v : values.getValues<APInt>())
        node.table.push_back(double(v.getSExtValue()));
  }
  static double toDouble(APFloat v) {
    bool loses;
    v.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return v.convertToDouble();
  }

  const Known &at(unsigned node, size_t column) const { return nodes[node].values[nodes[node].varies ? column : 0]; }

  void evaluate(Node &node) {
    auto each = [&](auto make) {
      for (size_t c = 0; c < node.values.size(); ++c)
        node.values[c] = make([&](unsigned i) -> const Known & { return at(node.operands[i], c); });
    };
    /// Where all operands are known.
    auto plain = [&](auto compute) {
      each([&](auto operand) {
        double x = operand(0).value, y = node.operands.size() > 1 ? operand(1).value : 0;
        bool areKnown = operand(0).isKnown && (node.operands.size() < 2 || operand(1).isKnown);
        bool areOrdinary = operand(0).isOrdinary && (node.operands.size() < 2 || operand(1).isOrdinary);
        return areKnown ? number(compute(x, y)) : Known{0, false, areOrdinary};
      });
    };
    /// A low number and one of ordinary size.
    auto sum = [&](double sign) {
      each([&](auto operand) {
        const Known &x = operand(0), &y = operand(1);
        if (x.isKnown && y.isKnown)
          return number(x.value + sign * y.value);
        if (x.swallows(y))
          return x;
        return sign > 0 && y.swallows(x) ? y : Known{0, false, x.isOrdinary && y.isOrdinary};
      });
    };
    llvm::TypeSwitch<Operation *>(node.op)
        .Case([&](arith::ConstantOp op) {
          if (auto f = dyn_cast<FloatAttr>(op.getValue()))
            node.values[0] = number(toDouble(f.getValue()));
          else if (auto i = dyn_cast<IntegerAttr>(op.getValue()))
            node.values[0] = number(i.getType().isInteger(1) ? double(i.getValue().getZExtValue()) : double(i.getValue().getSExtValue()));
        })
        .Case<arith::AddIOp>([&](auto) { plain([](double x, double y) { return x + y; }); })
        .Case<arith::SubIOp>([&](auto) { plain([](double x, double y) { return x - y; }); })
        .Case<arith::MulIOp>([&](auto) { plain([](double x, double y) { return x * y; }); })
        .Case<arith::DivUIOp>([&](auto) { plain([](double x, double y) { return y == 0 ? 0 : std::trunc(asUnsigned(x) / asUnsigned(y)); }); })
        .Case<arith::DivSIOp>([&](auto) { plain([](double x, double y) { return y == 0 ? 0 : std::trunc(x / y); }); })
        .Case<arith::RemUIOp>([&](auto) { plain([](double x, double y) { return y == 0 ? 0 : std::fmod(asUnsigned(x), asUnsigned(y)); }); })
        .Case<arith::RemSIOp>([&](auto) { plain([](double x, double y) { return y == 0 ? 0 : std::fmod(x, y); }); })
        .Case<arith::MinSIOp>([&](auto) { plain([](double x, double y) { return std::min(x, y); }); })
        .Case<arith::MaxSIOp>([&](auto) { plain([](double x, double y) { return std::max(x, y); }); })
        .Case<arith::AndIOp>([&](auto) { plain([](double x, double y) { return double(int64_t(x) & int64_t(y)); }); })
        .Case<arith::OrIOp>([&](auto) { plain([](double x, double y) { return double(int64_t(x) | int64_t(y)); }); })
        .Case<arith::XOrIOp>([&](auto) { plain([](double x, double y) { return double(int64_t(x) ^ int64_t(y)); }); })
        .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp>([&](auto) { plain([](double x, double) { return x; }); })
        .Case<arith::ExtUIOp, arith::ExtSIOp>([&](auto) { plain([](double x, double) { return x; }); })
        .Case<arith::NegFOp>([&](auto) { plain([](double x, double) { return -x; }); })
        .Case([&](arith::CmpIOp op) {
          auto predicate = op.getPredicate();
          plain([&](double x, double y) { return compare(predicate, x, y); });
        })
        .Case<arith::AddFOp>([&](auto) { sum(1); })
        .Case<arith::SubFOp>([&](auto) { sum(-1); })
        .Case<arith::MulFOp>([&](auto) {
          each([&](auto operand) {
            const Known &x = operand(0), &y = operand(1);
            if (x.isKnown && y.isKnown)
              return number(x.value * y.value);
            return (x.isKnown && x.value == 0) || (y.isKnown && y.value == 0) ? number(0) : Known{0, false, x.isOrdinary && y.isOrdinary};
          });
        })
        .Case<arith::DivFOp>([&](auto) {
          each([&](auto operand) {
            const Known &x = operand(0), &y = operand(1);
            if (x.isKnown && y.isKnown)
              return number(x.value / y.value);
            return x.isKnown && x.value == 0 ? number(0) : Known{0, false, x.isOrdinary && y.isOrdinary};
          });
        })
        .Case<math::ExpOp>([&](auto) { plain([](double x, double) { return x <= veryLow ? 0 : std::exp(x); }); })
        .Case<arith::SelectOp>([&](auto) {
          each([&](auto operand) {
            if (operand(0).isKnown)
              return operand(operand(0).value != 0 ? 1 : 2);
            return Known{0, false, operand(1).isOrdinary && operand(2).isOrdinary};
          });
        })
        .Case<UnrealizedConversionCastOp>([&](auto) { each([&](auto) { return ordinary(); }); }) // what the sketch makes up: scores, numbers of rows
        .Case<math::TanhOp, math::AbsFOp, math::SqrtOp>([&](auto) { each([&](auto operand) { return Known{0, false, operand(0).isOrdinary}; }); })
        .Case<LLVM::GEPOp>([&](auto) { each([&](auto operand) { return node.table.empty() ? Known() : operand(1); }); })
        .Case<LLVM::LoadOp>([&](auto) {
          const std::vector<double> &table = nodes[node.operands[0]].table;
          if (nodes[node.operands[0]].isOfRows)
            return each([&](auto) { return ordinary(); });
          plain([&](double x, double) { return x >= 0 && x < double(table.size()) ? table[size_t(x)] : 0; });
        });
    if (isa<arith::CmpFOp>(node.op) && node.varies) // of scores, mostly
      llvm::fill(node.values, Known());
  }

  /// Below zero is above all others.
  static double asUnsigned(double x) { return x < 0 ? x + 0x1p64 : x; }
  static bool compare(arith::CmpIPredicate predicate, double x, double y) {
    using P = arith::CmpIPredicate;
    if (llvm::is_contained({P::ult, P::ule, P::ugt, P::uge}, predicate))
      x = asUnsigned(x), y = asUnsigned(y);
    switch (predicate) {
    case P::eq: return x == y;
    case P::ne: return x != y;
    case P::slt: case P::ult: return x < y;
    case P::sle: case P::ule: return x <= y;
    case P::sgt: case P::ugt: return x > y;
    case P::sge: case P::uge: return x >= y;
    }
    return false;
  }

  int64_t columns;
  std::vector<Node> nodes;
  llvm::DenseMap<Value, unsigned> numbers;
};
} // namespace

SmallVector<std::pair<int64_t, int64_t>> para::findNeededTiles(const TileBody &body, FactsCache &facts) {
  const TileSpace &space = body.space;
  if (space.rows * space.columns > mostElements || body.rounds > 1 || (!body.maximum && !body.reductions.empty()) || body.sums.empty() ||
      !body.stores.empty())
    return {};
  auto module = body.block->getParentOp()->getParentOfType<ModuleOp>();
  int64_t outerTiles = llvm::divideCeil(space.outer(), body.outerTile()), innerTiles = llvm::divideCeil(space.inner(), body.innerTile());
  std::vector<char> isNeeded(outerTiles * innerTiles, false), isZero(space.columns);
  SmallVector<Value> roots;
  if (body.maximum)
    roots.push_back(body.exponentials->getOperand(0));
  else
    for (const TileSum &sum : body.sums)
      roots.push_back(sum.score);
  for (Value root : roots) {
    TileSketch sketch(body, facts);
    if (body.maximum)
      sketch.leaf(body.maximum->getResult(0));
    Value element = sketch.element(root);
    // One number a row, whatever it is, is taken away again with the row's maximum.
    llvm::DenseSet<Value> ofRows;
    for (BlockArgument v : body.block->getArguments())
      if (isa<FloatType>(getElementTypeOrSelf(v.getType())) && sizeOf(v) == space.allRows())
        ofRows.insert(sketch.address(v));
    RowEvaluator evaluator(module, element, sketch.row(), sketch.column(), space.columns, ofRows);
    for (int64_t row = 0; row < space.rows; ++row) {
      evaluator.run(row, isZero);
      bool isEmpty = true;
      for (int64_t column = 0; column < space.columns; ++column) {
        if (isZero[column])
          continue;
        isEmpty = false;
        int64_t outer = space.byColumns ? column : row, inner = space.byColumns ? row : column;
        isNeeded[outer / body.outerTile() * innerTiles + inner / body.innerTile()] = true;
      }
      if (isEmpty)
        return {};
    }
  }
  SmallVector<std::pair<int64_t, int64_t>> result;
  bool isWhole = true;
  for (int64_t outer = 0; outer < outerTiles; ++outer) {
    int64_t first = innerTiles, last = 0;
    for (int64_t inner = 0; inner < innerTiles; ++inner)
      if (isNeeded[outer * innerTiles + inner]) {
        first = std::min(first, inner);
        last = inner + 1;
      }
    result.push_back({std::min(first, last), last});
    isWhole &= first == 0 && last == innerTiles;
  }
  return isWhole ? SmallVector<std::pair<int64_t, int64_t>>() : result;
}
