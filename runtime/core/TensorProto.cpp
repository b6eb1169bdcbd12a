//===- TensorProto.cpp - One ONNX tensor from its wire format -----------------===//
//
// onnx.proto: dims 1, data_type 2, float_data 4, int32_data 5, int64_data 7, name 8, raw_data 9, double_data 10,
// uint64_data 11. The typed lists may be packed or not.
//
//===----------------------------------------------------------------------===//
#include "Array.h"

namespace para::runtime {

namespace {
struct Wire {
  const unsigned char *at, *end;
  bool varint(uint64_t &value) {
    value = 0;
    for (int shift = 0; shift < 64 && at < end; shift += 7) {
      unsigned char byte = *at++;
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return true;
    }
    return false;
  }
  bool fixed(uint64_t &value, unsigned bytes) {
    if (size_t(end - at) < bytes)
      return false;
    value = 0;
    std::memcpy(&value, at, bytes);
    at += bytes;
    return true;
  }
};

struct Element {
  int onnxType;
  DType dtype;
  unsigned fileBytes;
};
// FLOAT 1, UINT8 2, INT8 3, UINT16 4, INT16 5, INT32 6, INT64 7, BOOL 9, FLOAT16 10, DOUBLE 11, UINT32 12, UINT64 13,
// BFLOAT16 16.
constexpr Element elements[] = {{1, PARA_F32, 4}, {2, PARA_U8, 1},   {3, PARA_I8, 1},   {4, PARA_I32, 2}, {5, PARA_I16, 2},
                                {6, PARA_I32, 4}, {7, PARA_I64, 8},  {9, PARA_BOOL, 1}, {10, PARA_F16, 2}, {11, PARA_F64, 8},
                                {12, PARA_I64, 4}, {13, PARA_I64, 8}, {16, PARA_BF16, 2}};
} // namespace

/// Collects the values of a typed list: `width` 0 is a varint, else bytes.
static bool readValues(Wire &wire, unsigned wireType, unsigned width, std::vector<uint64_t> &values) {
  uint64_t value;
  if (wireType == 2) {
    uint64_t bytes;
    if (!wire.varint(bytes) || bytes > uint64_t(wire.end - wire.at))
      return false;
    Wire inner{wire.at, wire.at + bytes};
    wire.at += bytes;
    while (inner.at < inner.end) {
      if (!(width ? inner.fixed(value, width) : inner.varint(value)))
        return false;
      values.push_back(value);
    }
    return true;
  }
  if (!(width ? wire.fixed(value, width) : wire.varint(value)))
    return false;
  values.push_back(value);
  return true;
}

Status readTensorProto(const std::string &path, Array &array, std::string &name) {
  std::shared_ptr<MappedFile> file;
  PARA_TRY(MappedFile::open(path, file));
  Status damaged = Status::error("'" + path + "' is not an ONNX tensor or is cut short");
  auto *begin = reinterpret_cast<const unsigned char *>(file->data());
  Wire wire{begin, begin + file->size()};
  std::vector<uint64_t> dims, values;
  uint64_t onnxType = 0;
  const char *raw = nullptr;
  uint64_t rawBytes = 0;
  while (wire.at < wire.end) {
    uint64_t key, value;
    if (!wire.varint(key))
      return damaged;
    unsigned field = unsigned(key >> 3), type = key & 7;
    bool isFine;
    if (field == 1)
      isFine = readValues(wire, type, 0, dims);
    else if (field == 2)
      isFine = type == 0 && wire.varint(onnxType);
    else if (field == 4 || field == 10)
      isFine = readValues(wire, type, field == 4 ? 4 : 8, values);
    else if (field == 5 || field == 7 || field == 11)
      isFine = readValues(wire, type, 0, values);
    else if (type == 2) {
      isFine = wire.varint(value) && value <= uint64_t(wire.end - wire.at);
      if (isFine && field == 8)
        name.assign(reinterpret_cast<const char *>(wire.at), value);
      if (isFine && field == 9) {
        raw = reinterpret_cast<const char *>(wire.at);
        rawBytes = value;
      }
      wire.at += isFine ? value : 0;
    } else {
      isFine = type == 0 ? wire.varint(value) : (type == 1 || type == 5) && wire.fixed(value, type == 1 ? 8 : 4);
    }
    if (!isFine)
      return damaged;
  }
  const Element *element = nullptr;
  for (const Element &entry : elements)
    if (entry.onnxType == int(onnxType))
      element = &entry;
  if (!element)
    return Status::error("'" + path + "' has ONNX's element type " + std::to_string(onnxType) + ", which is not read");
  std::vector<int64_t> shape(dims.begin(), dims.end());
  int64_t fileBytes;
  if (!checkedBytes(shape, element->fileBytes, fileBytes))
    return damaged;
  int64_t count = fileBytes / int64_t(element->fileBytes);
  // Compared before anything of that size is allocated.
  if (raw ? uint64_t(fileBytes) != rawBytes : uint64_t(count) != values.size())
    return Status::error("'" + path + "' holds another number of elements than its shape " + shapeText(shape));
  if (raw && element->fileBytes == elementBytes(element->dtype)) {
    array = {element->dtype, shape, raw, file};
    return Status::success();
  }
  char *memory;
  array = Array::allocate(element->dtype, shape, memory);
  int64_t step = elementBytes(element->dtype);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    if (raw)
      std::memcpy(&value, raw + i * element->fileBytes, element->fileBytes);
    else
      value = values[size_t(i)];
    std::memcpy(memory + i * step, &value, size_t(step));
  }
  return Status::success();
}

} // namespace para::runtime
