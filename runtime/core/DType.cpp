//===- DType.cpp - Element types and conversions ------------------------------===//
#include "DType.h"

#include <type_traits>

namespace para::runtime {

namespace {
struct Info {
  const char *name;
  int bytes;
  bool isFloat;
};
constexpr Info infos[] = {{"f32", 4, true},  {"f64", 8, true},  {"f16", 2, true},  {"bf16", 2, true}, {"i8", 1, false},
                          {"u8", 1, false},  {"i16", 2, false}, {"i32", 4, false}, {"i64", 8, false}, {"bool", 1, false}};

struct Bool {
  uint8_t value;
};

template <typename T> T load(const char *address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

template <typename T> constexpr bool isSmallFloat = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

template <typename To, typename From> To cast(From value) {
  if constexpr (std::is_same_v<To, From>)
    return value;
  else if constexpr (isSmallFloat<From>)
    return cast<To>(static_cast<float>(value));
  else if constexpr (std::is_same_v<From, Bool>)
    return cast<To>(static_cast<int32_t>(value.value != 0));
  else if constexpr (std::is_same_v<To, Bool>)
    return Bool{uint8_t(value != From(0))};
  else if constexpr (isSmallFloat<To>)
    return To(static_cast<float>(value));
  else
    return static_cast<To>(value);
}

template <typename From, typename To> void convert(const void *from, void *to, int64_t count) {
  const char *in = static_cast<const char *>(from);
  char *out = static_cast<char *>(to);
  for (int64_t i = 0; i < count; ++i) {
    To value = cast<To>(load<From>(in + i * sizeof(From)));
    std::memcpy(out + i * sizeof(To), &value, sizeof(To));
  }
}

template <typename Fn> void dispatch(DType dtype, Fn fn) {
  switch (dtype) {
  case PARA_F32: return fn(float());
  case PARA_F64: return fn(double());
  case PARA_F16: return fn(Float16());
  case PARA_BF16: return fn(BFloat16());
  case PARA_I8: return fn(int8_t());
  case PARA_U8: return fn(uint8_t());
  case PARA_I16: return fn(int16_t());
  case PARA_I32: return fn(int32_t());
  case PARA_I64: return fn(int64_t());
  case PARA_BOOL: return fn(Bool());
  }
}
} // namespace

int64_t elementBytes(DType dtype) { return infos[dtype].bytes; }
const char *dtypeName(DType dtype) { return infos[dtype].name; }
bool isFloat(DType dtype) { return infos[dtype].isFloat; }

bool parseDType(const std::string &name, DType &dtype) {
  for (int i = 0; i < 10; ++i)
    if (name == infos[i].name || (name == "i1" && i == PARA_BOOL)) {
      dtype = DType(i);
      return true;
    }
  return false;
}

bool widens(DType from, DType to) {
  if (from == to)
    return true;
  if (isFloat(from) != isFloat(to))
    return false;
  if (isFloat(from))
    return to == PARA_F64 || (to == PARA_F32 && from != PARA_F64);
  if (from == PARA_BOOL)
    return true;
  if (to == PARA_BOOL || to == PARA_U8)
    return false;
  // Unsigned bytes fit every wider signed type.
  return elementBytes(from) < elementBytes(to);
}

void convertElements(DType fromType, const void *from, DType toType, void *to, int64_t count) {
  if (fromType == toType) {
    std::memcpy(to, from, size_t(count * elementBytes(toType)));
    return;
  }
  dispatch(fromType, [&](auto f) {
    dispatch(toType, [&](auto t) { convert<decltype(f), decltype(t)>(from, to, count); });
  });
}

double loadScalar(DType dtype, const void *address) {
  double value;
  convertElements(dtype, address, PARA_F64, &value, 1);
  return value;
}

void storeScalar(DType dtype, void *address, double value) { convertElements(PARA_F64, &value, dtype, address, 1); }

} // namespace para::runtime
