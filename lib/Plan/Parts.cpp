#include "Parts.h"

#include "para/IR/Program.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace para;

Repetition para::findRepetition(ArrayRef<int64_t> things) {
  Repetition best;
  int64_t n = things.size();
  for (int64_t period = 1; 2 * period <= n; ++period)
    for (int64_t begin = 0, i = 0; i + period <= n; ++i) {
      if (i + period < n && things[i] == things[i + period])
        continue;
      // [begin, i) equals what is a period later.
      if (int64_t run = i - begin; run >= period && run + period > best.length)
        best = {begin, period, run + period};
      begin = i + 1;
    }
  return best;
}

namespace {
class PartFinder {
public:
  PartFinder(func::FuncOp main, llvm::function_ref<int64_t(Value)> bytesOf) : main(main) {
    for (Operation &op : main.getBody().front().without_terminator())
      if (getPhase(&op) == Phase::Forward)
        ops.push_back(&op);
    markValues();
    findSpine();
    countAlive(bytesOf);
  }

  Parts run() {
    SmallVector<size_t> cuts = cutAtRepetition();
    if (cuts.empty())
      cuts = cutEvenly();
    int64_t part = 0;
    for (auto [position, op] : llvm::enumerate(ops)) {
      while (part < int64_t(cuts.size()) && position >= cuts[part])
        ++part;
      parts.of[op] = part;
    }
    parts.count = cuts.size() + 1;
    return std::move(parts);
  }

private:
  void markValues() {
    for (BlockArgument argument : main.getArguments()) {
      if (getArgKind(main, argument.getArgNumber()) == "input")
        parts.fromInputs.insert(argument);
      if (main.getArgAttr(argument.getArgNumber(), "para.trainable"))
        trained.insert(argument);
    }
    auto follow = [](Operation *op, llvm::DenseSet<Value> &marked) {
      if (llvm::any_of(op->getOperands(), [&](Value operand) { return marked.contains(operand); }))
        marked.insert_range(op->getResults());
    };
    for (Operation *op : ops) {
      follow(op, parts.fromInputs);
      follow(op, trained);
    }
  }

  /// What follows both from inputs and from what is trained: masks and tables that are made where they are used first are not part of a layer's form.
  void findSpine() {
    for (auto [position, op] : llvm::enumerate(ops))
      if (op->getNumResults() > 0 && parts.fromInputs.contains(op->getResult(0)) && trained.contains(op->getResult(0)))
        spine.push_back(position);
  }

  /// Bytes that are made before each op and taken by it or after it in the forward pass.
  void countAlive(llvm::function_ref<int64_t(Value)> bytesOf) {
    llvm::DenseMap<Operation *, size_t> positions;
    for (auto [position, op] : llvm::enumerate(ops))
      positions[op] = position;
    alive.assign(ops.size() + 2, 0); // differences first
    for (auto [position, op] : llvm::enumerate(ops))
      for (Value result : op->getResults()) {
        if (!parts.fromInputs.contains(result))
          continue;
        size_t last = position;
        for (Operation *user : result.getUsers())
          if (auto it = positions.find(user); it != positions.end())
            last = std::max(last, it->second);
        alive[position + 1] += bytesOf(result);
        alive[last + 1] -= bytesOf(result);
      }
    for (size_t at = 1; at < alive.size(); ++at)
      alive[at] += alive[at - 1];
  }

  /// A cut before each repetition; none where less than half of the program repeats.
  SmallVector<size_t> cutAtRepetition() {
    llvm::DenseMap<Attribute, int64_t> numbers;
    Builder builder(main.getContext());
    auto forms = llvm::map_to_vector(spine, [&](size_t position) {
      Operation *op = ops[position];
      Attribute type = TypeAttr::get(builder.getFunctionType(op->getOperandTypes(), op->getResultTypes()));
      return numbers.try_emplace(builder.getArrayAttr({builder.getStringAttr(op->getName().getStringRef()), type}), numbers.size()).first->second;
    });
    Repetition found = findRepetition(forms);
    if (2 * found.length < int64_t(spine.size()) || found.period < 2)
      return {};
    auto bytesFrom = [&](int64_t begin) {
      int64_t bytes = 0, count = 0;
      for (int64_t at = begin; at <= found.begin + found.length && at < int64_t(spine.size()); at += found.period, ++count)
        bytes += alive[spine[at]];
      return double(bytes) / double(std::max<int64_t>(count, 1));
    };
    int64_t best = found.begin;
    for (int64_t begin = found.begin; begin < found.begin + found.period; ++begin)
      if (bytesFrom(begin) < bytesFrom(best))
        best = begin;
    SmallVector<size_t> cuts;
    for (int64_t at = best; at <= found.begin + found.length && at < int64_t(spine.size()); at += found.period)
      if (at > 0)
        cuts.push_back(spine[at]);
    return cuts;
  }

  /// Each cut stands where least is alive in its share of the ops.
  SmallVector<size_t> cutEvenly() {
    SmallVector<size_t> cuts;
    size_t n = spine.size(), parts = size_t(std::lround(std::sqrt(double(n))));
    for (size_t part = 1; part < parts; ++part) {
      size_t middle = part * n / parts, half = std::max<size_t>(n / parts / 2, 1), best = middle;
      auto distance = [&](size_t at) { return at > middle ? at - middle : middle - at; };
      for (size_t at = middle - std::min(half, middle); at < std::min(middle + half, n); ++at)
        if (at > 0 && std::make_pair(alive[spine[at]], distance(at)) < std::make_pair(alive[spine[best]], distance(best)))
          best = at;
      if (cuts.empty() || spine[best] > cuts.back())
        cuts.push_back(spine[best]);
    }
    return cuts;
  }

  func::FuncOp main;
  Parts parts;
  SmallVector<Operation *> ops; ///< of the forward pass
  SmallVector<size_t> spine;    ///< positions in `ops`
  std::vector<int64_t> alive;   ///< before each position of `ops`
  llvm::DenseSet<Value> trained;
};
} // namespace

Parts para::findParts(func::FuncOp main, llvm::function_ref<int64_t(Value)> bytesOf) { return PartFinder(main, bytesOf).run(); }
