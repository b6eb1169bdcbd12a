//===- IndexUse.cpp - Indices that are tested, chosen and converted -------===//
#include "Elementwise/Elementwise.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace para;

/// The integer that all elements of a constant are.
static std::optional<int64_t> getConstant(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)) || !splat.getElementType().isInteger())
    return std::nullopt;
  return splat.getSplatValue<APInt>().getSExtValue();
}

std::optional<int64_t> CompareOp::getTestedValue(unsigned operand) {
  bool tests = getPredicate() == Comparison::Equal || getPredicate() == Comparison::NotEqual;
  return tests ? getConstant(operand == 0 ? getRhs() : getLhs()) : std::nullopt;
}

// What is chosen is all there is only where a value itself is what decides: `x != -100 ? x : 0` leaves out what is tested for, and that
// is legal by the test.
bool SelectOp::traceToOperand(unsigned operand, TensorPart &) {
  bool negated = false;
  Value condition = getCondition();
  for (auto op = condition.getDefiningOp<NotOp>(); op; op = condition.getDefiningOp<NotOp>()) {
    negated = !negated;
    condition = op.getInput();
  }
  auto compare = condition.getDefiningOp<CompareOp>();
  if (!compare || operand == 0)
    return false;
  Value chosen = getOperation()->getOperand(operand);
  unsigned side = compare.getLhs() == chosen ? 0 : 1;
  if (compare->getOperand(side) != chosen || !compare.getTestedValue(side))
    return false;
  bool holdsWhereDifferent = (compare.getPredicate() == Comparison::NotEqual) != negated;
  return operand == (holdsWhereDifferent ? 1 : 2);
}

bool CastOp::traceToOperand(unsigned, TensorPart &) {
  auto isNumber = [](Type type) { return type.isInteger() && !type.isInteger(1); };
  return isNumber(getInput().getType().getElementType()) && isNumber(getType().getElementType());
}
