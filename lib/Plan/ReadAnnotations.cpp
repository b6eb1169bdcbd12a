//===- ReadAnnotations.cpp - What annotations ask of a plan ---------------===//

#include "PlacedValues.h"
#include "ShardingSpecs.h"

#include "para/IR/Program.h"
#include "para/Plan/Annotations.h"
#include "para/Plan/DeviceMesh.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;
using namespace para;

namespace para {
class AnnotationReader {
public:
  AnnotationReader(const ModelOutline &outline, const DeviceConfiguration &configuration, func::FuncOp main, const std::map<std::string, int64_t> &asked)
      : outline(outline), configuration(configuration), main(main), ctx(main.getContext()), asked(asked) {
    for (const PlanAxis &axis : getPlanAxes())
      if (axis.name != "pipeline")
        axes.push_back(axis.name.str());
    for (unsigned index = 0; index < main.getNumArguments(); ++index)
      arguments[getArgName(main, index)] = index;
  }

  FailureOr<PlanAnnotations> run() {
    result.configuration = configuration.name;
    result.ranks = configuration.numDevices;
    if (!readStages())
      return failure();
    for (size_t index = 0; index < outline.nodes.size(); ++index)
      if (outline.nodes[index].isLive)
        readSpecs(index);
    if (failed || !chooseMesh())
      return failure();
    placeValues();
    return failed ? FailureOr<PlanAnnotations>(failure()) : std::move(result);
  }

private:
  /// One spec of one node.
  struct Entry {
    size_t node;
    std::string tensor;
    const ModelTensor *value;
    bool isOutput;
    SpecCuts cuts;
    size_t pattern;
  };
  /// Which shard of a grid each rank of a stage has.
  using Pattern = std::pair<std::vector<int64_t>, std::vector<int32_t>>;

  InFlightDiagnostic error(StringRef node) {
    failed = true;
    return emitError(NameLoc::get(StringAttr::get(ctx, node)));
  }

  const NodeConfiguration *find(const ModelNode &node) const {
    auto it = node.configurations.find(configuration.name);
    return it == node.configurations.end() ? nullptr : &it->second;
  }

  /// Constants, as sizes are, are everywhere.
  bool isComputed(StringRef tensor) const {
    auto it = outline.tensors.find(tensor);
    return it != outline.tensors.end() && it->second.kind != ModelTensor::Constant;
  }

  /// Numbers of stages may begin anywhere, but none of those between may be left out, and no node may take from a later one.
  bool readStages() {
    stages.resize(outline.nodes.size());
    std::map<int64_t, std::string> names; // of a node
    for (auto [index, node] : llvm::enumerate(outline.nodes))
      if (const NodeConfiguration *place = find(node); place && place->stage && node.isLive) {
        stages[index] = *place->stage;
        names.try_emplace(*place->stage, node.name);
      }
    bool isStaged = !names.empty();
    int64_t first = isStaged ? names.begin()->first : 0;
    numStages = isStaged ? names.rbegin()->first - first + 1 : 1;
    if (numStages > configuration.numDevices) {
      error(names.rbegin()->second) << "is on pipeline stage " << names.rbegin()->first
                                    << ", but the configuration '" << configuration.name << "' has " << configuration.numDevices << " devices";
      return false;
    }
    int64_t previous = first;
    for (const auto &[stage, name] : names) {
      if (stage > previous + 1)
        error(name) << "is on pipeline stage " << stage << ", and no node is on stage " << previous + 1;
      previous = stage;
    }
    if (configuration.numDevices % numStages)
      error(configuration.name) << configuration.numDevices << " devices are not as many on each of " << numStages << " pipeline stages";
    if (failed)
      return false;
    for (std::optional<int64_t> &stage : stages)
      if (stage)
        *stage -= first;
    inferStages(outline, stages);
    if (!isStaged)
      return true;
    result.mesh["pipeline"] = numStages;
    llvm::StringMap<size_t> producers;
    for (auto [index, node] : llvm::enumerate(outline.nodes))
      for (const std::string &output : node.outputs)
        producers[output] = index;
    std::map<std::string, size_t> staged; // node of each name
    for (auto [index, node] : llvm::enumerate(outline.nodes)) {
      if (!node.isLive)
        continue;
      for (const std::string &input : node.inputs)
        if (auto it = producers.find(input); it != producers.end() && *stages[it->second] > *stages[index] && isComputed(input))
          error(node.name) << "is on pipeline stage " << *stages[index] + first << ", and takes '" << input << "' from '"
                           << outline.nodes[it->second].name << "' on the later stage " << *stages[it->second] + first;
      for (const std::string &name : node.made) {
        auto [it, isNew] = staged.try_emplace(name, index);
        if (!isNew && stages[it->second] != stages[index])
          error(name) << "two nodes have this name, and are on pipeline stages " << *stages[it->second] + first << " and " << *stages[index] + first;
        result.stages[name] = *stages[index];
      }
    }
    return !failed;
  }

  void readSpecs(size_t index) {
    const ModelNode &node = outline.nodes[index];
    const NodeConfiguration *place = find(node);
    if (!place)
      return;
    int64_t ranks = configuration.numDevices / numStages, from = *stages[index] * ranks;
    for (const ShardingSpec &spec : place->shardings) {
      auto tensor = outline.tensors.find(spec.tensor);
      if (tensor == outline.tensors.end()) {
        error(node.name) << "its sharding spec is for '" << spec.tensor << "', which is no tensor";
        continue;
      }
      auto cuts = readSpec(spec, tensor->second.shape);
      if (!cuts) {
        error(node.name) << "'" << spec.tensor << "' " << llvm::toString(cuts.takeError());
        continue;
      }
      const DeviceShards &shards = outline.assignments[spec.assignment];
      if (auto device = llvm::find_if(shards, [&](auto entry) { return entry.first < from || entry.first >= from + ranks; }); device != shards.end()) {
        error(node.name) << "'" << spec.tensor << "' is on device " << device->first << ", but the devices of the node's pipeline stage are " << from << " to " << from + ranks - 1;
        continue;
      }
      std::vector<int32_t> shardOf;
      for (auto [device, shard] : shards)
        if (device == from + int64_t(shardOf.size()))
          shardOf.push_back(shard);
      if (int64_t(shardOf.size()) < ranks) {
        error(node.name) << "'" << spec.tensor << "' leaves out device " << from + int64_t(shardOf.size()) << " of the node's pipeline stage, devices " << from << " to " << from + ranks - 1
                         << ": name them all, those with the same shard in a device group";
        continue;
      }
      if (tensor->second.kind == ModelTensor::Constant) {
        if (!cuts->cuts.empty())
          error(node.name) << "'" << spec.tensor << "' is a constant, which every rank has whole; its sharding spec cuts it";
        continue;
      }
      auto [it, isNew] = numbers.try_emplace({cuts->getGrid(), std::move(shardOf)}, patterns.size());
      if (isNew)
        patterns.push_back({&it->first, entries.size()});
      entries.push_back({index, spec.tensor, &tensor->second, llvm::is_contained(node.outputs, spec.tensor), std::move(*cuts), it->second});
    }
  }

  static bool suits(ArrayRef<int64_t> sizes, const Pattern &pattern) {
    return pattern.first.empty() || explainShards(sizes, pattern.first, pattern.second).has_value(); // what is not cut is so under every mesh
  }

  /// No mesh has a pattern and all those before it; names one of these if two are enough.
  void reportMesh(size_t number) {
    std::vector<SmallVector<int64_t>> meshes = getMeshes(configuration.numDevices / numStages, axes.size());
    llvm::erase_if(meshes, [&](ArrayRef<int64_t> sizes) { return !suits(sizes, *patterns[number].first); });
    const Entry &entry = entries[patterns[number].second];
    InFlightDiagnostic report = error(outline.nodes[entry.node].name);
    report << "no mesh of axes " << llvm::join(axes, ", ") << ", of which the last varies fastest, spreads '" << entry.tensor << "' over its devices so";
    if (meshes.empty())
      return;
    for (size_t other = 0; other < number; ++other)
      if (llvm::none_of(meshes, [&](ArrayRef<int64_t> sizes) { return suits(sizes, *patterns[other].first); })) {
        const Entry &before = entries[patterns[other].second];
        report << " and '" << before.tensor << "' as '" << outline.nodes[before.node].name << "' has it";
        return;
      }
    report << " and those of the nodes before as these have them";
  }

  /// Sizes of the axes, of the meshes under which every spec is a cut over axes, the one that cuts in the way of plans: over `data` and `tensor`.
  bool chooseMesh() {
    std::vector<SmallVector<int64_t>> meshes = getMeshes(configuration.numDevices / numStages, axes.size());
    if (!entries.empty())
      result.mesh["pipeline"] = numStages;
    for (auto [number, pattern] : llvm::enumerate(patterns)) {
      std::vector<SmallVector<int64_t>> left;
      llvm::copy_if(meshes, std::back_inserter(left), [&, first = pattern.first](ArrayRef<int64_t> sizes) { return suits(sizes, *first); });
      if (left.empty()) {
        reportMesh(number);
        return false;
      }
      meshes = std::move(left);
    }
    bool cuts = llvm::any_of(patterns, [](auto &pattern) { return !pattern.first->first.empty(); });
    std::optional<SmallVector<int64_t>> named = readDeviceNames();
    auto isAsked = [&](ArrayRef<int64_t> sizes) {
      return llvm::all_of(llvm::zip_equal(axes, sizes), [&](auto pair) {
        auto it = asked.find(std::get<0>(pair));
        return it == asked.end() || it->second == std::get<1>(pair);
      });
    };
    if (named && !llvm::is_contained(meshes, *named))
      named.reset();
    if (!cuts && !named && configuration.numDevices > numStages)
      return true; // the planner's to choose
    const SmallVector<int64_t> *best = nullptr;
    std::tuple<bool, bool, int64_t, int64_t> bestRank;
    for (const SmallVector<int64_t> &sizes : meshes) {
      int64_t rare = llvm::count_if(llvm::zip_equal(axes, sizes), [](auto pair) { return std::get<0>(pair) != "data" && std::get<0>(pair) != "tensor" && std::get<1>(pair) > 1; });
      std::tuple<bool, bool, int64_t, int64_t> rank(!isAsked(sizes), named && sizes != *named, rare, countUnusual(sizes));
      if (!best || rank < bestRank) {
        best = &sizes;
        bestRank = rank;
      }
    }
    for (auto [axis, size] : llvm::zip_equal(axes, *best))
      result.mesh[axis] = size;
    result.mesh["pipeline"] = numStages;
    return true;
  }

  /// Parameters that are cut over the axis of the batch, and batches that are cut over others.
  int64_t countUnusual(ArrayRef<int64_t> sizes) {
    int64_t count = 0;
    std::vector<std::optional<GridAxes>> explained(patterns.size());
    for (const Entry &entry : entries) {
      auto argument = arguments.find(entry.value->value);
      if (entry.value->kind != ModelTensor::Argument || argument == arguments.end() || entry.cuts.cuts.empty())
        continue;
      const Pattern &pattern = *patterns[entry.pattern].first;
      if (!explained[entry.pattern])
        explained[entry.pattern] = explainShards(sizes, pattern.first, pattern.second);
      auto batch = main.getArgAttrOfType<IntegerAttr>(argument->second, "para.batch_dim");
      for (auto [cut, by] : llvm::zip_equal(entry.cuts.cuts, *explained[entry.pattern]))
        for (unsigned axis : by)
          count += batch ? (batch.getInt() == cut.dim) != (axes[axis] == "data" || axes[axis] == "expert") : isGatheredAxis(axes[axis]);
    }
    return count;
  }

  /// Sizes of axes from devices that are called by their place in the mesh, in the order of its ranks.
  std::optional<SmallVector<int64_t>> readDeviceNames() const {
    if (int64_t(configuration.devices.size()) != configuration.numDevices)
      return std::nullopt;
    std::map<std::string, int64_t> last;
    SmallVector<StringRef> parts;
    StringRef(configuration.devices.back()).split(parts, ',');
    for (StringRef part : parts) {
      auto [axis, place] = part.split('=');
      if (place.getAsInteger(10, last[axis.str()]) || last[axis.str()] < 0 || last[axis.str()] >= configuration.numDevices)
        return std::nullopt;
    }
    SmallVector<int64_t> sizes;
    for (const std::string &axis : axes)
      sizes.push_back(last.count(axis) ? last[axis] + 1 : 1);
    int64_t product = numStages;
    for (int64_t size : sizes)
      product = std::min(product * size, 2 * configuration.numDevices);
    return product == configuration.numDevices ? std::optional(sizes) : std::nullopt;
  }

  /// Where the mesh is open nothing is cut.
  Sharding placeEntry(const Entry &entry) {
    Sharding sharding = Sharding::replicated(entry.value->shape.size());
    if (entry.cuts.cuts.empty())
      return sharding;
    SmallVector<int64_t> sizes;
    for (const std::string &axis : axes)
      sizes.push_back(result.mesh[axis]);
    const Pattern &pattern = *patterns[entry.pattern].first;
    GridAxes by = *explainShards(sizes, pattern.first, pattern.second);
    for (auto [cut, names] : llvm::zip_equal(entry.cuts.cuts, by)) {
      DimSharding &dim = sharding.dims[cut.dim];
      dim.unit = cut.unit;
      dim.blocks = cut.blocks;
      for (unsigned axis : names)
        dim.axes.push_back(StringAttr::get(ctx, axes[axis]));
    }
    std::vector<Attribute> names;
    for (const std::string &axis : axes)
      names.push_back(StringAttr::get(ctx, axis));
    auto mesh = MeshAttr::get(ctx, ArrayAttr::get(ctx, names), DenseI64ArrayAttr::get(ctx, sizes));
    return sharding.getCanonical(RankedTensorType::get(entry.value->shape, Float32Type::get(ctx)), mesh);
  }

  void placeValues() {
    std::map<std::string, const Entry *> producers;
    std::map<std::string, std::set<std::string>> taken;
    for (const Entry &entry : entries) {
      Sharding sharding = placeEntry(entry);
      std::string text = toText(sharding);
      const std::string &value = entry.value->value, &node = outline.nodes[entry.node].name;
      if (!entry.isOutput) {
        taken[value].insert(text);
        result.uses.push_back({node, outline.nodes[entry.node].made, entry.tensor, value, sharding});
        continue;
      }
      auto [it, isNew] = producers.try_emplace(value, &entry);
      if (isNew)
        result.shards[value] = text;
      else if (result.shards[value] != text)
        error(node) << "leaves '" << entry.tensor << "' as " << text << ", which is the same tensor as '" << it->second->tensor
                    << "', that '" << outline.nodes[it->second->node].name << "' leaves as " << result.shards[value];
    }
    // What is not made is kept as it is taken, where all take it alike.
    for (const auto &[value, texts] : taken)
      if (!producers.count(value) && texts.size() == 1)
        (arguments.contains(value) ? result.shards : result.taken)[value] = *texts.begin();
  }

  const ModelOutline &outline;
  const DeviceConfiguration &configuration;
  func::FuncOp main;
  MLIRContext *ctx;
  const std::map<std::string, int64_t> &asked;
  llvm::StringMap<unsigned> arguments;
  std::vector<std::string> axes; ///< of a stage's ranks, outermost first
  int64_t numStages = 1;
  std::vector<std::optional<int64_t>> stages;
  std::vector<Entry> entries;
  std::map<Pattern, size_t> numbers;
  std::vector<std::pair<const Pattern *, size_t>> patterns; ///< and the first entry that has it
  PlanAnnotations result;
  bool failed = false;
};
} // namespace para

FailureOr<PlanAnnotations> PlanAnnotations::read(const ModelOutline &outline, const DeviceConfiguration &configuration, func::FuncOp main,
                                                 const std::map<std::string, int64_t> &asked) {
  return AnnotationReader(outline, configuration, main, asked).run();
}
