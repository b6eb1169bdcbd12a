//===- Inference.cpp - Running a compiled forward pass ------------------------===//
#include "Worker.h"

#include <algorithm>

namespace para::runtime {

Status Worker::writeOutputs() {
  ArrayMap arrays;
  for (const auto &global : store->globals([](const Tensor &tensor) { return tensor.kind == TensorKind::Output; })) {
    Array array;
    PARA_TRY(store->gather(global, array));
    if (!isFirst())
      continue;
    auto outer = std::find_if(manifest.outputs.begin(), manifest.outputs.end(),
                              [&](const Interface &output) { return output.name == global.tensor->name; });
    if (outer == manifest.outputs.end())
      continue;
    if (outer->type != array.dtype) {
      char *memory;
      Array converted = Array::allocate(outer->type, array.shape, memory);
      convertElements(array.dtype, array.data, outer->type, memory, array.elements());
      array = converted;
    }
    arrays[outer->name] = array;
  }
  Status status = Status::success();
  if (isFirst() && !flags.outputs.empty())
    status = writeNpz(flags.outputs, arrays);
  PARA_TRY(world.agree(status));
  if (!isFirst() || !flags.outputs.empty() || flags.repeat > 0)
    return Status::success();
  for (auto &[name, array] : arrays) {
    std::string value = array.typeText();
    if (array.elements() == 1)
      value = array.dtype == PARA_F32 ? roundTrip(float(loadScalar(array.dtype, array.data)))
                                      : roundTrip(loadScalar(array.dtype, array.data));
    std::printf("%s: %s\n", name.c_str(), value.c_str());
  }
  return Status::success();
}

Status Worker::infer(int &exitCode) {
  Dataset data;
  Status status = Status::success();
  if (!flags.inputs.empty())
    status = data.open(flags.inputs, manifest, true);
  else if (flags.repeat > 0 || manifest.inputs.empty())
    data.makeSynthetic(manifest);
  else
    status = Status::error("inference needs --inputs FILE", 2);
  PARA_TRY(world.agree(status));
  for (const std::string &note : data.notes())
    if (isFirst())
      std::fprintf(stderr, "para: %s\n", note.c_str());
  bool isTimed = flags.repeat > 0;
  int64_t warmup = isTimed ? (flags.warmup >= 0 ? flags.warmup : 1) : 0, runs = std::max<int64_t>(flags.repeat, 1);
  std::vector<double> timings;
  int stopSignal = 0;
  for (int64_t i = 0; i < warmup + runs && !stopSignal; ++i) {
    StepRecord record;
    PARA_TRY(world.barrier());
    double began = nowSeconds();
    PARA_TRY(writeHyper(i));
    PARA_TRY(feed(data, 0));
    PARA_TRY(runActions(step));
    PARA_TRY(exchange(record, 0, stopSignal));
    if (i >= warmup)
      timings.push_back(nowSeconds() - began);
  }
  PARA_TRY(writeOutputs());
  PARA_TRY(dumpState());
  if (isTimed && isFirst() && !timings.empty())
    std::fputs(timingText(timings, manifest.batch, flags.json).c_str(), stdout);
  tellOfDevice();
  exitCode = stopSignal ? 128 + stopSignal : 0;
  return Status::success();
}

} // namespace para::runtime
