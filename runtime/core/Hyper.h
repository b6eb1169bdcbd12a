//===- Hyper.h - Optimizer numbers of a step --------------------*- C++ -*-===//
#ifndef PARA_RUNTIME_CORE_HYPER_H
#define PARA_RUNTIME_CORE_HYPER_H

#include "Manifest.h"

namespace para::runtime {

/// With step s from 0: lr (s + 1) / W while s < W; then constant; linear from lr to M at T; cosine
/// M + (lr - M) (1 + cos(pi (s - W) / (T - W))) / 2; inverse-sqrt lr sqrt(W / (s + 1)). After T both stay at M.
double learningRate(const Schedule &schedule, double lr, int64_t step);

/// Whether the runtime makes this number of others before each step (bias_correction1, bias_correction2), so that nobody sets it.
bool isDerivedNumber(const std::string &name);

/// The numbers which the runtime writes before each step.
class Hyper {
public:
  Hyper(const Manifest &manifest, const std::vector<std::pair<std::string, double>> &overrides, int64_t seed);
  /// False if nothing of that name is known. Besides the manifest's numbers: bias_correction1, bias_correction2
  /// (1 - beta^(step + 1)), step (from 0) and seed.
  bool valueAt(const std::string &name, int64_t step, double &value) const;

private:
  std::map<std::string, double> values;
  Schedule schedule;
  int64_t seed;
};

} // namespace para::runtime

#endif
