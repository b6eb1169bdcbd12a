//===- Data.cpp - Samples and their order -------------------------------------===//
#include "Data.h"

#include "IndexCheck.h"
#include "Init.h"

#include <algorithm>
#include <cctype>
#include <sys/stat.h>

namespace para::runtime {

int64_t SampleOrder::sampleAt(int64_t position) {
  int64_t epoch = position / samples, at = position % samples;
  if (!shuffles)
    return at;
  std::vector<int64_t> &permutation = permutations[epoch % 2];
  if (cachedEpochs[epoch % 2] != epoch) {
    cachedEpochs[epoch % 2] = epoch;
    permutation.resize(size_t(samples));
    for (int64_t i = 0; i < samples; ++i)
      permutation[size_t(i)] = i;
    uint64_t key = hashText("shuffle", uint64_t(seed)) + uint64_t(epoch);
    for (int64_t i = samples - 1; i > 0; --i)
      std::swap(permutation[size_t(i)], permutation[size_t(counterBits(key, uint64_t(i)) % uint64_t(i + 1))]);
  }
  return permutation[size_t(at)];
}

static bool isSampled(const Interface &input, const Manifest &manifest) {
  return !input.shape.empty() && input.shape[0] == manifest.batch;
}

static std::string expectedText(const Interface &input, bool anyRows) {
  std::string text = shapeText(input.shape);
  if (anyRows)
    text = "[samples" + (input.shape.size() > 1 ? text.substr(text.find(',')) : "]");
  return dtypeName(input.type) + text;
}

Status Dataset::addRows(const std::string &path, const Interface &input, const Array &array, const Manifest &manifest,
                        bool exactBatch) {
  std::string what = "'" + path + "': input '" + input.name + "' is " + array.typeText();
  bool sampled = isSampled(input, manifest);
  std::string expected = expectedText(input, sampled && !exactBatch);
  bool rounds;
  if (std::string problem = conversionProblem(array, input.type, rounds); !problem.empty())
    return Status::error(what + ", expected " + expected + ": " + problem);
  if (rounds)
    sentences.push_back(what + " and is rounded to " + dtypeName(input.type));
  bool tailMatches = array.shape.size() == input.shape.size();
  for (size_t d = 1; tailMatches && d < input.shape.size(); ++d)
    tailMatches = array.shape[d] == input.shape[d];
  if (!tailMatches)
    return Status::error(what + ", expected " + expected);
  if (!sampled || exactBatch) {
    if (!input.shape.empty() && array.shape[0] != input.shape[0])
      return Status::error(what + ", expected " + expected +
                           (sampled ? format("; for this batch compile with --dim batch=%lld", (long long)array.shape[0])
                                    : std::string()));
    sources[input.name] = {Source::Whole, array, 0, sampled};
    if (sampled)
      numSamples = array.shape[0];
    return Status::success();
  }
  if (numSamples != 0 && array.shape[0] != numSamples)
    return Status::error(what + format(", where other inputs have %lld samples", (long long)numSamples));
  numSamples = array.shape[0];
  if (numSamples == 0)
    return Status::error(what + ": no samples");
  sources[input.name] = {Source::Rows, array, 0};
  return Status::success();
}

Status Dataset::open(const std::string &from, const Manifest &manifest, bool exactBatch) {
  path = from;
  sources.clear();
  sentences.clear();
  numSamples = 0;
  std::string tokenPath = path;
  struct stat info;
  if (stat((path + "/tokens.u16").c_str(), &info) == 0)
    tokenPath = path + "/tokens.u16";
  if (tokenPath.size() > 4 && tokenPath.compare(tokenPath.size() - 4, 4, ".u16") == 0)
    return openTokens(tokenPath, manifest);
  std::vector<std::string> names;
  for (const Interface &input : manifest.inputs)
    names.push_back(input.name);
  ArrayMap arrays;
  PARA_TRY(readArrays(path, names, arrays));
  for (const Interface &input : manifest.inputs) {
    auto found = arrays.find(input.name);
    if (found == arrays.end()) {
      std::string has;
      for (auto &[name, array] : arrays)
        has += (has.empty() ? "" : ", ") + name;
      return Status::error("'" + path + "' lacks the input '" + input.name + "' (" +
                           expectedText(input, isSampled(input, manifest) && !exactBatch) + "); it has: " + has);
    }
    PARA_TRY(addRows(path, input, found->second, manifest, exactBatch));
  }
  numSamples = std::max<int64_t>(numSamples, 1);
  setOrder(false, 0);
  return Status::success();
}

static bool nameHas(const std::string &name, std::initializer_list<const char *> words) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::any_of(words.begin(), words.end(), [&](const char *word) { return lower.find(word) != std::string::npos; });
}

Status Dataset::openTokens(const std::string &path, const Manifest &manifest) {
  PARA_TRY(MappedFile::open(path, tokens));
  int64_t count = int64_t(tokens->size() / 2), length = 0, sequences = 0;
  for (const Interface &input : manifest.inputs) {
    bool isSequence = input.shape.size() == 2 && isSampled(input, manifest);
    bool isLabel = nameHas(input.name, {"label", "target"});
    Source source;
    if (isSequence && nameHas(input.name, {"mask"}))
      source.kind = Source::Ones;
    else if (isSequence && nameHas(input.name, {"position"}))
      source.kind = Source::Positions;
    else if (isSequence && !isFloat(input.type) && input.type != PARA_BOOL) {
      source.kind = Source::Tokens;
      source.shift = isLabel ? 1 : 0;
      if (length != 0 && input.shape[1] != length)
        return Status::error("'" + path + "': the inputs differ in sequence length, so a token file cannot feed them");
      length = input.shape[1];
      sequences += !isLabel;
    } else {
      return Status::error("'" + path + "': a token file cannot feed the input '" + input.name + "' (" +
                           dtypeName(input.type) + shapeText(input.shape) + "); give an .npz with all inputs");
    }
    sources[input.name] = source;
  }
  if (sequences != 1)
    return Status::error("'" + path + "': a token file feeds one input of tokens and maybe labels; this model has " +
                         std::to_string(sequences) + " inputs that could be the tokens");
  numSamples = (count - 1) / length;
  if (count < length + 1)
    return Status::error(format("'%s' has %lld tokens, fewer than one sample of %lld and its next token", path.c_str(),
                                (long long)count, (long long)length));
  setOrder(false, 0);
  return Status::success();
}

void Dataset::makeSynthetic(const Manifest &manifest) {
  for (const Interface &input : manifest.inputs) {
    char *memory;
    Array array = Array::allocate(input.type, input.shape, memory);
    if (isFloat(input.type)) {
      Tensor tensor{};
      tensor.name = input.name;
      tensor.dtype = input.type;
      tensor.shape = tensor.local = input.shape;
      std::vector<int64_t> zero(input.shape.size(), 0);
      initialize({Initializer::Normal, 1}, tensor, {zero, input.shape, zero}, 0, memory);
    }
    sources[input.name] = {Source::Whole, array, 0};
  }
  numSamples = std::max<int64_t>(manifest.batch, 1);
  setOrder(false, 0);
}

/// Writes the part of one sample that the box covers into one row of a contiguous local array.
void Dataset::row(const Source &source, const Tensor &tensor, const Box &box, int64_t sample, char *to) const {
  int64_t step = elementBytes(tensor.dtype);
  std::vector<int64_t> shape(tensor.shape.begin() + 1, tensor.shape.end());
  std::vector<int64_t> local(tensor.local.begin() + 1, tensor.local.end());
  std::vector<int64_t> begin(box.begin.begin() + 1, box.begin.end()), size(box.size.begin() + 1, box.size.end());
  if (source.kind == Source::Rows) {
    int64_t elements = 1, localElements = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      elements *= shape[d];
      localElements *= local[d];
    }
    int64_t fileStep = elementBytes(source.array.dtype);
    const char *from = source.array.data + sample * elements * fileStep;
    std::vector<int64_t> zero(shape.size(), 0);
    if (source.array.dtype == tensor.dtype)
      return copyBox(from, shape, begin, to, local, zero, size, step);
    std::vector<char> part(size_t(localElements * fileStep));
    copyBox(from, shape, begin, part.data(), local, zero, size, fileStep);
    return convertElements(source.array.dtype, part.data(), tensor.dtype, to, localElements);
  }
  int64_t from = begin.empty() ? 0 : begin[0], count = size.empty() ? 1 : size[0];
  std::vector<int64_t> values(size_t(count), 1);
  for (int64_t i = 0; i < count && source.kind == Source::Positions; ++i)
    values[size_t(i)] = from + i;
  if (source.kind == Source::Tokens) {
    const char *at = tokens->data() + 2 * (sample * shape[0] + from + source.shift);
    for (int64_t i = 0; i < count; ++i) {
      uint16_t token;
      std::memcpy(&token, at + 2 * i, 2);
      values[size_t(i)] = token;
    }
  }
  convertElements(PARA_I64, values.data(), tensor.dtype, to, count);
}

void Dataset::fill(const Tensor &tensor, const Box &box, int64_t position, void *local) {
  const Source &source = sources.at(tensor.name);
  int64_t step = elementBytes(tensor.dtype);
  std::memset(local, 0, size_t(tensor.localBytes()));
  if (box.empty())
    return;
  if (source.kind == Source::Whole) {
    int64_t fileStep = elementBytes(source.array.dtype);
    std::vector<char> part(size_t(tensor.localElements() * fileStep));
    copyBox(source.array.data, tensor.shape, box.begin, part.data(), tensor.local,
            std::vector<int64_t>(tensor.shape.size(), 0), box.size, fileStep);
    return convertElements(source.array.dtype, part.data(), tensor.dtype, local, tensor.localElements());
  }
  int64_t rowBytes = tensor.local[0] > 0 ? tensor.localBytes() / tensor.local[0] : 0;
  if (tensor.shape.empty() || step == 0)
    return;
  for (int64_t i = 0; i < box.size[0]; ++i)
    row(source, tensor, box, order.sampleAt(position + box.begin[0] + i), static_cast<char *>(local) + i * rowBytes);
}

Status Dataset::checkIndices(const Tensor &tensor, const Box &box, int64_t position, const void *local) {
  BadIndex bad;
  if (!findBadIndex(tensor, box, local, bad))
    return Status::success();
  const Source &source = sources.at(tensor.name);
  std::string text = "'" + path + "': input '" + tensor.name + "'";
  if (source.sampled && !bad.at.empty()) {
    int64_t sample = source.kind == Source::Whole ? bad.at[0] : order.sampleAt(position + bad.at[0]);
    text += format(", sample %lld", (long long)sample);
    bad.at.erase(bad.at.begin());
  }
  if (!bad.at.empty())
    text += ", element " + shapeText(bad.at);
  const IndexRange &range = *bad.range;
  text += format(": %lld is no index for node '%s', which takes %lld to %lld", (long long)bad.value, range.node.c_str(),
                 (long long)range.begin, (long long)range.end - 1);
  for (int64_t value : range.exempt)
    text += format(" or %lld", (long long)value);
  return Status::error(text);
}

} // namespace para::runtime
