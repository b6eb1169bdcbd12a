#ifndef PARA_PLAN_PASSES_TD
#define PARA_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyPlanPass : Pass<"para-apply-plan", "::mlir::ModuleOp"> {
  let summary = "Annotate @main with a mesh given by hand";
  let options = [Option<"data", "data", "int64_t", "1", "size of the data axis">,
                 Option<"tensor", "tensor", "int64_t", "1", "size of the tensor axis">,
                 Option<"stages", "pipeline", "int64_t", "1", "number of pipeline stages">,
                 Option<"microbatches", "microbatches", "int64_t", "1", "number of microbatches">,
                 Option<"zero", "zero", "int", "0", "ZeRO level">,
                 Option<"recompute", "recompute", "std::string", "\"none\"", "what is computed again for the backward pass: none, selective, full">,
                 Option<"sequenceParallel", "sequence-parallel", "bool", "false", "cut what lies between tensor-parallel products over tensor, too">];
}

#endif
