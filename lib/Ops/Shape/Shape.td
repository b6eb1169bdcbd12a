include "para/IR/ParaOps.td"
include "para/Interfaces/Relayout.td"

class Para_ShapeOp<string mnemonic, list<Trait> traits = []> : Para_CoreOp<mnemonic, [
    DeclareOpInterfaceMethods<Para_Element>, DeclareOpInterfaceMethods<Para_Derivative, ["buildGradient"]>,
    DeclareOpInterfaceMethods<Para_Precision>] # traits> {
  let results = (outs Para_Tensor:$result);
  let hasVerifier = 1;
}

def Para_ConstantOp : Para_CoreOp<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>, DeclareOpInterfaceMethods<Para_Element>,
                                               DeclareOpInterfaceMethods<Para_Derivative, []>]> {
  let summary = "A small constant; weights are never constants";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Para_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Para_IotaOp : Para_CoreOp<"iota", [DeclareOpInterfaceMethods<Para_Element>, DeclareOpInterfaceMethods<Para_Derivative, []>,
                                       DeclareOpInterfaceMethods<Para_Structure, ["buildLocal", "describeShard"]>]> {
  let summary = "Each element is its own global coordinate along one dimension";
  let description = [{
    On a shard the coordinates go on counting from where the shard begins: `axes` cut the dimension of `size` elements in
    units of `unit` (set by partitioning, empty before).
  }];
  let arguments = (ins I64Attr:$dim, DefaultValuedAttr<StrArrayAttr, "{}">:$axes,
                       OptionalAttr<I64Attr>:$size, OptionalAttr<I64Attr>:$unit);
  let results = (outs Para_Tensor:$result);
  let assemblyFormat = "$dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

// An op that moves elements: where they were, indices among them, is in IndexUse.cpp.
class Para_MovingOp<string mnemonic, list<Trait> traits = []>
    : Para_ShapeOp<mnemonic, [DeclareOpInterfaceMethods<Para_IndexUse, ["traceToOperand"]>] # traits>;

def Para_ReshapeOp : Para_MovingOp<"reshape", [DeclareOpInterfaceMethods<Para_Relayout>]> {
  let summary = "The same elements in row-major order under another shape";
  let arguments = (ins Para_Tensor:$input);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Para_TransposeOp : Para_MovingOp<"transpose"> {
  let summary = "Dimension i of the result is dimension permutation[i] of the input";
  let arguments = (ins Para_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

def Para_BroadcastOp : Para_MovingOp<"broadcast"> {
  let summary = "Repeats the input along new dimensions";
  let description = [{
    Dimension i of the input is dimension `dims[i]` of the result (ascending).
    C1. Its size is the result's or 1.
  }];
  let arguments = (ins Para_Tensor:$input, DenseI64ArrayAttr:$dims);
  let assemblyFormat = "$input $dims attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

def Para_SliceOp : Para_MovingOp<"slice", [DeclareOpInterfaceMethods<Para_Structure, ["buildLocal"]>]> {
  let summary = "Element i of a dimension is element offset + i * stride of the input; strides may be negative";
  let arguments = (ins Para_Tensor:$input, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$strides);
  let assemblyFormat = "$input $offsets $strides attr-dict `:` type($input) `->` type($result)";
}

def Para_PadOp : Para_MovingOp<"pad", [DeclareOpInterfaceMethods<Para_Structure, ["buildLocal"]>]> {
  let summary = "Surrounds the input with a value: `low[i]` elements before dimension i; the result's size tells those after";
  let description = [{
    Element i of the result along a dimension is element (i - low) / interior of the input where that is whole and inside, else `value`.
    Negative `low` cuts. `interior` of 1 means no gaps.
  }];
  let arguments = (ins Para_Tensor:$input, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$interior, AnyAttr:$value);
  let assemblyFormat = "$input $low $interior `with` `(` $value `)` attr-dict `:` type($input) `->` type($result)";
}

def Para_ConcatOp : Para_MovingOp<"concat"> {
  let summary = "Puts tensors one after another along a dimension";
  let arguments = (ins Variadic<Para_Tensor>:$inputs, I64Attr:$dim);
  let assemblyFormat = "$inputs $dim attr-dict `:` type($inputs) `->` type($result)";
}
