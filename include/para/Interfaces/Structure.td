#ifndef PARA_INTERFACES_STRUCTURE_TD
#define PARA_INTERFACES_STRUCTURE_TD

include "mlir/IR/OpBase.td"

def Para_Structure : OpInterface<"StructureOpInterface"> {
  let cppNamespace = "::para";
  let description = [{ The loop factors of an op, its arithmetic, and how it looks on one shard. }];
  let methods = [
    InterfaceMethod<"Factors of the op at its present shapes.", "::para::Structure", "getStructure">,
    InterfaceMethod<[{
        Builds this op on shards: `operands` have local shapes, `types` are the local result types. The default clones the op
        with new types; an op whose attributes speak of sizes overrides it.
      }], "::mlir::Operation *", "buildLocal",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands, "::mlir::TypeRange":$types), "", [{
        ::mlir::OperationState state($_op->getLoc(), $_op->getName(), operands, types, $_op->getAttrs());
        return builder.create(state);
      }]>,
    InterfaceMethod<[{
        Told of `local`, just built, that factor `factor` is cut by `axes` from `size` elements in units of `unit`. An op
        that speaks of global coordinates (iota, gather) notes it; others need not know.
      }], "void", "describeShard",
      (ins "::mlir::Operation *":$local, "unsigned":$factor, "::mlir::ArrayAttr":$axes, "int64_t":$size, "int64_t":$unit), "", [{ return; }]>,
    InterfaceMethod<"Floating-point operations of one execution.", "double", "getFlops", (ins), "", [{
        return ::para::detail::getIterationPoints($_op);
      }]>,
    InterfaceMethod<"Bytes read and written by one execution.", "double", "getBytesMoved", (ins), "", [{
        return ::para::detail::getBytesMoved($_op);
      }]>
  ];
}

def Para_BatchCount : OpInterface<"BatchCountOpInterface"> {
  let cppNamespace = "::para";
  let description = [{ A count of elements along dimensions, which is a constant once it is known what a batch is. }];
  let methods = [
    InterfaceMethod<"Dimensions of operand 0 that are counted.", "::llvm::ArrayRef<int64_t>", "getCountedDims">
  ];
}

def Para_BatchTerm : OpInterface<"BatchTermOpInterface"> {
  let cppNamespace = "::para";
  let description = [{ One term of the loss, or its cotangent in the backward pass: what is weighted if each microbatch has its own. }];
  let methods = [
    InterfaceMethod<"Number of the term, the same for its cotangent.", "uint64_t", "getTerm">
  ];
}

#endif
