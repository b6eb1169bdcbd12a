//===- ReadAnnotations.cpp - Multi-device annotations of a file -----------===//
//
// Checks what can be seen in the file alone: names that exist, devices that exist, every shard with its devices. What of it a mesh of ranks can
// be is the planner's to say.
//
//===----------------------------------------------------------------------===//

#include "ReadAnnotations.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace para;

namespace {
/// More devices than this are no machine (and as many ranks are the most of a plan).
constexpr int64_t mostDevices = 1 << 20;

class Reader {
public:
  Reader(const onnx::ModelProto &model, ModelOutline &outline, MLIRContext *context) : model(model), outline(outline), context(context) {}

  LogicalResult run() {
    for (const onnx::DeviceConfigurationProto &configuration : model.configuration())
      readConfiguration(configuration);
    if (failed)
      return failure();
    for (auto [node, place] : llvm::zip_equal(model.graph().node(), outline.nodes)) {
      for (const onnx::NodeDeviceConfigurationProto &entry : node.device_configurations())
        readNode(node, entry, place);
      for (const onnx::AttributeProto &attribute : node.attribute()) {
        if (attribute.has_g())
          refuseInside(attribute.g().node(), place.name, 0);
        for (const onnx::GraphProto &graph : attribute.graphs())
          refuseInside(graph.node(), place.name, 0);
      }
    }
    for (const onnx::FunctionProto &function : model.functions())
      refuseInside(function.node(), function.name(), 0);
    return failure(failed);
  }

private:
  InFlightDiagnostic error(StringRef name) {
    failed = true;
    return emitError(NameLoc::get(StringAttr::get(context, name.empty() ? StringRef("<unnamed>") : name)));
  }

  void readConfiguration(const onnx::DeviceConfigurationProto &proto) {
    DeviceConfiguration configuration{proto.name(), proto.num_devices(), {proto.device().begin(), proto.device().end()}};
    if (proto.name().empty())
      error("configuration") << "a device configuration of the model has no name";
    else if (llvm::any_of(outline.configurations, [&](const DeviceConfiguration &other) { return other.name == proto.name(); }))
      error(proto.name()) << "two device configurations have this name";
    else if (proto.num_devices() < 1 || proto.num_devices() > mostDevices)
      error(proto.name()) << "the configuration has " << proto.num_devices() << " devices, which must be from 1 to " << mostDevices;
    else if (proto.device_size() && proto.device_size() != proto.num_devices())
      error(proto.name()) << "the configuration has " << proto.num_devices() << " devices, and names of " << proto.device_size();
    outline.configurations.push_back(std::move(configuration));
  }

  void readNode(const onnx::NodeProto &node, const onnx::NodeDeviceConfigurationProto &proto, ModelNode &place) {
    auto configuration = llvm::find_if(outline.configurations, [&](const DeviceConfiguration &other) { return other.name == proto.configuration_id(); });
    if (configuration == outline.configurations.end()) {
      error(place.name) << "its annotation is for the configuration '" << proto.configuration_id() << "', which the model does not have";
      return;
    }
    auto [it, isNew] = place.configurations.try_emplace(proto.configuration_id());
    if (!isNew) {
      error(place.name) << "is annotated twice for the configuration '" << proto.configuration_id() << "'";
      return;
    }
    if (proto.has_pipeline_stage()) {
      if (proto.pipeline_stage() < 0)
        error(place.name) << "its pipeline stage " << proto.pipeline_stage() << " is negative";
      it->second.stage = proto.pipeline_stage();
    }
    for (const onnx::ShardingSpecProto &spec : proto.sharding_spec())
      readSpec(node, spec, configuration->numDevices, place, it->second);
  }

  void readSpec(const onnx::NodeProto &node, const onnx::ShardingSpecProto &proto, int64_t devices, ModelNode &place, NodeConfiguration &configuration) {
    StringRef tensor = proto.tensor_name();
    auto names = [&](const auto &list) { return !tensor.empty() && llvm::is_contained(list, tensor); };
    if (!names(node.input()) && !names(node.output())) {
      error(place.name) << "a sharding spec is for '" << tensor << "', which is neither an input nor an output of the node";
      return;
    }
    if (llvm::any_of(configuration.shardings, [&](const ShardingSpec &other) { return other.tensor == tensor; })) {
      error(place.name) << "has two sharding specs for '" << tensor << "'";
      return;
    }
    ShardingSpec spec;
    spec.tensor = tensor.str();
    int64_t shards = 1;
    for (const onnx::ShardedDimProto &dim : proto.sharded_dim()) {
      spec.dims.push_back({dim.axis(), {}});
      for (const onnx::SimpleShardedDimProto &part : dim.simple_sharding()) {
        if (part.num_shards() < 1 || part.num_shards() > mostDevices || shards * part.num_shards() > mostDevices) {
          error(place.name) << "'" << tensor << "' is cut into " << part.num_shards() << " shards along axis " << dim.axis() << "; that many devices there are not";
          return;
        }
        if (part.has_dim_value() && part.dim_value() < 1) {
          error(place.name) << "'" << tensor << "' has " << part.dim_value() << " blocks along axis " << dim.axis() << ", which must be positive";
          return;
        }
        shards *= part.num_shards();
        spec.dims.back().parts.push_back({part.has_dim_value() ? part.dim_value() : 0, part.num_shards()});
      }
    }
    if (!assign(proto, shards, devices, place.name, spec.assignment))
      return;
    configuration.shardings.push_back(std::move(spec));
  }

  /// Gives each device its shard.
  bool assign(const onnx::ShardingSpecProto &proto, int64_t shards, int64_t devices, StringRef node, unsigned &index) {
    StringRef tensor = proto.tensor_name();
    std::map<int64_t, const onnx::IntIntListEntryProto *> groups;
    for (const onnx::IntIntListEntryProto &group : proto.index_to_device_group_map())
      if (!groups.try_emplace(group.key(), &group).second)
        return error(node) << "the device group " << group.key() << " of '" << tensor << "' is given twice", false;
    // Where nothing is cut, a list of several devices holds copies.
    if (proto.device_size() != shards && !(shards == 1 && proto.device_size() > 1))
      return error(node) << "'" << tensor << "' is cut into " << shards << (shards == 1 ? " shard" : " shards") << ", but " << proto.device_size() << " devices or device groups are given", false;
    DeviceShards shardOf;
    auto put = [&](int64_t device, int64_t shard) {
      if (device < 0 || device >= devices)
        return error(node) << "'" << tensor << "' is on device " << device << ", which is none of the " << devices << " devices, nor a device group", false;
      if (shardOf.size() > size_t(devices)) // a group may be named over and over
        return error(node) << "'" << tensor << "' names some device twice", false;
      shardOf.push_back({int32_t(device), int32_t(shard)});
      return true;
    };
    for (auto [i, device] : llvm::enumerate(proto.device())) {
      int64_t shard = shards == 1 ? 0 : int64_t(i);
      auto group = groups.find(device);
      if (group == groups.end()) {
        if (!put(device, shard))
          return false;
        continue;
      }
      if (group->second->value().empty())
        return error(node) << "the device group " << device << " of '" << tensor << "' is empty", false;
      for (int64_t member : group->second->value())
        if (!put(member, shard))
          return false;
    }
    llvm::sort(shardOf);
    for (size_t i = 1; i < shardOf.size(); ++i)
      if (shardOf[i].first == shardOf[i - 1].first)
        return error(node) << "'" << tensor << "' names device " << shardOf[i].first << " twice", false;
    auto [it, isNew] = known.try_emplace(std::move(shardOf), outline.assignments.size());
    if (isNew)
      outline.assignments.push_back(it->first);
    index = it->second;
    return true;
  }

  void refuseInside(const google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes, StringRef place, int depth) {
    for (const onnx::NodeProto &node : nodes) {
      if (node.device_configurations_size()) {
        error(place) << "the node '" << (node.name().empty() ? node.op_type() : node.name()) << "' in its body is annotated; only nodes of the main graph can be placed";
        return;
      }
      if (depth < 64) // more than the decoder lets through
        for (const onnx::AttributeProto &attribute : node.attribute()) {
          if (attribute.has_g())
            refuseInside(attribute.g().node(), place, depth + 1);
          for (const onnx::GraphProto &graph : attribute.graphs())
            refuseInside(graph.node(), place, depth + 1);
        }
    }
  }

  const onnx::ModelProto &model;
  ModelOutline &outline;
  MLIRContext *context;
  std::map<DeviceShards, unsigned> known;
  bool failed = false;
};
} // namespace

LogicalResult para::readAnnotations(const onnx::ModelProto &model, ModelOutline &outline, MLIRContext *context) {
  return Reader(model, outline, context).run();
}
