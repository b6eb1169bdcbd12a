//===- Library.h - oneDNN's engine and stream -------------------*- C++ -*-===//
#ifndef PARA_RUNTIME_HOST_LIBRARY_H
#define PARA_RUNTIME_HOST_LIBRARY_H

#include "para/Runtime/para_runtime.h"

#include <dnnl.hpp>

namespace para::runtime {

inline dnnl::engine &libraryEngine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

inline dnnl::stream &libraryStream() {
  static dnnl::stream stream(libraryEngine());
  return stream;
}

inline dnnl::memory::data_type libraryType(int32_t dtype) {
  return dtype == PARA_BF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

/// Whether oneDNN multiplies bf16 on this processor.
inline bool libraryHasBFloat16() {
  constexpr int needed = dnnl_cpu_isa_avx512_core;
  static bool has = (int(dnnl_get_effective_cpu_isa()) & needed) == needed;
  return has;
}

/// On processors with AMX, oneDNN 2.6's products of bf16 over 63 terms set up no tiles and end the program by an illegal instruction.
inline bool libraryMissesTiles(int64_t terms) {
  constexpr int amx = dnnl_cpu_isa_avx512_core_amx;
  static bool has = (int(dnnl_get_effective_cpu_isa()) & amx) == amx;
  return has && terms == 63;
}

} // namespace para::runtime

#endif
