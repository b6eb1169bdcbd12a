//===- KernelBody.cpp - The passes of a fused kernel ----------------------===//
#include "KernelBody.h"

#include "IndexMath.h"

#include <functional>
#include <map>
#include <set>

using namespace mlir;
using namespace para;

AffineExpr KernelBody::innerNumber(ArrayRef<int64_t> inner, MLIRContext *ctx) const {
  SmallVector<AffineExpr> dims;
  for (unsigned i = 0; i < inner.size(); ++i)
    dims.push_back(getAffineDimExpr(outer.size() + i, ctx));
  return linearize(dims, inner, ctx);
}

SmallVector<AffineExpr> KernelBody::coordinates(ArrayRef<int64_t> shape, ArrayRef<int64_t> inner, MLIRContext *ctx) const {
  SmallVector<AffineExpr> dims;
  for (unsigned i = 0; i < outer.size(); ++i)
    dims.push_back(getAffineDimExpr(i, ctx));
  std::optional<unsigned> prefix = prefixOf(shape, rows);
  assert(prefix && "a kernel's values have its rows as leading dimensions");
  SmallVector<AffineExpr> index = delinearize(linearize(dims, outer, ctx), shape.take_front(*prefix), ctx);
  llvm::append_range(index, delinearize(innerNumber(inner, ctx), shape.drop_front(*prefix), ctx));
  return index;
}

/// Shorter rows are read again out of the first level cache.
static constexpr int64_t shortestKept = 8;

namespace {
class Analysis {
public:
  Analysis(KernelBody &body, FactsCache &facts, const KernelTarget &target) : body(body), facts(facts), target(target) {}

  void run() {
    collect();
    chooseRows();
    makePasses();
    keepExpensive();
    if (target.hasBlocks) {
      keepLoaded();
      noteRead();
    }
  }

private:
  void collect() {
    body.outputs.assign(body.block->getTerminator()->operand_begin(), body.block->getTerminator()->operand_end());
    for (Operation &op : body.block->without_terminator())
      if (isStripSum(&op))
        stripSums.push_back(&op);
      else if (facts.get(&op).reduction)
        reductions.push_back(&op);
  }

  static bool isMadeByStrips(Value v) { return v.getDefiningOp() && isStripSum(v.getDefiningOp()); }

  void chooseRows() {
    Value first = reductions.empty() ? body.outputs.front() : reductions.front()->getResult(0);
    body.rows = sizeOf(first);
    // Where all rows lie apart alike, elements can be counted as if they did not.
    bool isApart = llvm::all_of(body.outputs, [&](Value v) { return v.getDefiningOp() && v.getDefiningOp()->hasAttr(rowsMark) && sizeOf(v) == body.rows; });
    if (reductions.empty() && !isApart)
      for (Operation &op : body.block->without_terminator())
        if (op.hasAttr(rowsMark))
          body.rows = rowsOfMarked(&op);
    SmallVector<SmallVector<int64_t>> prefixes;
    if (!stripSums.empty()) {
      body.rows = rowsOf(stripSums.front());
      body.strips = stripsOf(stripSums.front());
      prefixes.push_back({body.strips, body.rows / body.strips});
    }
    auto note = [&](ArrayRef<int64_t> shape) {
      if (auto p = prefixOf(shape, body.rows))
        prefixes.emplace_back(shape.take_front(*p));
    };
    for (Value v : body.outputs)
      if (!isMadeByStrips(v))
        note(shapeOf(v));
    for (Operation *op : reductions)
      note(shapeOf(op->getResult(0)));
    for (Operation &op : body.block->without_terminator())
      if (!isStripSum(&op))
        note(shapeOf(op.getResult(0)));
    body.outer = commonRefinement(prefixes, body.rows);
  }

  /// The first pass level in which `v` can be computed: after the reductions that it needs.
  unsigned levelOf(Value v) {
    Operation *op = v.getDefiningOp();
    if (!op)
      return 0;
    if (auto it = levels.find(v); it != levels.end())
      return it->second;
    unsigned level = 0;
    for (Value u : op->getOperands())
      level = std::max(level, levelOf(u));
    if (facts.get(op).reduction)
      ++level; // known after its pass
    return levels[v] = level;
  }

  void makePasses() {
    // By level, then by the size of the inner loops; row values are stored at the end of their level.
    std::map<std::pair<unsigned, int64_t>, KernelPass> made;
    std::map<std::pair<unsigned, int64_t>, SmallVector<SmallVector<int64_t>>> shapes;
    for (Operation *op : reductions) {
      const OpFacts &f = facts.get(op);
      SmallVector<int64_t> extents(ArrayRef<int64_t>(f.loops).drop_front(f.resultRank));
      std::pair<unsigned, int64_t> key{levelOf(op->getResult(0)) - 1, productOf(extents)};
      made[key].reductions.push_back(op);
      shapes[key].push_back(extents);
    }
    for (auto [i, v] : llvm::enumerate(body.outputs)) {
      if (isMadeByStrips(v))
        continue;
      auto prefix = prefixOf(shapeOf(v), body.rows);
      SmallVector<int64_t> inner(shapeOf(v).drop_front(*prefix));
      std::pair<unsigned, int64_t> key{levelOf(v), productOf(inner)};
      if (key.second == 1)
        key.second = 0; // apart from reductions over one element
      made[key].outputs.push_back(i);
      shapes[key].push_back(inner);
    }
    // Where the row is gone through anyway, as soon as its elements are known.
    for (Operation *op : stripSums) {
      Value x = op->getOperand(0);
      std::pair<unsigned, int64_t> key{levelOf(x), rowSize(x)};
      for (auto it = made.lower_bound(key); it != made.end(); ++it)
        if (it->first.second == key.second) {
          key = it->first;
          break;
        }
      made[key].stripSums.push_back(op);
      shapes[key].push_back({key.second});
      keptBytes += rowSize(x) * elementBytes(x.getType());
    }
    for (auto &[key, pass] : made) {
      // Dimensions of members of the pass's size make finer loops, so that coordinates need no divisions.
      for (Operation &op : body.block->without_terminator())
        if (auto p = prefixOf(shapeOf(op.getResult(0)), body.rows); p && !isStripSum(&op))
          if (SmallVector<int64_t> inner(shapeOf(op.getResult(0)).drop_front(*p)); productOf(inner) == key.second)
            shapes[key].push_back(inner);
      if (key.second != 0)
        pass.inner = commonRefinement(shapes[key], key.second);
      unsigned number = body.passes.size();
      for (unsigned i : pass.outputs)
        if (!pass.inner.empty())
          body.storedIn.insert({body.outputs[i], number});
      body.passes.push_back(pass);
    }
  }

  /// Expensive ops which pass `number` computes.
  void reach(Value v, unsigned number, llvm::SetVector<Operation *> &found, llvm::DenseSet<Value> &seen) {
    Operation *op = v.getDefiningOp();
    if (!op || !seen.insert(v).second || facts.get(op).reduction)
      return;
    if (auto it = body.storedIn.find(v); it != body.storedIn.end() && it->second < number)
      return;
    if (facts.get(op).expensive)
      found.insert(op);
    for (Value u : op->getOperands())
      reach(u, number, found, seen);
  }

  void keepExpensive() {
    if (body.passes.size() < 2)
      return;
    llvm::MapVector<Operation *, SmallVector<unsigned>> users;
    for (auto [number, pass] : llvm::enumerate(body.passes)) {
      llvm::SetVector<Operation *> found;
      llvm::DenseSet<Value> seen;
      for (Operation *op : pass.reductions)
        for (Value u : op->getOperands())
          reach(u, number, found, seen);
      for (unsigned i : pass.outputs)
        reach(body.outputs[i], number, found, seen);
      for (Operation *op : pass.stripSums)
        reach(op->getOperand(0), number, found, seen);
      for (Operation *op : found)
        users[op].push_back(number);
    }
    for (unsigned number = 0; number < body.passes.size(); ++number)
      reachRow(number); // for what is read elsewhere
    for (auto &[op, numbers] : users) {
      Value v = op->getResult(0);
      if (elsewhere.contains(v)) // What is kept is the own row.
        continue;
      auto prefix = prefixOf(shapeOf(v), body.rows);
      unsigned first = numbers.front();
      if (numbers.size() < 2 || !prefix || body.storedIn.count(v))
        continue;
      int64_t size = productOf(shapeOf(v).drop_front(*prefix));
      if (size == 1 || size != productOf(body.passes[first].inner) || body.passes[first].inner.empty())
        continue;
      if (keptBytes + size * elementBytes(v.getType()) > target.mostScratchBytes)
        break;
      keep(v, first);
    }
  }

  void keep(Value v, unsigned pass) {
    keptBytes += rowSize(v) * elementBytes(v.getType());
    body.passes[pass].kept.push_back(v);
    body.storedIn[v] = pass;
  }

  /// Elements of `v` in a row; 0 if it has other rows.
  int64_t rowSize(Value v) {
    auto prefix = prefixOf(shapeOf(v), body.rows);
    return prefix ? productOf(shapeOf(v).drop_front(*prefix)) : 0;
  }

  bool isKeptBefore(Value v, unsigned number) {
    auto stored = body.storedIn.find(v);
    return stored != body.storedIn.end() && stored->second < number && llvm::is_contained(body.passes[stored->second].kept, v);
  }
  bool isReadBack(Value v, unsigned number) {
    auto stored = body.storedIn.find(v);
    return stored != body.storedIn.end() && stored->second < number;
  }

  bool isMemory(Value v, unsigned number) { return !v.getDefiningOp() || isReadBack(v, number); }
  /// Whether each row is made of what lies elsewhere, and is not the same for all rows.
  bool gathersRow(Value v) {
    Operation *op = v.getDefiningOp();
    if (!op || facts.get(op).reduction)
      return false;
    const OpFacts &f = facts.get(op);
    return llvm::any_of(f.accesses, [&](const OpAccess &access) {
      Value operand = op->getOperand(access.operand);
      return sizeOf(operand) > rowSize(v) && !keepsRow(op, f, access, body.rows);
    });
  }

  /// Calls `visit` for what `v` is made of in pass `number`, and whether that is the element of `v`'s own number of rows in the own row.
  void forOperands(Value v, unsigned number, llvm::function_ref<void(Value, bool)> visit) {
    Operation *op = v.getDefiningOp();
    if (op && !isReadBack(v, number) && !facts.get(op).reduction)
      forAccesses(op, visit);
  }
  void forAccesses(Operation *op, llvm::function_ref<void(Value, bool)> visit) {
    const OpFacts &f = facts.get(op);
    for (const OpAccess &access : f.accesses) {
      Value operand = op->getOperand(access.operand);
      visit(operand, rowSize(operand) > 1 && keepsRow(op, f, access, body.rows));
    }
  }
  void forRoots(unsigned number, llvm::function_ref<void(Value, bool)> visit) {
    for (Operation *op : body.passes[number].reductions)
      forAccesses(op, visit);
    for (unsigned i : body.passes[number].outputs)
      visit(body.outputs[i], rowSize(body.outputs[i]) > 1);
    for (Operation *op : body.passes[number].stripSums)
      visit(op->getOperand(0), true);
  }

  /// The values that pass `number` has of the own row, users first; others go to `elsewhere`.
  llvm::SetVector<Value> reachRow(unsigned number) {
    llvm::SetVector<Value> found;
    std::function<void(Value, bool)> visit = [&](Value v, bool inRow) {
      if (inRow ? found.insert(v) : elsewhere.insert(v).second)
        forOperands(v, number, [&](Value operand, bool stays) { visit(operand, inRow && stays); });
    };
    forRoots(number, visit);
    return found;
  }

  /// Whether pass `number` reads one of `reads` to have `v`.
  bool needs(Value v, unsigned number, const llvm::DenseSet<Value> &reads, llvm::DenseSet<Value> &seen) {
    if (!seen.insert(v).second || isKeptBefore(v, number))
      return false;
    bool result = reads.contains(v);
    forOperands(v, number, [&](Value operand, bool stays) { result = result || (stays && needs(operand, number, reads, seen)); });
    return result;
  }

  /// Whether pass `number` reads `v` only where it is at the same element.
  bool readsInPlace(Value v, unsigned number) {
    std::set<std::pair<void *, bool>> seen;
    std::function<bool(Value, bool)> visit = [&](Value u, bool same) {
      if (u == v)
        return same;
      Operation *op = u.getDefiningOp();
      if (!op || !seen.insert({u.getAsOpaquePointer(), same}).second || isReadBack(u, number) || facts.get(op).reduction)
        return true;
      const OpFacts &f = facts.get(op);
      return llvm::all_of(f.accesses, [&](const OpAccess &access) { return visit(op->getOperand(access.operand), same && keepsRow(op, f, access, 0)); });
    };
    bool result = true;
    for (Operation *op : body.passes[number].reductions)
      for (const OpAccess &access : facts.get(op).accesses)
        result &= visit(op->getOperand(access.operand), keepsRow(op, facts.get(op), access, 0));
    for (unsigned i : body.passes[number].outputs)
      result &= visit(body.outputs[i], true);
    for (Operation *op : body.passes[number].stripSums)
      result &= visit(op->getOperand(0), true);
    for (Value kept : body.passes[number].kept)
      result &= visit(kept, true);
    return result;
  }

  /// A value that pass `number` keeps and can write where it reads `v` for the last time.
  Value findHeir(Value v, unsigned number) {
    for (unsigned later = number + 1; later < body.passes.size(); ++later)
      if (reachRow(later).contains(v))
        return nullptr;
    for (Value heir : body.passes[number].kept) {
      bool isFree = llvm::none_of(body.placeOf, [&](auto &entry) { return entry.second == heir; });
      if (isFree && rowSize(heir) == rowSize(v) && elementBytes(heir.getType()) == elementBytes(v.getType()) && readsInPlace(v, number))
        return heir;
    }
    return nullptr;
  }

  /// Rows that a later pass would read again from memory stay in that of the block: what is made of them where that is less, else they.
  void keepLoaded() {
    llvm::DenseMap<Value, unsigned> first;
    for (unsigned number = 0; number < body.passes.size(); ++number)
      for (Value v : reachRow(number)) // for what is read elsewhere, of all passes
        first.insert({v, number});
    for (unsigned number = 1; number < body.passes.size(); ++number) {
      llvm::DenseSet<Value> reads;
      llvm::SetVector<Value> rows, made;
      auto canKeep = [&](Value v) {
        unsigned pass = first.lookup(v);
        return pass < number && !elsewhere.contains(v) && rowSize(v) == productOf(body.passes[pass].inner) && rowSize(v) >= shortestKept;
      };
      for (Value v : reachRow(number))
        if ((isMemory(v, number) || gathersRow(v)) && !isKeptBefore(v, number) && canKeep(v)) {
          reads.insert(v);
          rows.insert(v);
        }
      if (reads.empty())
        continue;
      llvm::DenseSet<Value> visited;
      std::function<void(Value, bool)> cut = [&](Value v, bool inRow) {
        if (!inRow || !visited.insert(v).second)
          return;
        llvm::DenseSet<Value> seen;
        if (!needs(v, number, reads, seen))
          return;
        if (canKeep(v))
          made.insert(v);
        else
          forOperands(v, number, [&](Value operand, bool stays) { cut(operand, stays); });
      };
      forRoots(number, cut);
      auto bytes = [&](const llvm::SetVector<Value> &values) {
        int64_t sum = 0;
        for (Value v : values)
          sum += rowSize(v) * elementBytes(v.getType());
        return sum;
      };
      for (Value v : bytes(made) <= bytes(rows) ? made : rows) {
        if (Value heir = findHeir(v, number)) {
          body.placeOf[v] = heir;
          keptBytes -= rowSize(v) * elementBytes(v.getType());
        }
        if (keptBytes + rowSize(v) * elementBytes(v.getType()) <= target.mostScratchBytes)
          keep(v, first.lookup(v));
      }
    }
  }

  void noteRead() {
    for (auto [number, pass] : llvm::enumerate(body.passes))
      for (Value v : reachRow(number))
        if (isMemory(v, number) && !isKeptBefore(v, number))
          pass.read.push_back(v);
  }

  KernelBody &body;
  FactsCache &facts;
  const KernelTarget &target;
  SmallVector<Operation *> reductions, stripSums;
  llvm::DenseMap<Value, unsigned> levels;
  int64_t keptBytes = 0;
  llvm::DenseSet<Value> elsewhere; ///< read in other rows than the own one, too
};
} // namespace

KernelBody KernelBody::analyze(Block *block, FactsCache &facts, const KernelTarget &target) {
  KernelBody body;
  body.block = block;
  Analysis(body, facts, target).run();
  return body;
}
