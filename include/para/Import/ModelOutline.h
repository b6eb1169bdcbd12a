//===- ModelOutline.h - A model's nodes and how they are placed -*- C++ -*-===//
//
// What the importer tells of a file beside the program: its nodes and tensors by the names that it gives them, and ONNX's multi-device
// annotations (IR version 11: DeviceConfigurationProto, NodeDeviceConfigurationProto, ShardingSpecProto), with device groups resolved.
//
// Example: a weight in two halves, each on two of four devices: dims {{axis 1, parts {{0, 2}}}}, assignment {{0, 0}, {1, 1}, {2, 0}, {3, 1}}.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_IMPORT_MODELOUTLINE_H
#define PARA_IMPORT_MODELOUTLINE_H

#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace para {

/// Devices over which a model can be spread.
struct DeviceConfiguration {
  std::string name;
  int64_t numDevices = 0;
  std::vector<std::string> devices; ///< their names: none, or one of each
};

/// Devices in their order, each with the number of its shard.
using DeviceShards = std::vector<std::pair<int32_t, int32_t>>;

/// Which part of a tensor each device has. Shards are numbered row-major over `dims` as they are listed, and over the parts of each.
struct ShardingSpec {
  /// A dimension is made of so many factors, outermost first; `size` is 0 where the file does not say it.
  struct Part {
    int64_t size, shards;
  };
  struct Dim {
    int64_t axis; ///< counted from the back if negative
    std::vector<Part> parts;
  };
  std::string tensor;
  std::vector<Dim> dims;
  unsigned assignment = 0; ///< in ModelOutline::assignments
};

struct NodeConfiguration {
  std::optional<int64_t> stage;
  std::vector<ShardingSpec> shardings;
};

struct ModelNode {
  std::string name; ///< as in diagnostics
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> made; ///< names at whose locations the node's ops are: its own, those of a call's body; none where it makes no op
  bool isLive = false;           ///< an output needs it
  std::map<std::string, NodeConfiguration> configurations; ///< by the name of the configuration
};

struct ModelTensor {
  enum Kind { Constant, Argument, Result } kind;
  std::string value; ///< name of the argument, or of the tensor as which an op's result was first known (`getTensorName`)
  std::vector<int64_t> shape;
};

struct ModelOutline {
  std::vector<DeviceConfiguration> configurations;
  std::vector<ModelNode> nodes;        ///< of the main graph, in the order of the file
  llvm::StringMap<ModelTensor> tensors; ///< of the main graph
  std::vector<DeviceShards> assignments;
  std::vector<std::string> foldedParameters; ///< that the exporter names, and that are not in the file under their names
  bool hasExternalData = false; ///< numbers are in other files, named from the model's folder
};

} // namespace para

#endif
