//===- KernelStreams.cpp - What a kernel reads and writes -----------------===//
#include "KernelStreams.h"

#include "mlir/IR/AffineExpr.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>

using namespace mlir;
using namespace para;

/// What a warp's lanes take at once each, at best.
static constexpr int64_t wideBytes = 16;

namespace {
/// The elements that a stream touches in a part of its loops.
struct Touched {
  int64_t count = 1, low = 0, high = 0;
};

class Traffic {
public:
  Traffic(ArrayRef<MemoryStream> streams, ArrayRef<PassLoops> passes, ArrayRef<Value> pointers, ArrayRef<int64_t> sizes) : streams(streams), passes(passes) {
    for (auto [pointer, size] : llvm::zip_equal(pointers, sizes))
      sizeOf[pointer] = size;
  }

  /// Bytes of one buffer of `size` elements in one pass: what its streams touch, again for each visit that the cache does not serve.
  int64_t moved(ArrayRef<const MemoryStream *> list, int64_t size) {
    int64_t again = 1;
    for (const MemoryStream *stream : list)
      again = std::max(again, visits(*stream));
    return again * together(list, size);
  }

  /// Bytes that streams over one buffer touch together: ranges that lie apart add up, others are one. What would lie outside of the buffer
  /// is guarded.
  int64_t together(ArrayRef<const MemoryStream *> list, int64_t size) {
    std::set<std::tuple<int64_t, int64_t, int64_t>> parts;
    int64_t sum = 0, low = INT64_MAX, high = INT64_MIN;
    for (const MemoryStream *stream : list) {
      Touched t = touched(*stream, 0);
      low = std::min(low, t.low), high = std::max(high, t.high);
      if (parts.insert({t.low, t.high, t.count}).second)
        sum += t.count;
    }
    bool isAffine = llvm::none_of(list, [](const MemoryStream *stream) { return stream->dynamic; });
    int64_t bytes = list.front()->elementBytes;
    if (isAffine)
      sum = std::min(sum, std::min(high, size - 1) - std::max<int64_t>(low, 0) + 1);
    else if (size * bytes <= cacheBytes) // a table
      sum = std::min(sum, size);
    return sum * bytes;
  }

  /// Whether the cache holds all that the passes touch of so many rows: in one turn of the launch's loops each, and what is the same in all.
  /// What data tell the place of counts for each row, though rows may share it.
  bool holds(int64_t rows) {
    std::set<std::tuple<void *, int64_t, int64_t, int64_t>> parts;
    int64_t own = 0, same = 0;
    for (const MemoryStream &stream : streams) {
      const PassLoops &pass = passes[stream.pass];
      Touched t = touched(stream, pass.outer);
      bool isOwn = llvm::any_of(ArrayRef<unsigned>(pass.order).take_front(pass.outer), [&](unsigned loop) { return depends(stream, loop); });
      if (parts.insert({stream.pointer.getAsOpaquePointer(), t.low, t.high, t.count}).second)
        (isOwn ? own : same) += std::min(t.count, sizeOf.lookup(stream.pointer)) * stream.elementBytes;
    }
    return same <= cacheBytes && rows <= (cacheBytes - same) / std::max<int64_t>(own, 1);
  }

private:
  static bool depends(const MemoryStream &stream, unsigned loop) {
    return stream.dynamic || llvm::any_of(stream.offset.terms, [&](auto &term) { return term.first.isFunctionOfDim(loop); });
  }

  /// In the loops from number `from` of the order on.
  Touched touched(const MemoryStream &stream, unsigned from) {
    const PassLoops &pass = passes[stream.pass];
    SmallVector<int64_t> extents(pass.extents.size(), 1);
    Touched t;
    for (unsigned loop : ArrayRef<unsigned>(pass.order).drop_front(std::min<size_t>(from, pass.order.size()))) {
      extents[loop] = pass.extents[loop];
      if (depends(stream, loop))
        t.count *= pass.extents[loop];
    }
    std::tie(t.low, t.high) = boundsOf(stream.offset, extents);
    if (!stream.dynamic)
      t.count = std::min(t.count, t.high - t.low + 1);
    return t;
  }

  /// What the kernel touches while the loops from number `from` on run once.
  int64_t workingSet(unsigned pass, unsigned from) {
    int64_t bytes = 0;
    for (const MemoryStream &stream : streams)
      if (stream.pass == pass)
        bytes += std::min(touched(stream, from).count, sizeOf.lookup(stream.pointer)) * stream.elementBytes;
    return bytes;
  }

  int64_t visits(const MemoryStream &stream) {
    const PassLoops &pass = passes[stream.pass];
    int64_t result = 1;
    for (auto [i, loop] : llvm::enumerate(pass.order)) {
      if (depends(stream, loop))
        continue;
      int64_t bytes = 0;
      if (i < pass.outer)
        for (unsigned other = 0; other < passes.size(); ++other)
          bytes += workingSet(other, i + 1);
      else
        bytes = workingSet(stream.pass, i + 1);
      if (bytes > cacheBytes)
        result *= pass.extents[loop];
    }
    return result;
  }

  ArrayRef<MemoryStream> streams;
  ArrayRef<PassLoops> passes;
  llvm::DenseMap<Value, int64_t> sizeOf; ///< in elements, by pointer
};
} // namespace

std::vector<BufferTraffic> para::measureTraffic(ArrayRef<MemoryStream> all, ArrayRef<PassLoops> passes, ArrayRef<Value> pointers, ArrayRef<int64_t> sizes,
                                                int64_t rowsUnderWay) {
  // The last vector of a row is written apart from the others.
  SmallVector<MemoryStream> streams;
  for (const MemoryStream &stream : all)
    if (llvm::is_contained(pointers, stream.pointer) && llvm::none_of(streams, [&](const MemoryStream &known) {
          return known.pointer == stream.pointer && known.pass == stream.pass && known.isStore == stream.isStore && known.dynamic == stream.dynamic &&
                 known.offset == stream.offset;
        }))
      streams.push_back(stream);
  Traffic traffic(streams, passes, pointers, sizes);
  bool isCached = rowsUnderWay > 0 && traffic.holds(rowsUnderWay);
  std::vector<BufferTraffic> result(pointers.size());
  for (size_t i = 0; i < pointers.size(); ++i) {
    BufferTraffic &buffer = result[i];
    Value pointer = pointers[i];
    int64_t size = sizes[i];
    for (bool isStore : {false, true}) {
      SmallVector<const MemoryStream *> list;
      int64_t bytes = 0;
      for (unsigned pass = 0; pass < passes.size(); ++pass) {
        SmallVector<const MemoryStream *> here;
        for (const MemoryStream &stream : streams)
          if (stream.pointer == pointer && stream.pass == pass && stream.isStore == isStore)
            here.push_back(&stream);
        if (!here.empty())
          bytes += traffic.moved(here, size);
        llvm::append_range(list, here);
      }
      if (list.empty())
        continue;
      if (isCached)
        bytes = std::min(bytes, traffic.moved(list, size));
      int64_t least = std::min(traffic.together(list, size), size * list.front()->elementBytes);
      (isStore ? buffer.stored : buffer.loaded) = bytes;
      (isStore ? buffer.leastStored : buffer.leastLoaded) = least;
      for (const MemoryStream *stream : list) {
        if (stream->pattern == MemoryStream::Same)
          continue;
        if (stream->pattern == MemoryStream::Range)
          buffer.instruction = buffer.instruction ? std::min(buffer.instruction, stream->bytes) : stream->bytes;
        if (stream->bytes < wideBytes || stream->pattern != MemoryStream::Range)
          buffer.narrow = stream->narrow;
      }
    }
    // What an earlier pass has stored need not be read back.
    auto passesOf = [&](bool isStore) {
      auto mine = llvm::make_filter_range(streams, [&](auto &stream) { return stream.pointer == pointer && stream.isStore == isStore; });
      return llvm::map_to_vector(mine, [](auto &stream) { return stream.pass; });
    };
    SmallVector<unsigned> written = passesOf(true), read = passesOf(false);
    if (!written.empty() && !read.empty() && *llvm::min_element(read) > *llvm::max_element(written)) {
      buffer.leastLoaded = 0;
      if (isCached)
        buffer.loaded = 0;
    }
  }
  return result;
}
