//===- Metrics.h - What a run tells of itself -------------------*- C++ -*-===//
#ifndef PARA_RUNTIME_CORE_METRICS_H
#define PARA_RUNTIME_CORE_METRICS_H

#include "Status.h"

#include <cstdio>

namespace para::runtime {

/// A number of a step with the precision it had on the device.
struct Measured {
  double value = 0;
  bool isKnown = false, isDouble = false;
  std::string text() const;
};

/// A loss that is NaN or infinite.
struct StrayLoss {
  const char *name = "loss";
  double value = 0;
  int64_t rank = 0, ranks = 0; ///< the first that has it, and how many; 0: there is none
};

struct StepRecord {
  int64_t step = 0; ///< from 0
  Measured loss, gradNorm, validationLoss, lossScale;
  double lr = 0, seconds = 0;
  int64_t batch = 0, peakBytes = 0, graphNodes = 0;
  std::vector<int64_t> bytesSent; ///< per rank
  StrayLoss stray;
};

/// The JSON lines and the progress line; used by rank 0 only.
class Metrics {
public:
  ~Metrics();
  /// An empty path writes no file.
  Status open(const std::string &path, bool appends, const std::string &progress);
  Status record(const StepRecord &record, int64_t totalSteps);
  /// Ends a progress line that is still open.
  void endProgress();

private:
  /// Once a run: which loss is no finite number any more, and what helps.
  void warn(const StepRecord &record, int64_t totalSteps);
  std::FILE *file = nullptr;
  std::string path;
  bool showsProgress = false, isTerminal = false, lineIsOpen = false, hasWarned = false;
  double lastShown = -1e9;
};

/// Median, minimum and maximum of timed runs.
std::string timingText(std::vector<double> seconds, int64_t samplesPerRun, bool asJson);

} // namespace para::runtime

#endif
