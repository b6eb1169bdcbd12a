//===- Status.h - Errors as values ------------------------------*- C++ -*-===//
//
// The runtime throws nothing. A function that can fail returns a Status; its message is one sentence for the user and its
// exit code is what the executable ends with (1: the user's input is at fault, 2: wrong usage).
//
//   if (Status s = readNpz(path, arrays); s.failed()) return s;
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_STATUS_H
#define PARA_RUNTIME_CORE_STATUS_H

#include <cstdarg>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace para::runtime {

class [[nodiscard]] Status {
public:
  static Status success() { return Status(); }
  static Status error(std::string message, int exitCode = 1) {
    Status status;
    status.text = std::move(message);
    status.code = exitCode;
    return status;
  }
  bool failed() const { return code != 0; }
  const std::string &message() const { return text; }
  int exitCode() const { return code; }
  /// Whether all ranks know of this error and end by themselves.
  bool isKnownToAll() const { return knownToAll; }
  Status &&markKnownToAll() && {
    knownToAll = true;
    return std::move(*this);
  }

private:
  std::string text;
  bool knownToAll = false;
  int code = 0;
};

#define PARA_TRY(expression)                                                                                           \
  do {                                                                                                                 \
    if (::para::runtime::Status status_ = (expression); status_.failed())                                              \
      return status_;                                                                                                  \
  } while (false)

/// printf into a string.
std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/// The shortest decimal text that reads back as the same number; `null` where JSON has none.
std::string roundTrip(double value);
std::string roundTrip(float value);

/// "[2, 3]".
std::string shapeText(const std::vector<int64_t> &shape);

/// Seconds on one clock shared by all ranks of a host.
double nowSeconds();

/// `text` as a JSON string with its quotes.
std::string jsonString(const std::string &text);

/// Splits at `separator`; an empty text gives no parts.
std::vector<std::string> split(const std::string &text, char separator);

/// Strict number parsing: all of `text` or false.
bool parseInteger(const std::string &text, int64_t &value);
bool parseDouble(const std::string &text, double &value);

} // namespace para::runtime

#endif
