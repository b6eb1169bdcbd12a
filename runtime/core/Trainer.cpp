//===- Trainer.cpp - The loop over steps --------------------------------------===//
#include "Worker.h"

#include <algorithm>
#include <cmath>

namespace para::runtime {

Status Worker::openData(Dataset &data, Dataset &validation, int64_t &totalSteps) {
  const std::string &path = flags.data.empty() ? flags.inputs : flags.data;
  bool isTimed = flags.repeat > 0;
  if (path.empty() && !isTimed && !manifest.inputs.empty())
    return Status::error("training needs --data FILE", 2);
  if (path.empty())
    data.makeSynthetic(manifest);
  else
    PARA_TRY(data.open(path, manifest, false));
  data.setOrder(flags.shuffle != "none", flags.shuffleSeed);
  if (!flags.validate.empty())
    PARA_TRY(validation.open(flags.validate, manifest, false));
  int64_t batch = std::max<int64_t>(manifest.batch, 1);
  if (isTimed)
    totalSteps = firstStep + std::max<int64_t>(flags.warmup, 0) + flags.repeat;
  else if (flags.steps >= 0)
    totalSteps = flags.steps;
  else if (__builtin_mul_overflow(flags.epochs >= 0 ? flags.epochs : 1, data.samples(), &totalSteps))
    return Status::error(format("--epochs %lld: so many times %lld samples cannot be counted", (long long)flags.epochs,
                                (long long)data.samples()), 2);
  else
    totalSteps = std::max<int64_t>(1, totalSteps / batch);
  if (flags.epochs == 0)
    totalSteps = 0;
  if (int64_t end; __builtin_mul_overflow(totalSteps, batch, &end))
    return Status::error(format("%lld steps of %lld samples cannot be counted: give fewer --steps",
                                (long long)totalSteps, (long long)batch), 2);
  for (const Dataset *set : {&data, &validation})
    for (const std::string &note : set->notes())
      if (isFirst())
        std::fprintf(stderr, "para: %s\n", note.c_str());
  return Status::success();
}

/// The mean loss over the held-out batches into the record of a step. A program without actions of its own for this takes a whole step, and gets back
/// what the step changed.
Status Worker::validationLoss(Dataset &validation, StepRecord &of) {
  std::vector<std::pair<const Tensor *, std::vector<char>>> kept;
  bool restores = manifest.stages[0].evaluate.empty();
  for (const Tensor &tensor : store->stage().tensors)
    if (restores && (tensor.kind == TensorKind::Parameter || tensor.kind == TensorKind::State)) {
      kept.emplace_back(&tensor, std::vector<char>(size_t(tensor.localBytes())));
      PARA_TRY(device->read(tensor.offset, kept.back().second.data(), tensor.localBytes()));
    }
  int64_t batch = std::max<int64_t>(manifest.batch, 1), batches = std::max<int64_t>(1, validation.samples() / batch);
  double sum = 0;
  StepRecord record;
  for (int64_t i = 0; i < batches; ++i) {
    int ignored;
    PARA_TRY(feed(validation, i * batch));
    PARA_TRY(runActions(restores ? step : evaluation));
    PARA_TRY(exchange(record, 0, ignored));
    sum += record.loss.value;
    if (record.stray.ranks > 0 && of.stray.ranks == 0) {
      of.stray = record.stray;
      of.stray.name = "validation loss";
    }
    for (auto &[tensor, bytes] : kept)
      PARA_TRY(device->write(tensor->offset, bytes.data(), tensor->localBytes()));
  }
  of.validationLoss = record.loss;
  of.validationLoss.value = sum / double(batches);
  return Status::success();
}

Status Worker::saveNow(int64_t stepsDone) {
  if (lastSaved == stepsDone)
    return Status::success();
  runState = {stepsDone, flags.seed, flags.shuffle};
  PARA_TRY(saveCheckpoint(flags.save, runState, manifest, world, *store, lastSavedPath));
  lastSaved = stepsDone;
  return Status::success();
}

Status Worker::summarize(const StepRecord &last, const std::vector<double> &seconds, int64_t totalSteps) {
  if (!isFirst())
    return Status::success();
  if (flags.repeat > 0 && !seconds.empty()) {
    std::fputs(timingText(seconds, manifest.batch, flags.json).c_str(), stdout);
    return Status::success();
  }
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  double median = sorted.empty() ? 0 : sorted[sorted.size() / 2];
  double rate = median > 0 ? double(manifest.batch) / median : 0;
  int64_t sent = last.bytesSent.empty() ? 0 : last.bytesSent[0];
  if (flags.json) {
    std::string line = "{\"steps\":" + std::to_string(totalSteps) + ",\"loss\":" + last.loss.text() +
                       ",\"seconds_per_step\":" + roundTrip(median) + ",\"samples_per_second\":" + roundTrip(rate) +
                       ",\"bytes_sent\":" + std::to_string(sent) +
                       ",\"peak_bytes\":" + std::to_string(device->arenaBytes());
    if (last.validationLoss.isKnown)
      line += ",\"validation_loss\":" + last.validationLoss.text();
    std::printf("%s}\n", line.c_str());
    return Status::success();
  }
  std::string line = format("%lld steps", (long long)totalSteps);
  if (last.loss.isKnown)
    line += ", loss " + last.loss.text();
  if (last.validationLoss.isKnown)
    line += ", validation loss " + last.validationLoss.text();
  if (skippedSteps > 0)
    line += format(", %lld of them skipped: the loss scale is too large for f16", (long long)skippedSteps);
  line += format(", %.6g s a step, %.6g samples/s, %lld bytes sent a step", median, rate, (long long)sent);
  if (lastSaved >= 0)
    line += ", saved to " + lastSavedPath;
  std::printf("%s\n", line.c_str());
  return Status::success();
}

Status Worker::train(int &exitCode) {
  auto isGradient = [](const Tensor &tensor) { return tensor.kind == TensorKind::Gradient; };
  bool keepsGradients = std::any_of(manifest.stages.begin(), manifest.stages.end(), [&](const Stage &stage) { return std::any_of(stage.tensors.begin(), stage.tensors.end(), isGradient); });
  if (!flags.dumpGrads.empty() && !keepsGradients)
    return Status::error("--dump-grads: this program does not keep its gradients; compile it with --keep-gradients");
  Dataset data, validation;
  int64_t totalSteps = 0;
  PARA_TRY(world.agree(openData(data, validation, totalSteps)));
  PARA_TRY(world.agree(isFirst() && !flags.save.empty() ? prepareCheckpoints(flags.save) : Status::success()));
  Metrics metrics;
  PARA_TRY(world.agree(isFirst() ? metrics.open(flags.metrics, firstStep > 0, flags.progress) : Status::success()));
  int64_t batch = std::max<int64_t>(manifest.batch, 1), warmup = std::max<int64_t>(flags.warmup, 0);
  std::vector<double> timings;
  StepRecord record;
  int stopSignal = 0;
  int64_t done = firstStep;
  for (; done < totalSteps && !stopSignal; ++done) {
    record = StepRecord();
    double began = nowSeconds();
    int64_t sentBefore = device->bytesSent();
    PARA_TRY(writeHyper(done));
    PARA_TRY(feed(data, done * batch));
    PARA_TRY(runActions(step));
    PARA_TRY(exchange(record, device->bytesSent() - sentBefore, stopSignal));
    record.step = done;
    record.seconds = nowSeconds() - began;
    record.batch = manifest.batch;
    record.peakBytes = device->arenaBytes();
    // With a loss scale, a step whose gradients are no numbers changes nothing but the scale.
    skippedSteps += record.lossScale.isKnown && record.gradNorm.isKnown && !std::isfinite(record.gradNorm.value);
    record.graphNodes = device->graphNodes();
    hyper.valueAt("lr", done, record.lr);
    if (done - firstStep >= warmup)
      timings.push_back(record.seconds);
    if (done == firstStep && !flags.dumpGrads.empty())
      PARA_TRY(store->dump(flags.dumpGrads, isGradient));
    int64_t steps = done + 1;
    bool isLast = steps == totalSteps || stopSignal;
    if (isLast)
      PARA_TRY(dumpState());
    if (!flags.validate.empty() && (isLast || (flags.validateEvery > 0 && steps % flags.validateEvery == 0)))
      PARA_TRY(validationLoss(validation, record));
    if (isFirst())
      PARA_TRY(metrics.record(record, totalSteps));
    if (flags.saveEvery > 0 && steps % flags.saveEvery == 0)
      PARA_TRY(saveNow(steps));
  }
  metrics.endProgress();
  if (done == firstStep)
    PARA_TRY(dumpState());
  if (!flags.save.empty())
    PARA_TRY(saveNow(done));
  tellOfDevice();
  exitCode = stopSignal ? 128 + stopSignal : 0;
  return summarize(record, timings, done);
}

} // namespace para::runtime
