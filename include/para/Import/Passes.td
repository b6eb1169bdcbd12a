#ifndef PARA_IMPORT_PASSES_TD
#define PARA_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def DeriveIndexRangesPass : Pass<"para-derive-index-ranges", "::mlir::ModuleOp"> {
  let summary = "Write onto integer inputs of @main which values the program may see";
  let description = [{
    An input, or a part of it, that reaches an index unchanged gets a `#para.index_range` in its list `para.index_ranges`, which the
    program's manifest carries to the runtime. What happens to a value other than being moved ends the derivation: a range is never
    narrower than what the program can treat. Runs when the loss is attached, whose labels are an input, too.
  }];
}

#endif
