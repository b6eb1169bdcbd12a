//===- TestSupport.h - Running programs and making files --------*- C++ -*-===//
#ifndef PARA_TEST_RUNTIME_TESTSUPPORT_H
#define PARA_TEST_RUNTIME_TESTSUPPORT_H

#include "core/Array.h"
#include "core/Status.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace para::runtime {

/// A folder that goes with the test.
class TemporaryFolder {
public:
  TemporaryFolder() {
    char pattern[] = "/tmp/para-test-XXXXXX";
    path = mkdtemp(pattern);
  }
  ~TemporaryFolder() {
    if (std::system(("rm -rf " + path).c_str()) != 0)
      std::fprintf(stderr, "cannot remove %s\n", path.c_str());
  }
  std::string operator/(const std::string &name) const { return path + "/" + name; }
  std::string path;
};

inline std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void writeText(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

struct Outcome {
  int status = -1; ///< exit status, or 128 + signal as shells say it
  std::string out, err;
  double seconds = 0;
};

/// Runs a shell command, both outputs apart.
inline Outcome runCommand(const std::string &command) {
  TemporaryFolder folder;
  double began = nowSeconds();
  int code = std::system(("( " + command + " ) > " + (folder / "out") + " 2> " + (folder / "err")).c_str());
  Outcome outcome;
  outcome.seconds = nowSeconds() - began;
  outcome.status = WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code);
  outcome.out = readText(folder / "out");
  outcome.err = readText(folder / "err");
  return outcome;
}

/// A conformance program by its short name.
inline std::string program(const std::string &name) {
  return std::string("timeout 60 ") + PARA_TEST_BIN + "/para-conformance-" + name;
}

template <typename T> Array makeArray(DType dtype, std::vector<int64_t> shape, const std::vector<T> &values) {
  char *memory;
  Array array = Array::allocate(dtype, std::move(shape), memory);
  if (!values.empty())
    std::memcpy(memory, values.data(), values.size() * sizeof(T));
  return array;
}

template <typename T> std::vector<T> valuesOf(const Array &array) {
  const T *data = reinterpret_cast<const T *>(array.data);
  return std::vector<T>(data, data + array.elements());
}

inline testing::AssertionResult succeeds(const Status &status) {
  return status.failed() ? testing::AssertionFailure() << status.message() : testing::AssertionSuccess();
}
#define EXPECT_OK(expression) EXPECT_TRUE(succeeds(expression))
#define ASSERT_OK(expression) ASSERT_TRUE(succeeds(expression))

inline testing::AssertionResult has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos ? testing::AssertionSuccess()
                                              : testing::AssertionFailure() << "no '" << part << "' in: " << text;
}

} // namespace para::runtime

#endif
