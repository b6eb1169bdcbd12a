#include "LossScale.h"
#include "para/Autodiff/Passes.h"
#include "para/IR/Program.h"
#include "para/Interfaces/Derivative.h"
#include "para/Interfaces/Structure.h"
#include "para/Ops/TensorBuilder.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "para/Autodiff/Passes.h.inc"
} // namespace para

namespace {
/// Reverse mode over one block. Only values that depend on a trainable parameter get a cotangent.
class Reverse {
public:
  Reverse(func::FuncOp main, OpBuilder &builder) : main(main), builder(builder) {}

  LogicalResult run(Value loss) {
    markActive();
    if (!active.contains(loss))
      return emitError(loss.getLoc()) << "the loss does not depend on any trainable parameter";
    builder.setInsertionPoint(main.getBody().front().getTerminator());
    TensorBuilder seed(withPhase(loss.getLoc(), Phase::Backward), builder);
    LossScale scale(main);
    terms[loss].push_back(scale ? scale.seed(seed, loss) : seed.like(loss, 1.0));
    auto ops = llvm::map_to_vector(main.getBody().front().without_terminator(), [](Operation &op) { return &op; });
    LogicalResult result = success();
    for (Operation *op : llvm::reverse(ops))
      if (failed(visit(op)))
        result = failure(); // go on: all missing rules are reported at once
    return result;
  }

  /// The cotangent of `value`: the sum of what its uses gave, or null.
  Value getCotangent(Value value) {
    auto it = terms.find(value);
    if (it == terms.end())
      return {};
    if (it->second.size() > 1)
      it->second = {TensorBuilder(withPhase(value.getLoc(), Phase::Backward), builder).addN(it->second)};
    return it->second[0];
  }

private:
  void markActive() {
    for (BlockArgument argument : main.getArguments())
      if (main.getArgAttr(argument.getArgNumber(), "para.trainable"))
        active.insert(argument);
    for (Operation &op : main.getBody().front())
      if (llvm::any_of(op.getOperands(), [&](Value operand) { return active.contains(operand); }))
        for (Value result : op.getResults())
          if (isa<FloatType>(cast<RankedTensorType>(result.getType()).getElementType()))
            active.insert(result);
  }

  LogicalResult visit(Operation *op) {
    auto cotangents = llvm::map_to_vector(op->getResults(), [&](Value result) { return getCotangent(result); });
    if (llvm::none_of(cotangents, [](Value value) { return bool(value); }))
      return success();
    auto rule = dyn_cast<DerivativeOpInterface>(op);
    if (!rule)
      return op->emitOpError("has no derivative rule");
    SmallVector<Value> gradients(op->getNumOperands());
    // Ops of the rule carry the node's name and the phase: the rule takes its location from the op.
    Location loc = op->getLoc();
    op->setLoc(withPhase(loc, Phase::Backward));
    LogicalResult result = rule.buildGradient(builder, cotangents, gradients);
    op->setLoc(loc);
    if (failed(result))
      return failure();
    for (auto [operand, gradient] : llvm::zip(op->getOperands(), gradients))
      if (gradient && active.contains(operand))
        terms[operand].push_back(gradient);
    return success();
  }

  func::FuncOp main;
  OpBuilder &builder;
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, SmallVector<Value>> terms;
};

/// Marks the terms whose sum the loss is: a microbatch may have to weigh each by itself.
class LossTerms {
public:
  explicit LossTerms(OpBuilder &builder) : builder(builder) {}

  Value mark(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumOperands() == 0)
      return value;
    if (!isSum(op) || std::distance(value.use_begin(), value.use_end()) > 1) {
      builder.setInsertionPointAfter(op);
      return TensorBuilder(value.getLoc(), builder).batchTerm(value, count++);
    }
    for (OpOperand &operand : op->getOpOperands())
      operand.set(mark(operand.get()));
    return value;
  }

private:
  static bool isSum(Operation *op) {
    auto structured = dyn_cast<StructureOpInterface>(op);
    if (!structured || isa<BatchTermOpInterface>(op))
      return false;
    Structure structure = structured.getStructure();
    return llvm::all_of(structure.linearity, [](Linearity linearity) { return linearity == Linearity::Joint; }) &&
           llvm::all_of(op->getOperands(), [](Value operand) { return cast<RankedTensorType>(operand.getType()).getNumElements() == 1; });
  }

  OpBuilder &builder;
  int64_t count = 0;
};

struct DifferentiatePass : para::impl::DifferentiatePassBase<DifferentiatePass> {
  using DifferentiatePassBase::DifferentiatePassBase;

  void runOnOperation() override {
    auto found = getMain(getOperation());
    if (failed(found))
      return signalPassFailure();
    func::FuncOp main = *found;
    SmallVector<ProgramResult> results = getResults(main);
    if (results.empty() || getResultKind(main, 0) != "output") {
      main.emitError("has no loss as its first result");
      return signalPassFailure();
    }
    OpBuilder builder(&getContext());
    Value terms = LossTerms(builder).mark(results[0].value);
    main.getBody().front().getTerminator()->setOperand(0, terms);
    results[0].value = terms;
    if (lossScale > 0)
      LossScale::add(main, lossScale);
    Reverse reverse(main, builder);
    if (failed(reverse.run(results[0].value)))
      return signalPassFailure();
    for (BlockArgument argument : main.getArguments()) {
      if (!main.getArgAttr(argument.getArgNumber(), "para.trainable"))
        continue;
      StringRef name = getArgName(main, argument.getArgNumber());
      Value gradient = reverse.getCotangent(argument);
      if (!gradient) // unused, or used where nothing depends on it: its gradient is zero, as in PyTorch it has none
        continue;
      results.push_back(makeResult(gradient, "gradient", name));
    }
    setResults(main, results);
  }
};
} // namespace
