#include "para/IR/Program.h"
#include "para/Partition/Projection.h"
#include "para/Plan/Planner.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace para;

namespace {
/// "blocks.3.qkv.weight" and its brothers in other layers under one name: "blocks.*.qkv.weight".
std::string familyOf(StringRef name) {
  std::string family;
  for (size_t i = 0; i < name.size(); ++i) {
    bool number = llvm::isDigit(name[i]) && (i == 0 || name[i - 1] == '.' || name[i - 1] == '_' || name[i - 1] == '/');
    size_t end = i;
    while (number && end < name.size() && llvm::isDigit(name[end]))
      ++end;
    number &= end == name.size() || name[end] == '.' || name[end] == '_' || name[end] == '/';
    family += number ? '*' : name[i];
    if (number)
      i = end - 1;
  }
  return family;
}

/// [data, _, tensor]: what cuts each dimension, and into how many blocks it falls that are cut each by itself.
std::string textOf(ShardingAttr sharding) {
  std::string text = "[";
  for (int64_t dim = 0; dim < sharding.getRank(); ++dim) {
    auto axes = sharding.getAxes(dim);
    text += (dim ? ", " : "") + (axes.empty() ? std::string("_") : llvm::join(axes, "+"));
    if (int64_t blocks = sharding.getBlocks()[dim]; blocks > 1)
      text += " in each of " + std::to_string(blocks) + " blocks";
  }
  return text + "]";
}

/// Whether the op leaves a sum over `tensor` that is finished into cut rows at once.
bool endsInRows(Operation *op) {
  auto target = op->getAttrOfType<ShardingAttr>("para.target");
  auto mesh = op->getParentOfType<ModuleOp>()->getAttrOfType<MeshAttr>("para.mesh");
  auto structured = dyn_cast<StructureOpInterface>(op);
  if (!target || !mesh || !structured || !Sharding::get(target).isCut("tensor"))
    return false;
  Structure structure = structured.getStructure();
  return Projection(structure, mesh).getResult(OpSplit::get(op, structure), 0).isPartial("tensor");
}
} // namespace

void para::describePlan(func::FuncOp main, llvm::raw_ostream &os) {
  std::vector<std::pair<std::string, int>> cuts;
  for (unsigned index = 0; index < main.getNumArguments(); ++index) {
    auto sharding = main.getArgAttrOfType<ShardingAttr>(index, "para.sharding");
    StringRef kind = getArgKind(main, index);
    if (!sharding || sharding.isReplicated() || kind == "hyper")
      continue;
    std::string text = kind.str() + " " + familyOf(getArgName(main, index)) + " " + textOf(sharding);
    auto it = llvm::find_if(cuts, [&](auto &entry) { return entry.first == text; });
    if (it == cuts.end())
      cuts.push_back({text, 1});
    else
      ++it->second;
  }
  if (!cuts.empty())
    os << "cut over the mesh:\n";
  for (auto &[text, count] : cuts)
    os << llvm::formatv("  {0,4} x {1}\n", count, text);
  int64_t forward = 0, again = 0, rows = 0;
  for (Operation &op : main.getBody().front().without_terminator()) {
    if (getPhase(&op) != Phase::Forward || op.getNumOperands() == 0)
      continue;
    ++forward;
    again += op.hasAttr("para.recompute");
    rows += endsInRows(&op);
  }
  if (again > 0)
    os << llvm::formatv("not kept, computed again for the backward pass: {0} of {1} forward ops\n", again, forward);
  if (rows > 0)
    os << llvm::formatv("cut along the sequence: {0} sums over tensor, and what follows each up to the next product\n", rows);
  std::map<int64_t, std::pair<std::string, std::string>> stages;
  for (Operation &op : main.getBody().front().without_terminator()) {
    auto stage = op.getAttrOfType<IntegerAttr>("para.stage");
    StringRef node = getNodeName(op.getLoc());
    if (!stage || getPhase(&op) != Phase::Forward || node.empty() || op.getNumOperands() == 0)
      continue;
    auto [it, first] = stages.try_emplace(stage.getInt(), std::pair(node.str(), node.str()));
    it->second.second = node.str();
  }
  if (stages.size() > 1)
    for (auto &[stage, nodes] : stages)
      os << llvm::formatv("stage {0}: {1} ... {2}\n", stage, nodes.first, nodes.second);
}
