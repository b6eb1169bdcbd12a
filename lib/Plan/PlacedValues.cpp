#include "PlacedValues.h"
#include "ShardingSpecs.h"

#include "para/IR/Program.h"
#include "para/Partition/Projection.h"
#include "para/Plan/Annotations.h"

using namespace mlir;
using namespace para;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

PlacedValues::PlacedValues(func::FuncOp main) : names(main), mesh(main->getParentOfType<ModuleOp>()->getAttrOfType<MeshAttr>("para.mesh")) {
  assert(mesh && "a plan has been applied");
}

Sharding PlacedValues::getValue(Value value) const {
  Sharding sharding = Sharding::replicated(typeOf(value).getRank());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto main = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    if (auto attr = main.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), "para.sharding"))
      sharding = Sharding::get(attr);
  } else if (auto target = value.getDefiningOp()->getAttrOfType<ShardingAttr>("para.target")) {
    sharding = Sharding::get(target);
  } else if (auto structured = dyn_cast<StructureOpInterface>(value.getDefiningOp())) {
    Structure structure = structured.getStructure();
    sharding = Projection(structure, mesh).getResult(OpSplit::get(value.getDefiningOp(), structure), cast<OpResult>(value).getResultNumber());
  }
  return withoutMicrobatches(sharding, typeOf(value), mesh);
}

Sharding PlacedValues::getArgument(BlockArgument argument) const {
  Sharding sharding = getValue(argument);
  auto main = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (auto used = main.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), "para.used"))
    return Sharding::get(used);
  if (getArgKind(main, argument.getArgNumber()) == "parameter")
    for (DimSharding &dim : sharding.dims)
      llvm::erase_if(dim.axes, [](Axis axis) { return isGatheredAxis(axis.getValue()); });
  return sharding.getCanonical(typeOf(argument), mesh);
}

std::optional<Sharding> PlacedValues::getUse(ArrayRef<std::string> made, Value value) const {
  for (StringRef node : made)
    for (Operation *op : names.getOps(node))
      for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
        auto structured = dyn_cast<StructureOpInterface>(op);
        if (operand != value || !structured)
          continue;
        Structure structure = structured.getStructure();
        Sharding sharding = withoutMicrobatches(Projection(structure, mesh).getOperand(OpSplit::get(op, structure), index), typeOf(value), mesh);
        return sharding.partial.empty() ? std::optional(sharding) : std::nullopt;
      }
  return std::nullopt;
}

void para::inferStages(const ModelOutline &outline, std::vector<std::optional<int64_t>> &stages) {
  llvm::StringMap<size_t> producers;
  for (auto [index, node] : llvm::enumerate(outline.nodes))
    for (const std::string &output : node.outputs)
      producers[output] = index;
  std::vector<std::vector<size_t>> takers(outline.nodes.size());
  std::vector<size_t> open(outline.nodes.size(), 0), order;
  for (auto [index, node] : llvm::enumerate(outline.nodes))
    for (const std::string &input : node.inputs)
      if (auto it = producers.find(input); !input.empty() && it != producers.end()) {
        takers[it->second].push_back(index);
        ++open[index];
      }
  for (size_t index = 0; index < open.size(); ++index)
    if (open[index] == 0)
      order.push_back(index);
  for (size_t i = 0; i < order.size(); ++i)
    for (size_t taker : takers[order[i]])
      if (--open[taker] == 0)
        order.push_back(taker);
  std::vector<std::optional<int64_t>> latest(outline.nodes.size()); // of what a node takes from
  for (size_t index : order) {
    if (!stages[index])
      stages[index] = latest[index];
    for (size_t taker : takers[index])
      if (stages[index])
        latest[taker] = std::max(latest[taker].value_or(0), *stages[index]);
  }
  for (size_t index : llvm::reverse(order))
    if (!stages[index])
      for (size_t taker : takers[index])
        if (stages[taker])
          stages[index] = std::min(stages[index].value_or(*stages[taker]), *stages[taker]);
  for (std::optional<int64_t> &stage : stages)
    stage = stage.value_or(0);
}
