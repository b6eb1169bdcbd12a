//===- MergeLaunches.cpp - Many tensors in one launch ---------------------===//
#include "MergeLaunches.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/MapVector.h"

#include <list>

using namespace mlir;
using namespace para;

std::string para::describeElement(rt::FusedOp fused, FactsCache &facts) {
  Block &body = fused.getBody().front();
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::DenseMap<Value, unsigned> numbers;
  int64_t size = sizeOf(fused.getResult(0));
  if (size == 1)
    return {};
  for (Value v : body.getArguments()) {
    if (sizeOf(v) != size && sizeOf(v) != 1)
      return {};
    numbers[v] = numbers.size();
    os << (sizeOf(v) == 1 ? "one " : "all ") << getElementTypeOrSelf(v.getType()) << "\n";
  }
  for (Operation &op : body.without_terminator()) {
    const OpFacts &f = facts.get(&op);
    Value result = op.getResult(0);
    if (f.reduction || (sizeOf(result) != size && sizeOf(result) != 1))
      return {};
    numbers[result] = numbers.size();
    os << (sizeOf(result) == 1 ? "one " : "all ") << getElementTypeOrSelf(result.getType());
    DenseElementsAttr constant;
    if (matchPattern(&op, m_Constant(&constant))) {
      if (!constant.isSplat())
        return {};
      os << " " << constant.getSplatValue<Attribute>() << "\n";
      continue;
    }
    if (f.accesses.empty()) // It may depend on the place.
      return {};
    for (const OpAccess &access : f.accesses)
      if (access.dynamic || (sizeOf(op.getOperand(access.operand)) != 1 && !keepsRow(&op, f, access, 0)))
        return {};
    if (!f.move) // A move takes an element as it is.
      os << " " << op.getName() << " " << op.getAttrDictionary();
    for (Value operand : op.getOperands())
      os << " " << numbers.lookup(operand);
    os << "\n";
  }
  for (Value v : body.getTerminator()->getOperands()) {
    if (sizeOf(v) != size)
      return {};
    os << numbers.lookup(v) << " ";
  }
  return text;
}

namespace {
bool conflict(const DeviceOp &a, const DeviceOp &b) {
  for (const DeviceOp::Range &x : a.ranges)
    for (const DeviceOp::Range &y : b.ranges)
      if ((x.isWrite || y.isWrite) && x.begin < y.end && y.begin < x.end)
        return true;
  return false;
}

struct Group {
  std::string key;
  SmallVector<const DeviceOp *> members;
};

/// The kernel of a group, which takes what differs among its members from a table.
void merge(const Group &group, ModuleOp module) {
  SmallVector<rt::LaunchOp> launches;
  for (const DeviceOp *member : group.members)
    launches.push_back(cast<rt::LaunchOp>(member->op));
  // The body is that of the largest: a tensor of one element would hide its loop.
  auto largest = llvm::max_element(group.members, [](auto *a, auto *b) { return a->elements < b->elements; });
  auto kernel = module.lookupSymbol<rt::KernelOp>(cast<rt::LaunchOp>((*largest)->op).getKernel());
  OpBuilder b(kernel);
  SmallVector<int64_t> varying;
  SmallVector<Attribute> shared{rt::AddressAttr::get(b.getContext(), 0, 0, 0, 0)};
  for (auto [i, buffer] : llvm::enumerate(launches[0].getBuffers())) {
    if (llvm::all_of(launches, [&](rt::LaunchOp launch) { return launch.getBuffers()[i] == buffer; }))
      shared.push_back(buffer);
    else
      varying.push_back(i);
  }
  SmallVector<Attribute> instances;
  for (auto [member, launch] : llvm::zip_equal(group.members, launches)) {
    SmallVector<int64_t> row{member->elements};
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
  launches.back().setBuffersAttr(b.getArrayAttr(shared));
  launches.back().setKernelAttr(FlatSymbolRefAttr::get(b.getContext(), name));
  for (rt::LaunchOp launch : llvm::drop_end(launches))
    launch.erase();
}
} // namespace

void para::mergeLaunches(std::vector<DeviceOp> ops, ModuleOp module) {
  std::list<Group> open;
  std::vector<Group> closed;
  for (const DeviceOp &op : ops) {
    bool joined = false;
    for (auto group = open.begin(); group != open.end();) {
      bool clashes = op.isBarrier || llvm::any_of(group->members, [&](const DeviceOp *member) { return conflict(*member, op); });
      if (!clashes && !op.key.empty() && group->key == op.key) {
        group->members.push_back(&op);
        joined = true;
      }
      auto next = std::next(group);
      if (clashes)
        closed.push_back(std::move(*group)), open.erase(group);
      group = next;
    }
    if (!joined && !op.isBarrier && !op.key.empty())
      open.push_back({op.key, {&op}});
  }
  for (Group &group : open)
    closed.push_back(std::move(group));
  for (const Group &group : closed)
    if (group.members.size() > 1)
      merge(group, module);
}
