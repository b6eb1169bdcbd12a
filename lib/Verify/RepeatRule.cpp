//===- RepeatRule.cpp - What @main computes again is what it had computed --===//
#include "Rules.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace para;

namespace {
/// What may differ between an op and the one which computes it again: when, and that it says so.
bool mayDiffer(StringRef name) { return name == "para.phase" || name == "para.repeats" || name == "para.recompute"; }

LogicalResult checkSame(Operation *op, Operation *first) {
  auto refuse = [&](const Twine &what) { return op->emitError() << "is said to compute " << first->getName() << " again and " << what; };
  if (op->getName() != first->getName() || op->getResultTypes() != first->getResultTypes())
    return refuse("is another op");
  if (!isMemoryEffectFree(op) || op->getNumRegions() > 0)
    return refuse("has effects");
  if (!llvm::equal(op->getOperands(), first->getOperands()))
    return refuse("takes other operands");
  for (auto [one, other] : {std::pair(op, first), std::pair(first, op)})
    for (NamedAttribute attr : one->getAttrs())
      if (!mayDiffer(attr.getName()) && other->getAttr(attr.getName()) != attr.getValue())
        return refuse("has another " + attr.getName().getValue());
  return success();
}
} // namespace

LogicalResult para::foldRepeats(func::FuncOp serial) {
  std::vector<Operation *> before;
  for (Operation &op : serial.getBody().front().without_terminator()) {
    if (auto repeats = op.getAttrOfType<IntegerAttr>("para.repeats")) {
      if (repeats.getInt() >= int64_t(before.size()))
        return op.emitError() << "is said to compute op " << repeats.getInt() << " of the serial program again, which does not come before it";
      // Operands that were computed again are the first ones by now.
      Operation *first = before[repeats.getInt()];
      if (failed(checkSame(&op, first)))
        return failure();
      op.replaceAllUsesWith(first);
    }
    before.push_back(&op);
  }
  return success();
}
