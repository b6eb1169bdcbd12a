#ifndef PARA_VERIFY_PASSES_TD
#define PARA_VERIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyCommunicationPass : Pass<"para-verify-communication", "::mlir::ModuleOp"> {
  let summary = "Prove that no rank waits for ever";
  let description = [{
    All members of a communicator issue the same sequence, sends match receives, and the order of all ranks' events together has no cycle.
  }];
}

#endif
