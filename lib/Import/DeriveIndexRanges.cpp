#include "para/IR/Program.h"
#include "para/Import/Passes.h"
#include "para/Interfaces/IndexUse.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_DERIVEINDEXRANGESPASS
#include "para/Import/Passes.h.inc"
} // namespace para

namespace {
/// A part of a value that some op uses as indices.
struct Use {
  TensorPart part;
  IndexRange range;
  SmallVector<int64_t> exempt; // ascending
  StringAttr node;

  bool says(const Use &other) const {
    return part.offsets == other.part.offsets && part.sizes == other.part.sizes && range.begin == other.range.begin &&
           range.end == other.range.end && exempt == other.exempt;
  }
};

bool holdsIndices(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isInteger() && !type.getElementType().isInteger(1);
}

/// Uses of all values, from the last op to the first: users come before what they use.
class Tracer {
public:
  void visit(Operation *op) {
    auto indexing = dyn_cast<IndexUseOpInterface>(op);
    if (!indexing)
      return;
    SmallVector<Use> result;
    if (op->getNumResults() == 1)
      result = take(op->getResult(0));
    auto node = StringAttr::get(op->getContext(), getNodeName(op->getLoc()));
    for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
      if (!holdsIndices(operand))
        continue;
      if (std::optional<int64_t> value = indexing.getTestedValue(number))
        tested[operand].push_back(*value);
      if (std::optional<IndexRange> range = indexing.getIndexRange(number))
        uses[operand].push_back({TensorPart::whole(cast<RankedTensorType>(operand.getType()).getShape()), *range, {}, node});
      traceTests(indexing, number);
      for (Use use : result)
        if (indexing.traceToOperand(number, use.part) && !use.part.isEmpty())
          uses[operand].push_back(std::move(use));
    }
  }

  /// What is said of a value whose users have all been visited, each thing once.
  SmallVector<Use> take(Value value) {
    SmallVector<Use> result;
    for (Use &use : uses[value]) {
      llvm::append_range(use.exempt, tested[value]);
      llvm::sort(use.exempt);
      use.exempt.erase(llvm::unique(use.exempt), use.exempt.end());
      llvm::erase_if(use.exempt, [&](int64_t v) { return v >= use.range.begin && v < use.range.end; });
      auto same = llvm::find_if(result, [&](const Use &other) { return other.says(use); });
      if (same == result.end())
        result.push_back(std::move(use));
      else
        same->node = use.node; // the first of them in the program
    }
    uses.erase(value);
    return result;
  }

private:
  /// A result that is all of the operand in another order or shape is tested in its place.
  void traceTests(IndexUseOpInterface op, unsigned number) {
    Value operand = op->getOperand(number);
    auto it = op->getNumResults() == 1 ? tested.find(op->getResult(0)) : tested.end();
    if (it == tested.end())
      return;
    auto shapeOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
    TensorPart part = TensorPart::whole(shapeOf(op->getResult(0)));
    if (!op.traceToOperand(number, part) || !part.isWhole(shapeOf(operand)))
      return;
    SmallVector<int64_t> values = it->second;
    llvm::append_range(tested[operand], values);
  }

  llvm::DenseMap<Value, SmallVector<Use>> uses;
  llvm::DenseMap<Value, SmallVector<int64_t>> tested;
};

struct DeriveIndexRangesPass : para::impl::DeriveIndexRangesPassBase<DeriveIndexRangesPass> {
  void runOnOperation() override {
    auto main = getMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    Tracer tracer;
    for (Operation &op : llvm::reverse(main->getBody().front()))
      tracer.visit(&op);
    Builder builder(&getContext());
    for (BlockArgument argument : main->getArguments()) {
      if (getArgKind(*main, argument.getArgNumber()) != "input" || !holdsIndices(argument))
        continue;
      SmallVector<Attribute> ranges;
      SmallVector<Use> found = tracer.take(argument);
      for (const Use &use : llvm::reverse(found)) // in program order
        ranges.push_back(IndexRangeAttr::get(&getContext(), use.range.begin, use.range.end, builder.getDenseI64ArrayAttr(use.exempt),
                                             builder.getDenseI64ArrayAttr(use.part.offsets), builder.getDenseI64ArrayAttr(use.part.sizes), use.node));
      if (ranges.empty())
        main->removeArgAttr(argument.getArgNumber(), builder.getStringAttr("para.index_ranges"));
      else
        main->setArgAttr(argument.getArgNumber(), "para.index_ranges", builder.getArrayAttr(ranges));
    }
  }
};
} // namespace
