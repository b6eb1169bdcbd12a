//===- Reduce.cpp - Sums, maxima and minima of several buffers ----------------===//
#include "Reduce.h"

#include "core/DType.h"

#include <algorithm>

namespace para::runtime {

namespace {
template <int32_t reduction, typename T> inline T combine(T a, T b) {
  if constexpr (reduction == PARA_SUM)
    return T(a + b);
  else if constexpr (reduction == PARA_MAX)
    return b > a ? b : a;
  else
    return b < a ? b : a;
}

/// memcpy past the caches: without it every line written is first read.
void streamCopy(char *to, const char *from, size_t bytes) {
  typedef int64_t Line __attribute__((vector_size(64)));
  size_t head = std::min(bytes, (64 - uintptr_t(to) % 64) % 64);
  std::memcpy(to, from, head);
  for (; head + 64 <= bytes; head += 64) {
    Line line;
    std::memcpy(&line, from + head, 64);
    __builtin_nontemporal_store(line, reinterpret_cast<Line *>(to + head));
  }
  std::memcpy(to + head, from + head, bytes - head);
}

/// Blocks that stay in the first-level cache: one source after another is added to them, then they go to all outputs.
template <typename T, typename Sum, int32_t reduction>
void reduceBlocks(const void *const *sources, int64_t numSources, void *const *outs, int64_t numOuts, int64_t begin,
                  int64_t end, bool streams) {
  constexpr int64_t blockElements = 1024;
  alignas(64) Sum sum[blockElements];
  for (int64_t at = begin; at < end; at += blockElements) {
    int64_t count = std::min(blockElements, end - at);
    const T *first = static_cast<const T *>(sources[0]) + at;
    if (numSources == 2 && std::is_same_v<T, Sum>) {
      const T *second = static_cast<const T *>(sources[1]) + at;
      for (int64_t i = 0; i < count; ++i)
        sum[i] = combine<reduction, Sum>(Sum(first[i]), Sum(second[i]));
    } else {
      for (int64_t i = 0; i < count; ++i)
        sum[i] = Sum(first[i]);
      for (int64_t s = 1; s < numSources; ++s) {
        const T *next = static_cast<const T *>(sources[s]) + at;
        for (int64_t i = 0; i < count; ++i)
          sum[i] = combine<reduction, Sum>(sum[i], Sum(next[i]));
      }
    }
    for (int64_t o = 0; o < numOuts; ++o) {
      T *to = static_cast<T *>(outs[o]) + at;
      if constexpr (!std::is_same_v<T, Sum>)
        for (int64_t i = 0; i < count; ++i)
          to[i] = T(sum[i]);
      else if (streams)
        streamCopy(reinterpret_cast<char *>(to), reinterpret_cast<const char *>(sum), size_t(count) * sizeof(T));
      else
        std::memcpy(to, sum, size_t(count) * sizeof(T));
    }
  }
#if defined(__x86_64__)
  if (streams)
    __builtin_ia32_sfence(); // before anyone is told that the results are there
#endif
}

template <typename T, typename Sum = T>
bool reduceType(int32_t reduction, const void *const *sources, int64_t numSources, void *const *outs, int64_t numOuts,
                int64_t begin, int64_t end, bool streams) {
  if (reduction == PARA_SUM)
    reduceBlocks<T, Sum, PARA_SUM>(sources, numSources, outs, numOuts, begin, end, streams);
  else if (reduction == PARA_MAX)
    reduceBlocks<T, Sum, PARA_MAX>(sources, numSources, outs, numOuts, begin, end, streams);
  else if (reduction == PARA_MIN)
    reduceBlocks<T, Sum, PARA_MIN>(sources, numSources, outs, numOuts, begin, end, streams);
  else
    return false;
  return true;
}
} // namespace

bool reduceInto(int32_t dtype, int32_t reduction, const void *const *sources, int64_t numSources, void *const *outs,
                int64_t numOuts, int64_t begin, int64_t end, bool streams) {
  switch (dtype) {
  case PARA_F32: return reduceType<float>(reduction, sources, numSources, outs, numOuts, begin, end, streams);
  case PARA_F64: return reduceType<double>(reduction, sources, numSources, outs, numOuts, begin, end, streams);
  case PARA_F16: return reduceType<Float16, float>(reduction, sources, numSources, outs, numOuts, begin, end, streams);
  case PARA_BF16: return reduceType<BFloat16, float>(reduction, sources, numSources, outs, numOuts, begin, end, streams);
  case PARA_I8: return reduceType<int8_t>(reduction, sources, numSources, outs, numOuts, begin, end, streams);
  case PARA_U8:
  case PARA_BOOL: return reduceType<uint8_t>(reduction, sources, numSources, outs, numOuts, begin, end, streams);
  case PARA_I16: return reduceType<int16_t>(reduction, sources, numSources, outs, numOuts, begin, end, streams);
  case PARA_I32: return reduceType<int32_t>(reduction, sources, numSources, outs, numOuts, begin, end, streams);
  case PARA_I64: return reduceType<int64_t>(reduction, sources, numSources, outs, numOuts, begin, end, streams);
  }
  return false;
}

} // namespace para::runtime
