//===- Image.cpp - The GPU code that the program carries ----------------------===//
#include "Context.h"

#include <algorithm>
#include <cstring>

namespace para::runtime::cuda {

namespace {
struct Entry {
  uint32_t arch, kind;
  uint64_t offset, bytes;
};
constexpr char mark[] = "PARAGPU1";
constexpr uint64_t headBytes = 16;
} // namespace

Status chooseImage(const char *image, uint64_t bytes, uint32_t capability, ImagePart &part) {
  uint64_t count = 0;
  if (!image || bytes < headBytes || std::memcmp(image, mark, 8) != 0)
    return Status::error("this program has no GPU code: it was not compiled with --target=cuda");
  std::memcpy(&count, image + 8, 8);
  if (count > (bytes - headBytes) / sizeof(Entry))
    return Status::error("this program's GPU code is damaged");
  std::string offered;
  for (uint64_t i = 0; i < count; ++i) {
    Entry entry;
    std::memcpy(&entry, image + headBytes + i * sizeof(Entry), sizeof(entry));
    if (entry.offset > bytes || entry.bytes >= bytes - entry.offset || entry.kind > 1)
      return Status::error("this program's GPU code is damaged");
    bool isMachineCode = entry.kind == 1;
    if (!isMachineCode)
      offered += (offered.empty() ? "sm_" : ", sm_") + std::to_string(entry.arch);
    // Machine code runs on later GPUs of its generation, PTX on all later ones.
    bool fits = isMachineCode ? entry.arch / 10 == capability / 10 && entry.arch <= capability : entry.arch <= capability;
    bool isBetter = !part.data || (isMachineCode != part.isMachineCode ? isMachineCode : entry.arch > part.arch);
    if (fits && isBetter)
      part = {image + entry.offset, entry.arch, isMachineCode};
  }
  if (!part.data)
    return Status::error(format("this program has code for %s, and this GPU is sm_%u: compile it with --arch=sm_%u",
                                offered.c_str(), capability, capability));
  return Status::success();
}

} // namespace para::runtime::cuda
