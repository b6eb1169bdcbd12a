//===- Data.h - Samples and their order -------------------------*- C++ -*-===//
//
// A data set is an endless stream of samples: position p of the run is one sample, whatever the plan. Step s uses positions
// s * batch up to (s + 1) * batch, so that a restored run goes on where the saved one stood.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_DATA_H
#define PARA_RUNTIME_CORE_DATA_H

#include "Array.h"
#include "Shard.h"

namespace para::runtime {

/// Position in the stream to sample of the file.
class SampleOrder {
public:
  SampleOrder() = default;
  SampleOrder(int64_t samples, bool shuffles, int64_t seed) : samples(samples), shuffles(shuffles), seed(seed) {}
  int64_t sampleAt(int64_t position);

private:
  int64_t samples = 1;
  bool shuffles = false;
  int64_t seed = 0;
  /// A batch touches at most a few epochs; two permutations are kept.
  int64_t cachedEpochs[2] = {-1, -1};
  std::vector<int64_t> permutations[2];
};

class Dataset {
public:
  /// Arrays with one row a sample, or a token file (`*.u16`): sample i of sequence length T is tokens[i T .. i T + T), the
  /// labels the same shifted by one. With `exactBatch` the rows must be the batch itself (inference).
  Status open(const std::string &path, const Manifest &manifest, bool exactBatch);
  /// Numbers that need no file, for timing: small normal floats, zero integers.
  void makeSynthetic(const Manifest &manifest);

  int64_t samples() const { return numSamples; }
  /// What the user should know of how the arrays were taken, a sentence each.
  const std::vector<std::string> &notes() const { return sentences; }
  void setOrder(bool shuffles, int64_t seed) { order = SampleOrder(numSamples, shuffles, seed); }

  /// Fills one block of an input tensor: its box of the batch that starts at `position`. `local` has the tensor's padded
  /// size and becomes zero outside of the box.
  void fill(const Tensor &tensor, const Box &box, int64_t position, void *local);
  /// An error that names the first element of what `fill` wrote which is no index where the program uses it as one.
  Status checkIndices(const Tensor &tensor, const Box &box, int64_t position, const void *local);

private:
  struct Source {
    enum Kind { Rows, Whole, Tokens, Ones, Positions } kind = Rows;
    Array array;
    int64_t shift = 0; ///< of tokens
    bool sampled = true;
  };
  Status openTokens(const std::string &path, const Manifest &manifest);
  Status addRows(const std::string &path, const Interface &input, const Array &array, const Manifest &manifest,
                 bool exactBatch);
  void row(const Source &source, const Tensor &tensor, const Box &box, int64_t sample, char *to) const;

  std::string path;
  std::map<std::string, Source> sources;
  std::shared_ptr<MappedFile> tokens;
  std::vector<std::string> sentences;
  int64_t numSamples = 0;
  SampleOrder order;
};

} // namespace para::runtime

#endif
