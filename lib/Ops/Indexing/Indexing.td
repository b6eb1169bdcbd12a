include "para/IR/ParaOps.td"
include "para/Interfaces/Library.td"

def Para_IndexOp : Para_CoreOp<"index", [Elementwise, SameOperandsAndResultType, DeclareOpInterfaceMethods<Para_Element>,
    DeclareOpInterfaceMethods<Para_Derivative, []>, DeclareOpInterfaceMethods<Para_IndexUse, ["getIndexRange"]>]> {
  let summary = "An index into `entries` entries; `from_end`: negative ones count from the end and become what they mean";
  let description = [{
    States what the program takes for an index: a value in [0, entries), or [-entries, entries) with `from_end`. The runtime refuses data
    in which others come here, unless the program tests for them. One that does come here stays as it is, outside.
    C1. There is an entry.
  }];
  let arguments = (ins Para_IntTensor:$input, I64Attr:$entries, UnitAttr:$from_end);
  let results = (outs Para_IntTensor:$result);
  let assemblyFormat = "$input `of` $entries (`from_end` $from_end^)? attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Para_GatherOp : Para_CoreOp<"gather", [DeclareOpInterfaceMethods<Para_Element>, DeclareOpInterfaceMethods<Para_Derivative, ["buildGradient"]>,
    DeclareOpInterfaceMethods<Para_Structure, ["describeShard"]>, DeclareOpInterfaceMethods<Para_Precision>]> {
  let summary = "Takes slices of a table along one dimension at given indices";
  let description = [{
    Result dimensions: those of the table before `dim`, those of the indices, those of the table after `dim`. An index outside of
    the table reads zero: a shard of a table gives the part of the sum that it holds (`first` is where its rows begin, set by partitioning).
  }];
  let arguments = (ins Para_Tensor:$table, Para_IntTensor:$indices, I64Attr:$dim,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$axes,
                       OptionalAttr<I64Attr>:$size, OptionalAttr<I64Attr>:$unit);
  let results = (outs Para_Tensor:$result);
  let assemblyFormat = "$table `,` $indices $dim attr-dict `:` type($table) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

def Para_ScatterAddOp : Para_CoreOp<"scatter_add", [DeclareOpInterfaceMethods<Para_Derivative, ["buildGradient"]>,
                                                    DeclareOpInterfaceMethods<Para_Element, ["getReductionExtents"]>, DeclareOpInterfaceMethods<Para_Library>,
    DeclareOpInterfaceMethods<Para_Structure, ["describeShard"]>, DeclareOpInterfaceMethods<Para_Precision>]> {
  let summary = "Row r of the result is the sum of the updates whose index is r; the transpose of a gather along dimension 0";
  let description = [{
    `indices` has shape [p...], `updates` [p..., w...], the result [rows, w...]. Indices outside add nothing. Sums run in the order of
    the updates, so results do not depend on the number of threads.
  }];
  let arguments = (ins Para_IntTensor:$indices, Para_FloatTensor:$updates,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$axes,
                       OptionalAttr<I64Attr>:$size, OptionalAttr<I64Attr>:$unit);
  let results = (outs Para_FloatTensor:$result);
  let assemblyFormat = "$indices `,` $updates attr-dict `:` type($indices) `,` type($updates) `->` type($result)";
  let hasVerifier = 1;
}
