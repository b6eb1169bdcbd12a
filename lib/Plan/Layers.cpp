#include "para/Plan/Layers.h"

#include "para/IR/Program.h"

#include <map>
#include <set>

using namespace mlir;
using namespace para;

namespace {
/// Fewer ops are not worth a fold.
constexpr int64_t shortestPeriod = 4;
/// Distances between like ops that are tried as periods: the most frequent ones.
constexpr size_t mostPeriods = 24;

class Finder {
public:
  explicit Finder(func::FuncOp main) : main(main) {
    for (Operation &op : main.getBody().front().without_terminator()) {
      index[&op] = ops.size();
      ops.push_back(&op);
      if (llvm::all_of(op.getOperands(), [&](Value operand) { return constants.contains(operand.getDefiningOp()); }))
        constants.insert(&op);
    }
    for (Operation *op : ops)
      hashes.push_back(hashOf(op));
  }

  std::vector<LayerRun> run() {
    std::vector<LayerRun> runs;
    search(0, ops.size(), runs);
    llvm::sort(runs, [](const LayerRun &a, const LayerRun &b) { return a.begin < b.begin; });
    return runs;
  }

private:
  static llvm::hash_code hashOf(Operation *op) {
    llvm::hash_code code = llvm::hash_combine(op->getName().getAsOpaquePointer(), op->getPropertiesStorage() ? op->hashProperties() : llvm::hash_code(0));
    for (Type type : op->getResultTypes())
      code = llvm::hash_combine(code, type.getAsOpaquePointer());
    for (Type type : op->getOperandTypes())
      code = llvm::hash_combine(code, type.getAsOpaquePointer());
    return code;
  }

  /// Whether op `i` is to its block what op `i + period` is to the next.
  bool isAlike(size_t i, size_t period) {
    Operation *a = ops[i], *b = ops[i + period];
    return isAlikeAlone(a, b) && llvm::all_of(llvm::zip_equal(a->getOperands(), b->getOperands()),
                                                         [&](auto pair) { return isAlikeOperand(std::get<0>(pair), std::get<1>(pair), period); });
  }
  bool isAlikeAlone(Operation *a, Operation *b) {
    return hashes[index.lookup(a)] == hashes[index.lookup(b)] && a->getName() == b->getName() && a->getResultTypes() == b->getResultTypes() && a->getOperandTypes() == b->getOperandTypes() &&
           a->getPropertiesAsAttribute() == b->getPropertiesAsAttribute();
  }
  bool areEqual(Operation *a, Operation *b) {
    return a == b || (isAlikeAlone(a, b) && llvm::all_of(llvm::zip_equal(a->getOperands(), b->getOperands()), [&](auto pair) {
                        return areEqual(std::get<0>(pair).getDefiningOp(), std::get<1>(pair).getDefiningOp());
                      }));
  }
  bool isAlikeOperand(Value x, Value y, size_t period) {
    if (x == y)
      return true;
    auto p = dyn_cast<BlockArgument>(x), q = dyn_cast<BlockArgument>(y);
    if (p || q)
      return p && q && getArgKind(main, p.getArgNumber()) != "input" && getArgKind(main, p.getArgNumber()) == getArgKind(main, q.getArgNumber());
    Operation *from = x.getDefiningOp(), *to = y.getDefiningOp();
    if (constants.contains(from) && constants.contains(to)) // wherever they are made
      return areEqual(from, to) && cast<OpResult>(x).getResultNumber() == cast<OpResult>(y).getResultNumber();
    return index.lookup(x.getDefiningOp()) + period == index.lookup(y.getDefiningOp()) && cast<OpResult>(x).getResultNumber() == cast<OpResult>(y).getResultNumber();
  }

  /// Bytes that a block would hand to the next if blocks began at op `at`.
  int64_t crossing(size_t begin, size_t at) {
    int64_t bytes = 0;
    for (size_t i = begin; i < at; ++i)
      for (Value result : ops[i]->getResults())
        if (!constants.contains(ops[i]) && llvm::any_of(result.getUsers(), [&](Operation *user) { return index.count(user) && index.lookup(user) >= at; }))
          bytes += bytesOf(result.getType());
    return bytes;
  }
  static int64_t bytesOf(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() ? tensor.getNumElements() * llvm::divideCeil(tensor.getElementTypeBitWidth(), 8u) : 0;
  }
  bool beginsNode(size_t i) {
    StringRef name = getNodeName(ops[i]->getLoc());
    return i == 0 || name.empty() || name != getNodeName(ops[i - 1]->getLoc());
  }

  /// Finds the run that removes most ops between `begin` and `end`, and then what is before and behind it.
  void search(size_t begin, size_t end, std::vector<LayerRun> &runs) {
    if (end - begin < size_t(2 * shortestPeriod))
      return;
    std::map<size_t, size_t> last; // of a hash
    std::map<int64_t, int64_t> distances;
    for (size_t i = begin; i < end; ++i) {
      auto [it, isNew] = last.try_emplace(size_t(hashes[i]), i);
      if (!isNew) {
        ++distances[int64_t(i - it->second)];
        it->second = i;
      }
    }
    std::vector<std::pair<int64_t, int64_t>> periods; // how many like ops, negative, and the distance
    for (auto [distance, count] : distances)
      if (distance >= shortestPeriod)
        periods.push_back({-count, distance});
    llvm::sort(periods);
    if (periods.size() > mostPeriods)
      periods.resize(mostPeriods);
    LayerRun best{0, 0, 0};
    for (auto [count, period] : periods)
      for (size_t i = begin; i + period < end; ++i) {
        size_t first = i;
        while (i + period < end && isAlike(i, period))
          ++i;
        int64_t blocks = int64_t(i - first) / period + 1;
        if (blocks >= 2 && (blocks - 1) * period > (best.count - 1) * best.period)
          best = align(begin, first, i + period, period, blocks);
      }
    if (best.count < 2)
      return;
    search(begin, best.begin, runs);
    runs.push_back(best);
    search(best.begin + best.period * best.count, end, runs);
  }

  /// Where blocks begin is free within a period as long as none is lost: at a node, where least passes from one to the next.
  LayerRun align(size_t begin, size_t first, size_t end, int64_t period, int64_t blocks) {
    size_t slack = end - first - size_t(period * blocks), best = first;
    int64_t least = -1;
    for (size_t at = first; at <= first + std::min(slack + size_t(period) - 1, size_t(period) - 1); ++at) {
      int64_t count = at - first <= slack ? blocks : blocks - 1;
      if (!beginsNode(at) || count < 2)
        continue;
      int64_t bytes = crossing(at >= size_t(period) ? at - period : 0, at) + (count == blocks ? 0 : 1);
      if (least < 0 || bytes < least) {
        least = bytes;
        best = at;
      }
    }
    // The first block differs from the others in where it takes from what they take from the block before.
    for (size_t at = first - std::min(first - begin, size_t(period) - 1); at < first; ++at) {
      if (int64_t(end - at) / period < blocks || !beginsNode(at) || !isFirstOf(at, first, period))
        continue;
      int64_t bytes = crossing(at >= size_t(period) ? at - period : 0, at);
      if (least < 0 || bytes < least) {
        least = bytes;
        best = at;
      }
    }
    return {int64_t(best), period, int64_t(end - best) / period};
  }

  /// Whether ops from `at` to `first`, behind which all are alike, begin a block, but for values from before it: each stands for one that
  /// the next block takes from this.
  bool isFirstOf(size_t at, size_t first, size_t period) {
    llvm::DenseMap<Value, Value> taken;
    for (size_t i = at; i < first; ++i) {
      Operation *a = ops[i], *b = ops[i + period];
      if (!isAlikeAlone(a, b))
        return false;
      for (auto [x, y] : llvm::zip_equal(a->getOperands(), b->getOperands())) {
        if (isAlikeOperand(x, y, period))
          continue;
        Operation *from = x.getDefiningOp(), *to = y.getDefiningOp();
        if (!from || !to || index.lookup(from) >= at || index.lookup(to) < at || index.lookup(to) >= at + period || x.getType() != y.getType() ||
            taken.try_emplace(x, y).first->second != y)
          return false;
      }
    }
    return true;
  }

  func::FuncOp main;
  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, size_t> index;
  std::vector<llvm::hash_code> hashes;
  llvm::SmallPtrSet<Operation *, 32> constants; ///< from no argument
};

class Folder {
public:
  explicit Folder(func::FuncOp main) : main(main) {
    for (Operation &op : main.getBody().front().without_terminator()) {
      index[&op] = ops.size();
      ops.push_back(&op);
    }
  }

  std::vector<Segment> run() {
    int64_t at = 0;
    std::vector<std::pair<int64_t, int64_t>> removed; // from, to
    for (const LayerRun &run : findLayers(main)) {
      if (!hasParameters(run))
        continue; // a row of the like in index arithmetic
      addPart(at, run.begin);
      at = run.begin + run.period * run.count;
      bool folds = run.count > 3 && canFold(run);
      if (!folds)
        for (int64_t k = 0; k < run.count; ++k)
          addPart(run.begin + k * run.period, run.begin + (k + 1) * run.period);
      if (!folds)
        continue;
      addPart(run.begin, run.begin + run.period);
      addPart(run.begin + run.period, run.begin + 2 * run.period);
      for (int64_t k = 2; k < run.count - 1; ++k)
        segments.back().members.push_back(namesOf(run.begin + k * run.period, run.begin + (k + 1) * run.period));
      segments.back().repeat = run.count - 2;
      addPart(at - run.period, at);
      replaceUses(run);
      removed.push_back({run.begin + 2 * run.period, at - run.period});
    }
    addPart(at, ops.size());
    for (auto [from, to] : removed)
      for (int64_t i = to; i-- > from;)
        ops[i]->erase();
    dropArguments();
    return std::move(segments);
  }

private:
  std::vector<std::string> namesOf(int64_t from, int64_t to) {
    std::vector<std::string> names;
    for (int64_t i = from; i < to; ++i)
      if (StringRef name = getNodeName(ops[i]->getLoc()); ops[i]->getNumOperands() > 0 && (names.empty() || names.back() != name))
        names.push_back(name.str());
    return names;
  }

  bool hasParameters(const LayerRun &run) {
    return llvm::any_of(llvm::seq(run.begin, run.begin + run.period), [&](int64_t i) {
      return llvm::any_of(ops[i]->getOperands(), [&](Value operand) {
        auto argument = dyn_cast<BlockArgument>(operand);
        return argument && getArgKind(main, argument.getArgNumber()) == "parameter";
      });
    });
  }

  void addPart(int64_t from, int64_t to) {
    if (from >= to)
      return;
    Segment segment;
    segment.nodes = namesOf(from, to);
    segment.members = {segment.nodes};
    segments.push_back(std::move(segment));
  }

  /// What is behind the removed blocks takes from none but the one right before it, and the function returns nothing that must stay.
  bool canFold(const LayerRun &run) {
    int64_t from = run.begin + 2 * run.period, to = run.begin + (run.count - 1) * run.period;
    for (int64_t i = from; i < to; ++i)
      for (Operation *user : ops[i]->getUsers()) {
        auto it = index.find(user);
        if (it == index.end()) // returned
          continue;
        if (it->second >= to && (i < to - run.period || it->second >= to + run.period))
          return false;
      }
    return true;
  }

  void replaceUses(const LayerRun &run) {
    int64_t from = run.begin + 2 * run.period, to = run.begin + (run.count - 1) * run.period;
    Operation *terminator = main.getBody().front().getTerminator();
    llvm::BitVector dropped(terminator->getNumOperands());
    SmallVector<unsigned> results;
    for (auto [r, value] : llvm::enumerate(terminator->getOperands()))
      if (Operation *made = value.getDefiningOp(); made && index.lookup(made) >= from && index.lookup(made) < to)
        dropped.set(r);
    if (dropped.any()) {
      terminator->eraseOperands(dropped);
      (void)main.eraseResults(dropped);
    }
    for (int64_t i = to - run.period; i < to; ++i) // the second block takes the last removed one's place
      for (auto [old, now] : llvm::zip_equal(ops[i]->getResults(), ops[i - (to - run.period) + run.begin + run.period]->getResults()))
        old.replaceUsesWithIf(now, [&, to = to](OpOperand &use) { return index.count(use.getOwner()) && index.lookup(use.getOwner()) >= to; });
  }

  void dropArguments() {
    llvm::BitVector unused(main.getNumArguments());
    for (BlockArgument argument : main.getArguments())
      if (argument.use_empty() && getArgKind(main, argument.getArgNumber()) != "input")
        unused.set(argument.getArgNumber());
    (void)main.eraseArguments(unused);
  }

  func::FuncOp main;
  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, int64_t> index;
  std::vector<Segment> segments;
};
} // namespace

std::vector<LayerRun> para::findLayers(func::FuncOp main) { return Finder(main).run(); }

std::vector<Segment> para::foldLayers(func::FuncOp main) {
  // Exporters make a constant, and what follows from constants alone, where it is first used: the first block would have more ops than the others.
  Block &block = main.getBody().front();
  llvm::SmallPtrSet<Operation *, 32> moved;
  Operation *first = nullptr; // of those that stay
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    bool moves = op.getNumRegions() == 0 && llvm::all_of(op.getOperands(), [&](Value operand) { return moved.contains(operand.getDefiningOp()); });
    if (moves)
      moved.insert(&op);
    if (moves && first)
      op.moveBefore(first);
    else if (!moves && !first)
      first = &op;
  }
  return Folder(main).run();
}
