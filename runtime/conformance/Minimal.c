/*===- Minimal.c - The smallest program ------------------------------------===
 *
 * y = a x for six numbers, on one rank, in C, with the runtime's own main. The weight is stored in the manifest.
 */
#include "para/Runtime/para_runtime.h"

static const char manifest[] =
    "{\"version\": 1, \"model\": \"minimal\", \"mode\": \"infer\", \"target\": \"host\", \"precision\": \"f32\","
    " \"mesh\": [], \"batch\": 2, \"stages\": [{\"arena_bytes\": 256, \"actions\": [{\"segment\": \"run\"}], \"tensors\": ["
    "{\"name\": \"a\", \"kind\": \"parameter\", \"dtype\": \"f32\", \"shape\": [3], \"dims\": [[]], \"local\": [3], \"offset\": 0,"
    " \"source\": {\"data\": \"AACAPwAAAEAAAEBA\", \"dtype\": \"f32\"}},"
    "{\"name\": \"x\", \"kind\": \"input\", \"dtype\": \"f32\", \"shape\": [2, 3], \"dims\": [[], []], \"local\": [2, 3], \"offset\": 64},"
    "{\"name\": \"y\", \"kind\": \"output\", \"dtype\": \"f32\", \"shape\": [2, 3], \"dims\": [[], []], \"local\": [2, 3], \"offset\": 128}"
    "]}],"
    " \"inputs\": [{\"name\": \"x\", \"type\": \"f32\", \"shape\": [2, 3]}],"
    " \"outputs\": [{\"name\": \"y\", \"type\": \"f32\", \"shape\": [2, 3]}],"
    " \"parameters\": [{\"name\": \"a\", \"type\": \"f32\", \"shape\": [3], \"trainable\": true}]}";

static void multiply(int64_t begin, int64_t end, const int64_t *args) {
  const float *a = (const float *)args[0], *x = (const float *)args[1];
  float *y = (float *)args[2];
  for (int64_t i = begin; i < end; ++i)
    y[i] = a[i % 3] * x[i];
}

static const para_kernel kernel = {"multiply", multiply, 1, 0, 0};

static para_status run(para_context *ctx, int64_t microbatch, int64_t slot) {
  char *arena = (char *)para_arena(ctx);
  int64_t args[3] = {(int64_t)arena, (int64_t)(arena + 64), (int64_t)(arena + 128)};
  (void)microbatch;
  (void)slot;
  return para_launch(ctx, 0, &kernel, 6, args, 3, "multiply");
}

static const para_segment segments[] = {{"run", run}};

const para_program para_main_program = {PARA_ABI_VERSION, 1, manifest, sizeof(manifest) - 1, segments, 0, 0};
