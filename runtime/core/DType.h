//===- DType.h - Element types and conversions ------------------*- C++ -*-===//
#ifndef PARA_RUNTIME_CORE_DTYPE_H
#define PARA_RUNTIME_CORE_DTYPE_H

#include "para/Runtime/para_runtime.h"

#include <cstring>
#include <string>

namespace para::runtime {

using DType = para_dtype;

/// bfloat16 with conversions that round to nearest even; the compiler's own type needs library calls older systems lack.
struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t word;
    std::memcpy(&word, &value, 4);
    bool isNan = (word & 0x7fffffffu) > 0x7f800000u;
    bits = isNan ? uint16_t((word >> 16) | 0x40) : uint16_t((word + 0x7fffu + ((word >> 16) & 1)) >> 16);
  }
  explicit operator float() const {
    uint32_t word = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &word, 4);
    return value;
  }
};
using Float16 = _Float16;

/// Bytes of one element.
int64_t elementBytes(DType dtype);
/// "f32", "bf16", "bool" ...
const char *dtypeName(DType dtype);
/// Also takes "i1" for bool. False if unknown.
bool parseDType(const std::string &name, DType &dtype);
bool isFloat(DType dtype);
/// Whether every value of `from` is one of `to` and both are floats or both are integers.
bool widens(DType from, DType to);

/// Converts `count` elements; `from` and `to` do not overlap. Unaligned addresses are fine.
void convertElements(DType fromType, const void *from, DType toType, void *to, int64_t count);

/// One element, for scalars.
double loadScalar(DType dtype, const void *address);
void storeScalar(DType dtype, void *address, double value);

} // namespace para::runtime

#endif
