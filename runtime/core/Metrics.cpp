//===- Metrics.cpp - What a run tells of itself -------------------------------===//
#include "Metrics.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <unistd.h>

namespace para::runtime {

std::string Measured::text() const {
  if (!isKnown)
    return "null";
  return isDouble ? roundTrip(value) : roundTrip(float(value));
}

Metrics::~Metrics() {
  endProgress();
  if (file)
    std::fclose(file);
}

Status Metrics::open(const std::string &path, bool appends, const std::string &progress) {
  isTerminal = isatty(2);
  showsProgress = progress == "always" || (progress == "auto" && isTerminal);
  if (path.empty())
    return Status::success();
  this->path = path;
  file = std::fopen(path.c_str(), appends ? "ae" : "we");
  return file ? Status::success() : Status::error("cannot write '" + path + "': " + std::strerror(errno));
}

void Metrics::warn(const StepRecord &record, int64_t totalSteps) {
  const StrayLoss &stray = record.stray;
  if (stray.ranks == 0 || hasWarned)
    return;
  hasWarned = true;
  endProgress();
  std::string where = "rank " + std::to_string(stray.rank);
  if (stray.ranks > 1)
    where += " and " + std::to_string(stray.ranks - 1) + (stray.ranks > 2 ? " others" : " other");
  std::fprintf(stderr, "para: warning: the %s of step %lld/%lld is %s (%s); the run goes on, but will hardly recover: lower the learning rate "
                       "(--lr X), compile with --clip-norm X, or look for data that are out of range\n",
               stray.name, (long long)record.step + 1, (long long)totalSteps, std::isnan(stray.value) ? "NaN" : "infinite", where.c_str());
}

Status Metrics::record(const StepRecord &record, int64_t totalSteps) {
  warn(record, totalSteps);
  double rate = record.seconds > 0 ? double(record.batch) / record.seconds : 0;
  if (file) {
    std::string line = "{\"step\":" + std::to_string(record.step) + ",\"loss\":" + record.loss.text() +
                       ",\"lr\":" + roundTrip(record.lr) + ",\"grad_norm\":" + record.gradNorm.text() +
                       ",\"seconds\":" + roundTrip(record.seconds) + ",\"samples_per_second\":" + roundTrip(rate) +
                       ",\"bytes_sent\":" + std::to_string(record.bytesSent[0]) +
                       ",\"peak_bytes\":" + std::to_string(record.peakBytes) + ",\"bytes_sent_per_rank\":[";
    for (size_t i = 0; i < record.bytesSent.size(); ++i)
      line += (i ? "," : "") + std::to_string(record.bytesSent[i]);
    line += "]";
    if (record.graphNodes > 0)
      line += ",\"graph_nodes\":" + std::to_string(record.graphNodes);
    if (record.lossScale.isKnown)
      line += ",\"loss_scale\":" + record.lossScale.text();
    if (record.validationLoss.isKnown)
      line += ",\"validation_loss\":" + record.validationLoss.text();
    line += "}\n";
    if (std::fwrite(line.data(), line.size(), 1, file) != 1 || std::fflush(file) != 0)
      return Status::error("cannot write '" + path + "': " + std::strerror(errno));
  }
  bool isLast = record.step + 1 == totalSteps;
  double now = nowSeconds();
  if (showsProgress && (isLast || now - lastShown > (isTerminal ? 0.1 : 1.0))) {
    lastShown = now;
    std::string line = format("step %lld/%lld  loss %.6g  lr %.3g  %.1f samples/s", (long long)record.step + 1,
                              (long long)totalSteps, record.loss.value, record.lr, rate);
    if (record.validationLoss.isKnown)
      line += format("  validation %.6g", record.validationLoss.value);
    std::fprintf(stderr, isTerminal ? "\r\033[K%s" : "%s\n", line.c_str());
    lineIsOpen = isTerminal;
  }
  return Status::success();
}

void Metrics::endProgress() {
  if (lineIsOpen)
    std::fputc('\n', stderr);
  lineIsOpen = false;
}

std::string timingText(std::vector<double> seconds, int64_t samplesPerRun, bool asJson) {
  std::sort(seconds.begin(), seconds.end());
  size_t n = seconds.size();
  double median = n % 2 ? seconds[n / 2] : (seconds[n / 2 - 1] + seconds[n / 2]) / 2;
  double rate = median > 0 ? double(samplesPerRun) / median : 0;
  if (asJson)
    return "{\"runs\":" + std::to_string(n) + ",\"median_seconds\":" + roundTrip(median) +
           ",\"min_seconds\":" + roundTrip(seconds.front()) + ",\"max_seconds\":" + roundTrip(seconds.back()) +
           ",\"samples_per_second\":" + roundTrip(rate) + "}\n";
  return format("%zu runs: median %.6g s, minimum %.6g s, maximum %.6g s, %.6g samples/s\n", n, median, seconds.front(),
                seconds.back(), rate);
}

} // namespace para::runtime
