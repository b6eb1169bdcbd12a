//===- Segments.h - The work of a partitioned program, by segment -*- C++ -*-===//
//
// What a rank does in each segment of a folded program (Layers.h), in kernels, messages and bytes, without seconds: the same work is priced
// on any machine and for any size of the axes `data` and `pipeline`. Ops that become one kernel are counted as one: what passes between them
// is not moved. What the backward pass needs and elementwise ops can make again from what is kept anyway is not kept.
//
// Example, one decoder layer cut by tensor = 8: forward has 4 products, 1 attention, a few streams and 2 all-reduces over `tensor`.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PLAN_SEGMENTS_H
#define PARA_PLAN_SEGMENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace para {

/// Bytes of an element in each use, and whether kernels of the target keep attention scores to themselves.
struct StoragePolicy {
  int64_t compute = 4;   ///< floats in the passes forward and backward
  int64_t operand = 0;   ///< of products with parameters, but for those of the last segment; 0: as `compute`
  bool rescales = false; ///< such operands are scaled by their own greatest: a pass more over each, and casts that are kernels of their own
  int64_t parameter = 4; ///< as it is kept from step to step
  int64_t gathered = 4;  ///< as it is sent where parameters are cut over replicas
  int64_t master = 0;    ///< a copy of a parameter for the optimizer, if it computes in another type
  int64_t gradient = 4;  ///< as it is accumulated
  int64_t reduced = 4;   ///< as it is sent
  int64_t state = 4;     ///< of the optimizer, each
  double lossBytes = 0, lossKept = 0, lossTemporary = 0; ///< of an element of what the loss is made of, as in Execution.h
  bool regathers = false; ///< values gathered over `tensor` are not kept but gathered again
  bool dropout = false;  ///< of attention scores and before residual sums: masks of a byte are kept
  bool fusesAttention = false;
  bool fusesStreams = true; ///< or else each node of the model is a kernel
};

struct KernelWork {
  enum Kind { Product, Convolution, Attention, Stream } kind = Stream;
  double flops = 0, bytes = 0;          ///< bytes read and written
  double skipped = 0;                   ///< of the flops: of attention, what a mask that is a constant leaves out
  bool isWide = false;                  ///< a product whose operands have the type of sums where others have a narrower one
  bool isOfScores = false;              ///< a product of attention that is not fused
  int64_t launches = 1;                 ///< by a framework: the matrices of experts are multiplied one by one
  int64_t batch = 1, m = 0, n = 0, k = 0; ///< of a product; of attention: batch and heads, queries, keys, head size
};

struct TrafficWork {
  enum Kind { AllReduce, AllGather, ReduceScatter, AllToAll } kind = AllReduce;
  std::string axis;
  double bytes = 0;      ///< of the whole buffer: the gathered one, the unreduced one
  bool isEarly = false;  ///< depends on parameters alone and may run before it is wanted
  double copies = 0;     ///< of each row in the buffer, 1 or more, where rows are exchanged with those who want them; 0: it is not such an exchange
};

struct PhaseWork {
  std::vector<KernelWork> kernels;
  std::vector<TrafficWork> traffic;
  int64_t launches = 0; ///< kernels as a framework starts them, op by op
};

/// A number of bytes of which a part is cut over `data`.
struct Footprint {
  double whole = 0, cut = 0; ///< `cut` as it would be on one rank that is not cut over `data`
  void add(const Footprint &other, double times = 1) {
    whole += times * other.whole;
    cut += times * other.cut;
  }
};

struct SegmentWork {
  /// One microbatch: the pass forward, the gradients of values, the gradients of parameters.
  PhaseWork forward, backwardInput, backwardWeight;
  PhaseWork update; ///< once a step
  Footprint parameters, gradients, states, buffers; ///< bytes
  double parameterElements = 0;            ///< of a rank, before ZeRO cuts them
  double expertElements = 0;               ///< of these, of what is cut over `expert`
  int64_t parameterTensors = 0;
  double sharedElements = 0;               ///< of parameters whose home is an earlier segment
  double keptBytes = 0;                    ///< from forward to backward, a microbatch
  double scoreBytes = 0;                   ///< of these, of attention scores that no kernel keeps to itself
  double productBytes = 0, attentionBytes = 0; ///< made by products with parameters, and by attention
  double temporaryBytes = 0;               ///< besides, at most at once
  double boundaryBytes = 0;                ///< passed on to later segments, a microbatch
  double inputBytes = 0;                   ///< of the model's inputs, a microbatch
};

/// The work of @spmd, whose ops have their segment in `para.stage`.
std::vector<SegmentWork> collectWork(mlir::func::FuncOp spmd, int64_t segments, const StoragePolicy &policy);

} // namespace para

#endif
