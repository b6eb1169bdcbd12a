#ifndef PARA_INTERFACES_ELEMENT_TD
#define PARA_INTERFACES_ELEMENT_TD

include "mlir/IR/OpBase.td"

def Para_Element : OpInterface<"ElementOpInterface"> {
  let cppNamespace = "::para";
  let description = [{ How to compute one element of a result; see Element.h. }];
  let methods = [
    InterfaceMethod<[{
        Extents of the loops over which `emitElement` is combined to make one element of a result; empty where one call
        makes the element.
      }], "::llvm::SmallVector<int64_t>", "getReductionExtents", (ins), "", [{ return {}; }]>,
    InterfaceMethod<"How the terms of those loops are combined.", "::para::ReductionKind", "getCombiner", (ins), "",
      [{ return ::para::ReductionKind::Sum; }]>,
    InterfaceMethod<[{
        The element (or term) of result `result` at `index`: one coordinate a result dimension, then one a reduction loop.
      }], "::mlir::Value", "emitElement",
      (ins "::para::ElementEmitter &":$emitter, "unsigned":$result, "::llvm::ArrayRef<::para::Coordinate>":$index)>
  ];
}

#endif
