#ifndef PARA_SCHEDULE_PASSES_TD
#define PARA_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitStagesPass : Pass<"para-split-stages", "::mlir::ModuleOp"> {
  let summary = "Make one function for each rank of the pipeline from @spmd, with sends and receives";
  let description = [{
    @stage0, @stage1, ... replace @spmd. A value that another stage uses is sent to it in the phase that makes it; what follows from
    inputs alone is computed on each rank that needs it; a parameter used on two ranks is sent from its home once a step. A rank's function has all
    stages that lie on the rank (`para.places`), as chunks.
  }];
}

def ScheduleMicrobatchesPass : Pass<"para-schedule-microbatches", "::mlir::ModuleOp"> {
  let summary = "Write the order of actions onto each stage's function and verify it";
  let description = [{
    `para.schedule` is a list of [phase, microbatch], where a phase is of one chunk of the model, and ops follow each other as a microbatch
    comes to them. Phases in which a stage has nothing to do are left out. Where the schedule parts
    them from gradients of activations, ops that make gradients of weights are moved behind the others, into the phase `weight`.
  }];
  let options = [Option<"schedule", "schedule", "std::string", "\"1f1b\"", "name of the pipeline schedule">];
}

#endif
