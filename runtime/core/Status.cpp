//===- Status.cpp - Texts and numbers ---------------------------------------===//
#include "Status.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <time.h>

namespace para::runtime {

std::string format(const char *pattern, ...) {
  va_list args;
  va_start(args, pattern);
  va_list again;
  va_copy(again, args);
  int length = std::vsnprintf(nullptr, 0, pattern, args);
  va_end(args);
  std::string text(length > 0 ? length : 0, '\0');
  if (length > 0)
    std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

template <typename T> static std::string shortest(T value) {
  if (!std::isfinite(value))
    return "null";
  char buffer[64];
  auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, result.ptr);
}

std::string roundTrip(double value) { return shortest(value); }
std::string roundTrip(float value) { return shortest(value); }

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

double nowSeconds() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

std::string jsonString(const std::string &text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += char(c);
    else if (c < 0x20)
      out += format("\\u%04x", c);
    else
      out += char(c);
  }
  return out + "\"";
}

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size() || (begin == text.size() && begin > 0);) {
    size_t end = text.find(separator, begin);
    if (end == std::string::npos) {
      parts.push_back(text.substr(begin));
      break;
    }
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool parseInteger(const std::string &text, int64_t &value) {
  auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && result.ec == std::errc() && result.ptr == text.data() + text.size();
}

bool parseDouble(const std::string &text, double &value) {
  if (text.empty())
    return false;
  char *end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return *end == '\0' && std::isfinite(value);
}

} // namespace para::runtime
