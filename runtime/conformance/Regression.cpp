//===- Regression.cpp - A training program written by hand ---------------------===//
#include "Regression.h"
#include "Program.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <unistd.h>

using namespace para::conformance;

static const Regression *r;

static double *at(para_context *ctx, const char *name) {
  return reinterpret_cast<double *>(static_cast<char *>(para_arena(ctx)) + r->offsets.at(name));
}

/// Rows of a microbatch that this rank really has.
static int64_t validRows(para_context *ctx, int64_t microbatch) {
  int64_t block = (r->batch + r->microbatches - 1) / r->microbatches;
  int64_t inBlock = std::min(block, r->batch - microbatch * block);
  int64_t begin = para_coordinate(ctx, r->isPipeline ? 1 : 0) * r->rows;
  return std::max<int64_t>(0, std::min(r->rows, inBlock - begin));
}

static void dot(int64_t begin, int64_t end, const int64_t *args) {
  const double *x = reinterpret_cast<double *>(args[0]), *w = reinterpret_cast<double *>(args[1]);
  double *pred = reinterpret_cast<double *>(args[2]);
  for (int64_t i = begin; i < end; ++i) {
    pred[i] = 0;
    for (int64_t f = 0; f < Regression::features; ++f)
      pred[i] += x[i * Regression::features + f] * w[f];
  }
}

static para_status prepare(para_context *ctx, int64_t, int64_t) {
  PARA_STEP(para_zero(ctx, 0, at(ctx, "w.grad.full"), r->localFeatures * r->dataRanks * 8, "w"));
  *at(ctx, "b.grad") = *at(ctx, "loss") = 0;
  if (r->isSharded)
    return para_all_gather(ctx, 1, 0, 0, at(ctx, "w"), at(ctx, "w.full"), r->localFeatures, PARA_F64, "w");
  return para_copy(ctx, 0, at(ctx, "w.full"), at(ctx, "w"), r->features * 8, "w");
}

static para_status predict(para_context *ctx, int64_t microbatch) {
  static const para_kernel kernel{"dot", dot, 1, 0, 0};
  int64_t args[] = {int64_t(at(ctx, "x") + microbatch * r->rows * r->features), int64_t(at(ctx, "w.full")),
                    int64_t(at(ctx, "pred") + microbatch * r->rows)};
  return para_launch(ctx, 0, &kernel, r->rows, args, 3, "predict");
}

/// Adds to the loss and b's gradient, and leaves the predictions' gradient. Padded rows do not count.
static void loss(para_context *ctx, int64_t microbatch) {
  double *pred = at(ctx, "pred") + microbatch * r->rows, *dpred = at(ctx, "dpred") + microbatch * r->rows;
  const double *y = at(ctx, "y") + microbatch * r->rows;
  for (int64_t i = 0; i < r->rows; ++i) {
    double error = i < validRows(ctx, microbatch) ? pred[i] + *at(ctx, "b") - y[i] : 0;
    *at(ctx, "loss") += error * error / double(r->batch);
    dpred[i] = 2 * error / double(r->batch);
    *at(ctx, "b.grad") += dpred[i];
  }
}

static void weightGrad(para_context *ctx, int64_t microbatch) {
  const double *x = at(ctx, "x") + microbatch * r->rows * r->features, *dpred = at(ctx, "dpred") + microbatch * r->rows;
  for (int64_t i = 0; i < r->rows; ++i)
    for (int64_t f = 0; f < r->features; ++f)
      at(ctx, "w.grad.full")[f] += dpred[i] * x[i * r->features + f];
}

static para_status both(para_context *ctx, int64_t microbatch, int64_t) {
  PARA_STEP(predict(ctx, microbatch));
  loss(ctx, microbatch);
  weightGrad(ctx, microbatch);
  return PARA_OK;
}

static para_status forward(para_context *ctx, int64_t microbatch, int64_t) {
  PARA_STEP(predict(ctx, microbatch));
  return para_send(ctx, 1, 0, 1, microbatch, at(ctx, "pred") + microbatch * r->rows, r->rows * 8, "predict");
}

static para_status lossStage(para_context *ctx, int64_t microbatch, int64_t) {
  PARA_STEP(para_recv(ctx, 1, 0, 0, microbatch, at(ctx, "pred") + microbatch * r->rows, r->rows * 8, "loss"));
  loss(ctx, microbatch);
  return para_send(ctx, 1, 0, 0, 100 + microbatch, at(ctx, "dpred") + microbatch * r->rows, r->rows * 8, "loss");
}

static para_status backward(para_context *ctx, int64_t microbatch, int64_t) {
  PARA_STEP(para_recv(ctx, 1, 0, 1, 100 + microbatch, at(ctx, "dpred") + microbatch * r->rows, r->rows * 8, "predict"));
  weightGrad(ctx, microbatch);
  return para_wait(ctx, 1, microbatch, "predict");
}

static para_status reduceLoss(para_context *ctx, int64_t, int64_t) {
  return para_all_reduce(ctx, 1, 0, 1, at(ctx, "loss"), at(ctx, "loss"), 1, PARA_F64, PARA_SUM, "loss");
}

static para_status update(para_context *ctx, int64_t, int64_t) {
  bool hasW = !r->isPipeline || para_coordinate(ctx, 0) == 0, hasB = !r->isPipeline || !hasW;
  double *w = at(ctx, "w"), *m = at(ctx, "w/m"), *grad = at(ctx, "w.grad"), *full = at(ctx, "w.grad.full");
  double lr = *at(ctx, "lr"), momentum = *at(ctx, "momentum");
  if (hasB)
    PARA_STEP(para_all_reduce(ctx, 1, 0, 2, at(ctx, "b.grad"), at(ctx, "b.grad"), 1, PARA_F64, PARA_SUM, "b"));
  if (hasW && r->isSharded)
    PARA_STEP(para_reduce_scatter(ctx, 1, 0, 3, full, grad, r->localFeatures, PARA_F64, PARA_SUM, "w"));
  else if (hasW)
    PARA_STEP(para_all_reduce(ctx, 1, 0, 3, full, grad, r->features, PARA_F64, PARA_SUM, "w"));
  if (!r->isPipeline) {
    double *norm = at(ctx, "grad_norm");
    *norm = 0;
    for (int64_t f = 0; f < r->localFeatures; ++f)
      *norm += grad[f] * grad[f];
    if (r->isSharded)
      PARA_STEP(para_all_reduce(ctx, 1, 0, 4, norm, norm, 1, PARA_F64, PARA_SUM, "norm"));
    *norm = std::sqrt(*norm + *at(ctx, "b.grad") * *at(ctx, "b.grad"));
  }
  for (int64_t f = 0; hasW && f < r->localFeatures; ++f) {
    m[f] = momentum * m[f] + grad[f];
    w[f] -= lr * m[f];
  }
  if (hasB) {
    *at(ctx, "b/m") = momentum * *at(ctx, "b/m") + *at(ctx, "b.grad");
    *at(ctx, "b") -= lr * *at(ctx, "b/m");
  }
  // Time for a test to send a signal.
  if (int64_t milliseconds = setting("PARA_TEST_SLOW", 0))
    usleep(useconds_t(milliseconds * 1000));
  return PARA_OK;
}

int main(int argc, char **argv) {
  Regression regression;
  r = &regression;
  const para_segment segments[] = {{"prepare", prepare},   {"both", both},         {"forward", forward},
                                   {"loss", lossStage},    {"backward", backward}, {"reduce_loss", reduceLoss},
                                   {"update", update}};
  return runProgram(argc, argv, regression.manifest(), segments, 7);
}
