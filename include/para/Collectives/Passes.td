#ifndef PARA_COLLECTIVES_PASSES_TD
#define PARA_COLLECTIVES_PASSES_TD

include "mlir/Pass/PassBase.td"

def NarrowCollectivesPass : Pass<"para-narrow-collectives", "::mlir::ModuleOp"> {
  let summary = "Send the narrower side of an elementwise op";
  let description = [{
    An elementwise op whose result has fewer bytes than its operand is computed on the shard before it is gathered, as the 16-bit copy of a
    parameter is; one whose result has more is computed on each stage that takes it, behind the message.
  }];
}

def BucketCollectivesPass : Pass<"para-bucket-collectives", "::mlir::ModuleOp"> {
  let summary = "Make one message of collectives of one kind over the same ranks";
  let description = [{
    A collective joins the bucket of an earlier one of its phase and stage if all that it sends is there by then. A bucket has at most
    `bytes`. Source: bucketing of gradients as in PyTorch DDP (Li et al. 2020).
  }];
  let options = [Option<"bytes", "bytes", "int64_t", "26214400", "largest bucket in bytes">];
}

#endif
