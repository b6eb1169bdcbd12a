include "para/IR/ParaOps.td"

// All dimensions but the first two are pooled; windows outside of the input are left out.
class Para_PoolingBase<string mnemonic, list<string> derivative> : Para_CoreOp<mnemonic, [
    DeclareOpInterfaceMethods<Para_Element, ["getReductionExtents", "getCombiner"]>,
    DeclareOpInterfaceMethods<Para_Derivative, derivative>]> {
  dag windowing = (ins DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pad_low);
  let results = (outs Para_Tensor:$result);
  let hasVerifier = 1;
}

def Para_PoolOp : Para_PoolingBase<"pool", ["buildGradient"]> {
  let summary = "Combines the elements under a moving window";
  let arguments = !con((ins Para_ReductionKindAttr:$kind, Para_FloatTensor:$input), windowing);
  let assemblyFormat = "$kind $input attr-dict `:` type($input) `->` type($result)";
}
def Para_PoolIndexOp : Para_PoolingBase<"pool_index", []> {
  let description = [{ C1. `pooled` has the type of the pooled input, the result its shape and integers. }];
  let summary = "Place within the window (row-major) of the first element equal to the pooled one";
  let arguments = !con((ins Para_FloatTensor:$input, Para_FloatTensor:$pooled), windowing);
  let assemblyFormat = "$input `,` $pooled attr-dict `:` type($input) `,` type($pooled) `->` type($result)";
}
def Para_PoolGradOp : Para_PoolingBase<"pool_grad", []> {
  let summary = "Spreads cotangents over windows: to the element at `index` of each (max, min), or to all (sum, no index)";
  let description = [{ C1. `index` has the cotangent's shape. }];
  let arguments = !con((ins Para_FloatTensor:$cotangent, Optional<Para_IntTensor>:$index), windowing);
  let assemblyFormat = "$cotangent (`,` $index^)? attr-dict `:` type($cotangent) (`,` type($index)^)? `->` type($result)";
}
