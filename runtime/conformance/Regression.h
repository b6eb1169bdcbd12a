//===- Regression.h - A training program written by hand --------*- C++ -*-===//
//
// pred = x w + b with the mean squared error over a batch of 10 and momentum, in f64. PARA_TEST_PLAN chooses how:
//
//   replicated  rows over `data`, parameters on all
//   sharded     the same with w and its momentum cut over `data`
//   pipeline    w on stage 0 and b on stage 1, predictions sent forward and their gradients back
//
// Every plan computes the same run.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CONFORMANCE_REGRESSION_H
#define PARA_RUNTIME_CONFORMANCE_REGRESSION_H

#include <cstdint>
#include <map>
#include <string>

namespace para::conformance {

struct Regression {
  static constexpr int64_t batch = 10, features = 5;
  std::string plan;
  int64_t ranks, dataRanks, microbatches;
  int64_t rows;          ///< local rows of a microbatch, padded
  int64_t localFeatures; ///< of w, padded
  bool isSharded, isPipeline, hasEvaluate;
  std::map<std::string, int64_t> offsets; ///< bytes
  int64_t arenaBytes = 0;

  Regression();
  std::string manifest() const;
  /// Bytes that the textbook says rank sends in a step.
  int64_t bytesSent(int64_t rank) const;
};

} // namespace para::conformance

#endif
