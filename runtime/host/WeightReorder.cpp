//===- WeightReorder.cpp - Weights out of blocks of 16 by 16 ------------------===//
#include "WeightReorder.h"

#include "Threads.h"

#include <cstring>
#include <utility>

using namespace para::runtime;

static constexpr int64_t side = 16;
typedef float Row __attribute__((vector_size(64)));

/// Exchanges the bit `half` of the row's and the lane's number.
template <int half, int... lane> static void exchange(Row *rows, std::integer_sequence<int, lane...>) {
  for (int i = 0; i < side; ++i) {
    if (i & half)
      continue;
    Row low = rows[i], high = rows[i | half];
    rows[i] = __builtin_shufflevector(low, high, (lane & half ? side + (lane ^ half) : lane)...);
    rows[i | half] = __builtin_shufflevector(low, high, (lane & half ? side + lane : lane | half)...);
  }
}

static void transpose(Row *rows) {
  using Lanes = std::make_integer_sequence<int, side>;
  exchange<8>(rows, Lanes());
  exchange<4>(rows, Lanes());
  exchange<2>(rows, Lanes());
  exchange<1>(rows, Lanes());
}

std::optional<WeightReorder> WeightReorder::find(const dnnl::memory::desc &blocked) {
  const dnnl_memory_desc_t &desc = blocked.data;
  const dnnl_blocking_desc_t &blocking = desc.format_desc.blocking;
  if (desc.data_type != dnnl_f32 || desc.format_kind != dnnl_blocked || desc.ndims < 3 || desc.offset0 != 0 || blocking.inner_nblks != 2 ||
      blocking.inner_blks[0] != side || blocking.inner_blks[1] != side || blocking.inner_idxs[0] != 1 || blocking.inner_idxs[1] != 0 ||
      desc.dims[0] % side || desc.dims[1] % side)
    return std::nullopt;
  WeightReorder result;
  result.outputs = desc.dims[0];
  result.inputs = desc.dims[1];
  result.outputStride = blocking.strides[0];
  result.inputStride = blocking.strides[1];
  for (int d = desc.ndims; d-- > 2; result.window *= desc.dims[d])
    if (desc.dims[d] != 1 && blocking.strides[d] != side * side * result.window)
      return std::nullopt;
  return result;
}

void WeightReorder::run(int64_t threads, const float *blocked, float *plain) const {
  int64_t across = inputs / side;
  parallelFor(threads, outputs / side * across, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const float *from = blocked + block / across * outputStride + block % across * inputStride;
      float *to = plain + (block / across * inputs + block % across) * side * window;
      // A tile has 16 neighbours of each of the 16 rows of the plain layout.
      for (int64_t at = 0; at < side * window; at += side) {
        Row rows[side];
        for (int64_t i = 0; i < side; ++i) {
          int64_t input = (at + i) / window, element = (at + i) % window;
          std::memcpy(&rows[i], from + (element * side + input) * side, sizeof(Row));
        }
        transpose(rows);
        for (int64_t i = 0; i < side; ++i)
          std::memcpy(to + i * inputs * window + at, &rows[i], sizeof(Row));
      }
    }
  });
}
