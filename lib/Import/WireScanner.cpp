//===- WireScanner.cpp - Offsets of tensors in encoded messages -----------===//
//
// Protobuf's library decodes messages but does not say where in the file a field was. This walks the few levels of the
// encoding that lead to tensors: ModelProto.graph.{initializer, node.attribute.t}. Field numbers are onnx-ml.proto's.
//
//===----------------------------------------------------------------------===//

#include "ModelFile.h"

using namespace para;

namespace {

struct Field {
  uint32_t number, wireType;
  /// Content of a length-delimited field.
  uint64_t begin = 0, end = 0;
};

/// Reads fields of one message; stops at the first thing that is not an encoding.
class Fields {
public:
  Fields(llvm::StringRef bytes, uint64_t begin, uint64_t end) : bytes(bytes), at(begin), end(end) {}

  std::optional<Field> next() {
    std::optional<uint64_t> tag = at < end ? varint() : std::nullopt;
    if (!tag)
      return std::nullopt;
    Field field{static_cast<uint32_t>(*tag >> 3), static_cast<uint32_t>(*tag & 7)};
    uint64_t size = 0;
    switch (field.wireType) {
    case 0:
      if (!varint())
        return std::nullopt;
      return field;
    case 1:
      size = 8;
      break;
    case 2: {
      std::optional<uint64_t> length = varint();
      if (!length)
        return std::nullopt;
      size = *length;
      break;
    }
    case 5:
      size = 4;
      break;
    default: // Groups do not occur in ONNX.
      return std::nullopt;
    }
    if (size > end - at)
      return std::nullopt;
    field.begin = at;
    at += size;
    field.end = at;
    return field;
  }

private:
  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
      uint8_t byte = bytes[at++];
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
    return std::nullopt;
  }

  llvm::StringRef bytes;
  uint64_t at, end;
};

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
