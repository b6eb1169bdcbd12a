include "para/IR/ParaOps.td"

// Formulas whose derivative is told in one piece. Gone after the autodiff stage.
class Para_CompositeOp<string mnemonic, list<Trait> traits = []> : Para_CoreOp<mnemonic, [
    DeclareOpInterfaceMethods<Para_Derivative, ["buildGradient"]>, DeclareOpInterfaceMethods<Para_Decomposable>,
    DeclareOpInterfaceMethods<Para_Precision, ["isWideResult"]>] # traits> {
  let hasVerifier = 1;
}

def Para_SoftmaxOp : Para_CompositeOp<"softmax"> {
  let summary = "exp(x - max) / sum(exp(x - max)) along one dimension";
  let arguments = (ins Para_FloatTensor:$input, I64Attr:$dim);
  let results = (outs Para_FloatTensor:$result);
  let assemblyFormat = "$input $dim attr-dict `:` type($input) `->` type($result)";
}
def Para_LogSoftmaxOp : Para_CompositeOp<"log_softmax"> {
  let summary = "x - max - log(sum(exp(x - max))) along one dimension; f32 of 16-bit inputs";
  let arguments = (ins Para_FloatTensor:$input, I64Attr:$dim);
  let results = (outs Para_FloatTensor:$result);
  let assemblyFormat = "$input $dim attr-dict `:` type($input) `->` type($result)";
}
def Para_NormalizeOp : Para_CompositeOp<"normalize"> {
  let summary = "(x - mean) / sqrt(variance + epsilon) over dimensions, with mean and (biased) variance as further results";
  let description = [{
    The core of layer, group, instance and batch norms; scale and shift are ordinary ops. `mean` and `variance` have the input's rank
    with size 1 in `dims`; no gradient flows through them.
    C1. `dims` ascend and exist; `epsilon` is 0 or more.
    C2. `mean` and `variance` of 16-bit inputs are f32.
  }];
  let arguments = (ins Para_FloatTensor:$input, DenseI64ArrayAttr:$dims, F64Attr:$epsilon);
  let results = (outs Para_FloatTensor:$result, Para_FloatTensor:$mean, Para_FloatTensor:$variance);
  let assemblyFormat = "$input $dims $epsilon attr-dict `:` type($input) `->` type($mean) `,` type($variance) `,` type($result)";
}
def Para_CrossEntropyOp : Para_CompositeOp<"cross_entropy", [DeclareOpInterfaceMethods<Para_IndexUse, ["getIndexRange"]>]> {
  let summary = "-log softmax(scores)[label] for each row, 0 where the label is out of range";
  let description = [{ C1. `scores` [rows..., classes] (classes last), `labels` [rows...], result [rows...], f32 where the scores are 16-bit. }];
  let arguments = (ins Para_FloatTensor:$scores, Para_IntTensor:$labels);
  let results = (outs Para_FloatTensor:$result);
  let assemblyFormat = "$scores `,` $labels attr-dict `:` type($scores) `,` type($labels) `->` type($result)";
}
