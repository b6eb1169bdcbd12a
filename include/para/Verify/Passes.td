#ifndef PARA_VERIFY_PASSES_TD
#define PARA_VERIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyCommunicationPass : Pass<"para-verify-communication", "::mlir::ModuleOp"> {
  let summary = "Prove that no rank waits for ever";
  let description = [{
    All members of a communicator issue the same sequence, sends match receives, and the order of all ranks' events together has no cycle.
  }];
}

def VerifyEquivalencePass : Pass<"para-verify-equivalence", "::mlir::ModuleOp"> {
  let summary = "Prove that the stages' programs compute what @main computes";
  let description = [{
    An abstract interpreter walks the programs of all stages. Every value is (value of @main, how each dimension is cut and what its padding
    holds, axes over which it is partial and by which reduction, whether it differs by microbatch), every op transforms these by its rule, and
    every result must be the serial one in its declared sharding. Structures of ops are shared with the partitioner, code is not.

    Taken on trust: the structures; that @main after `para-separate-microbatches` and `para-regroup-sums` is what was meant (`para.local`
    makes a reduction that of each microbatch); that the runtime lays inputs out as declared and moves what a collective says; that sums
    may be taken in another order.
  }];
}

#endif
