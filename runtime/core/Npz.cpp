//===- Npz.cpp - Zip archives of numpy arrays ---------------------------------===//
//
// The central directory at the archive's end is read (with the zip64 extensions that numpy writes); stored members stay in
// the mapped file, deflated ones are inflated. Members are written stored.
//
//===----------------------------------------------------------------------===//
#include "Npy.h"

#include <algorithm>
#include <zlib.h>

namespace para::runtime {

namespace {
struct Member {
  std::string name;
  uint64_t method = 0, packedBytes = 0, bytes = 0, headerAt = 0;
  uint32_t crc = 0;
};

/// Little-endian reads that never leave the file.
struct Bytes {
  const char *data;
  size_t size;
  bool has(uint64_t at, uint64_t count) const { return at <= size && count <= size - at; }
  uint64_t number(uint64_t at, unsigned count) const {
    uint64_t value = 0;
    std::memcpy(&value, data + at, count);
    return value;
  }
};
} // namespace

static bool findDirectory(Bytes file, uint64_t &at, uint64_t &count) {
  if (file.size < 22)
    return false;
  uint64_t lowest = file.size > 22 + 65535 ? file.size - 22 - 65535 : 0;
  for (uint64_t end = file.size - 22;; --end) {
    if (file.number(end, 4) == 0x06054b50) {
      count = file.number(end + 10, 2);
      at = file.number(end + 16, 4);
      if (end >= 20 && file.number(end - 20, 4) == 0x07064b50) {
        uint64_t wide = file.number(end - 12, 8);
        if (!file.has(wide, 56) || file.number(wide, 4) != 0x06064b50)
          return false;
        count = file.number(wide + 32, 8);
        at = file.number(wide + 48, 8);
      }
      return true;
    }
    if (end == lowest)
      return false;
  }
}

static bool readDirectory(Bytes file, std::vector<Member> &members) {
  uint64_t at, count;
  if (!findDirectory(file, at, count))
    return false;
  for (uint64_t i = 0; i < count; ++i) {
    if (!file.has(at, 46) || file.number(at, 4) != 0x02014b50)
      return false;
    Member member;
    member.method = file.number(at + 10, 2);
    member.crc = uint32_t(file.number(at + 16, 4));
    member.packedBytes = file.number(at + 20, 4);
    member.bytes = file.number(at + 24, 4);
    uint64_t nameBytes = file.number(at + 28, 2), extraBytes = file.number(at + 30, 2);
    uint64_t commentBytes = file.number(at + 32, 2);
    member.headerAt = file.number(at + 42, 4);
    if (!file.has(at + 46, nameBytes + extraBytes + commentBytes))
      return false;
    member.name.assign(file.data + at + 46, nameBytes);
    for (uint64_t extra = at + 46 + nameBytes, end = extra + extraBytes; extra + 4 <= end;) {
      uint64_t id = file.number(extra, 2), bytes = file.number(extra + 2, 2), field = extra + 4;
      if (field + bytes > end)
        break;
      if (id == 1)
        for (uint64_t *value : {&member.bytes, &member.packedBytes, &member.headerAt})
          if (*value == 0xffffffffu && field + 8 <= extra + 4 + bytes) {
            *value = file.number(field, 8);
            field += 8;
          }
      extra += 4 + bytes;
    }
    members.push_back(std::move(member));
    at += 46 + nameBytes + extraBytes + commentBytes;
  }
  return true;
}

static Status inflateMember(const char *data, const Member &member, const std::string &what,
                            std::shared_ptr<char[]> &result) {
  // Deflate shrinks at most about a thousandfold; a header that promises more is damaged.
  if (member.bytes / 1100 > member.packedBytes)
    return Status::error(what + " is damaged");
  result.reset(new char[member.bytes + 1]);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return Status::error(what + ": zlib cannot start");
  uint64_t in = 0, out = 0;
  int code = Z_OK;
  while (code == Z_OK && out < member.bytes) {
    uint64_t inChunk = std::min<uint64_t>(member.packedBytes - in, 1u << 30);
    uint64_t outChunk = std::min<uint64_t>(member.bytes - out, 1u << 30);
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data + in));
    stream.avail_in = uInt(inChunk);
    stream.next_out = reinterpret_cast<Bytef *>(result.get() + out);
    stream.avail_out = uInt(outChunk);
    code = inflate(&stream, Z_NO_FLUSH);
    in += inChunk - stream.avail_in;
    out += outChunk - stream.avail_out;
  }
  inflateEnd(&stream);
  if (out != member.bytes || (code != Z_OK && code != Z_STREAM_END))
    return Status::error(what + " is damaged or cut short");
  return Status::success();
}

static uint32_t checksum(const char *data, uint64_t bytes) {
  uLong crc = crc32(0, nullptr, 0);
  for (uint64_t at = 0; at < bytes;) {
    uint64_t chunk = std::min<uint64_t>(bytes - at, 1u << 30);
    crc = crc32(crc, reinterpret_cast<const Bytef *>(data + at), uInt(chunk));
    at += chunk;
  }
  return uint32_t(crc);
}

Status readNpz(const std::string &path, ArrayMap &arrays) {
  std::shared_ptr<MappedFile> mapped;
  PARA_TRY(MappedFile::open(path, mapped));
  Bytes file{mapped->data(), mapped->size()};
  std::vector<Member> members;
  if (!readDirectory(file, members))
    return Status::error("'" + path + "' is not an .npz archive or is cut short");
  for (const Member &member : members) {
    std::string name = member.name;
    if (name.size() < 4 || name.compare(name.size() - 4, 4, ".npy") != 0)
      continue;
    name.resize(name.size() - 4);
    std::string what = "'" + path + "': array '" + name + "'";
    if (!file.has(member.headerAt, 30) || file.number(member.headerAt, 4) != 0x04034b50)
      return Status::error(what + " is damaged");
    uint64_t dataAt =
        member.headerAt + 30 + file.number(member.headerAt + 26, 2) + file.number(member.headerAt + 28, 2);
    if (!file.has(dataAt, member.packedBytes))
      return Status::error(what + " is cut short");
    Array array;
    if (member.method == 0) {
      PARA_TRY(readNpy(file.data + dataAt, member.packedBytes, mapped, what, array));
    } else if (member.method == 8) {
      std::shared_ptr<char[]> memory;
      PARA_TRY(inflateMember(file.data + dataAt, member, what, memory));
      if (checksum(memory.get(), member.bytes) != member.crc)
        return Status::error(what + " is damaged: its checksum differs");
      PARA_TRY(readNpy(memory.get(), member.bytes, memory, what, array));
    } else {
      return Status::error(what + " is compressed by a method that is not read; numpy.savez and savez_compressed are");
    }
    arrays[name] = array;
  }
  return Status::success();
}

static void append(std::string &to, uint64_t value, unsigned bytes) {
  to.append(reinterpret_cast<const char *>(&value), bytes);
}

Status writeNpz(const std::string &path, const ArrayMap &arrays) {
  // Texts must stay in place while `parts` points to them.
  std::vector<std::unique_ptr<std::string>> texts;
  std::vector<std::shared_ptr<const void>> owners;
  std::vector<std::pair<const void *, size_t>> parts;
  std::string directory;
  uint64_t at = 0;
  auto add = [&](const void *data, uint64_t bytes) {
    parts.emplace_back(data, size_t(bytes));
    at += bytes;
  };
  for (const auto &[key, original] : arrays) {
    Array array = original;
    if (array.dtype == PARA_BF16) {
      char *memory;
      Array wide = Array::allocate(PARA_F32, array.shape, memory);
      convertElements(PARA_BF16, array.data, PARA_F32, memory, array.elements());
      array = wide;
      owners.push_back(array.owner);
    }
    std::string name = key + ".npy";
    texts.push_back(std::make_unique<std::string>(npyHeader(array.dtype, array.shape)));
    const std::string &npy = *texts.back();
    uint64_t bytes = npy.size() + uint64_t(array.bytes()), headerAt = at;
    uLong crc = crc32(crc32(0, nullptr, 0), reinterpret_cast<const Bytef *>(npy.data()), uInt(npy.size()));
    for (int64_t done = 0; done < array.bytes();) {
      int64_t chunk = std::min<int64_t>(array.bytes() - done, 1 << 30);
      crc = crc32(crc, reinterpret_cast<const Bytef *>(array.data + done), uInt(chunk));
      done += chunk;
    }
    auto header = std::make_unique<std::string>();
    append(*header, 0x04034b50, 4);
    append(*header, 45, 2); // zip64
    append(*header, 0, 2);
    append(*header, 0, 2);          // stored
    append(*header, 0x00210000, 4); // 1980-01-01: the same arrays give the same bytes
    append(*header, crc, 4);
    append(*header, 0xffffffffu, 4);
    append(*header, 0xffffffffu, 4);
    append(*header, name.size(), 2);
    append(*header, 20, 2);
    *header += name;
    append(*header, 1, 2);
    append(*header, 16, 2);
    append(*header, bytes, 8);
    append(*header, bytes, 8);
    add(header->data(), header->size());
    add(npy.data(), npy.size());
    add(array.data, uint64_t(array.bytes()));
    texts.push_back(std::move(header));

    append(directory, 0x02014b50, 4);
    append(directory, 45, 2);
    append(directory, 45, 2);
    append(directory, 0, 4);
    append(directory, 0x00210000, 4);
    append(directory, crc, 4);
    append(directory, 0xffffffffu, 4);
    append(directory, 0xffffffffu, 4);
    append(directory, name.size(), 2);
    append(directory, 28, 2);
    append(directory, 0, 8); // comment, disk, internal attributes, half of the external ones
    append(directory, 0, 2);
    append(directory, 0xffffffffu, 4);
    directory += name;
    append(directory, 1, 2);
    append(directory, 24, 2);
    append(directory, bytes, 8);
    append(directory, bytes, 8);
    append(directory, headerAt, 8);
  }
  uint64_t directoryAt = at, count = arrays.size();
  add(directory.data(), directory.size());
  std::string end;
  append(end, 0x06064b50, 4);
  append(end, 44, 8);
  append(end, 45, 2);
  append(end, 45, 2);
  append(end, 0, 8);
  append(end, count, 8);
  append(end, count, 8);
  append(end, directory.size(), 8);
  append(end, directoryAt, 8);
  append(end, 0x07064b50, 4);
  append(end, 0, 4);
  append(end, directoryAt + directory.size(), 8);
  append(end, 1, 4);
  append(end, 0x06054b50, 4);
  append(end, 0, 4);
  append(end, std::min<uint64_t>(count, 0xffff), 2);
  append(end, std::min<uint64_t>(count, 0xffff), 2);
  append(end, std::min<uint64_t>(directory.size(), 0xffffffffu), 4);
  append(end, 0xffffffffu, 4);
  append(end, 0, 2);
  add(end.data(), end.size());
  return writeFile(path, parts);
}

} // namespace para::runtime
