//===- Grouping.cpp - Which ops make one kernel ---------------------------===//
#include "Grouping.h"

#include "IndexMath.h"

#include "para/IR/Program.h"
#include "para/Lower/Rt.h"

#include <queue>

using namespace mlir;
using namespace para;

/// With fewer rows than this, whole tensors are not worked through row by row.
static constexpr int64_t fewRows = 64;
static constexpr int64_t longRow = 2048;
static constexpr size_t mostOperands = 28, mostNumbers = 256;

static bool communicates(Operation *op) {
  auto call = dyn_cast<rt::CallOp>(op);
  return call && (call.getDesc().contains("axes") || call.getDesc().contains("peer")) && call.getCallee() != "scatter_add";
}

llvm::DenseSet<Value> para::findVolatileArguments(func::FuncOp func) {
  llvm::DenseSet<Value> result;
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    auto updates = func.getResultAttrOfType<StringAttr>(i, "para.updates");
    Operation *made = func.getBody().front().getTerminator()->getOperand(i).getDefiningOp();
    int argument = updates ? getArgIndex(func, updates.getValue()) : -1;
    if (argument >= 0 && made && getPhase(made) != Phase::Update)
      result.insert(func.getArgument(argument));
  }
  return result;
}

Grouping::Grouping(func::FuncOp func, FactsCache &facts, bool mergesLaunches) : func(func), facts(facts), mergesLaunches(mergesLaunches) {}

std::vector<Group> Grouping::run() {
  collect();
  joinProducers();
  joinStripSums();
  cloneCheap();
  joinSiblings();
  if (mergesLaunches)
    joinNumbers();
  return sorted();
}

bool Grouping::isGenerator(Operation *op) {
  if (auto it = generators.find(op); it != generators.end())
    return it->second;
  const OpFacts &f = facts.get(op);
  bool result = f.element && !f.reduction && !f.accumulate && !f.expensive;
  for (Value v : op->getOperands())
    result = result && v.getDefiningOp() && isGenerator(v.getDefiningOp());
  return generators[op] = result;
}

int Grouping::find(Operation *op) const {
  auto it = groupOf.find(op);
  return it == groupOf.end() ? -1 : it->second;
}

/// The rows of a kernel of this op; 0: any.
int64_t Grouping::rowsAlone(Operation *op) {
  if (facts.get(op).reduction)
    return sizeOf(op->getResult(0));
  return op->hasAttr(rowsMark) ? rowsOfMarked(op) : 0;
}

void Grouping::collect() {
  Operation *effect = nullptr;
  for (Operation &op : func.getBody().front()) {
    position[&op] = position.size();
    bool kept = !isGenerator(&op) || llvm::any_of(op.getUsers(), [&](Operation *user) { return !facts.get(user).element || isAccumulate(user); });
    if (!kept)
      continue;
    Group group;
    group.ops.push_back(&op);
    group.opaque = !facts.get(&op).element;
    if (!op.hasTrait<OpTrait::IsTerminator>())
      group.phase = getChunkPhase(&op);
    group.rows = rowsAlone(&op);
    groupOf[&op] = groups.size();
    groups.push_back(std::move(group));
    if (communicates(&op)) {
      if (effect)
        effectBefore[&op] = effect;
      effect = &op;
    }
  }
  volatileArguments = findVolatileArguments(func);
}

bool Grouping::isAligned(Operation *op, const OpAccess &access, int64_t rows) { return keepsRow(op, facts.get(op), access, rows); }

bool Grouping::isValid(ArrayRef<Operation *> ops, int64_t rows, int64_t strips) {
  llvm::SmallPtrSet<Operation *, 16> members(ops.begin(), ops.end());
  unsigned longReductions = 0;
  int64_t stripSumBytes = 0;
  for (Operation *op : ops) {
    const OpFacts &f = facts.get(op);
    if (strips && isStripSum(op)) { // Row by row it takes what is there, and nobody has it before the strip is done.
      stripSumBytes += bytesOf(op->getResult(0)) / strips;
      if (rowsOf(op) != rows || stripsOf(op) != strips || stripSumBytes > mostStripSumBytes ||
          llvm::any_of(op->getUsers(), [&](Operation *user) { return members.contains(user); }))
        return false;
      continue;
    }
    int64_t size = productOf(f.loops);
    if (rows && !prefixOf(ArrayRef<int64_t>(f.loops.data(), f.resultRank), rows))
      return false;
    if (rows && rows < fewRows && size / rows > longRow) {
      if (!f.reduction || ++longReductions > 1)
        return false;
    }
    for (const OpAccess &access : f.accesses) {
      Operation *producer = op->getOperand(access.operand).getDefiningOp();
      if (producer && members.contains(producer) && !isAligned(op, access, rows))
        return false;
    }
  }
  return true;
}

SmallVector<int> Grouping::dependencies(int group) {
  SmallVector<int> result;
  auto note = [&](Operation *op) {
    int g = op ? find(op) : -1;
    if (g >= 0 && g != group && !llvm::is_contained(result, g))
      result.push_back(g);
  };
  for (Operation *op : groups[group].ops) {
    for (Value v : op->getOperands())
      note(v.getDefiningOp());
    if (auto it = effectBefore.find(op); it != effectBefore.end())
      note(it->second);
  }
  for (Operation *op : groups[group].clones)
    for (Value v : op->getOperands())
      note(v.getDefiningOp());
  return result;
}

bool Grouping::hasPathOutside(int a, int b) {
  unsigned earliest = std::min(position[groups[a].ops.front()], position[groups[b].ops.front()]);
  SmallVector<int> stack;
  llvm::DenseSet<int> seen{a, b};
  auto push = [&](int group, bool direct) {
    for (int d : dependencies(group)) {
      if (d == a || d == b) {
        if (!direct)
          return true;
        continue;
      }
      if (position[groups[d].ops.back()] > earliest && seen.insert(d).second)
        stack.push_back(d);
    }
    return false;
  };
  push(a, true);
  push(b, true);
  while (!stack.empty())
    if (push(stack.pop_back_val(), false))
      return true;
  return false;
}

bool Grouping::separatesRepeats(const Group &x, const Group &y) {
  auto repeats = [](Operation *op) { return op->hasAttr("para.repeats"); };
  const Group &first = position[x.ops.front()] < position[y.ops.front()] ? x : y, &second = &first == &x ? y : x;
  if (llvm::none_of(second.ops, repeats))
    return false;
  for (Operation *op = first.ops.back()->getNextNode(); op && position[op] < position[second.ops.front()]; op = op->getNextNode())
    if (!repeats(op) && op->getNumOperands() > 0)
      return true;
  return false;
}

bool Grouping::merge(int a, int b) {
  Group &x = groups[a], &y = groups[b];
  if (a == b || x.opaque || y.opaque || x.phase != y.phase || (x.rows && y.rows && x.rows != y.rows) ||
      (x.strips && y.strips && x.strips != y.strips) || separatesRepeats(x, y))
    return false;
  int64_t rows = std::max(x.rows, y.rows), strips = std::max(x.strips, y.strips);
  SmallVector<Operation *> ops;
  std::merge(x.ops.begin(), x.ops.end(), y.ops.begin(), y.ops.end(), std::back_inserter(ops),
             [&](Operation *p, Operation *q) { return position[p] < position[q]; });
  Group both;
  both.ops = ops;
  both.clones = x.clones;
  both.clones.insert(y.clones.begin(), y.clones.end());
  if (!isValid(ops, rows, strips) || hasPathOutside(a, b))
    return false;
  size_t most = makesNumbers(both) ? mostNumbers : mostOperands;
  for (Operation *op : y.ops)
    groupOf[op] = a;
  auto rehome = [&](const Group &of, int from, int to) {
    for (Operation *op : of.clones)
      std::replace(cloneHomes[op].begin(), cloneHomes[op].end(), from, to);
  };
  rehome(y, b, a);
  if (operandsOf(both) > most) {
    for (Operation *op : y.ops)
      groupOf[op] = b;
    for (Operation *op : y.clones)
      if (auto &homes = cloneHomes[op]; x.clones.contains(op))
        *std::find(homes.begin(), homes.end(), a) = b;
      else
        std::replace(homes.begin(), homes.end(), a, b);
    return false;
  }
  both.rows = rows;
  both.strips = strips;
  both.phase = x.phase;
  x = std::move(both);
  y.ops.clear();
  y.clones.clear();
  return true;
}

void Grouping::joinProducers() {
  for (Operation &op : func.getBody().front()) {
    int own = find(&op);
    if (own < 0 || groups[own].opaque)
      continue;
    // The nearest producers first: they are what is still in cache.
    SmallVector<Operation *> producers;
    for (Value v : op.getOperands())
      if (Operation *p = v.getDefiningOp(); p && find(p) >= 0 && !llvm::is_contained(producers, p))
        producers.push_back(p);
    llvm::sort(producers, [&](Operation *p, Operation *q) { return position[p] > position[q]; });
    for (Operation *p : producers)
      if (merge(find(p), find(&op)))
        continue;
  }
}

SmallVector<Value> Grouping::outputsOf(const Group &group) {
  SmallVector<Value> result;
  if (group.ops.empty())
    return result;
  int own = find(group.ops.front());
  for (Operation *op : group.ops)
    for (Value v : op->getResults()) {
      bool needed = llvm::any_of(v.getUsers(), [&](Operation *user) {
        int g = find(user);
        if (g == own)
          return false;
        return g < 0 ? !isGenerator(user) : !groups[g].clones.contains(op);
      });
      // A clone elsewhere may read it, too.
      for (Operation *user : v.getUsers())
        if (auto homes = cloneHomes.find(user); homes != cloneHomes.end())
          for (int g : homes->second)
            needed |= g != own && !groups[g].clones.contains(op);
      if (needed)
        result.push_back(v);
    }
  return result;
}

SmallVector<Value> Grouping::inputsOf(const Group &group) {
  SmallVector<Value> result;
  llvm::SmallPtrSet<Operation *, 16> inside(group.ops.begin(), group.ops.end());
  inside.insert(group.clones.begin(), group.clones.end());
  auto note = [&](Operation *op) {
    for (Value v : op->getOperands()) {
      Operation *p = v.getDefiningOp();
      if (p && (inside.contains(p) || isGenerator(p)))
        continue;
      if (!llvm::is_contained(result, v))
        result.push_back(v);
    }
  };
  for (Operation *op : group.ops)
    note(op);
  for (Operation *op : group.clones)
    note(op);
  return result;
}

bool Grouping::planClone(Value v, llvm::SetVector<Operation *> &chain, llvm::SetVector<Value> &leaves, unsigned &cost) {
  Operation *op = v.getDefiningOp();
  const OpFacts &f = facts.get(op);
  // A GPU has a function's value sooner than what was stored of it.
  constexpr unsigned functionCost = 4;
  if (!f.element || f.reduction || f.accumulate || (f.expensive && !mergesLaunches))
    return false;
  if (chain.contains(op))
    return true;
  cost += f.cost + (f.expensive ? functionCost : 0);
  if (cost > 14 || chain.size() > 24)
    return false;
  for (Value u : op->getOperands()) {
    Operation *p = u.getDefiningOp();
    if (p && isGenerator(p))
      continue;
    bool stored = !p || groups[find(p)].opaque || llvm::is_contained(outputsOf(groups[find(p)]), u);
    if (stored && !recomputed.contains(u)) {
      if (volatileArguments.contains(u))
        return false;
      leaves.insert(u);
      continue;
    }
    // What is made of the result of a reduction is small: storing it is cheap.
    if (groups[find(p)].rows && sizeOf(u) * 8 <= sizeOf(v)) {
      leaves.insert(u);
      continue;
    }
    auto before = std::tuple(chain, leaves, cost);
    if (planClone(u, chain, leaves, cost))
      continue;
    // What is narrower than what is made of it is stored in its place.
    if (sizeOf(u) != sizeOf(v) || bytesOf(u) >= bytesOf(v))
      return false;
    std::tie(chain, leaves, cost) = before;
    leaves.insert(u);
  }
  chain.insert(op);
  return true;
}

void Grouping::cloneCheap() {
  for (Operation &op : func.getBody().front()) {
    int own = find(&op);
    if (own < 0 || groups[own].opaque || op.getNumResults() != 1)
      continue;
    Value v = op.getResult(0);
    SmallVector<int> consumers;
    bool must = facts.get(&op).reduction || facts.get(&op).accumulate;
    for (Operation *user : v.getUsers()) {
      int g = find(user);
      if (g == own || g < 0)
        continue;
      must |= groups[g].opaque;
      if (!llvm::is_contained(consumers, g))
        consumers.push_back(g);
    }
    // Kernels which compute a user of this again read it, too.
    for (Operation *user : v.getUsers())
      for (int g : cloneHomes.lookup(user))
        if (g != own && !groups[g].clones.contains(&op) && !llvm::is_contained(consumers, g))
          consumers.push_back(g);
    if (must || consumers.empty())
      continue;
    llvm::SetVector<Operation *> chain;
    llvm::SetVector<Value> leaves;
    unsigned cost = 0;
    if (!planClone(v, chain, leaves, cost))
      continue;
    int64_t extra = 0, count = consumers.size();
    for (int g : consumers) {
      SmallVector<Value> present = inputsOf(groups[g]);
      for (Value leaf : leaves)
        if (!llvm::is_contained(present, leaf) && find(leaf.getDefiningOp()) != g)
          extra += bytesOf(leaf);
    }
    bool fits = llvm::all_of(consumers, [&](int g) {
      return inputsOf(groups[g]).size() + leaves.size() + outputsOf(groups[g]).size() <= mostOperands;
    });
    // Where this was all that its kernel made, that is not run, and reads nothing.
    int64_t saved = 0;
    if (outputsOf(groups[own]).size() == 1)
      for (Value leaf : leaves)
        saved += bytesOf(leaf);
    if (extra > (1 + count) * bytesOf(v) + saved || !fits)
      continue;
    for (int g : consumers)
      for (Operation *link : chain)
        if (find(link) != g && groups[g].clones.insert(link))
          cloneHomes[link].push_back(g);
    recomputed.insert(v);
  }
}

std::vector<Group> Grouping::sorted() {
  std::vector<int> waiting(groups.size(), 0);
  std::vector<SmallVector<int>> users(groups.size());
  using Entry = std::pair<unsigned, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (unsigned g = 0; g < groups.size(); ++g) {
    if (groups[g].ops.empty())
      continue;
    for (int d : dependencies(g)) {
      // A kernel which is computed again in all of its users is not run: nothing waits for it.
      users[d].push_back(g);
      ++waiting[g];
    }
  }
  for (unsigned g = 0; g < groups.size(); ++g)
    if (!groups[g].ops.empty() && waiting[g] == 0)
      ready.push({position[groups[g].ops.back()], g});
  std::vector<Group> order;
  while (!ready.empty()) {
    int g = ready.top().second;
    ready.pop();
    for (int user : users[g])
      if (--waiting[user] == 0)
        ready.push({position[groups[user].ops.back()], user});
    order.push_back(groups[g]);
  }
  // Whether merging closes a circle is looked up along positions, which merged groups do not keep: a circle that slipped through
  // is opened by taking apart the group in it that has merged least.
  int smallest = -1;
  for (unsigned g = 0; g < groups.size(); ++g)
    if (waiting[g] > 0 && groups[g].ops.size() > 1 && (smallest < 0 || groups[g].ops.size() < groups[smallest].ops.size()))
      smallest = g;
  if (smallest < 0) {
    assert(llvm::all_of(waiting, [](int groups) { return groups == 0; }) && "single ops wait for what is before them only");
    return order;
  }
  takeApart(smallest);
  return sorted();
}

/// Those of the clones that the op takes from, directly or through others, in their order.
static llvm::SetVector<Operation *> findNeeded(Operation *op, const llvm::SetVector<Operation *> &clones) {
  llvm::SmallPtrSet<Operation *, 8> needed;
  SmallVector<Operation *> work = {op};
  while (!work.empty())
    for (Value operand : work.pop_back_val()->getOperands())
      if (Operation *made = operand.getDefiningOp(); made && clones.contains(made) && needed.insert(made).second)
        work.push_back(made);
  llvm::SetVector<Operation *> result;
  for (Operation *clone : clones)
    if (needed.contains(clone))
      result.insert(clone);
  return result;
}

void Grouping::takeApart(int group) {
  Group whole = groups[group];
  for (auto [i, op] : llvm::enumerate(whole.ops)) {
    Group single = whole;
    single.ops = {op};
    single.rows = rowsAlone(op);
    single.strips = 0;
    single.clones = findNeeded(op, whole.clones);
    if (i == 0) {
      groups[group] = single;
      continue;
    }
    groupOf[op] = groups.size();
    for (Operation *clone : single.clones)
      cloneHomes[clone].push_back(groups.size());
    groups.push_back(std::move(single));
  }
}
