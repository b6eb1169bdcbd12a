#include "LocalValue.h"

#include "para/IR/Program.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace para;

int64_t para::getPiece(int64_t size, int64_t unit, int64_t count) { return llvm::divideCeil(llvm::divideCeil(size, unit), count) * unit; }

std::optional<Cut> Cut::read(int64_t size, ArrayRef<StringRef> axes, int64_t unit, int64_t blocks, MeshAttr mesh) {
  Cut cut;
  for (StringRef axis : axes) {
    int64_t count = mesh.getSize(axis);
    if (count == 1)
      continue;
    if (cut.levels.empty()) {
      if (unit < 1 || blocks < 1 || size % blocks || size / blocks % unit)
        return std::nullopt;
      cut.blocks = blocks;
    }
    if (cut.has(axis))
      return std::nullopt;
    int64_t before = cut.levels.empty() ? size / blocks : cut.levels.back().piece;
    cut.levels.push_back({StringAttr::get(mesh.getContext(), axis), getPiece(before, unit, count)});
  }
  return cut;
}

bool Cut::isPadded(int64_t size, MeshAttr mesh) const {
  if (levels.empty())
    return false;
  int64_t held = blocks * levels.back().piece;
  for (const Level &level : levels)
    held *= mesh.getSize(level.axis);
  return held != size;
}

bool Cut::has(StringRef axis) const {
  return llvm::any_of(levels, [&](const Level &level) { return level.axis.getValue() == axis; });
}

std::string Cut::describe() const {
  if (levels.empty())
    return "not cut";
  std::string text = "cut over ";
  llvm::raw_string_ostream os(text);
  llvm::interleave(levels, os, [&](const Level &level) { os << level.axis.getValue(); }, ", ");
  os << " into pieces of " << levels.back().piece;
  if (blocks > 1)
    os << " in each of " << blocks << " blocks";
  return text;
}

LocalValue LocalValue::whole(Value serial, ChunkPhase phase) {
  LocalValue value;
  value.serial = serial;
  value.shape = SmallVector<int64_t>(cast<RankedTensorType>(serial.getType()).getShape());
  value.cuts.resize(value.shape.size());
  value.filled.resize(value.shape.size());
  value.phase = phase;
  return value;
}

bool LocalValue::isPartial(StringRef axis) const {
  return llvm::any_of(partial, [&](StringAttr other) { return other.getValue() == axis; });
}
bool LocalValue::isCut(StringRef axis) const {
  return llvm::any_of(cuts, [&](const Cut &cut) { return cut.has(axis); });
}

void LocalValue::addPartial(StringAttr axis) {
  if (isPartial(axis.getValue()))
    return;
  partial.push_back(axis);
  llvm::sort(partial, [](StringAttr a, StringAttr b) { return a.getValue() < b.getValue(); });
}

SmallVector<int64_t> LocalValue::getLocalShape() const {
  SmallVector<int64_t> local;
  for (auto [size, cut] : llvm::zip(shape, cuts))
    local.push_back(cut.getLocalSize(size));
  return local;
}

std::string para::describeAxes(ArrayRef<StringAttr> axes) {
  return axes.empty() ? "none" : llvm::join(llvm::map_range(axes, [](StringAttr axis) { return axis.getValue(); }), ", ");
}

std::string para::describeSerial(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return llvm::formatv("argument '{0}'", getArgName(function, argument.getArgNumber()));
  }
  Operation *op = value.getDefiningOp();
  StringRef node = getNodeName(op->getLoc());
  return llvm::formatv("{0}{1}{2}", op->getName(), node.empty() ? "" : " of ", node);
}
