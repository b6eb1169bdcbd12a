#include "para/IR/Program.h"
#include "para/Partition/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_RECOMPUTEPASS
#include "para/Partition/Passes.h.inc"
} // namespace para

namespace {
class Recomputer {
public:
  explicit Recomputer(func::FuncOp main) : main(main) {}

  void run() {
    auto ops = llvm::map_to_vector(main.getBody().front().without_terminator(), [](Operation &op) { return &op; });
    for (Operation *op : ops)
      if (getPhase(op) == Phase::Backward)
        for (OpOperand &operand : op->getOpOperands())
          operand.set(repeat(operand.get(), op));
    moveUnneeded();
    number();
  }

private:
  /// The value as `user` of the backward pass takes it.
  Value repeat(Value value, Operation *user) {
    Operation *op = value.getDefiningOp();
    if (!op || !op->hasAttr("para.recompute") || getPhase(op) != Phase::Forward || op->getAttr("para.stage") != user->getAttr("para.stage"))
      return value;
    if (!clones.contains(op)) {
      IRMapping operands;
      for (Value operand : op->getOperands())
        operands.map(operand, repeat(operand, user));
      Operation *clone = OpBuilder(user).clone(*op, operands);
      clone->setLoc(withPhase(op->getLoc(), Phase::Backward));
      clone->setAttr("para.phase", PhaseAttr::get(op->getContext(), Phase::Backward));
      clone->removeAttr("para.recompute");
      clones[op] = clone;
    }
    return clones[op]->getResult(cast<OpResult>(value).getResultNumber());
  }

  /// What the forward pass does not need itself is computed in the backward pass alone.
  void moveUnneeded() {
    auto pairs = clones.takeVector();
    for (auto [op, clone] : llvm::reverse(pairs))
      if (op->use_empty())
        op->erase();
      else
        repeats.push_back({clone, op});
  }

  void number() {
    llvm::DenseMap<Operation *, int64_t> numbers;
    for (auto [index, op] : llvm::enumerate(main.getBody().front().without_terminator()))
      numbers[&op] = index;
    Builder builder(main.getContext());
    for (auto [clone, op] : repeats)
      clone->setAttr("para.repeats", builder.getI64IntegerAttr(numbers[op]));
  }

  func::FuncOp main;
  llvm::MapVector<Operation *, Operation *> clones; ///< what an op takes before itself
  SmallVector<std::pair<Operation *, Operation *>> repeats;
};

struct RecomputePass : para::impl::RecomputePassBase<RecomputePass> {
  void runOnOperation() override {
    auto main = getMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    Recomputer(*main).run();
  }
};
} // namespace
