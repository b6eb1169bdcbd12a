#ifndef PARA_PARTITION_PASSES_TD
#define PARA_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def SeparateMicrobatchesPass : Pass<"para-separate-microbatches", "::mlir::ModuleOp"> {
  let summary = "Decide what is computed once a microbatch and what once a step";
  let description = [{
    With one microbatch, every `para.extent` is a constant and nothing else changes. With more, a sum over the batch that follows from
    data alone (the count of valid labels) moves to the phase `prepare`, which runs over all microbatches before the forward pass; what
    adds to a finished sum and serves no microbatch (a penalty) moves to the update; any other use of a sum over the batch (batch
    statistics) takes the microbatch's own, which is said once in a remark, and terms of the loss made of such are weighted by valid labels or rows.
  }];
}

def RegroupSumsPass : Pass<"para-regroup-sums", "::mlir::ModuleOp"> {
  let summary = "Sum the terms of each pipeline stage there, and then the stages' sums";
  let description = [{ The global norm then costs one message a stage rather than one a parameter. }];
}

def RecomputePass : Pass<"para-recompute", "::mlir::ModuleOp"> {
  let summary = "Compute again in the backward pass what the plan does not keep for it";
  let description = [{
    A forward op marked `para.recompute` is cloned, with what it follows from as far as that is marked too, before the first backward op that
    takes its result; all backward ops of its stage take the clone. A clone has the phase `backward` and `para.repeats`, the number of
    the op in @main that it computes again. An op that only the backward pass needs moves there.
  }];
}

def PartitionPass : Pass<"para-partition", "::mlir::ModuleOp"> {
  let summary = "Make the program of one rank from the annotated program";
  let description = [{
    @main (annotated with `para.mesh`, `para.sharding` of arguments, `para.split` and `para.stage` of ops) stays as the serial reference;
    @spmd is added: local shapes, every reshard an explicit op, padding masked where a reduction would read it. Each op
    carries `para.origin`, the number of the serial op that it is a part of.
  }];
}

def VerifyPartitionPass : Pass<"para-verify-partition", "::mlir::ModuleOp"> {
  let summary = "Check what the partition stage promises: local types follow from the shardings of arguments and results";
}

#endif
