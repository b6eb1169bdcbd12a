//===- FormTiles.cpp - Attention as kernels that store no scores ----------===//
#include "Grouping.h"
#include "Matmul.h"
#include "TileRegions.h"

#include "para/IR/Program.h"
#include "para/Lower/Passes.h"
#include "para/Lower/Rt.h"
#include "para/Ops/TensorBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_FORMTILESPASS
#include "para/Lower/Passes.h.inc"
} // namespace para

/// What of an operand a kernel makes anew for each tile that it reads it for.
static constexpr unsigned mostCost = 14, mostOps = 64;

namespace {
/// What becomes one kernel.
struct TileGroup {
  bool byColumns = false;
  SmallVector<Operation *> sums, reductions, stored; ///< `stored`: of scores
  SmallVector<Value> outputs; ///< of the function
  rt::FusedOp fused;
  Operation *last() const {
    Operation *result = nullptr;
    for (Operation *op : llvm::concat<Operation *const>(sums, reductions, stored))
      if (!result || result->isBeforeInBlock(op))
        result = op;
    return result;
  }
};

class TileFormer {
public:
  explicit TileFormer(func::FuncOp func) : func(func), volatileArguments(findVolatileArguments(func)) {}

  void run() {
    SmallVector<Operation *> seeds;
    for (Operation &op : func.getBody().front())
      if (isMatrixProduct(&op))
        seeds.push_back(&op);
    for (Operation *seed : seeds)
      if (!taken.contains(seed))
        tryAt(seed);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.getBody().front())))
      if (isOpTriviallyDead(&op)) {
        facts.forget(&op);
        op.erase();
      }
  }

private:
  void tryAt(Operation *seed) {
    std::optional<TileRegion> found = TileRegion::find(seed, facts);
    if (!found || !isWorthIt(*found))
      return;
    TileRegion &region = *found;
    for (Operation *op : llvm::to_vector(region.reductions))
      sumOverDepth(region, op);
    std::vector<TileGroup> groups = divide(region);
    madeOutputs.clear();
    bool isMade = true;
    for (size_t i = 0; i < groups.size() && isMade; ++i)
      isMade = make(region, groups, i);
    if (!isMade) {
      for (TileGroup &group : llvm::reverse(groups)) // which may take from those before
        if (group.fused)
          group.fused.erase();
      return;
    }
    for (TileGroup &group : groups)
      for (auto [v, result] : llvm::zip_equal(group.outputs, group.fused.getResults()))
        v.replaceAllUsesWith(result);
    taken.insert(region.ops.begin(), region.ops.end());
    taken.insert(region.sums.begin(), region.sums.end());
  }

  /// What `v` is the product of.
  void factorsOf(Value v, SmallVectorImpl<Value> &factors) {
    Operation *op = v.getDefiningOp();
    const OpFacts *f = op && op->getBlock() == &func.getBody().front() ? &facts.get(op) : nullptr;
    if (f && f->multiplies && !f->reduction && llvm::all_of(f->accesses, [&](const OpAccess &access) { return keepsRow(op, *f, access, 0); })) {
      factorsOf(op->getOperand(0), factors);
      factorsOf(op->getOperand(1), factors);
    } else if (f && f->converts && keepsRow(op, *f, f->accesses[0], 0)) {
      factorsOf(op->getOperand(0), factors);
    } else {
      factors.push_back(v);
    }
  }

  /// With s = x y' and o = w y, the sum over columns of w s is that of x o over the depth: sum_j w_ij sum_d x_id y_jd = sum_d x_id o_id. It needs
  /// no round over the columns (Dao et al. 2022, for the backward pass of softmax).
  void sumOverDepth(TileRegion &region, Operation *op) {
    if (cast<ElementOpInterface>(op).getCombiner() != ReductionKind::Sum)
      return;
    SmallVector<Value> factors;
    factorsOf(op->getOperand(0), factors);
    auto byPointer = [](Value a, Value b) { return a.getAsOpaquePointer() < b.getAsOpaquePointer(); };
    unsigned outer = region.space.outerLoop(), inner = region.space.innerLoop(), depth = region.space.depthLoop();
    for (auto [i, s] : llvm::enumerate(factors)) {
      Operation *made = s.getDefiningOp();
      if (!made || !region.products.contains(made))
        continue;
      SmallVector<Value> weight(factors);
      weight.erase(weight.begin() + i);
      llvm::sort(weight, byPointer);
      int64_t size = region.productOf(made)->depth;
      auto y = findTileOperand(made, 1, {outer, inner, depth}, size, false, region.space, facts);
      for (Operation *sum : region.sums) {
        auto product = region.productOf(sum);
        SmallVector<Value> taken;
        factorsOf(sum->getOperand(product->score), taken);
        llvm::sort(taken, byPointer);
        SmallVector<unsigned> loops{outer, depth, inner};
        if (product->score == 1)
          std::swap(loops[0], loops[1]);
        auto other = findTileOperand(sum, product->other, loops, product->depth, false, region.space, facts);
        if (product->sumsRows || taken != weight || !y || !other || !y->isSame(*other) || !sum->isBeforeInBlock(op) ||
            shapeOf(made->getOperand(0)) != shapeOf(sum->getResult(0)) || shapeOf(op->getResult(0)) != shapeOf(sum->getResult(0)).drop_back() ||
            llvm::any_of(facts.get(made).accesses[0].index, [](AffineExpr e) { return !isa<AffineDimExpr>(e); }))
          continue;
        replaceByDepth(region, op, made->getOperand(0), sum);
        return;
      }
    }
  }

  void replaceByDepth(TileRegion &region, Operation *op, Value x, Operation *sum) {
    OpBuilder builder(op);
    TensorBuilder t(op->getLoc(), builder);
    Operation *before = op->getPrevNode();
    // From the order in which the sum is stored back to its own.
    Value o = storedAs(sum);
    for (Value v = o; v != sum->getResult(0);) {
      Operation *move = v.getDefiningOp();
      v = move->getOperand(0);
      SmallVector<int64_t> order;
      for (AffineExpr e : facts.get(move).accesses[0].index)
        if (auto d = dyn_cast<AffineDimExpr>(e); d && !llvm::is_contained(order, d.getPosition()))
          order.push_back(d.getPosition());
      bool isTranspose = order.size() == shapeOf(v).size() && order.size() == shapeOf(move->getResult(0)).size();
      o = isTranspose ? t.transpose(o, order) : t.reshape(o, shapeOf(v));
    }
    Type type = getElementTypeOrSelf(op->getResult(0).getType());
    Value result = t.reduce(ReductionKind::Sum, t.mul(t.cast(x, type), t.cast(o, type)), {static_cast<int64_t>(shapeOf(x).size()) - 1});
    for (Operation *made = op->getPrevNode(); made != before; made = made->getPrevNode()) {
      for (StringRef name : {"para.phase", "para.repeats"})
        if (Attribute attr = op->getAttr(name))
          made->setAttr(name, attr);
      region.ops.insert(made);
    }
    region.ops.remove(op);
    region.reductions.remove(op);
    region.reductions.insert(result.getDefiningOp());
    region.rows.insert(result);
    op->getResult(0).replaceAllUsesWith(result);
  }

  /// A maximum of rows between a product and another of the same phase; and scores are more than what they are made of.
  bool isWorthIt(const TileRegion &region) {
    bool hasMaximum = llvm::any_of(region.reductions, [](Operation *op) { return cast<ElementOpInterface>(op).getCombiner() == ReductionKind::Max; });
    bool hasSum = llvm::any_of(region.sums, [&](Operation *op) {
      return timeOf(op) == timeOf(region.seed) && !region.productOf(op)->sumsRows;
    });
    // What is stored all the same should be little of it.
    return hasMaximum && hasSum && region.stored.size() <= 2 && region.space.rows * region.space.columns > 1;
  }

  std::vector<TileGroup> divide(const TileRegion &region) {
    std::vector<TileGroup> result;
    SmallVector<std::pair<ChunkPhase, Attribute>> times;
    auto groupOf = [&](Operation *op, bool byColumns) -> TileGroup & {
      for (auto [group, time] : llvm::zip_equal(result, times))
        if (group.byColumns == byColumns && time == timeOf(op))
          return group;
      times.push_back(timeOf(op));
      result.emplace_back();
      result.back().byColumns = byColumns;
      return result.back();
    };
    for (bool byColumns : {false, true}) // rows first: columns take what these find out
      for (Operation &op : *region.seed->getBlock()) {
        if (region.reductions.contains(&op) && !byColumns)
          groupOf(&op, false).reductions.push_back(&op);
        if (region.sums.contains(&op) && region.productOf(&op)->sumsRows == byColumns)
          groupOf(&op, byColumns).sums.push_back(&op);
        if (!byColumns && op.getNumResults() == 1 && region.stored.contains(op.getResult(0)))
          groupOf(&op, false).stored.push_back(&op);
      }
    // What needs no scores is no kernel of tiles: the others take it from where it is.
    llvm::erase_if(result, [&](const TileGroup &group) {
      return group.sums.empty() && group.stored.empty() && llvm::none_of(group.reductions, [&](Operation *op) { return isOverColumns(op, region.space, facts); });
    });
    return result;
  }

  /// Whether a kernel makes `v` itself; then from which leaves.
  bool makesAnew(Value v, llvm::SetVector<Operation *> &chain, llvm::SetVector<Value> &leaves) {
    unsigned cost = 0;
    std::function<bool(Value)> visit = [&](Value u) {
      Operation *op = u.getDefiningOp();
      if (!op)
        return !volatileArguments.contains(u) && (leaves.insert(u), true);
      if (chain.contains(op))
        return true;
      const OpFacts &f = facts.get(op);
      if (!f.element || f.reduction || f.accumulate || f.expensive || madeOutputs.contains(u)) {
        leaves.insert(u);
        return true;
      }
      cost += f.cost;
      if (chain.size() > mostOps)
        return false;
      for (Value operand : op->getOperands())
        if (!visit(operand))
          return false;
      chain.insert(op);
      return true;
    };
    if (!v.getDefiningOp() || !visit(v) || chain.empty())
      return false;
    int64_t read = 0;
    for (Value leaf : leaves)
      read += std::min(sizeOf(leaf), sizeOf(v)) * elementBytes(leaf.getType());
    int64_t own = bytesOf(v);
    return read * 16 <= own || (read * 4 <= own * 5 && cost <= mostCost);
  }

  /// The value in which the result of a sum is stored: it has the elements in another order, or in another shape.
  Value storedAs(Operation *op) {
    Value result = op->getResult(0), stored = result;
    for (Value v = result; v.hasOneUse();) {
      Operation *user = *v.user_begin();
      const OpFacts &f = facts.get(user);
      if (!f.move || f.accesses[0].dynamic || sizeOf(user->getResult(0)) != sizeOf(v) || timeOf(user) != timeOf(op))
        break;
      bool isTranspose = f.resultRank == shapeOf(v).size() && llvm::all_of(f.accesses[0].index, [](AffineExpr e) { return isa<AffineDimExpr>(e); });
      if (!isTranspose && !keepsRow(user, f, f.accesses[0], 0))
        break;
      v = user->getResult(0);
      View view = viewOf(v, facts);
      if (view.base == result && view.offset == 0 && stridesSeenFrom(shapeOf(result), shapeOf(v), view.strides))
        stored = v;
    }
    return stored;
  }

  bool make(const TileRegion &region, std::vector<TileGroup> &groups, size_t number) {
    TileGroup &group = groups[number];
    llvm::SetVector<Operation *> members;
    llvm::SetVector<Value> inputs;
    gather(region, group, members, inputs);
    // Scores that are made again may differ in their last bit from those of which a maximum was found: which of them equals it is not asked then.
    bool isAgain = group.byColumns || timeOf(group.last()) != timeOf(region.seed);
    if (isAgain && llvm::any_of(members, [&](Operation *op) { return region.ops.contains(op) && facts.get(op).equates; }))
      return false;
    findOutputs(region, groups, number, members);
    if (group.outputs.empty())
      return false;
    SmallVector<Value> operands;
    for (Value v : inputs) {
      operands.push_back(v);
      for (TileGroup &earlier : MutableArrayRef(groups).take_front(number))
        for (auto [i, output] : llvm::enumerate(earlier.outputs))
          if (output == v)
            operands.back() = earlier.fused.getResult(i);
    }
    Operation *at = placeOf(region, group, operands);
    if (!at)
      return false;
    for (Value v : group.outputs) // moves of what is summed up
      for (Operation *op = v.getDefiningOp(); op && members.insert(op);)
        op = op->getOperand(facts.get(op).accesses[0].operand).getDefiningOp();
    return build(region, group, at, orderedFrom(group.outputs, members), inputs.getArrayRef(), operands);
  }

  /// What the kernel is made of, and what it reads.
  void gather(const TileRegion &region, const TileGroup &group, llvm::SetVector<Operation *> &members, llvm::SetVector<Value> &inputs) {
    SmallVector<Value> work;
    auto include = [&](Operation *op) {
      if (members.insert(op))
        llvm::append_range(work, op->getOperands());
    };
    for (Operation *op : group.sums)
      include(op);
    for (Operation *op : group.reductions)
      include(op);
    for (Operation *op : group.stored)
      include(op);
    while (!work.empty()) {
      Value v = work.pop_back_val();
      Operation *op = v.getDefiningOp();
      if (op && members.contains(op))
        continue;
      bool isForeign = madeOutputs.contains(v);
      isForeign |= op && region.reductions.contains(op) && !llvm::is_contained(group.reductions, op);
      if (op && region.ops.contains(op) && !isForeign) {
        include(op);
        continue;
      }
      llvm::SetVector<Operation *> chain;
      llvm::SetVector<Value> leaves;
      if (!isForeign && makesAnew(v, chain, leaves)) {
        members.insert(chain.begin(), chain.end());
        inputs.insert(leaves.begin(), leaves.end());
      } else {
        inputs.insert(v);
      }
    }
    llvm::SetVector<Value> read;
    for (Operation *op : orderedFrom(rootsOf(group), members))
      for (Value v : op->getOperands())
        if (inputs.contains(v) && !(v.getDefiningOp() && members.contains(v.getDefiningOp())))
          read.insert(v);
    inputs = read;
  }

  void findOutputs(const TileRegion &region, std::vector<TileGroup> &groups, size_t number, const llvm::SetVector<Operation *> &members) {
    TileGroup &group = groups[number];
    for (Operation *op : group.sums)
      group.outputs.push_back(storedAs(op));
    for (Operation *op : group.reductions)
      if (llvm::any_of(op->getUsers(), [&](Operation *user) { return !members.contains(user) || isSharedWithOthers(region, groups, number, user); }))
        group.outputs.push_back(op->getResult(0));
    madeOutputs.insert(group.outputs.begin(), group.outputs.end());
    for (Operation *op : group.stored) // which other kernels make again
      group.outputs.push_back(op->getResult(0));
  }

  /// Where the last of what it replaces is, or earlier if something is used before that; null where it would read what is not made yet.
  Operation *placeOf(const TileRegion &region, const TileGroup &group, ArrayRef<Value> operands) {
    Operation *at = group.last(), *first = nullptr, *latest = nullptr;
    for (Value v : group.outputs)
      for (Operation *user : v.getUsers())
        if (!region.ops.contains(user) && !region.sums.contains(user) && (!first || user->isBeforeInBlock(first)))
          first = user;
    for (Value operand : operands)
      if (Operation *op = operand.getDefiningOp(); op && (!latest || latest->isBeforeInBlock(op)))
        latest = op;
    if (first && first->isBeforeInBlock(at))
      at = first;
    return latest && !latest->isBeforeInBlock(at) ? nullptr : at;
  }

  /// The kernel at that place; false where no thread could do its part.
  bool build(const TileRegion &region, TileGroup &group, Operation *at, ArrayRef<Operation *> ordered, ArrayRef<Value> inputs, ArrayRef<Value> operands) {
    OpBuilder builder(at);
    auto fused = rt::FusedOp::create(builder, group.last()->getLoc(), ValueRange(group.outputs).getTypes(), operands);
    group.fused = fused;
    for (StringRef name : {"para.phase", "para.repeats"})
      if (Attribute attr = group.last()->getAttr(name))
        fused->setAttr(name, attr);
    TileSpace space = region.space;
    space.byColumns = group.byColumns;
    fused->setAttr(TileSpace::attrName, space.toAttr(func.getContext()));
    Block *body = builder.createBlock(&fused.getBody());
    IRMapping local;
    for (Value v : inputs)
      local.map(v, body->addArgument(v.getType(), v.getLoc()));
    for (Operation *op : ordered) {
      Operation *copy = builder.clone(*op, local);
      copy->setDiscardableAttrs(builder.getDictionaryAttr({}));
    }
    SmallVector<Value> yielded;
    for (Value v : group.outputs)
      yielded.push_back(local.lookup(v));
    rt::YieldOp::create(builder, fused.getLoc(), yielded);
    TileBody tiles;
    FactsCache inside; // by op: those of a body go with it
    return TileBody::analyze(body, space, inside, tiles);
  }

  static SmallVector<Value> rootsOf(const TileGroup &group) {
    SmallVector<Value> roots;
    for (Operation *op : llvm::concat<Operation *const>(group.sums, group.reductions, group.stored))
      roots.push_back(op->getResult(0));
    return roots;
  }

  /// Members in an order that follows from what they compute alone: kernels of equal layers are then one.
  static SmallVector<Operation *> orderedFrom(ArrayRef<Value> outputs, const llvm::SetVector<Operation *> &members) {
    llvm::SetVector<Operation *> ordered;
    std::function<void(Value)> visit = [&](Value v) {
      Operation *op = v.getDefiningOp();
      if (!op || !members.contains(op) || ordered.contains(op))
        return;
      for (Value operand : op->getOperands())
        visit(operand);
      ordered.insert(op);
    };
    llvm::for_each(outputs, visit);
    return ordered.takeVector();
  }

  /// Whether another kernel has `user`, too.
  bool isSharedWithOthers(const TileRegion &region, const std::vector<TileGroup> &groups, size_t number, Operation *user) {
    llvm::DenseSet<Operation *> seen;
    SmallVector<Operation *> stack{user};
    while (!stack.empty()) {
      Operation *op = stack.pop_back_val();
      for (auto [i, group] : llvm::enumerate(groups))
        if (i != number && (llvm::is_contained(group.sums, op) || llvm::is_contained(group.reductions, op)))
          return true;
      for (Operation *next : op->getUsers())
        if ((region.ops.contains(next) || region.sums.contains(next)) && seen.insert(next).second)
          stack.push_back(next);
    }
    return false;
  }

  func::FuncOp func;
  FactsCache facts;
  llvm::DenseSet<Value> volatileArguments;
  llvm::DenseSet<Operation *> taken;
  llvm::DenseSet<Value> madeOutputs; ///< of kernels of this region
};

struct FormTilesPass : public para::impl::FormTilesPassBase<FormTilesPass> {
  using FormTilesPassBase::FormTilesPassBase;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      TileFormer(func).run();
  }
};
} // namespace
