//===- Safetensors.cpp - Checkpoint files -------------------------------------===//
#include "Safetensors.h"

#include "Json.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace para::runtime {

static constexpr std::pair<const char *, DType> names[] = {
    {"F32", PARA_F32}, {"F64", PARA_F64}, {"F16", PARA_F16}, {"BF16", PARA_BF16}, {"I8", PARA_I8},
    {"U8", PARA_U8},   {"I16", PARA_I16}, {"I32", PARA_I32}, {"I64", PARA_I64},   {"BOOL", PARA_BOOL}};

Status readSafetensors(const std::string &path, ArrayMap &arrays) {
  std::shared_ptr<MappedFile> file;
  PARA_TRY(MappedFile::open(path, file));
  uint64_t headerBytes = 0;
  if (file->size() >= 8)
    std::memcpy(&headerBytes, file->data(), 8);
  if (file->size() < 8 || headerBytes > file->size() - 8)
    return Status::error("'" + path + "' is not a safetensors file or is cut short");
  const char *header = file->data() + 8;
  Json json = Json::parse(header, header + headerBytes, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return Status::error("'" + path + "' has a damaged header");
  const char *data = header + headerBytes;
  int64_t dataBytes = int64_t(file->size() - 8 - headerBytes);
  for (auto &[name, value] : json.items()) {
    if (name == "__metadata__")
      continue;
    JsonReader reader(value, "'" + path + "': tensor '" + name + "'");
    std::string dtype;
    std::vector<int64_t> offsets;
    Array array;
    reader.required("dtype", dtype);
    reader.required("shape", array.shape);
    reader.required("data_offsets", offsets);
    PARA_TRY(reader.status());
    bool isKnown = false;
    for (auto [text, type] : names)
      if (dtype == text) {
        array.dtype = type;
        isKnown = true;
      }
    if (!isKnown)
      return Status::error("'" + path + "': tensor '" + name + "' has the unknown type " + dtype);
    int64_t bytes;
    if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0] ||
        !checkedBytes(array.shape, elementBytes(array.dtype), bytes) || offsets[1] - offsets[0] != bytes)
      return Status::error("'" + path + "': tensor '" + name + "' has bad offsets");
    if (offsets[1] > dataBytes)
      return Status::error("'" + path + "' is cut short: tensor '" + name + "' ends beyond the file");
    array.data = data + offsets[0];
    array.owner = file;
    arrays[name] = array;
  }
  return Status::success();
}

Status writeSafetensors(const std::string &path, const std::vector<SafetensorsEntry> &entries,
                        const std::function<Status(size_t, const char *&)> &fill) {
  std::string header = "{\"__metadata__\":{\"format\":\"pt\"}";
  int64_t at = 0;
  std::vector<int64_t> sizes;
  for (const SafetensorsEntry &entry : entries) {
    int64_t bytes = elementBytes(entry.dtype);
    std::string shape;
    for (int64_t extent : entry.shape) {
      bytes *= extent;
      shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    }
    const char *dtype = "F32";
    for (auto [text, type] : names)
      if (type == entry.dtype)
        dtype = text;
    header += "," + jsonString(entry.name) + ":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape +
              "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(at + bytes) + "]}";
    sizes.push_back(bytes);
    at += bytes;
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    return Status::error("cannot write '" + path + "': " + std::strerror(errno));
  // The first cause counts: what follows from it, or what closing says, would mislead.
  int cause = 0;
  auto write = [&](const void *data, size_t bytes) {
    if (cause == 0 && bytes > 0 && std::fwrite(data, bytes, 1, file) != 1)
      cause = errno;
  };
  uint64_t headerBytes = header.size();
  write(&headerBytes, 8);
  write(header.data(), header.size());
  Status status = Status::success();
  for (size_t i = 0; i < entries.size() && !status.failed(); ++i) {
    // Asked for even after a failed write: the other ranks are sending their parts.
    const char *data = nullptr;
    status = fill(i, data);
    if (!status.failed())
      write(data, size_t(sizes[i]));
  }
  if (cause == 0 && (std::fflush(file) != 0 || fsync(fileno(file)) != 0))
    cause = errno;
  if (std::fclose(file) != 0 && cause == 0)
    cause = errno;
  if (status.failed())
    return status;
  return cause == 0 ? Status::success() : Status::error("cannot write '" + path + "': " + std::strerror(cause));
}

} // namespace para::runtime
