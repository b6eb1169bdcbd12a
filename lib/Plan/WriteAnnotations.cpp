#include "PlacedValues.h"
#include "ShardingSpecs.h"

#include "para/IR/Program.h"
#include "para/Plan/Annotations.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace para;

namespace {
class AnnotationWriter {
public:
  AnnotationWriter(const ModelOutline &outline, func::FuncOp main) : outline(outline), placed(main), mesh(placed.getMesh()) {}

  WrittenAnnotations run() {
    nameDevices();
    std::vector<std::optional<int64_t>> stages(outline.nodes.size());
    for (auto [index, node] : llvm::enumerate(outline.nodes))
      for (const std::string &name : node.made)
        for (Operation *op : placed.getNames().getOps(name))
          if (auto stage = op->getAttrOfType<IntegerAttr>("para.stage"))
            stages[index] = std::max(stages[index].value_or(0), stage.getInt());
    inferStages(outline, stages);
    for (auto [node, stage] : llvm::zip_equal(outline.nodes, stages)) {
      result.nodes.push_back({stage, {}});
      llvm::StringSet<> seen;
      for (const std::string &input : node.inputs)
        if (!input.empty() && seen.insert(input).second)
          addSpec(input, *stage, &node);
      for (const std::string &output : node.outputs)
        if (!output.empty() && seen.insert(output).second)
          addSpec(output, *stage, nullptr);
    }
    return std::move(result);
  }

private:
  void nameDevices() {
    ArrayRef<int64_t> sizes = mesh.getSizes();
    result.configuration = {"para", mesh.getNumRanks(), {}};
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
      std::string name;
      int64_t rest = rank;
      for (unsigned i = sizes.size(); i-- > 0;) {
        StringRef axis = cast<StringAttr>(mesh.getAxes()[i]).getValue();
        if (axis == kMicrobatch)
          continue;
        name = axis.str() + "=" + std::to_string(rest % sizes[i]) + (name.empty() ? "" : ",") + name;
        rest /= sizes[i];
      }
      result.configuration.devices.push_back(name);
    }
  }

  /// Of a tensor as `taker` takes it, or else as it is made.
  void addSpec(StringRef name, int64_t stage, const ModelNode *taker) {
    auto tensor = outline.tensors.find(name);
    if (tensor == outline.tensors.end())
      return; // of a dead node, or a sequence
    Sharding sharding = Sharding::replicated(tensor->second.shape.size());
    if (tensor->second.kind != ModelTensor::Constant) {
      Value value = placed.getNames().findTensor(tensor->second.value);
      if (!value)
        return; // simplified away
      auto argument = dyn_cast<BlockArgument>(value);
      std::optional<Sharding> use = taker && !argument ? placed.getUse(taker->made, value) : std::nullopt;
      sharding = use ? *use : argument ? placed.getArgument(argument) : placed.getValue(value);
      if (!sharding.partial.empty())
        return;
    }
    auto [it, isNew] = numbers.try_emplace({sharding.getAttr(mesh.getContext()), stage}, result.assignments.size());
    if (isNew)
      result.assignments.push_back(getShards(sharding, stage, mesh));
    result.nodes.back().shardings.push_back({name.str(), writeSpec(sharding, tensor->second.shape, mesh), it->second});
  }

  const ModelOutline &outline;
  PlacedValues placed;
  MeshAttr mesh;
  llvm::DenseMap<std::pair<Attribute, int64_t>, unsigned> numbers;
  WrittenAnnotations result;
};
} // namespace

WrittenAnnotations para::writeAnnotations(const ModelOutline &outline, func::FuncOp main) { return AnnotationWriter(outline, main).run(); }
