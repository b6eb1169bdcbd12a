include "para/IR/ParaOps.td"
include "para/Interfaces/Library.td"

// Layouts: input N C spatial..., weight K C/groups window..., result N K spatial....
class Para_ConvolutionBase<string mnemonic> : Para_CoreOp<mnemonic, [
    DeclareOpInterfaceMethods<Para_Element, ["getReductionExtents"]>, DeclareOpInterfaceMethods<Para_Derivative, ["buildGradient"]>,
    DeclareOpInterfaceMethods<Para_Structure, ["getFlops", "buildLocal"]>, DeclareOpInterfaceMethods<Para_Library>, DeclareOpInterfaceMethods<Para_Precision>]> {
  dag windowing = (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pad_low,
                       DenseI64ArrayAttr:$pad_high, I64Attr:$groups);
  let results = (outs Para_FloatTensor:$result);
  let hasVerifier = 1;
}

def Para_ConvolutionOp : Para_ConvolutionBase<"convolution"> {
  let summary = "Convolution (cross-correlation) over one to three spatial dimensions";
  let arguments = !con((ins Para_FloatTensor:$input, Para_FloatTensor:$weight), windowing);
  let assemblyFormat = "$input `,` $weight attr-dict `:` type($input) `,` type($weight) `->` type($result)";
}
def Para_ConvolutionInputGradOp : Para_ConvolutionBase<"convolution_input_grad"> {
  let summary = "Gradient of a convolution with respect to its input; also transposed convolution";
  let arguments = !con((ins Para_FloatTensor:$cotangent, Para_FloatTensor:$weight), windowing);
  let assemblyFormat = "$cotangent `,` $weight attr-dict `:` type($cotangent) `,` type($weight) `->` type($result)";
}
def Para_ConvolutionWeightGradOp : Para_ConvolutionBase<"convolution_weight_grad"> {
  let summary = "Gradient of a convolution with respect to its weight";
  let arguments = !con((ins Para_FloatTensor:$cotangent, Para_FloatTensor:$input), windowing);
  let assemblyFormat = "$cotangent `,` $input attr-dict `:` type($cotangent) `,` type($input) `->` type($result)";
}
