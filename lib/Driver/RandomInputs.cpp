#include "RandomInputs.h"

#include "core/Init.h"

#include <algorithm>

using namespace para;
using namespace para::runtime;

namespace {
/// What one element may be, of all ranges that it lies in.
struct Allowed {
  bool isIndex = false;
  int64_t begin = INT64_MIN, end = INT64_MAX;
  std::vector<int64_t> exempt;
};

bool contains(const runtime::IndexRange &range, const std::vector<int64_t> &at) {
  for (size_t d = 0; d < at.size(); ++d)
    if (at[d] < range.offsets[d] || at[d] >= range.offsets[d] + range.sizes[d])
      return false;
  return true;
}

Allowed findAllowed(const std::vector<runtime::IndexRange> &ranges, const std::vector<int64_t> &at) {
  Allowed allowed;
  for (const runtime::IndexRange &range : ranges) {
    if (!contains(range, at))
      continue;
    if (!allowed.isIndex)
      allowed.exempt = range.exempt;
    else
      allowed.exempt.erase(std::remove_if(allowed.exempt.begin(), allowed.exempt.end(),
                                          [&](int64_t value) { return std::find(range.exempt.begin(), range.exempt.end(), value) == range.exempt.end(); }),
                           allowed.exempt.end());
    allowed.isIndex = true;
    allowed.begin = std::max(allowed.begin, range.begin);
    allowed.end = std::min(allowed.end, range.end);
  }
  if (allowed.begin < 0 && allowed.end > 0)
    allowed.begin = 0;
  return allowed;
}

/// The ranges of all places at which the program holds the input.
std::vector<runtime::IndexRange> findRanges(const Manifest &manifest, const std::string &input) {
  std::vector<runtime::IndexRange> ranges;
  for (const Stage &stage : manifest.stages)
    for (const Tensor &tensor : stage.tensors)
      if (tensor.kind == TensorKind::Input && tensor.name == input)
        ranges.insert(ranges.end(), tensor.indexRanges.begin(), tensor.indexRanges.end());
  return ranges;
}

class Filler {
public:
  Filler(const Manifest &manifest, const Interface &input, int64_t seed)
      : input(input), ranges(findRanges(manifest, input.name)), key(hashText("input " + input.name, uint64_t(seed))) {}

  double valueAt(const std::vector<int64_t> &at, int64_t index) const {
    uint64_t bits = counterBits(key, uint64_t(index));
    if (isFloat(input.type))
      return (double(bits >> 11) + 0.5) * 0x1p-53;
    constexpr uint64_t exemptOf = 8; // so that it is never all of a batch of some size
    if (Allowed allowed = findAllowed(ranges, at); allowed.isIndex) {
      if (!allowed.exempt.empty() && index > 0 && bits % exemptOf == 0)
        return double(allowed.exempt[0]);
      return double(allowed.begin + int64_t((bits >> 8) % uint64_t(std::max<int64_t>(allowed.end - allowed.begin, 1))));
    }
    if (at.size() < 2)
      return double(bits & 1);
    int64_t row = index / input.shape.back(), size = input.shape.back(), fewest = (size + 1) / 2;
    uint64_t length = uint64_t(fewest) + (size > fewest ? counterBits(key, uint64_t(row)) % uint64_t(size - fewest) : 0);
    return at.back() < int64_t(length);
  }

private:
  const Interface &input;
  std::vector<runtime::IndexRange> ranges;
  uint64_t key;
};
} // namespace

ArrayMap para::makeRandomInputs(const Manifest &manifest, int64_t seed) {
  ArrayMap arrays;
  for (const Interface &input : manifest.inputs) {
    char *memory;
    Array array = Array::allocate(input.type, input.shape, memory);
    Filler filler(manifest, input, seed);
    std::vector<int64_t> at(input.shape.size(), 0);
    for (int64_t index = 0, all = array.elements(); index < all; ++index) {
      storeScalar(input.type, memory + index * elementBytes(input.type), filler.valueAt(at, index));
      for (size_t d = at.size(); d > 0 && ++at[d - 1] == input.shape[d - 1]; --d)
        at[d - 1] = 0;
    }
    arrays[input.name] = array;
  }
  return arrays;
}
