include "para/IR/ParaOps.td"
include "para/Interfaces/Library.td"

def Para_DotOp : Para_CoreOp<"dot", [DeclareOpInterfaceMethods<Para_Element, ["getReductionExtents"]>,
    DeclareOpInterfaceMethods<Para_Derivative, ["buildGradient"]>, DeclareOpInterfaceMethods<Para_Structure, ["getFlops"]>, DeclareOpInterfaceMethods<Para_Library>,
    DeclareOpInterfaceMethods<Para_Precision, ["accumulatesWide"]>]> {
  let summary = "Sum of products over contracted dimensions, pair by pair in batch dimensions";
  let description = [{
    Result dimensions: the batch dimensions in the order given, the free ones of lhs in order, those of rhs in order.
    C1. Batch and contracted dimensions have equal sizes on both sides.
    C2. All have one element type; the result of 16-bit operands may be f32, and is then not rounded.
  }];
  let arguments = (ins Para_FloatTensor:$lhs, Para_FloatTensor:$rhs, DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
                       DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract);
  let results = (outs Para_FloatTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs `batch` $lhs_batch `x` $rhs_batch `contract` $lhs_contract `x` $rhs_contract attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}
