//===- KernelOnline.cpp - Maximum and exponentials in one pass ------------===//
//
// The sum of exp(x - m) over a row, m being the row's maximum, would read a row twice that is too long to be kept. Instead each thread adds up
// exp(x - m') for the largest m' that it has seen so far, and scales the sum by exp(m' - m'') where a larger m'' comes (Milakov and Gimelshein
// 2018). A sum beside it that has one term other than zero, told by a comparison with the element's number (a label's logit), is that term.
//
//===----------------------------------------------------------------------===//
#include "KernelLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace para;

/// Shorter rows are read again out of the first level cache.
static constexpr int64_t shortestRow = 1024;

static ReductionKind kindOf(Operation *op) { return cast<ElementOpInterface>(op).getCombiner(); }

static bool dependsOn(Value v, Value x) {
  SmallVector<Value> stack{v};
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Value u = stack.pop_back_val();
    if (u == x)
      return true;
    if (Operation *op = u.getDefiningOp(); op && seen.insert(u).second)
      llvm::append_range(stack, op->getOperands());
  }
  return false;
}

/// Whether the term is exp(x - maximum).
static bool isBelow(Value term, Value maximum) {
  auto exp = term.getDefiningOp<math::ExpOp>();
  auto difference = exp ? exp.getOperand().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
  return difference && difference.getRhs() == maximum && !dependsOn(difference.getLhs(), maximum);
}

/// What the number of an element must be for the term not to be zero; null if that is another kind of term.
static Value onlyNumber(Value term, Value number) {
  auto select = term.getDefiningOp<arith::SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq || !matchPattern(select.getFalseValue(), m_AnyZeroFloat()))
    return nullptr;
  Value other = compare.getLhs() == number ? compare.getRhs() : compare.getRhs() == number ? compare.getLhs() : Value();
  return other && other.getType().isInteger(64) && !dependsOn(other, number) ? other : Value();
}

const KernelPass *KernelLoops::onlineAfter(unsigned first) const {
  for (auto &[number, sums] : online)
    if (sums.first == first)
      return &body.passes[number];
  return nullptr;
}

void KernelLoops::findOnline() {
  for (unsigned number = 1; number < body.passes.size(); ++number) {
    unsigned before = number - 1;
    while (before > 0 && body.passes[before].inner.empty()) // It stores what is known of the row, as the maximum is.
      --before;
    const KernelPass &first = body.passes[before], &second = body.passes[number];
    auto onlyReduces = [](const KernelPass &pass) { return pass.outputs.empty() && pass.kept.empty() && pass.stripSums.empty(); };
    if (!onlyReduces(first) || !onlyReduces(second) || first.reductions.size() != 1 || second.reductions.empty() || isOnline(before) ||
        first.inner != second.inner || first.inner.size() != 1 || first.inner[0] < shortestRow || kindOf(first.reductions[0]) != ReductionKind::Max)
      continue;
    // The terms as they would be, with names for the maximum and for the element's number.
    OpBuilder::InsertionGuard keep(b);
    b.setInsertionPoint(kernel);
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    SmallVector<Type> types{pointer, b.getI64Type(), b.getI64Type()};
    SmallVector<Operation *> known;
    for (unsigned p = 0; p < number; ++p)
      for (Operation *op : body.passes[p].reductions) {
        known.push_back(op);
        types.push_back(getElementTypeOrSelf(op->getResult(0).getType()));
      }
    auto func = func::FuncOp::create(b, "trial", b.getFunctionType(types, {}));
    Block *trial = func.addEntryBlock();
    b.setInsertionPointToStart(trial);
    KernelEmitter emitter(b, body, facts, kernel);
    auto axis = [&](StringRef) -> Value { return trial->getArgument(1); };
    emitter.number = axis;
    for (BlockArgument v : body.block->getArguments())
      emitter.pointers[v] = trial->getArgument(0);
    for (Value v : body.outputs)
      emitter.pointers[v] = trial->getArgument(0);
    for (const KernelPass &pass : body.passes)
      for (Value v : pass.kept)
        emitter.scratch[v] = trial->getArgument(0);
    for (auto [i, op] : llvm::enumerate(known))
      emitter.rowValues[op->getResult(0)] = trial->getArgument(3 + i);
    Value maximum = emitter.rowValues.lookup(first.reductions[0]->getResult(0)), element = trial->getArgument(2);
    emitter.pass = number;
    emitter.extents.assign(body.outer.begin(), body.outer.end());
    emitter.loopValues.assign(body.outer.size(), trial->getArgument(1));
    emitter.extents.push_back(second.inner[0]);
    emitter.loopValues.push_back(element);
    SmallVector<bool> haveOneTerm;
    bool isPossible = isa<FloatType>(maximum.getType());
    for (Operation *op : second.reductions) {
      emitter.startBody();
      Value term = termAt(emitter, second, op);
      emitter.finishBody();
      haveOneTerm.push_back(onlyNumber(term, element) != nullptr);
      isPossible &= kindOf(op) == ReductionKind::Sum && (haveOneTerm.back() || isBelow(term, maximum));
    }
    func.erase();
    if (isPossible && llvm::is_contained(haveOneTerm, false))
      online[number] = {before, haveOneTerm};
  }
}

void KernelLoops::addOnline(KernelEmitter &emitter, const KernelPass &pass, MutableArrayRef<Value> accumulators) {
  const KernelPass &next = *onlineAfter(passNumber);
  Operation *op = pass.reductions[0];
  Type scalar = getElementTypeOrSelf(op->getResult(0).getType());
  auto number = [&](TypedAttr value) { return arith::ConstantOp::create(b, value).getResult(); };
  Value none = number(scalar::identity(scalar, ReductionKind::Max));
  Value before = accumulators[0], here = foldLanes(ReductionKind::Max, emitter.selectTail(termAt(emitter, pass, op), emitter.splat(none)));
  Value now = scalar::combine(b, ReductionKind::Max, before, here);
  // While there is nothing but what lies infinitely low, that is what its difference to any number is.
  Value isLowest = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, now, none);
  Value base = arith::SelectOp::create(b, isLowest, number(b.getFloatAttr(scalar, 0.0)), now);
  Value scale = emitter.splat(math::ExpOp::create(b, arith::SubFOp::create(b, before, base)));
  emitter.rowValues[op->getResult(0)] = base;
  unsigned i = 1;
  for (auto [sum, hasOneTerm] : llvm::zip_equal(next.reductions, online[&next - body.passes.data()].hasOneTerm))
    if (!hasOneTerm) {
      Value scaled = arith::MulFOp::create(b, accumulators[i], scale);
      accumulators[i] = emitter.selectTail(arith::AddFOp::create(b, scaled, termAt(emitter, next, sum)), scaled);
      ++i;
    }
  accumulators[0] = now;
  emitter.finishBody();
}

Value KernelLoops::onlyTerm(KernelEmitter &emitter, const KernelPass &pass, Operation *op) {
  unsigned inner = body.outer.size();
  auto at = [&](Value number) {
    emitter.loopValues[inner] = number;
    emitter.startBody();
    Value term = termAt(emitter, pass, op);
    emitter.finishBody();
    return term;
  };
  Value zero = emitter.integer(0), number = onlyNumber(at(zero), zero);
  Value isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, emitter.integer(pass.inner[0]));
  return at(arith::SelectOp::create(b, isInside, number, zero));
}

void KernelLoops::finishOnline(KernelEmitter &emitter, unsigned number) {
  const KernelPass &pass = body.passes[number];
  Value maximum = rowValues[0].lookup(body.passes[online[number].first].reductions[0]->getResult(0));
  emitter.lane = -1;
  emitter.tail = nullptr;
  emitter.rowValues = rowValues[0];
  auto *streams = std::exchange(emitter.streams, nullptr); // an element a row
  Value scale = math::ExpOp::create(b, arith::SubFOp::create(b, carried[0], maximum));
  SmallVector<Value> sums;
  unsigned i = 1;
  for (auto [op, hasOneTerm] : llvm::zip_equal(pass.reductions, online[number].hasOneTerm)) {
    Value sum = hasOneTerm ? onlyTerm(emitter, pass, op) : arith::MulFOp::create(b, foldLanes(ReductionKind::Sum, carried[i++]), scale);
    if (hasOneTerm && block.members > 1) { // One of the members has it.
      Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, member, emitter.integer(0));
      sum = arith::SelectOp::create(b, isFirst, sum, arith::ConstantOp::create(b, b.getFloatAttr(sum.getType(), 0.0)));
    }
    sums.push_back(sum);
  }
  if (block.members > 1)
    combineMembers(pass, sums);
  for (auto [op, sum] : llvm::zip_equal(pass.reductions, sums))
    rowValues[0][op->getResult(0)] = sum;
  emitter.streams = streams;
}
