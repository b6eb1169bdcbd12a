//===- Npy.cpp - numpy's array format -----------------------------------------===//
//
// numpy/lib/format.py: magic, version, header length, a Python dict with descr, fortran_order and shape, then the data.
//
//===----------------------------------------------------------------------===//
#include "Npy.h"

#include <algorithm>

namespace para::runtime {

/// The text after `'key':` in the header's dict.
static bool findValue(const std::string &header, const std::string &key, std::string &value) {
  size_t at = header.find("'" + key + "'");
  if (at == std::string::npos || (at = header.find(':', at)) == std::string::npos)
    return false;
  ++at;
  while (at < header.size() && header[at] == ' ')
    ++at;
  if (at >= header.size())
    return false;
  size_t end;
  if (header[at] == '\'' || header[at] == '(') {
    end = header.find(header[at] == '(' ? ')' : '\'', at + 1);
    if (end == std::string::npos)
      return false;
    value = header.substr(at + 1, end - at - 1);
    return true;
  }
  end = header.find_first_of(",}", at);
  if (end == std::string::npos)
    return false;
  value = header.substr(at, end - at);
  return true;
}

static bool parseShape(std::string text, std::vector<int64_t> &shape) {
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == 'L'; }), text.end());
  for (const std::string &part : split(text, ',')) {
    int64_t extent;
    if (part.empty())
      continue;
    if (!parseInteger(part, extent) || extent < 0)
      return false;
    shape.push_back(extent);
  }
  return true;
}

/// numpy's unsigned types have no place in the ABI: they are read as the next wider signed type.
struct Descr {
  const char *code;
  DType dtype;
  int64_t fileBytes; ///< differs from the dtype's size for unsigned integers
};
static constexpr Descr descrs[] = {{"f4", PARA_F32, 4}, {"f8", PARA_F64, 8}, {"f2", PARA_F16, 2}, {"i1", PARA_I8, 1},
                                   {"u1", PARA_U8, 1},  {"i2", PARA_I16, 2}, {"i4", PARA_I32, 4}, {"i8", PARA_I64, 8},
                                   {"b1", PARA_BOOL, 1}, {"u2", PARA_I32, 2}, {"u4", PARA_I64, 4}, {"u8", PARA_I64, 8}};

static int64_t readUnsigned(const char *at, int64_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, at, size_t(bytes)); // little endian
  return int64_t(value);
}

/// Row-major from column-major: the file's order is row-major of the reversed shape.
static void transposeReversed(const char *from, char *to, const std::vector<int64_t> &shape, int64_t bytesPerElement) {
  size_t rank = shape.size();
  std::vector<int64_t> fromStride(rank), index(rank, 0);
  int64_t stride = bytesPerElement, elements = 1;
  for (size_t d = 0; d < rank; ++d) {
    fromStride[d] = stride;
    stride *= shape[d];
    elements *= shape[d];
  }
  for (int64_t i = 0; i < elements; ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d)
      offset += index[d] * fromStride[d];
    std::memcpy(to + i * bytesPerElement, from + offset, size_t(bytesPerElement));
    for (size_t d = rank; d-- > 0 && ++index[d] == shape[d];)
      index[d] = 0;
  }
}

Status readNpy(const char *bytes, size_t size, const std::shared_ptr<const void> &owner, const std::string &what,
               Array &array) {
  if (size < 10 || std::memcmp(bytes, "\x93NUMPY", 6) != 0)
    return Status::error(what + " is not in numpy's format");
  size_t lengthBytes = bytes[6] == 1 ? 2 : 4;
  if (size < 8 + lengthBytes)
    return Status::error(what + " is cut short");
  size_t headerBytes = size_t(readUnsigned(bytes + 8, int64_t(lengthBytes)));
  size_t dataAt = 8 + lengthBytes + headerBytes;
  if (dataAt > size)
    return Status::error(what + " is cut short");
  std::string header(bytes + 8 + lengthBytes, headerBytes), descr, order, shapeOfHeader;
  if (!findValue(header, "descr", descr) || !findValue(header, "fortran_order", order) ||
      !findValue(header, "shape", shapeOfHeader))
    return Status::error(what + " has a header that is not numpy's");
  if (!parseShape(shapeOfHeader, array.shape = {}))
    return Status::error(what + " has a bad shape (" + shapeOfHeader + ")");
  const Descr *found = nullptr;
  if (descr.size() == 3 && (descr[0] == '<' || descr[0] == '|' || descr[0] == '='))
    for (const Descr &entry : descrs)
      if (descr.substr(1) == entry.code)
        found = &entry;
  if (!found)
    return Status::error(what + " has the type '" + descr + "', which is not read; floats, integers and bools in little "
                                                            "endian are");
  int64_t fileBytes = 0;
  if (!checkedBytes(array.shape, found->fileBytes, fileBytes) || uint64_t(fileBytes) > size - dataAt)
    return Status::error(what + " is cut short: its header promises " + shapeText(array.shape) + " of '" + descr + "'");
  array.dtype = found->dtype;
  array.data = bytes + dataAt;
  array.owner = owner;
  if (found->fileBytes != elementBytes(found->dtype) || std::strcmp(found->code, "u8") == 0) {
    char *memory;
    Array wide = Array::allocate(found->dtype, array.shape, memory);
    for (int64_t i = 0, n = wide.elements(), step = elementBytes(wide.dtype); i < n; ++i) {
      int64_t value = readUnsigned(array.data + i * found->fileBytes, found->fileBytes);
      if (value < 0)
        return Status::error(what + " holds an unsigned number beyond 2^63");
      std::memcpy(memory + i * step, &value, size_t(step));
    }
    array = wide;
  }
  if (order.rfind("True", 0) == 0 && array.shape.size() > 1) {
    char *memory;
    Array rows = Array::allocate(array.dtype, array.shape, memory);
    transposeReversed(array.data, memory, array.shape, elementBytes(array.dtype));
    array = rows;
  }
  return Status::success();
}

std::string npyHeader(DType dtype, const std::vector<int64_t> &shape) {
  const char *code = "<f4";
  switch (dtype) {
  case PARA_F32: case PARA_BF16: code = "<f4"; break;
  case PARA_F64: code = "<f8"; break;
  case PARA_F16: code = "<f2"; break;
  case PARA_I8: code = "|i1"; break;
  case PARA_U8: code = "|u1"; break;
  case PARA_I16: code = "<i2"; break;
  case PARA_I32: code = "<i4"; break;
  case PARA_I64: code = "<i8"; break;
  case PARA_BOOL: code = "|b1"; break;
  }
  std::string dict = std::string("{'descr': '") + code + "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : shape)
    dict += std::to_string(extent) + ", ";
  if (shape.size() > 1)
    dict.resize(dict.size() - 2);
  else if (shape.size() == 1)
    dict.resize(dict.size() - 1);
  dict += "), }";
  // The data begins at a multiple of 64 bytes.
  size_t total = (10 + dict.size() + 1 + 63) / 64 * 64;
  dict.append(total - 10 - dict.size() - 1, ' ');
  dict += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += char(dict.size() & 0xff);
  header += char(dict.size() >> 8);
  return header + dict;
}

} // namespace para::runtime
