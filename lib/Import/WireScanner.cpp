//===- WireScanner.cpp - Offsets of tensors in encoded messages -----------===//
//
// Protobuf's library decodes messages but does not say where in the file a field was. This walks the few levels of the
// encoding that lead to tensors: ModelProto.graph.{initializer, node.attribute.t}. Field numbers are onnx-ml.proto's.
//
//===----------------------------------------------------------------------===//

#include "ModelFile.h"
#include "WireFields.h"

using namespace para;

namespace {

/// The numbers of a TensorProto if one run holds them: raw_data, or packed float_data or double_data.
std::optional<TensorData> findNumbers(llvm::StringRef bytes, const Field &tensor) {
  constexpr uint32_t floatData = 4, rawData = 9, doubleData = 10;
  std::optional<TensorData> result;
  Fields fields(bytes, tensor.begin, tensor.end);
  while (std::optional<Field> field = fields.next())
    if (field->wireType == 2 && (field->number == floatData || field->number == rawData || field->number == doubleData)) {
      if (result) // Several runs: not contiguous.
        return std::nullopt;
      result = TensorData{field->begin, field->end - field->begin};
    }
  return result;
}

} // namespace

void para::scanTensors(llvm::StringRef bytes, llvm::function_ref<void(int, int, int, TensorData)> found) {
  constexpr uint32_t modelGraph = 7, graphNode = 1, graphInitializer = 5, nodeAttribute = 5, attributeTensor = 5;
  Fields modelFields(bytes, 0, bytes.size());
  int node = -1, initializer = -1;
  while (std::optional<Field> graph = modelFields.next()) {
    if (graph->number != modelGraph || graph->wireType != 2)
      continue;
    Fields graphFields(bytes, graph->begin, graph->end);
    while (std::optional<Field> field = graphFields.next()) {
      if (field->wireType != 2)
        continue;
      if (field->number == graphInitializer) {
        ++initializer;
        if (std::optional<TensorData> data = findNumbers(bytes, *field))
          found(initializer, -1, -1, *data);
      } else if (field->number == graphNode) {
        ++node;
        int attribute = -1;
        Fields nodeFields(bytes, field->begin, field->end);
        while (std::optional<Field> part = nodeFields.next()) {
          if (part->number != nodeAttribute || part->wireType != 2)
            continue;
          ++attribute;
          Fields attributeFields(bytes, part->begin, part->end);
          while (std::optional<Field> tensor = attributeFields.next())
            if (tensor->number == attributeTensor && tensor->wireType == 2)
              if (std::optional<TensorData> data = findNumbers(bytes, *tensor))
                found(-1, node, attribute, *data);
        }
      }
    }
  }
}
