//===- MergeLaunches.cpp - Many tensors in one launch ---------------------===//
#include "MergeLaunches.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/SetVector.h"

#include <map>
#include <set>
#include <tuple>

using namespace mlir;
using namespace para;

namespace {
using Members = SmallVector<const DeviceOp *>;

/// Ops that have no barrier among them, in a new order: a launch that others could join waits as long as there is anything else to do.
class Order {
public:
  explicit Order(ArrayRef<DeviceOp> ops) : ops(ops), waits(ops.size(), 0), height(ops.size(), 0), followers(ops.size()) {
    for (const DeviceOp &op : ops)
      if (!op.key.empty())
        ++left[op.key];
    findDependencies();
  }

  /// Groups that are to run one after another.
  std::vector<Members> run() {
    std::vector<Members> result;
    for (unsigned i = 0; i < ops.size(); ++i)
      if (waits[i] == 0)
        enter(i);
    while (!ready.empty() || !delayed.empty()) {
      if (!ready.empty()) {
        unsigned i = *ready.begin();
        ready.erase(ready.begin());
        result.push_back({&ops[i]});
        leave(i);
        continue;
      }
      // One of which no more will come, else what most is waiting for.
      auto rank = [&](auto &entry) {
        unsigned steps = 0;
        for (unsigned i : entry.second)
          steps = std::max(steps, height[i]);
        return std::tuple(int64_t(entry.second.size()) == left[entry.first], steps, -int64_t(entry.second.front()));
      };
      auto next = delayed.begin();
      for (auto it = delayed.begin(); it != delayed.end(); ++it)
        if (rank(*it) > rank(*next))
          next = it;
      SmallVector<unsigned> group = std::move(next->second);
      delayed.erase(next);
      result.emplace_back();
      for (unsigned i : group)
        result.back().push_back(&ops[i]);
      for (unsigned i : group)
        leave(i);
    }
    return result;
  }

private:
  /// By the ranges into which the ends of all ranges cut the arena: what writes follows all that touched it since the last who wrote.
  void findDependencies() {
    SmallVector<int64_t> ends;
    for (const DeviceOp &op : ops)
      for (const DeviceOp::Range &range : op.ranges)
        ends.push_back(range.begin), ends.push_back(range.end);
    llvm::sort(ends);
    ends.erase(llvm::unique(ends), ends.end());
    struct Piece {
      int writer = -1;
      SmallVector<unsigned, 4> readers;
    };
    std::vector<Piece> pieces(ends.size());
    for (unsigned i = 0; i < ops.size(); ++i) {
      llvm::SetVector<unsigned> before;
      auto forPieces = [&](bool isWrite, llvm::function_ref<void(Piece &)> visit) {
        for (const DeviceOp::Range &range : ops[i].ranges)
          if (range.isWrite == isWrite)
            for (size_t p = llvm::lower_bound(ends, range.begin) - ends.begin(); p < ends.size() && ends[p] < range.end; ++p)
              visit(pieces[p]);
      };
      forPieces(false, [&](Piece &piece) {
        if (piece.writer >= 0)
          before.insert(piece.writer);
      });
      forPieces(true, [&](Piece &piece) {
        if (piece.writer >= 0)
          before.insert(piece.writer);
        before.insert(piece.readers.begin(), piece.readers.end());
      });
      forPieces(false, [&](Piece &piece) {
        if (!llvm::is_contained(piece.readers, i))
          piece.readers.push_back(i);
      });
      forPieces(true, [&](Piece &piece) {
        piece.writer = i;
        piece.readers.clear();
      });
      for (unsigned other : before) {
        followers[other].push_back(i);
        ++waits[i];
      }
    }
    for (unsigned i = ops.size(); i-- > 0;)
      for (unsigned follower : followers[i])
        height[i] = std::max(height[i], height[follower] + 1);
  }

  void enter(unsigned i) {
    if (!ops[i].key.empty() && left[ops[i].key] > 1)
      delayed[ops[i].key].push_back(i);
    else
      ready.insert(i);
  }

  void leave(unsigned i) {
    if (!ops[i].key.empty())
      --left[ops[i].key];
    for (unsigned follower : followers[i])
      if (--waits[follower] == 0)
        enter(follower);
  }

  ArrayRef<DeviceOp> ops;
  std::vector<unsigned> waits;  ///< ops that must have run
  std::vector<unsigned> height; ///< ops that wait for it, one for another
  std::vector<SmallVector<unsigned, 4>> followers;
  std::set<unsigned> ready;
  std::map<std::string, SmallVector<unsigned>> delayed; ///< by key
  std::map<std::string, int64_t> left;                  ///< launches of a key that have not run
};

/// The kernel of a group, which takes what differs among its members from a table.
void merge(const Members &members, ModuleOp module) {
  SmallVector<rt::LaunchOp> launches;
  for (const DeviceOp *member : members)
    launches.push_back(cast<rt::LaunchOp>(member->op));
  // The body is that of the largest: what is known of a number up to that is true of smaller ones, and one element would hide its loop.
  auto largest = llvm::max_element(members, [](auto *a, auto *b) { return a->extent < b->extent; });
  bool isEqual = llvm::all_of(members, [&](auto *member) { return member->extent == members[0]->extent; });
  std::string varies = isEqual && members[0]->varies != "elements" ? std::string() : members[0]->varies;
  auto kernel = module.lookupSymbol<rt::KernelOp>(cast<rt::LaunchOp>((*largest)->op).getKernel());
  OpBuilder b(kernel);
  SmallVector<int64_t> varying;
  SmallVector<Attribute> shared{rt::AddressAttr::get(b.getContext(), 0, 0, 0, 0)};
  for (auto [i, buffer] : llvm::enumerate(launches[0].getBuffers())) {
    if (llvm::all_of(launches, [i = i, buffer = buffer](rt::LaunchOp launch) { return launch.getBuffers()[i] == buffer; }))
      shared.push_back(buffer);
    else
      varying.push_back(i);
  }
  SmallVector<Attribute> instances;
  for (auto [member, launch] : llvm::zip_equal(members, launches)) {
    SmallVector<int64_t> row{varies.empty() ? 0 : member->extent};
    for (int64_t i : varying)
      row.push_back(cast<rt::AddressAttr>(launch.getBuffers()[i]).getOffset());
    instances.push_back(b.getDenseI64ArrayAttr(row));
  }
  std::string name;
  for (unsigned number = 0; name.empty() || module.lookupSymbol(name); ++number)
    name = kernel.getSymName().str() + "_for_" + std::to_string(instances.size()) + (number ? "_" + std::to_string(number) : "");
  auto merged = cast<rt::KernelOp>(b.clone(*kernel));
  merged.setSymName(name);
  merged.setVaryingAttr(b.getDenseI64ArrayAttr(varying));
  merged.setInstancesAttr(b.getArrayAttr(instances));
  if (!varies.empty())
    merged->setAttr("rt.varies", b.getStringAttr(varies));
  launches.back().setBuffersAttr(b.getArrayAttr(shared));
  launches.back().setKernelAttr(FlatSymbolRefAttr::get(b.getContext(), name));
  for (rt::LaunchOp launch : llvm::drop_end(launches))
    launch.erase();
}
} // namespace

void para::mergeLaunches(ArrayRef<DeviceOp> ops, ModuleOp module) {
  while (!ops.empty()) {
    size_t count = llvm::find_if(ops, [](const DeviceOp &op) { return op.isBarrier; }) - ops.begin();
    if (count > 0) {
      Operation *last = ops[count - 1].op;
      for (const Members &members : Order(ops.take_front(count)).run()) {
        for (const DeviceOp *member : members) {
          if (member->op != last)
            member->op->moveAfter(last);
          last = member->op;
        }
        if (members.size() > 1)
          merge(members, module);
      }
    }
    ops = ops.drop_front(std::min(ops.size(), count + 1));
  }
}
