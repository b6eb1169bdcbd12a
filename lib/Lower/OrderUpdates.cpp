//===- OrderUpdates.cpp - When gradients are reduced and parameters updated ---===//
#include "para/IR/Phases.h"
#include "para/IR/Program.h"
#include "para/Lower/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <set>
#include <tuple>

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_ORDERUPDATESPASS
#include "para/Lower/Passes.h.inc"
} // namespace para

namespace {
bool isCollective(Operation *op) {
  auto call = dyn_cast<rt::CallOp>(op);
  return call && call.getDesc().contains("reduction");
}

/// The ops of one function in a new order: those that run once a step follow what they need.
class Order {
public:
  /// `isSynchronous`: nothing runs beside a collective. `isWhole`: there is one microbatch.
  Order(func::FuncOp func, bool isSynchronous, bool isWhole) : func(func), isSynchronous(isSynchronous), isWhole(isWhole) {
    for (Operation &op : func.getBody().front().without_terminator()) {
      index[&op] = ops.size();
      ops.push_back(&op);
      isPostponed.push_back(getPhase(&op) == Phase::Update);
    }
    waits.assign(ops.size(), 0);
    followers.resize(ops.size());
    isAdvanced.assign(ops.size(), false);
  }

  void run() {
    for (unsigned i = 0; i < ops.size(); ++i)
      if (isPostponed[i])
        for (Value operand : ops[i]->getOperands())
          if (Operation *made = operand.getDefiningOp())
            follow(index.lookup(made), i);
    followReaders();
    if (!isSynchronous && isWhole)
      findAdvanced();
    for (unsigned i = 0; i < ops.size(); ++i)
      if (isPostponed[i] && waits[i] == 0)
        ready.insert(rank(i));
    bool hasGradients = false;
    for (unsigned i = 0; i < ops.size(); ++i) {
      if (isPostponed[i])
        continue;
      place(i);
      last = getChunkPhase(ops[i]);
      hasGradients |= last.phase >= Phase::Backward;
      if (hasGradients)
        placeReady(true);
    }
    placeReady(false);
    Operation *terminator = func.getBody().front().getTerminator();
    for (unsigned i : placed)
      ops[i]->moveBefore(terminator);
  }

private:
  void follow(unsigned first, unsigned then) {
    followers[first].push_back(then);
    ++waits[then];
  }

  /// What overwrites an argument comes after all that reads it, so that no copy is needed.
  void followReaders() {
    Operation *terminator = func.getBody().front().getTerminator();
    for (unsigned r = 0; r < func.getNumResults(); ++r) {
      auto updates = func.getResultAttrOfType<StringAttr>(r, "para.updates");
      Operation *made = terminator->getOperand(r).getDefiningOp();
      int argument = updates ? getArgIndex(func, updates.getValue()) : -1;
      if (argument < 0 || !made || !isPostponed[index.lookup(made)])
        continue;
      for (Operation *user : func.getArgument(argument).getUsers())
        if (user != terminator && index.lookup(user) < index.lookup(made))
          follow(index.lookup(user), index.lookup(made));
    }
  }

  /// The collectives that wait for no other, and what leads to them.
  void findAdvanced() {
    Operation *terminator = func.getBody().front().getTerminator();
    std::vector<bool> isReduced(ops.size(), false);
    for (unsigned i = 0; i < ops.size(); ++i)
      if (isPostponed[i])
        for (Value operand : ops[i]->getOperands())
          if (Operation *made = operand.getDefiningOp(); made && isPostponed[index.lookup(made)])
            isReduced[i] = isReduced[i] || isReduced[index.lookup(made)] || isCollective(made);
    for (unsigned i = ops.size(); i-- > 0;)
      isAdvanced[i] = isPostponed[i] && !isReduced[i] && !llvm::is_contained(ops[i]->getUsers(), terminator) &&
                      (isCollective(ops[i]) || llvm::any_of(ops[i]->getUsers(), [&](Operation *user) { return isAdvanced[index.lookup(user)]; }));
  }

  /// What is advanced first; then what consumes before what makes more to consume.
  using Rank = std::tuple<bool, bool, unsigned>;
  Rank rank(unsigned i) { return {!isAdvanced[i], isSynchronous && isCollective(ops[i]), i}; }

  void place(unsigned i) {
    placed.push_back(i);
    for (unsigned then : followers[i])
      if (--waits[then] == 0)
        ready.insert(rank(then));
  }

  void placeReady(bool onlyAdvanced) {
    while (!ready.empty()) {
      unsigned i = std::get<2>(*ready.begin());
      if (onlyAdvanced && !isAdvanced[i])
        return;
      ready.erase(ready.begin());
      if (onlyAdvanced)
        ops[i]->setAttr("para.phase", getAttr(last, func.getContext()));
      place(i);
    }
  }

  func::FuncOp func;
  bool isSynchronous, isWhole;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> index;
  std::vector<unsigned> waits; ///< how many ops must be placed before
  std::vector<SmallVector<unsigned, 4>> followers;
  std::set<Rank> ready;
  std::vector<unsigned> placed;
  std::vector<bool> isPostponed, isAdvanced;
  ChunkPhase last; ///< of what was placed last and is not postponed
};

struct OrderUpdatesPass : public para::impl::OrderUpdatesPassBase<OrderUpdatesPass> {
  using OrderUpdatesPassBase::OrderUpdatesPassBase;
  void runOnOperation() override {
    auto count = getOperation()->getAttrOfType<IntegerAttr>("para.microbatches");
    SmallVector<func::FuncOp> funcs(getOperation().getOps<func::FuncOp>());
    // Stages that wait for one another keep the order that was proved.
    if (funcs.size() == 1)
      Order(funcs[0], target == "host", !count || count.getInt() == 1).run();
  }
};
} // namespace
