//===- Threads.h - The pool that kernels and oneDNN share -------*- C++ -*-===//
//
// oneDNN is built on GNU's OpenMP. Our own loops enter the same runtime by its entry point, so that there is one pool of
// threads; clang's -fopenmp would bring a second runtime with a second pool.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_HOST_THREADS_H
#define PARA_RUNTIME_HOST_THREADS_H

#include <cstdint>

extern "C" {
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
int omp_get_thread_num(void);
void omp_set_num_threads(int threads);
void omp_set_dynamic(int isDynamic);
}

namespace para::runtime {

/// Calls body(begin, end) on up to `threads` even parts of [0, extent), none smaller than `grain` except the last.
template <typename Body> void parallelFor(int64_t threads, int64_t extent, int64_t grain, Body &&body) {
  int64_t parts = grain > 0 ? (extent + grain - 1) / grain : extent;
  if (parts > threads)
    parts = threads;
  if (parts <= 1) {
    if (extent > 0)
      body(int64_t(0), extent);
    return;
  }
  struct Shared {
    Body *body;
    int64_t extent, parts;
  } shared{&body, extent, parts};
  GOMP_parallel(
      [](void *data) {
        Shared &all = *static_cast<Shared *>(data);
        int64_t part = omp_get_thread_num(), begin = all.extent * part / all.parts;
        int64_t end = all.extent * (part + 1) / all.parts;
        if (begin < end)
          (*all.body)(begin, end);
      },
      &shared, unsigned(parts), 0);
}

/// Denormals cost a hundred times a normal number; results flush to zero on every thread of the pool.
void flushDenormals(int64_t threads);

} // namespace para::runtime

#endif
