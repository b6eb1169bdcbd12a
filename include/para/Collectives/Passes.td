#ifndef PARA_COLLECTIVES_PASSES_TD
#define PARA_COLLECTIVES_PASSES_TD

include "mlir/Pass/PassBase.td"

def BucketCollectivesPass : Pass<"para-bucket-collectives", "::mlir::ModuleOp"> {
  let summary = "Make one message of collectives of one kind over the same ranks";
  let description = [{
    A collective joins the bucket of an earlier one of its phase and stage if all that it sends is there by then. A bucket has at most
    `bytes`. Source: bucketing of gradients as in PyTorch DDP (Li et al. 2020).
  }];
  let options = [Option<"bytes", "bytes", "int64_t", "26214400", "largest bucket in bytes">];
}

#endif
