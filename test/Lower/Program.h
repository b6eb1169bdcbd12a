//===- Program.h - Compiles a stage and runs it --------------------*- C++ -*-===//
#ifndef PARA_TEST_LOWER_PROGRAM_H
#define PARA_TEST_LOWER_PROGRAM_H

#include "para/Runtime/para_runtime.h"

#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

extern "C" para_context *test_context(int64_t bytes);
extern "C" int64_t test_launches(para_context *context);
extern "C" int64_t test_matmuls(para_context *context);

namespace para {

/// A stage in the lower stage's input form, compiled to a library and loaded.
class Program {
public:
  /// `attributes` are further ones of the module.
  explicit Program(const std::string &function, int64_t microbatches = 1, const std::string &attributes = "");
  bool ok() const { return program != nullptr; }
  void step();

  template <typename T>
  T *data(const std::string &name) { return reinterpret_cast<T *>(address(name)); }
  template <typename T>
  void set(const std::string &name, const std::vector<T> &values) { std::copy(values.begin(), values.end(), data<T>(name)); }
  template <typename T>
  std::vector<T> get(const std::string &name, size_t count) { return std::vector<T>(data<T>(name), data<T>(name) + count); }
  int64_t launches() { return test_launches(context); }
  int64_t matmuls() { return test_matmuls(context); }

private:
  char *address(const std::string &name);
  llvm::json::Value manifest = nullptr;
  const para_program *program = nullptr;
  para_context *context = nullptr;
};

/// Numbers which are no pattern, in [-1, 1].
std::vector<float> numbers(size_t count, unsigned seed);
void expectNear(const std::vector<float> &have, const std::vector<double> &want, double tolerance = 1e-5);

} // namespace para

#endif
