//===- Hyper.cpp - Optimizer numbers of a step --------------------------------===//
#include "Hyper.h"

#include <algorithm>
#include <cmath>

namespace para::runtime {

double learningRate(const Schedule &schedule, double lr, int64_t step) {
  double warmup = double(schedule.warmup), total = double(schedule.total), s = double(step);
  if (step < schedule.warmup)
    return lr * (s + 1) / warmup;
  if (schedule.kind == "inverse-sqrt")
    return lr * std::sqrt(std::max(warmup, 1.0) / (s + 1));
  if (schedule.kind == "constant")
    return lr;
  double part = total > warmup ? std::min(1.0, (s - warmup) / (total - warmup)) : 1.0;
  if (schedule.kind == "cosine")
    return schedule.min + (lr - schedule.min) * (1 + std::cos(M_PI * part)) / 2;
  return lr + (schedule.min - lr) * part;
}

bool isDerivedNumber(const std::string &name) { return name == "bias_correction1" || name == "bias_correction2" || name == "step"; }

Hyper::Hyper(const Manifest &manifest, const std::vector<std::pair<std::string, double>> &overrides, int64_t seed)
    : schedule(manifest.schedule), seed(seed) {
  for (auto &[name, value] : manifest.hyper)
    values[name] = value;
  for (auto &[name, value] : overrides)
    values[name] = value;
}

bool Hyper::valueAt(const std::string &name, int64_t step, double &value) const {
  if (name == "step") {
    value = double(step);
    return true;
  }
  if (name == "seed") {
    value = double(seed);
    return true;
  }
  bool isFirst = name == "bias_correction1";
  if (isDerivedNumber(name)) { // `step` is known by now
    auto beta = values.find(isFirst ? "beta1" : "beta2");
    if (beta == values.end())
      return false;
    value = 1 - std::pow(beta->second, double(step + 1));
    return true;
  }
  auto found = values.find(name);
  if (found == values.end())
    return false;
  value = name == "lr" ? learningRate(schedule, found->second, step) : found->second;
  return true;
}

} // namespace para::runtime
