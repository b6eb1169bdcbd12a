//===- WireFields.h - Walking encoded messages --------------------*- C++ -*-===//
#ifndef PARA_LIB_IMPORT_WIREFIELDS_H
#define PARA_LIB_IMPORT_WIREFIELDS_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace para {

struct Field {
  uint32_t number, wireType;
  uint64_t start; ///< of the tag
  /// Content of a length-delimited field; `end` is that of any field.
  uint64_t begin = 0, end = 0;
};

/// Reads fields of one message; stops at the first thing that is not an encoding.
///
/// Example: Fields fields(bytes, 0, bytes.size()); while (std::optional<Field> field = fields.next()) ...
class Fields {
public:
  Fields(llvm::StringRef bytes, uint64_t begin, uint64_t end) : bytes(bytes), at(begin), end(end) {}

  std::optional<Field> next() {
    uint64_t start = at;
    std::optional<uint64_t> tag = at < end ? varint() : std::nullopt;
    if (!tag)
      return std::nullopt;
    Field field{static_cast<uint32_t>(*tag >> 3), static_cast<uint32_t>(*tag & 7), start};
    uint64_t size = 0;
    switch (field.wireType) {
    case 0:
      if (!varint())
        return std::nullopt;
      field.begin = field.end = at;
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
  /// Whether all of the message was read.
  bool isDone() const { return at == end; }

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

} // namespace para

#endif
