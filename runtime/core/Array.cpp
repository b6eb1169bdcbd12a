//===- Array.cpp - Named arrays in files --------------------------------------===//
#include "Array.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace para::runtime {

Status MappedFile::open(const std::string &path, std::shared_ptr<MappedFile> &file) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return Status::error("cannot open '" + path + "': " + std::strerror(errno));
  struct stat info;
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return Status::error("'" + path + "' is not a file");
  }
  auto result = std::make_shared<MappedFile>();
  result->bytes = size_t(info.st_size);
  if (result->bytes > 0) {
    void *address = mmap(nullptr, result->bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) {
      ::close(descriptor);
      result->bytes = 0;
      return Status::error("cannot map '" + path + "': " + std::strerror(errno));
    }
    result->address = static_cast<const char *>(address);
  }
  ::close(descriptor);
  file = std::move(result);
  return Status::success();
}

MappedFile::~MappedFile() {
  if (bytes > 0)
    munmap(const_cast<char *>(address), bytes);
}

int64_t Array::elements() const {
  int64_t total = 1;
  for (int64_t extent : shape)
    total *= extent;
  return total;
}

std::string Array::typeText() const { return dtypeName(dtype) + shapeText(shape); }

Array Array::allocate(DType dtype, std::vector<int64_t> shape, char *&memory) {
  Array array;
  array.dtype = dtype;
  array.shape = std::move(shape);
  std::shared_ptr<char[]> bytes(new char[size_t(std::max<int64_t>(array.bytes(), 1))]());
  memory = bytes.get();
  array.data = memory;
  array.owner = bytes;
  return array;
}

bool checkedBytes(const std::vector<int64_t> &shape, int64_t bytesPerElement, int64_t &bytes) {
  bytes = bytesPerElement;
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes))
      return false;
  return true;
}

std::string conversionProblem(const Array &array, DType to, bool &rounds) {
  rounds = false;
  if (widens(array.dtype, to))
    return "";
  if (isFloat(array.dtype) != isFloat(to))
    return "the types differ";
  rounds = isFloat(to);
  // Only what is narrowed is looked at, in pieces.
  constexpr int64_t piece = 4096;
  int64_t fileStep = elementBytes(array.dtype);
  std::vector<char> narrow(size_t(piece * 8));
  std::vector<double> floats(piece), roundedFloats(piece);
  std::vector<int64_t> ints(piece), roundedInts(piece);
  for (int64_t begin = 0, all = array.elements(); begin < all; begin += piece) {
    int64_t count = std::min(piece, all - begin);
    const char *from = array.data + begin * fileStep;
    convertElements(array.dtype, from, to, narrow.data(), count);
    convertElements(array.dtype, from, rounds ? PARA_F64 : PARA_I64, rounds ? (void *)floats.data() : ints.data(), count);
    convertElements(to, narrow.data(), rounds ? PARA_F64 : PARA_I64, rounds ? (void *)roundedFloats.data() : roundedInts.data(), count);
    for (int64_t i = 0; i < count; ++i) {
      if (rounds ? std::isfinite(floats[size_t(i)]) && !std::isfinite(roundedFloats[size_t(i)])
                 : ints[size_t(i)] != roundedInts[size_t(i)])
        return "its element " + std::to_string(begin + i) + " is " +
               (rounds ? roundTrip(floats[size_t(i)]) : std::to_string(ints[size_t(i)])) + ", which " + dtypeName(to) +
               " does not hold";
    }
  }
  return "";
}

static Status cannotWrite(const std::string &path, int cause) {
  return Status::error("cannot write '" + path + "': " + std::strerror(cause));
}

/// Zero or what went wrong.
static int writeParts(int descriptor, const std::vector<std::pair<const void *, size_t>> &parts) {
  for (auto [data, bytes] : parts)
    for (const char *at = static_cast<const char *>(data); bytes > 0;) {
      ssize_t written = ::write(descriptor, at, bytes);
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        return written < 0 ? errno : ENOSPC;
      at += written;
      bytes -= size_t(written);
    }
  return 0;
}

namespace {
/// A file under way to its name.
struct Output {
  int descriptor = -1;
  std::string temporary, target; ///< beside the name, and what it becomes; empty where the file is written as it is
};
} // namespace

/// Opens what `path` is to be written by; what is there already is not changed unless it `truncates`. Returns zero or what went wrong.
static int openOutput(const std::string &path, bool truncates, Output &output) {
  struct stat info;
  bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    return EISDIR;
  output.target = path;
  if (char *real = exists ? realpath(path.c_str(), nullptr) : nullptr) {
    output.target = real; // a symbolic link stays
    std::free(real);
  }
  if (!exists || S_ISREG(info.st_mode)) {
    output.temporary = output.target + format(".tmp-%d", int(getpid()));
    output.descriptor = ::open(output.temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, exists ? info.st_mode & 0777 : 0666);
    // A folder that takes no new files may hold one that can be written.
    if (output.descriptor >= 0 || errno != EACCES || !exists)
      return output.descriptor >= 0 ? 0 : errno;
    output.temporary.clear();
  } else if (!truncates) {
    return access(path.c_str(), W_OK) == 0 ? 0 : errno; // opening a pipe would wait for its reader
  }
  output.descriptor = ::open(path.c_str(), O_WRONLY | (truncates ? O_TRUNC : 0) | O_CLOEXEC);
  return output.descriptor >= 0 ? 0 : errno;
}

Status checkWritable(const std::string &path) {
  Output output;
  int cause = openOutput(path, false, output);
  if (output.descriptor >= 0)
    ::close(output.descriptor);
  if (output.descriptor >= 0 && !output.temporary.empty())
    unlink(output.temporary.c_str());
  return cause == 0 ? Status::success() : cannotWrite(path, cause);
}

Status writeFile(const std::string &path, const std::vector<std::pair<const void *, size_t>> &parts) {
  Output output;
  if (int cause = openOutput(path, true, output))
    return cannotWrite(path, cause);
  bool renames = !output.temporary.empty();
  int cause = writeParts(output.descriptor, parts);
  if (::close(output.descriptor) != 0 && cause == 0)
    cause = errno;
  if (renames && cause == 0 && std::rename(output.temporary.c_str(), output.target.c_str()) != 0)
    cause = errno;
  if (renames && cause != 0)
    unlink(output.temporary.c_str());
  return cause == 0 ? Status::success() : cannotWrite(path, cause);
}

static bool endsWith(const std::string &text, const std::string &suffix) {
  return text.size() >= suffix.size() && text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

static Status readNpyFile(const std::string &path, Array &array) {
  std::shared_ptr<MappedFile> file;
  PARA_TRY(MappedFile::open(path, file));
  return readNpy(file->data(), file->size(), file, "'" + path + "'", array);
}

static Status readFolder(const std::string &path, const std::vector<std::string> &inputOrder, ArrayMap &arrays) {
  DIR *folder = opendir(path.c_str());
  if (!folder)
    return Status::error("cannot open '" + path + "': " + std::strerror(errno));
  std::vector<std::string> names;
  while (dirent *entry = readdir(folder))
    names.push_back(entry->d_name);
  closedir(folder);
  std::sort(names.begin(), names.end());
  for (const std::string &name : names) {
    std::string full = path + "/" + name;
    if (endsWith(name, ".npy")) {
      PARA_TRY(readNpyFile(full, arrays[name.substr(0, name.size() - 4)]));
    } else if (name.rfind("input_", 0) == 0 && endsWith(name, ".pb")) {
      Array array;
      std::string inner;
      PARA_TRY(readTensorProto(full, array, inner));
      int64_t index = -1;
      bool isNumber = parseInteger(name.substr(6, name.size() - 9), index);
      bool isKnown = std::find(inputOrder.begin(), inputOrder.end(), inner) != inputOrder.end();
      if (!isKnown && (!isNumber || index < 0 || index >= int64_t(inputOrder.size())))
        return Status::error("'" + full + "' belongs to no input: the model has " + std::to_string(inputOrder.size()));
      arrays[isKnown ? inner : inputOrder[size_t(index)]] = array;
    }
  }
  if (arrays.empty())
    return Status::error("'" + path + "' holds neither NAME.npy nor input_N.pb files");
  return Status::success();
}

Status readArrays(const std::string &path, const std::vector<std::string> &inputOrder, ArrayMap &arrays) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    return Status::error("cannot open '" + path + "': " + std::strerror(errno));
  if (S_ISDIR(info.st_mode))
    return readFolder(path, inputOrder, arrays);
  if (endsWith(path, ".npy")) {
    if (inputOrder.size() != 1)
      return Status::error("'" + path + "' is one array, but the model has " + std::to_string(inputOrder.size()) +
                           " inputs: give an .npz or a folder");
    return readNpyFile(path, arrays[inputOrder[0]]);
  }
  if (endsWith(path, ".pb")) {
    Array array;
    std::string name;
    PARA_TRY(readTensorProto(path, array, name));
    if (name.empty() && inputOrder.size() == 1)
      name = inputOrder[0];
    arrays[name] = array;
    return Status::success();
  }
  return readNpz(path, arrays);
}

} // namespace para::runtime
