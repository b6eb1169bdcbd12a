//===- LaunchKinds.cpp - What launches have in common ---------------------===//
#include "MergeLaunches.h"

#include "IndexMath.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace para;

namespace {
/// Writes down what a body does without what varies. A value is a single number, or has `size` elements, or (`rows` of them) rows.
class Description {
public:
  Description(rt::FusedOp fused, FactsCache &facts, int64_t size, int64_t rows) : body(fused.getBody().front()), facts(facts), size(size), rows(rows), os(text) {}

  /// Empty if what it does depends on what varies.
  std::string run() {
    for (Value v : body.getArguments())
      if (!note(v))
        return {};
    for (Operation &op : body.without_terminator())
      if (!add(op))
        return {};
    for (Value v : body.getTerminator()->getOperands()) {
      Operation *made = v.getDefiningOp();
      bool isSum = size && made && facts.get(made).reduction;
      if (!isSum && (rows ? sizeOf(v) == 1 : sizeOf(v) != size))
        return {};
      os << numbers.lookup(v) << " ";
    }
    return text;
  }

private:
  bool note(Value v) {
    numbers[v] = numbers.size();
    Type type = getElementTypeOrSelf(v.getType());
    std::optional<unsigned> prefix = prefixOf(shapeOf(v), rows);
    if (sizeOf(v) == 1)
      os << "one " << type;
    else if (!rows && sizeOf(v) == size)
      os << "all " << type;
    else if (rows && prefix)
      os << "rows by " << *prefix << " of " << RankedTensorType::get(shapeOf(v).drop_front(*prefix), type);
    else
      return false;
    os << "\n";
    return true;
  }

  bool add(Operation &op) {
    const OpFacts &f = facts.get(&op);
    if (f.placed || !note(op.getResult(0)) || isStripSum(&op))
      return false;
    DenseElementsAttr constant;
    if (matchPattern(&op, m_Constant(&constant))) {
      if (constant.isSplat())
        os << constant.getSplatValue<Attribute>() << "\n";
      return constant.isSplat();
    }
    if (f.accesses.empty() || (f.reduction && sizeOf(op.getResult(0)) != (rows ? rows : 1)))
      return false;
    bool repeats = true;
    for (const OpAccess &access : f.accesses) {
      bool isNumber = sizeOf(op.getOperand(access.operand)) == 1;
      repeats &= isNumber;
      if (access.dynamic || (!isNumber && !keepsRow(&op, f, access, rows)))
        return false;
    }
    // A move takes an element as it is: the one of the same number, or the only one. So does a sum of all.
    if (f.whole && !rows)
      os << "whole " << static_cast<int>(cast<ElementOpInterface>(op).getCombiner());
    else if (!f.move || (rows && !repeats))
      os << op.getName() << " " << op.getAttrDictionary();
    for (Value operand : op.getOperands())
      os << " " << numbers.lookup(operand);
    os << "\n";
    return true;
  }

  Block &body;
  FactsCache &facts;
  int64_t size, rows;
  llvm::DenseMap<Value, unsigned> numbers;
  std::string text;
  llvm::raw_string_ostream os;
};
} // namespace

LaunchKind para::describeLaunch(rt::FusedOp fused, FactsCache &facts) {
  constexpr int64_t shortestSum = 16;
  Operation *sum = nullptr;
  int64_t sums = 0;
  for (Operation &op : fused.getBody().front().without_terminator())
    if (facts.get(&op).reduction)
      sum = &op, ++sums;
  LaunchKind kind;
  auto choose = [&](StringRef varies, int64_t extent, int64_t size, int64_t rows) {
    std::string text = Description(fused, facts, size, rows).run();
    if (!text.empty())
      kind = {varies.str(), extent, varies.str() + "\n" + text};
  };
  int64_t size = sizeOf(fused.getResult(0));
  if (!sum && size > 1)
    choose("elements", size, size, 0);
  else if (sum && size > 1)
    choose("rows", sizeOf(sum->getResult(0)), 0, sizeOf(sum->getResult(0)));
  else if (sums == 1 && fused->getNumResults() == 1 && fused.getBody().front().getTerminator()->getOperand(0) == sum->getResult(0))
    if (int64_t terms = productOf(facts.get(sum).loops); terms >= shortestSum)
      choose("terms", terms, terms, 0);
  return kind;
}
