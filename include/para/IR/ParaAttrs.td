#ifndef PARA_IR_PARAATTRS_TD
#define PARA_IR_PARAATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "para/IR/ParaDialect.td"

class Para_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::para";
  let genSpecializedAttr = 0;
}

/// How elements are combined; each has an identity (zero, lowest, highest).
def Para_ReductionKind : Para_Enum<"ReductionKind", "how elements are combined", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">]>;
def Para_ReductionKindAttr : EnumAttr<ParaDialect, Para_ReductionKind, "reduction">;

def Para_Comparison : Para_Enum<"Comparison", "predicate of a comparison", [
    I32EnumAttrCase<"Equal", 0, "eq">, I32EnumAttrCase<"NotEqual", 1, "ne">, I32EnumAttrCase<"Less", 2, "lt">,
    I32EnumAttrCase<"LessEqual", 3, "le">, I32EnumAttrCase<"Greater", 4, "gt">, I32EnumAttrCase<"GreaterEqual", 5, "ge">]>;
def Para_ComparisonAttr : EnumAttr<ParaDialect, Para_Comparison, "comparison">;

/// The parts of a training step. `prepare` and `forward`, `backward`, `weight` run once a microbatch; `setup` and `update` once a step. `weight`
/// is what makes gradients of weights where a schedule parts it from `backward`.
def Para_Phase : Para_Enum<"Phase", "part of the training step", [
    I32EnumAttrCase<"Prepare", 0, "prepare">, I32EnumAttrCase<"Setup", 1, "setup">, I32EnumAttrCase<"Forward", 2, "forward">,
    I32EnumAttrCase<"Backward", 3, "backward">, I32EnumAttrCase<"Weight", 4, "weight">, I32EnumAttrCase<"Update", 5, "update">]>;

def Para_PhaseAttr : AttrDef<ParaDialect, "Phase"> {
  let mnemonic = "phase";
  let summary = "A part of the training step, of one chunk of the model";
  let description = [{
    On ops as `para.phase`. A pipeline's ranks may hold several chunks of the model, numbered in its order; the passes of each run by
    themselves. Other phases are of all chunks, which is chunk 0. Examples: `#para<phase update>`, `#para<phase forward, 1>`.
  }];
  let parameters = (ins EnumParameter<Para_Phase>:$value, DefaultValuedParameter<"int64_t", "0">:$chunk);
  let builders = [AttrBuilder<(ins "Phase":$value), [{ return $_get($_ctxt, value, 0); }]>];
  let assemblyFormat = "$value (`,` $chunk^)?";
}

def Para_MeshAttr : AttrDef<ParaDialect, "Mesh"> {
  let mnemonic = "mesh";
  let summary = "Named axes of a grid of devices, the last varying fastest over ranks";
  let description = [{
    On the module as `para.mesh`, from the plan stage on. The axis `microbatch` is a coordinate in time: it takes part in
    shardings but not in the numbering of ranks. Example: `#para.mesh<["pipeline", "data"], [2, 4]>`.
    C1. Axes have names, each of them once, and a size of 1 or more.
    C2. The product of the sizes is a number.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$axes, "::mlir::DenseI64ArrayAttr":$sizes);
  let assemblyFormat = "`<` $axes `,` $sizes `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Size of an axis; 1 for an axis that the mesh does not have.
    int64_t getSize(::llvm::StringRef axis) const;
    int64_t getSize(::mlir::StringAttr axis) const;
    /// Number of ranks: the product of all axes but `microbatch`.
    int64_t getNumRanks() const;
  }];
}

def Para_ShardingAttr : AttrDef<ParaDialect, "Sharding"> {
  let mnemonic = "sharding";
  let summary = "How a value is laid over the mesh";
  let description = [{
    For each dimension the ordered list of axes which cut it, and the axes over which the ranks hold partial values that
    are yet to be combined. An axis of size n cuts a range of g units into pieces of ceil(g / n) units, and the next axis cuts
    such a piece; `units` gives the unit of each dimension in elements (a dimension that was made from [heads, width] and is
    cut between heads has unit `width`), and `blocks` says into how many equal blocks the dimension falls which are cut each by
    itself (a fused [3, heads, width] that is cut between heads has 3 blocks). The last pieces may be short; the local tensor has
    the padded size.
    C1. Each dimension has a list of axes, a unit and a number of blocks, of 1 or more.
    C2. An axis has a name and is there once: in a dimension, or among the partial ones (only of a text is it demanded that it is not in both).
  }];
  let parameters = (ins "::mlir::ArrayAttr":$dims, "::mlir::DenseI64ArrayAttr":$units, "::mlir::DenseI64ArrayAttr":$blocks,
                        "::mlir::ArrayAttr":$partial,
                        DefaultValuedParameter<"::para::ReductionKind", "::para::ReductionKind::Sum">:$reduction);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static ShardingAttr getReplicated(::mlir::MLIRContext *ctx, int64_t rank);
    /// Axes which cut dimension `dim`, major first.
    ::llvm::SmallVector<::llvm::StringRef> getAxes(int64_t dim) const;
    ::llvm::SmallVector<::llvm::StringRef> getPartialAxes() const;
    int64_t getRank() const { return getDims().size(); }
    bool isReplicated() const;
  }];
}

def Para_SourceAttr : AttrDef<ParaDialect, "Source"> {
  let mnemonic = "source";
  let summary = "Where the bytes of a parameter are";
  let description = [{
    On function arguments as `para.source`. `file` is relative to the model's folder; the elements start at `offset` and are
    little endian `type`s in row-major order. Example: `#para.source<"model.onnx", 1234, 4096, f32>`.
    C1. `offset` and `bytes` are not negative, and their sum is a number.
    C2. The type is one of the dialect's element types, of whose size `bytes` is a multiple.
  }];
  let parameters = (ins "::mlir::StringAttr":$file, "int64_t":$offset, "int64_t":$bytes, "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $file `,` $offset `,` $bytes `,` $elementType `>`";
  let genVerifyDecl = 1;
}

def Para_IndexRangeAttr : AttrDef<ParaDialect, "IndexRange"> {
  let mnemonic = "index_range";
  let summary = "Which values a part of an integer input may have";
  let description = [{
    In the list `para.index_ranges` of a function argument, from the autodiff stage on: the elements in the box of `sizes` at `offsets` are
    used as indices by the model's node `node` and are from `begin` to before `end`, or one of `exempt`, which the program knows how to
    treat. The box is one of the whole input, also where the argument is a shard. Example, labels of 96 classes without their first column:
    `#para.index_range<0, 96, [-100], [0, 1], [16, 31], "loss">`.
  }];
  let parameters = (ins "int64_t":$begin, "int64_t":$end, "::mlir::DenseI64ArrayAttr":$exempt, "::mlir::DenseI64ArrayAttr":$offsets,
                        "::mlir::DenseI64ArrayAttr":$sizes, "::mlir::StringAttr":$node);
  let assemblyFormat = "`<` $begin `,` $end `,` $exempt `,` $offsets `,` $sizes `,` $node `>`";
  let genVerifyDecl = 1;
}

#endif
