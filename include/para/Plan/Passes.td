#ifndef PARA_PLAN_PASSES_TD
#define PARA_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyPlanPass : Pass<"para-apply-plan", "::mlir::ModuleOp"> {
  let summary = "Annotate @main with a mesh given by hand";
  let options = [Option<"data", "data", "int64_t", "1", "size of the data axis">,
                 Option<"tensor", "tensor", "int64_t", "1", "size of the tensor axis">,
                 Option<"stages", "pipeline", "int64_t", "1", "number of pipeline stages">,
                 Option<"microbatches", "microbatches", "int64_t", "1", "number of microbatches">,
                 Option<"schedule", "schedule", "std::string", "\"1f1b\"", "pipeline schedule, which says how many parts of the model a rank has">,
                 Option<"zero", "zero", "int", "0", "ZeRO level">,
                 Option<"recompute", "recompute", "std::string", "\"none\"", "what is computed again for the backward pass: none, selective, full">,
                 Option<"sequenceParallel", "sequence-parallel", "bool", "false", "cut what lies between tensor-parallel products over tensor, too">];
}

def SearchShardingsPass : Pass<"para-search-shardings", "::mlir::ModuleOp"> {
  let summary = "Annotate @main with the cheapest sharding of every value over the axes data and tensor";
  let description = [{
    Costs are those of a plain device: so many seconds a flop, a byte of memory and a byte on a link, and a start-up of each message.
    `para.search` of @main says the cost and its lower bound, in picoseconds.
  }];
  let options = [Option<"data", "data", "int64_t", "1", "size of the data axis">,
                 Option<"tensor", "tensor", "int64_t", "1", "size of the tensor axis">,
                 Option<"seconds", "seconds", "double", "10", "time to search">,
                 Option<"flop", "seconds-per-flop", "double", "1e-11", "of a device">,
                 Option<"byte", "seconds-per-byte", "double", "1e-10", "read or written">,
                 Option<"sent", "seconds-per-sent-byte", "double", "5e-10", "on a link">,
                 Option<"start", "seconds-per-message", "double", "3e-6", "before its first byte">];
}

def FoldLayersPass : Pass<"para-fold-layers", "::mlir::ModuleOp"> {
  let summary = "Leave three of a row of equal blocks in @main: the first, one for all in the middle, and the last";
  let description = [{ For searches only: what is left is not the model. `para.parts` of @main says how many parts of it each segment stands for. }];
}

#endif
