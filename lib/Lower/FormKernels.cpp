//===- FormKernels.cpp - Groups of ops as rt.fused ------------------------===//
#include "Grouping.h"

#include "para/IR/Program.h"
#include "para/Lower/Passes.h"
#include "para/Ops/TensorBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "para/Lower/Passes.h.inc"
} // namespace para

/// The op by whose name a kernel is known: its first reduction, or what it ends in. Sums over strips are made on the way.
static Location nameOf(const Group &group, FactsCache &facts) {
  Operation *last = group.ops.back();
  for (Operation *op : group.ops) {
    bool isBeside = group.strips && isStripSum(op);
    if (facts.get(op).reduction && !isBeside)
      return op->getLoc();
    last = isBeside ? last : op;
  }
  return last->getLoc();
}

/// Ops that the outputs need, sorted: members, clones and generators.
static SmallVector<Operation *> neededOps(const Group &group, ArrayRef<Value> outputs, Grouping &grouping, SmallVector<Value> &inputs) {
  llvm::SetVector<Operation *> inside(group.ops.begin(), group.ops.end());
  inside.insert(group.clones.begin(), group.clones.end());
  llvm::SetVector<Operation *> needed;
  SmallVector<Value> stack(llvm::reverse(outputs));
  llvm::SetVector<Value> taken;
  while (!stack.empty()) {
    Value v = stack.pop_back_val();
    Operation *op = v.getDefiningOp();
    if (!op || !(inside.contains(op) || grouping.isGenerator(op))) {
      taken.insert(v);
      continue;
    }
    if (needed.insert(op))
      stack.append(op->operand_begin(), op->operand_end());
  }
  inputs.assign(taken.begin(), taken.end());
  SmallVector<Operation *> result(needed.begin(), needed.end());
  llvm::sort(result, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return result;
}

/// Gives every user of a large tensor that repeats a smaller one a repetition of its own, which costs nothing in a kernel. A shared
/// one would tie together kernels that have nothing else in common, such as the updates of all weights of one shape: more streams
/// at equal distances than a cache has ways. Of tensors up to `largest` elements they may stay together. So has every user of narrow
/// elements made wider, which would else be stored as wide.
static void unshareRepeats(func::FuncOp func, FactsCache &facts, int64_t largest) {
  OpBuilder builder(func.getContext());
  for (Operation &op : llvm::make_early_inc_range(func.getBody().front())) {
    const OpFacts &f = facts.get(&op);
    bool isOne = f.element && !f.reduction && f.cost <= 1 && f.accesses.size() == 1 && op.getNumOperands() == 1;
    bool widens = isOne && !f.move && sizeOf(op.getResult(0)) == sizeOf(op.getOperand(0)) && bytesOf(op.getResult(0)) > bytesOf(op.getOperand(0));
    bool repeats = f.move && sizeOf(op.getResult(0)) > std::max(largest, sizeOf(op.getOperand(f.accesses[0].operand)));
    if (!widens && !repeats)
      continue;
    llvm::SetVector<Operation *> users(op.user_begin(), op.user_end());
    users.remove_if([&](Operation *user) { return !facts.get(user).element; });
    for (Operation *user : llvm::drop_begin(users, users.empty() ? 0 : 1)) {
      builder.setInsertionPoint(user);
      Operation *own = builder.clone(op);
      for (StringRef name : {"para.phase", "para.repeats"}) // it is made when and as what its user is
        if (Attribute attr = user->getAttr(name))
          own->setAttr(name, attr);
      user->replaceUsesOfWith(op.getResult(0), own->getResult(0));
    }
  }
}

/// A part of a repeated number is the number repeated less often. Ranks that have a part of a tensor would else fill all of it first, since
/// where their part begins is not known here.
static void shortenRepeats(func::FuncOp func, FactsCache &facts) {
  SmallVector<Operation *> shortened;
  for (Operation &op : func.getBody().front()) {
    const OpFacts &f = facts.get(&op);
    Operation *repeat = f.move ? op.getOperand(f.accesses[0].operand).getDefiningOp() : nullptr;
    if (!repeat || !facts.get(repeat).move || sizeOf(repeat->getResult(0)) == 1)
      continue;
    Value number = repeat->getOperand(facts.get(repeat).accesses[0].operand);
    if (sizeOf(number) != 1)
      continue;
    OpBuilder builder(&op);
    TensorBuilder t(op.getLoc(), builder);
    Operation *before = op.getPrevNode();
    Value made = t.broadcast(shapeOf(number).empty() ? number : t.reshape(number, {}), shapeOf(op.getResult(0)), {});
    for (Operation *each = op.getPrevNode(); each != before; each = each->getPrevNode())
      if (Attribute phase = op.getAttr("para.phase"))
        each->setAttr("para.phase", phase);
    op.getResult(0).replaceAllUsesWith(made);
    shortened.push_back(&op);
  }
  for (Operation *op : llvm::reverse(shortened)) {
    Operation *repeat = op->getOperand(0).getDefiningOp();
    for (Operation *dead : {op, repeat})
      if (isOpTriviallyDead(dead)) {
        facts.forget(dead);
        dead->erase();
      }
  }
}

static void form(func::FuncOp func, FactsCache &facts, bool mergesLaunches) {
  Grouping grouping(func, facts, mergesLaunches);
  std::vector<Group> groups = grouping.run();
  Block &block = func.getBody().front();
  Operation *terminator = block.getTerminator();
  OpBuilder builder(terminator);
  IRMapping made;
  SmallVector<Operation *> old;
  for (Operation &op : block.without_terminator())
    old.push_back(&op);
  std::vector<SmallVector<Value>> outputs;
  for (const Group &group : groups)
    outputs.push_back(group.opaque ? SmallVector<Value>() : grouping.outputsOf(group));
  for (auto [group, results] : llvm::zip_equal(groups, outputs)) {
    Operation *first = group.ops.front();
    if (first == terminator)
      continue;
    if (group.opaque) {
      Operation *copy = builder.clone(*first, made);
      made.map(first->getResults(), copy->getResults());
      continue;
    }
    if (results.empty())
      continue;
    SmallVector<Value> inputs;
    SmallVector<Operation *> ops = neededOps(group, results, grouping, inputs);
    SmallVector<Value> operands;
    for (Value v : inputs)
      operands.push_back(made.lookupOrDefault(v));
    auto fused = rt::FusedOp::create(builder, nameOf(group, facts), ValueRange(results).getTypes(), operands);
    if (Attribute phase = first->getAttr("para.phase"))
      fused->setAttr("para.phase", phase);
    Block *body = builder.createBlock(&fused.getBody());
    IRMapping local;
    for (Value v : inputs)
      local.map(v, body->addArgument(v.getType(), v.getLoc()));
    for (Operation *op : ops) {
      Operation *copy = builder.clone(*op, local);
      // Marks of earlier stages: without them equal bodies are equal.
      copy->setDiscardableAttrs(builder.getDictionaryAttr({}));
      if (group.strips && isStripSum(op))
        copy->setAttr(stripSumMark, builder.getUnitAttr());
      if (op->hasAttr(rowsMark) && llvm::is_contained(group.ops, op)) // A clone's rows need not be the group's.
        copy->setAttr(rowsMark, builder.getUnitAttr());
    }
    SmallVector<Value> yielded;
    for (Value v : results)
      yielded.push_back(local.lookup(v));
    rt::YieldOp::create(builder, func.getLoc(), yielded);
    builder.setInsertionPoint(terminator);
    made.map(results, fused.getResults());
  }
  for (OpOperand &operand : terminator->getOpOperands())
    operand.set(made.lookupOrDefault(operand.get()));
  for (Operation *op : llvm::reverse(old)) {
    op->dropAllUses();
    op->erase();
  }
}

/// Outputs that turned out to be one value become one result: a kernel stores a value in one place.
static void mergeEqualOutputs(rt::FusedOp fused) {
  Operation *yield = fused.getBody().front().getTerminator();
  llvm::SetVector<Value> distinct(yield->operand_begin(), yield->operand_end());
  if (distinct.size() == yield->getNumOperands())
    return;
  OpBuilder builder(fused);
  auto merged = rt::FusedOp::create(builder, fused.getLoc(), ValueRange(distinct.getArrayRef()).getTypes(), fused.getInputs());
  merged->setDiscardableAttrs(fused->getDiscardableAttrDictionary());
  for (auto [result, value] : llvm::zip_equal(fused.getResults(), yield->getOperands()))
    result.replaceAllUsesWith(merged.getResult(llvm::find(distinct, value) - distinct.begin()));
  yield->setOperands(distinct.getArrayRef());
  merged.getBody().takeBody(fused.getBody());
  fused.erase();
}

/// Each op right behind what its operands need, in the order in which outputs take them.
static void sortByUse(Block &body) {
  Operation *end = body.getTerminator();
  llvm::DenseSet<Operation *> seen;
  // An op comes up again when all that it takes stands.
  SmallVector<std::pair<Operation *, bool>> stack{{end, false}};
  while (!stack.empty()) {
    auto [op, isReady] = stack.pop_back_val();
    if (isReady && op != end)
      op->moveBefore(end);
    if (isReady || !seen.insert(op).second)
      continue;
    stack.push_back({op, true});
    for (Value operand : llvm::reverse(op->getOperands()))
      if (Operation *made = operand.getDefiningOp())
        stack.push_back({made, false});
  }
}

namespace {
struct FormKernelsPass : public para::impl::FormKernelsPassBase<FormKernelsPass> {
  using FormKernelsPassBase::FormKernelsPassBase;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      FactsCache facts; // by op: those of a function go with it
      shortenRepeats(func, facts);
      for (Operation &op : func.getBody().front().without_terminator())
        if (!facts.get(&op).element && !isa<rt::CallOp, rt::FusedOp>(op)) {
          op.emitOpError("cannot be lowered: it is neither computed element by element nor a call of the runtime");
          return signalPassFailure();
        }
      // On a processor, all that a kernel of smaller tensors works on fits into the cache.
      bool mergesLaunches = target != "host";
      unshareRepeats(func, facts, mergesLaunches ? 1 : 1 << 14);
      form(func, facts, mergesLaunches);
      IRRewriter rewriter(&getContext());
      DominanceInfo dominance(func);
      for (auto fused : llvm::make_early_inc_range(func.getOps<rt::FusedOp>())) {
        eliminateCommonSubExpressions(rewriter, dominance, fused);
        mergeEqualOutputs(fused);
      }
      for (auto fused : func.getOps<rt::FusedOp>())
        sortByUse(fused.getBody().front());
    }
  }
};
} // namespace
