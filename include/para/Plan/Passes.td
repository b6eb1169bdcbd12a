#ifndef PARA_PLAN_PASSES_TD
#define PARA_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyPlanPass : Pass<"para-apply-plan", "::mlir::ModuleOp"> {
  let summary = "Annotate @main with a mesh given by hand";
  let options = [Option<"data", "data", "int64_t", "1", "size of the data axis">,
                 Option<"tensor", "tensor", "int64_t", "1", "size of the tensor axis">,
                 Option<"stages", "pipeline", "int64_t", "1", "number of pipeline stages">,
                 Option<"microbatches", "microbatches", "int64_t", "1", "number of microbatches">,
                 Option<"zero", "zero", "int", "0", "ZeRO level">];
}

def FoldLayersPass : Pass<"para-fold-layers", "::mlir::ModuleOp"> {
  let summary = "Leave three of a row of equal blocks in @main: the first, one for all in the middle, and the last";
  let description = [{ For searches only: what is left is not the model. `para.repeats` of @main says how many parts of it each segment stands for. }];
}

#endif
