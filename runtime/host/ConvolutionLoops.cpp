//===- ConvolutionLoops.cpp - Convolutions in f64 -----------------------------===//
#include "Convolution.h"
#include "Threads.h"

#include <algorithm>
#include <cstring>

namespace para::runtime {

namespace {
/// The description with three spatial dimensions, the missing outer ones of size 1.
struct Geometry {
  int64_t n, c, k, cGroup, kGroup;
  int64_t in[3], out[3], window[3], stride[3], dilation[3], pad[3];
  int64_t inSize = 1, outSize = 1, windowSize = 1;

  explicit Geometry(const para_convolution_desc &desc)
      : n(desc.n), c(desc.c), k(desc.k), cGroup(desc.c / desc.groups), kGroup(desc.k / desc.groups) {
    for (int d = 0; d < 3; ++d) {
      int from = d - (3 - desc.spatial);
      in[d] = from < 0 ? 1 : desc.in[from];
      out[d] = from < 0 ? 1 : desc.out[from];
      window[d] = from < 0 ? 1 : desc.window[from];
      stride[d] = from < 0 ? 1 : desc.stride[from];
      dilation[d] = from < 0 ? 1 : desc.dilation[from];
      pad[d] = from < 0 ? 0 : desc.pad_low[from];
      inSize *= in[d];
      outSize *= out[d];
      windowSize *= window[d];
    }
  }

  /// Outputs o with 0 <= o * stride + at < in, as [begin, end).
  void valid(int d, int64_t at, int64_t &begin, int64_t &end) const {
    begin = at >= 0 ? 0 : (-at + stride[d] - 1) / stride[d];
    end = in[d] - at <= 0 ? 0 : std::min(out[d], (in[d] - at + stride[d] - 1) / stride[d]);
  }

  /// Calls row(x, y, count) for each run of outputs that one window element meets, x and y as offsets in their planes.
  template <typename Row> void forRows(int64_t element, Row row) const {
    int64_t at[3] = {element / (window[1] * window[2]), element / window[2] % window[1], element % window[2]};
    int64_t begin[3], end[3];
    for (int d = 0; d < 3; ++d) {
      at[d] = at[d] * dilation[d] - pad[d];
      valid(d, at[d], begin[d], end[d]);
    }
    if (begin[2] >= end[2])
      return;
    for (int64_t i = begin[0]; i < end[0]; ++i)
      for (int64_t j = begin[1]; j < end[1]; ++j) {
        int64_t x = ((i * stride[0] + at[0]) * in[1] + j * stride[1] + at[1]) * in[2] + begin[2] * stride[2] + at[2];
        row(x, (i * out[1] + j) * out[2] + begin[2], end[2] - begin[2]);
      }
  }
};
} // namespace

static void forward(int64_t threads, const Geometry &g, const double *x, const double *w, double *y) {
  parallelFor(threads, g.n * g.k, 1, [&](int64_t first, int64_t last) {
    for (int64_t plane = first; plane < last; ++plane) {
      int64_t k = plane % g.k, sample = plane / g.k, c0 = k / g.kGroup * g.cGroup;
      double *to = y + plane * g.outSize;
      std::memset(to, 0, size_t(g.outSize) * 8);
      for (int64_t c = 0; c < g.cGroup; ++c)
        for (int64_t element = 0; element < g.windowSize; ++element) {
          const double *from = x + (sample * g.c + c0 + c) * g.inSize;
          double weight = w[(k * g.cGroup + c) * g.windowSize + element];
          g.forRows(element, [&](int64_t in, int64_t out, int64_t count) {
            for (int64_t i = 0; i < count; ++i)
              to[out + i] += weight * from[in + i * g.stride[2]];
          });
        }
    }
  });
}

static void inputGrad(int64_t threads, const Geometry &g, double *x, const double *w, const double *y) {
  parallelFor(threads, g.n * g.c, 1, [&](int64_t first, int64_t last) {
    for (int64_t plane = first; plane < last; ++plane) {
      int64_t c = plane % g.c, sample = plane / g.c, k0 = c / g.cGroup * g.kGroup;
      double *to = x + plane * g.inSize;
      std::memset(to, 0, size_t(g.inSize) * 8);
      for (int64_t k = 0; k < g.kGroup; ++k)
        for (int64_t element = 0; element < g.windowSize; ++element) {
          const double *from = y + (sample * g.k + k0 + k) * g.outSize;
          double weight = w[((k0 + k) * g.cGroup + c % g.cGroup) * g.windowSize + element];
          g.forRows(element, [&](int64_t in, int64_t out, int64_t count) {
            for (int64_t i = 0; i < count; ++i)
              to[in + i * g.stride[2]] += weight * from[out + i];
          });
        }
    }
  });
}

static void weightGrad(int64_t threads, const Geometry &g, const double *x, double *w, const double *y) {
  parallelFor(threads, g.k * g.cGroup, 1, [&](int64_t first, int64_t last) {
    for (int64_t pair = first; pair < last; ++pair) {
      int64_t k = pair / g.cGroup, c = k / g.kGroup * g.cGroup + pair % g.cGroup;
      for (int64_t element = 0; element < g.windowSize; ++element) {
        double sum = 0;
        for (int64_t sample = 0; sample < g.n; ++sample) {
          const double *in = x + (sample * g.c + c) * g.inSize, *out = y + (sample * g.k + k) * g.outSize;
          g.forRows(element, [&](int64_t inAt, int64_t outAt, int64_t count) {
            // Any order will do as long as it is the same each time; the compiler's choice is.
#pragma clang fp reassociate(on)
            for (int64_t i = 0; i < count; ++i)
              sum += in[inAt + i * g.stride[2]] * out[outAt + i];
          });
        }
        w[pair * g.windowSize + element] = sum;
      }
    }
  });
}

void convolveDirect(int64_t threads, const para_convolution_desc &desc, double *x, double *w, double *y) {
  Geometry geometry(desc);
  if (desc.kind == PARA_CONV_FORWARD)
    forward(threads, geometry, x, w, y);
  else if (desc.kind == PARA_CONV_INPUT_GRAD)
    inputGrad(threads, geometry, x, w, y);
  else
    weightGrad(threads, geometry, x, w, y);
}

} // namespace para::runtime
