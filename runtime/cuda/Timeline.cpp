//===- Timeline.cpp - When operations ran on the GPU --------------------------===//
#include "Context.h"

namespace para::runtime::cuda {

Timeline::~Timeline() {
  for (Handle event : free)
    ctx->driver.cuEventDestroy(event);
  if (base)
    ctx->driver.cuEventDestroy(base);
}

Handle Timeline::take() {
  Handle event = nullptr;
  if (!free.empty()) {
    event = free.back();
    free.pop_back();
  } else if (ctx->driver.cuEventCreate(&event, 0) != success) {
    event = nullptr;
  }
  return event;
}

/// Elapsed times have the precision of a float.
void Timeline::restart() {
  if (base)
    free.push_back(base);
  base = nullptr;
}

void Timeline::begin(Handle stream) {
  if (!base) { // The GPU's clock at a moment of ours, or just behind it: nothing seems to run beyond its step.
    base = take();
    baseSeconds = nowSeconds();
    ctx->driver.cuEventRecord(base, stream);
    ctx->driver.cuStreamSynchronize(stream);
  }
  open.push_back(take());
  ctx->driver.cuEventRecord(open.back(), stream);
}

void Timeline::end(const char *op, const char *category, int32_t number, Handle stream, int64_t bytes) {
  Handle event = take();
  ctx->driver.cuEventRecord(event, stream);
  spans.push_back({op, category, number, bytes, open.back(), event});
  open.pop_back();
}

void Timeline::collect() {
  for (const Span &span : spans) {
    float from = 0, to = 0;
    if (ctx->driver.cuEventElapsedTime(&from, base, span.begin) == success &&
        ctx->driver.cuEventElapsedTime(&to, base, span.end) == success)
      trace->record(span.op, span.category, span.stream, baseSeconds + from * 1e-3, baseSeconds + to * 1e-3, span.bytes);
    free.push_back(span.begin);
    free.push_back(span.end);
  }
  spans.clear();
}

} // namespace para::runtime::cuda
