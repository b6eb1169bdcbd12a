//===- TileRegions.cpp - Which ops hang together by scores ----------------===//
#include "TileRegions.h"

#include "para/IR/Program.h"

using namespace mlir;
using namespace para;

bool para::isMatrixProduct(Operation *op) {
  auto library = dyn_cast<LibraryOpInterface>(op);
  auto call = library ? library.getLibraryCall() : std::nullopt;
  return call && call->kind == LibraryCall::Matmul;
}

std::pair<ChunkPhase, Attribute> para::timeOf(Operation *op) { return {getChunkPhase(op), op->getAttr("para.repeats")}; }

namespace {
class Grower {
public:
  Grower(TileRegion &region, FactsCache &facts) : region(region), facts(facts) {}

  /// From the seed to all users of scores, and to the products that these take scores from, too. False where they do not fit together.
  bool run() {
    SmallVector<Value> work;
    auto add = [&](Operation *op, bool isRow) {
      if (region.ops.insert(op) && (isRow ? region.rows : region.scores).insert(op->getResult(0)))
        work.push_back(op->getResult(0));
    };
    auto addProduct = [&](Operation *op) {
      region.products.insert(op);
      add(op, false);
    };
    auto product = region.productOf(region.seed);
    if (!product || !product->makesScores || getPhase(region.seed) == Phase::Update)
      return false;
    addProduct(region.seed);
    while (!work.empty()) {
      Value v = work.pop_back_val();
      bool isRow = region.rows.contains(v);
      for (Operation *user : v.getUsers()) {
        if (region.ops.contains(user) || region.sums.contains(user))
          continue;
        const OpFacts &f = facts.get(user);
        if (!isRow && isMatrixProduct(user)) {
          region.sums.insert(user);
        } else if (!isRow && f.reduction && isOverColumns(user, region.space, facts)) {
          region.reductions.insert(user);
          add(user, true);
        } else if (!isRow && (!takesOwnElement(user, v) || joinsAnother(user))) {
          region.stored.insert(v);
        } else if (f.element && !f.reduction && !f.accumulate && sizeOf(user->getResult(0)) == region.space.scores() &&
                   user->getBlock() == region.seed->getBlock()) {
          add(user, false);
          for (Value operand : user->getOperands())
            addProductsOf(operand, addProduct, [&](Operation *op) { add(op, false); });
        } else if (isRow && f.element && !f.reduction && !f.accumulate && sizeOf(user->getResult(0)) == region.space.allRows()) {
          if (leadsToScores(user))
            add(user, true);
        } else if (!isRow) {
          region.stored.insert(v);
        }
      }
    }
    for (Operation *op : llvm::to_vector(region.sums)) {
      auto product = region.productOf(op);
      if (product && !product->makesScores && !region.rows.contains(op->getOperand(product->other)))
        continue;
      region.sums.remove(op);
      for (Value v : op->getOperands())
        if (region.scores.contains(v))
          region.stored.insert(v);
    }
    return isAligned();
  }

private:
  /// Products of scores among what `v` is made of.
  bool addProductsOf(Value v, function_ref<void(Operation *)> addProduct, function_ref<void(Operation *)> add) {
    Operation *op = v.getDefiningOp();
    if (!op || region.scores.contains(v) || region.rows.contains(v) || sizeOf(v) != region.space.scores())
      return false;
    if (isMatrixProduct(op)) {
      auto product = region.productOf(op);
      if (!product || !product->makesScores)
        return false;
      addProduct(op);
      return true;
    }
    const OpFacts &f = facts.get(op);
    if (!f.element || f.reduction || f.accumulate)
      return false;
    bool isMade = false;
    for (Value operand : op->getOperands())
      isMade |= addProductsOf(operand, addProduct, add);
    if (isMade)
      add(op);
    return isMade;
  }

  bool leadsToScores(Operation *op) {
    SmallVector<Operation *> stack{op};
    llvm::DenseSet<Operation *> seen{op};
    while (!stack.empty()) {
      for (Operation *user : stack.pop_back_val()->getUsers()) {
        const OpFacts &f = facts.get(user);
        if (!f.element || f.reduction || f.accumulate)
          continue;
        if (region.scores.contains(user->getResult(0)) || sizeOf(user->getResult(0)) == region.space.scores())
          return true;
        if (sizeOf(user->getResult(0)) == region.space.allRows() && seen.insert(user).second)
          stack.push_back(user);
      }
    }
    return false;
  }

  /// Whether the op also takes scores of another attention, before or behind this one: a bias that several share gets its gradient from the
  /// sum of theirs.
  bool joinsAnother(Operation *op) {
    llvm::SetVector<Operation *> products;
    auto note = [&](Operation *product) { products.insert(product); };
    for (Value v : op->getOperands())
      addProductsOf(v, note, [](Operation *) {});
    return llvm::any_of(products, [&](Operation *product) {
      if (timeOf(product) != timeOf(region.seed))
        return false;
      bool isLater = region.seed->isBeforeInBlock(product);
      return dependsOn(isLater ? product : region.seed, isLater ? region.seed : product);
    });
  }

  static bool dependsOn(Operation *op, Operation *earlier) {
    SmallVector<Operation *> stack{op};
    llvm::DenseSet<Operation *> seen;
    while (!stack.empty()) {
      Operation *next = stack.pop_back_val();
      if (next == earlier)
        return true;
      for (Value v : next->getOperands())
        if (Operation *made = v.getDefiningOp(); made && !made->isBeforeInBlock(earlier) && seen.insert(made).second)
          stack.push_back(made);
    }
    return false;
  }

  bool takesOwnElement(Operation *op, Value v) {
    const OpFacts &f = facts.get(op);
    return f.element && !f.reduction && llvm::all_of(f.accesses, [&](const OpAccess &access) {
             return op->getOperand(access.operand) != v || keepsRow(op, f, access, 0);
           });
  }

  /// Each op takes scores at its own element, and rows at its own row.
  bool isAligned() {
    for (Operation *op : region.ops) {
      const OpFacts &f = facts.get(op);
      if (region.products.contains(op)) {
        if (llvm::any_of(op->getOperands(), [&](Value v) { return region.scores.contains(v) || region.rows.contains(v); }))
          return false;
        continue;
      }
      for (const OpAccess &access : f.accesses) {
        Value operand = op->getOperand(access.operand);
        bool isOfScores = region.scores.contains(op->getResult(0)) || region.reductions.contains(op);
        if (region.scores.contains(operand) && !region.reductions.contains(op) && !keepsRow(op, f, access, 0))
          return false;
        if (region.rows.contains(operand) && !keepsRow(op, f, access, isOfScores ? region.space.allRows() : 0))
          return false;
      }
    }
    return true;
  }

  TileRegion &region;
  FactsCache &facts;
};
} // namespace

std::optional<TileRegion> TileRegion::find(Operation *seed, FactsCache &facts) {
  ArrayRef<int64_t> shape = shapeOf(seed->getResult(0));
  if (shape.size() < 2)
    return std::nullopt;
  TileRegion region;
  region.seed = seed;
  region.space.batch.assign(shape.begin(), shape.end() - 2);
  region.space.rows = shape[shape.size() - 2];
  region.space.columns = shape.back();
  return Grower(region, facts).run() ? std::optional(std::move(region)) : std::nullopt;
}
