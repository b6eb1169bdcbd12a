//===- WriteAnnotations.cpp - A model's file with a configuration more ----===//
//
// The file is not encoded anew: fields of a message may come in any order, and parts of a message one behind the other are one, so what is
// added is put in front of the model's and behind the nodes' own bytes. Weights, and whatever this version does not know, are copied.
//
//===----------------------------------------------------------------------===//

#include "ModelFile.h"
#include "WireFields.h"

#include "para/Import/OnnxImport.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace para;

namespace {
constexpr int64_t firstVersion = 11; // of the IR, that has annotations

llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

class Writer {
public:
  Writer(StringRef bytes, const DeviceConfiguration &configuration, ArrayRef<NodeConfiguration> nodes, ArrayRef<DeviceShards> assignments)
      : bytes(bytes), configuration(configuration), nodes(nodes), assignments(assignments), placed(assignments.size()) {}

  llvm::Expected<std::string> run() {
    constexpr uint32_t irVersion = 1, graph = 7, configurations = 26;
    int64_t version = firstVersion;
    std::string rest;
    rest.reserve(bytes.size() + nodes.size() * 256);
    Fields fields(bytes, 0, bytes.size());
    while (std::optional<Field> field = fields.next()) {
      if (field->number == irVersion && field->wireType == 0) {
        onnx::ModelProto proto;
        if (parse(proto, field->start, field->end))
          version = std::max(firstVersion, proto.ir_version());
      } else if (field->number == graph && field->wireType == 2) {
        std::string inner;
        if (!writeGraph(*field, inner))
          return fail("its encoding is broken");
        addMessage(rest, graph, inner);
      } else if (!(field->number == configurations && field->wireType == 2 && isReplaced(*field))) {
        rest += bytes.slice(field->start, field->end);
      }
      if (rest.size() > INT32_MAX)
        return fail("with its annotations it is larger than 2 GiB, which an ONNX file cannot be");
    }
    if (!fields.isDone() || number != nodes.size())
      return fail("its encoding is broken");
    onnx::ModelProto head;
    head.set_ir_version(version);
    onnx::DeviceConfigurationProto &proto = *head.add_configuration();
    proto.set_name(configuration.name);
    proto.set_num_devices(int32_t(configuration.numDevices));
    for (const std::string &device : configuration.devices)
      proto.add_device(device);
    return head.SerializeAsString() + rest;
  }

private:
  bool parse(google::protobuf::MessageLite &proto, uint64_t begin, uint64_t end) const { return proto.ParseFromArray(bytes.data() + begin, int(end - begin)); }

  /// Whether a message of the configuration's name takes its place: DeviceConfigurationProto.name, NodeDeviceConfigurationProto.configuration_id.
  bool isReplaced(const Field &message) const {
    StringRef name;
    Fields fields(bytes, message.begin, message.end);
    while (std::optional<Field> field = fields.next())
      if (field->number == 1 && field->wireType == 2)
        name = bytes.slice(field->begin, field->end);
    return name == configuration.name;
  }

  static void addVarint(std::string &out, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      out += char(value | 0x80);
    out += char(value);
  }
  static void addMessage(std::string &out, uint32_t number, StringRef content) {
    addVarint(out, number << 3 | 2);
    addVarint(out, content.size());
    out += content;
  }

  bool writeGraph(const Field &graph, std::string &out) {
    constexpr uint32_t graphNode = 1;
    Fields fields(bytes, graph.begin, graph.end);
    while (std::optional<Field> field = fields.next()) {
      if (field->number != graphNode || field->wireType != 2) {
        out += bytes.slice(field->start, field->end);
        continue;
      }
      if (number == nodes.size())
        return false;
      std::string node;
      if (!writeNode(*field, nodes[number++], node))
        return false;
      addMessage(out, graphNode, node);
    }
    return fields.isDone();
  }

  bool writeNode(const Field &node, const NodeConfiguration &place, std::string &out) {
    constexpr uint32_t nodeConfigurations = 10;
    Fields fields(bytes, node.begin, node.end);
    while (std::optional<Field> field = fields.next())
      if (!(field->number == nodeConfigurations && field->wireType == 2 && isReplaced(*field)))
        out += bytes.slice(field->start, field->end);
    if (!fields.isDone())
      return false;
    onnx::NodeProto added;
    onnx::NodeDeviceConfigurationProto &proto = *added.add_device_configurations();
    proto.set_configuration_id(configuration.name);
    for (const ShardingSpec &spec : place.shardings)
      setSpec(spec, *proto.add_sharding_spec());
    if (place.stage)
      proto.set_pipeline_stage(int32_t(*place.stage));
    out += added.SerializeAsString();
    return true;
  }

  void setSpec(const ShardingSpec &spec, onnx::ShardingSpecProto &proto) {
    std::unique_ptr<onnx::ShardingSpecProto> &devices = placed[spec.assignment];
    if (!devices)
      devices = place(assignments[spec.assignment]);
    proto = *devices;
    proto.set_tensor_name(spec.tensor);
    for (const ShardingSpec::Dim &dim : spec.dims) {
      onnx::ShardedDimProto &to = *proto.add_sharded_dim();
      to.set_axis(dim.axis);
      for (const ShardingSpec::Part &part : dim.parts) {
        onnx::SimpleShardedDimProto &simple = *to.add_simple_sharding();
        if (part.size)
          simple.set_dim_value(part.size);
        simple.set_num_shards(part.shards);
      }
    }
  }

  /// The devices of each shard; several are a group, whose key is negative, as no device's number is.
  static std::unique_ptr<onnx::ShardingSpecProto> place(const DeviceShards &shards) {
    std::vector<std::vector<int64_t>> holders;
    for (auto [device, shard] : shards) {
      holders.resize(std::max<size_t>(holders.size(), shard + 1));
      holders[shard].push_back(device);
    }
    auto proto = std::make_unique<onnx::ShardingSpecProto>();
    for (auto [shard, devices] : llvm::enumerate(holders)) {
      if (devices.size() == 1) {
        proto->add_device(devices[0]);
        continue;
      }
      int64_t key = -1 - int64_t(shard);
      proto->add_device(key);
      onnx::IntIntListEntryProto &group = *proto->add_index_to_device_group_map();
      group.set_key(key);
      for (int64_t device : devices)
        group.add_value(device);
    }
    return proto;
  }

  StringRef bytes;
  const DeviceConfiguration &configuration;
  ArrayRef<NodeConfiguration> nodes;
  ArrayRef<DeviceShards> assignments;
  std::vector<std::unique_ptr<onnx::ShardingSpecProto>> placed; ///< by assignment
  size_t number = 0;                                            ///< of the next node
};
} // namespace

llvm::Expected<std::string> para::annotateOnnx(StringRef path, const DeviceConfiguration &configuration, ArrayRef<NodeConfiguration> nodes,
                                               ArrayRef<DeviceShards> assignments) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail("cannot read the model: " + buffer.getError().message());
  return Writer((*buffer)->getBuffer(), configuration, nodes, assignments).run();
}
