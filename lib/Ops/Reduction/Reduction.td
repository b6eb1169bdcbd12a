include "para/IR/ParaOps.td"

def Para_ReduceOp : Para_CoreOp<"reduce", [DeclareOpInterfaceMethods<Para_Element, ["getReductionExtents", "getCombiner"]>,
                                           DeclareOpInterfaceMethods<Para_Derivative, ["buildGradient"]>, DeclareOpInterfaceMethods<Para_Precision>]> {
  let summary = "Combines the elements along dimensions, which disappear";
  let arguments = (ins Para_ReductionKindAttr:$kind, Para_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Para_Tensor:$result);
  let assemblyFormat = "$kind $input $dims attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Para_ExtentOp : Para_CoreOp<"extent", [DeclareOpInterfaceMethods<Para_BatchCount>, DeclareOpInterfaceMethods<Para_Element>, DeclareOpInterfaceMethods<Para_Derivative, []>,
                                           DeclareOpInterfaceMethods<Para_Precision>]> {
  let summary = "How many elements of the input lie along dimensions, as a scalar of its element type";
  let description = [{
    The divisor of a mean. It is an op rather than a constant since a mean over the batch inside of a model with batch
    statistics counts the elements of a microbatch, while the mean of the loss counts the whole batch; `para-separate-microbatches`
    decides which and replaces it.
  }];
  let arguments = (ins Para_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Para_Tensor:$result);
  let assemblyFormat = "$input $dims attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Para_BatchTermOp : Para_CoreOp<"batch_term", [Para_BatchTerm, DeclareOpInterfaceMethods<Para_Element>,
    DeclareOpInterfaceMethods<Para_Derivative, ["buildGradient"]>, DeclareOpInterfaceMethods<Para_Precision>, SameOperandsAndResultType]> {
  let summary = "A term of the loss over a batch";
  let description = [{
    The value itself. Where microbatches cannot share it, since it is made of statistics that each of them has for itself,
    `para-separate-microbatches` puts their weighted mean in its place; else it disappears. Made before the derivative is taken, so
    that the cotangent has the same weight.
  }];
  let arguments = (ins Para_FloatTensor:$input, I64Attr:$term);
  let results = (outs Para_FloatTensor:$result);
  let assemblyFormat = "$term $input attr-dict `:` type($input)";
}
