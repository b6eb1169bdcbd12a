include "para/IR/ParaOps.td"
include "para/Interfaces/Library.td"
include "para/Interfaces/Collective.td"
include "para/Interfaces/Relayout.td"

// What partitioning adds. Local shapes; an axis is a name of the mesh. All have an effect, so that no pass can drop, merge or
// reorder them: the members of a communicator must issue the same sequence.
class Para_CollectiveOp<string mnemonic, list<string> overrides = []> : Para_Op<mnemonic, [
    MemoryEffects<[MemRead, MemWrite]>, DeclareOpInterfaceMethods<Para_Collective, overrides>,
    DeclareOpInterfaceMethods<Para_Library>, DeclareOpInterfaceMethods<Para_Relayout>]> {
  let hasVerifier = 1;
}

def Para_AllReduceOp : Para_CollectiveOp<"all_reduce", ["getBucketKey", "buildBucket"]> {
  let summary = "Combines values of the ranks along `axes`; all of them get the result. Several values are one message";
  let arguments = (ins Variadic<Para_Tensor>:$inputs, StrArrayAttr:$axes, Para_ReductionKindAttr:$kind);
  let results = (outs Variadic<Para_Tensor>:$outputs);
  let assemblyFormat = "$kind $inputs $axes attr-dict `:` type($inputs) `->` type($outputs)";
}
def Para_AllGatherOp : Para_CollectiveOp<"all_gather"> {
  let summary = "Puts the shards of `dim` along one axis after one another";
  let description = [{ The result may be shorter than n shards: what lies beyond the end of the next larger shard is padding and is cut. }];
  let arguments = (ins Para_Tensor:$input, I64Attr:$dim, StrAttr:$axis);
  let results = (outs Para_Tensor:$result);
  let assemblyFormat = "$input $dim $axis attr-dict `:` type($input) `->` type($result)";
}
def Para_ReduceScatterOp : Para_CollectiveOp<"reduce_scatter"> {
  let summary = "Combines values along an axis; each rank gets its shard of `dim`";
  let arguments = (ins Para_Tensor:$input, I64Attr:$dim, StrAttr:$axis, Para_ReductionKindAttr:$kind);
  let results = (outs Para_Tensor:$result);
  let assemblyFormat = "$kind $input $dim $axis attr-dict `:` type($input) `->` type($result)";
}
def Para_AllToAllOp : Para_CollectiveOp<"all_to_all"> {
  let summary = "Moves an axis from dimension `from` to dimension `to`: gathers the one, cuts the other";
  let arguments = (ins Para_Tensor:$input, I64Attr:$from, I64Attr:$to, StrAttr:$axis);
  let results = (outs Para_Tensor:$result);
  let assemblyFormat = "$input $from $to $axis attr-dict `:` type($input) `->` type($result)";
}
def Para_SendOp : Para_CollectiveOp<"send"> {
  let summary = "Sends a value to the rank of stage `peer` with our other coordinates";
  let description = [{ `depth` messages of this op may be under way: its buffer is written again when the one of `depth` microbatches ago was taken. }];
  let arguments = (ins Para_Tensor:$input, I64Attr:$peer, I64Attr:$tag, DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$depth);
  let assemblyFormat = "$input `to` $peer `tag` $tag attr-dict `:` type($input)";
}
def Para_RecvOp : Para_CollectiveOp<"recv"> {
  let summary = "Receives a value from the rank of stage `peer` with our other coordinates";
  let arguments = (ins I64Attr:$peer, I64Attr:$tag);
  let results = (outs Para_Tensor:$result);
  let assemblyFormat = "`from` $peer `tag` $tag attr-dict `:` type($result)";
}

def Para_ShardSliceOp : Para_Op<"shard_slice", [Pure, DeclareOpInterfaceMethods<Para_Element>, DeclareOpInterfaceMethods<Para_Relayout>]> {
  let summary = "This rank's shard of `dim` along one axis, padded to the largest shard";
  let description = [{
    `size` is the number of elements of the dimension before the cut that are addressed (its padded local size is the input's), in
    units of `unit`. Elements past the end are padding of any value.
  }];
  let arguments = (ins Para_Tensor:$input, I64Attr:$dim, StrAttr:$axis, I64Attr:$unit);
  let results = (outs Para_Tensor:$result);
  let assemblyFormat = "$input $dim $axis $unit attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}
def Para_MaskOp : Para_Op<"mask", [Pure, SameOperandsAndResultType, DeclareOpInterfaceMethods<Para_Element>,
                                  DeclareOpInterfaceMethods<Para_Relayout>]> {
  let summary = "Replaces the padding of a dimension by the identity of a reduction";
  let description = [{ The dimension has `size` elements globally, cut by `axes` in units of `unit`. }];
  let arguments = (ins Para_Tensor:$input, I64Attr:$dim, StrArrayAttr:$axes, I64Attr:$size, I64Attr:$unit, Para_ReductionKindAttr:$kind);
  let results = (outs Para_Tensor:$result);
  let assemblyFormat = "$kind $input $dim $axes $size $unit attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Para_AccumulateOp : Para_Op<"accumulate", [MemoryEffects<[MemRead, MemWrite]>, SameOperandsAndResultType,
                                            DeclareOpInterfaceMethods<Para_Library>, DeclareOpInterfaceMethods<Para_Relayout>]> {
  let summary = "Sum over the microbatches of a value that each of them makes; the result is there once all are done";
  let arguments = (ins Para_Tensor:$input);
  let results = (outs Para_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}
